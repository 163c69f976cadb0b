// Writing a plane of the made-up picture: every invocation makes one word, which holds one to four texels.
layout(local_size_x = 8, local_size_y = 8) in;
layout(constant_id = 0) const int PLANE = 0;
layout(constant_id = 1) const int COMPONENTS = 1;     // a texel interleaves
layout(constant_id = 2) const int BYTES = 1;          // a sample
layout(constant_id = 3) const float TOP_CODE = 255.0; // largest code a sample may take

const float CODES = BYTES == 1 ? 255.0 : 65535.0;     // from a texture value to a code
const int TEXELS = 4 / (COMPONENTS * BYTES);          // in a word

vec2 earlier_codes(ivec2 texel) {
    return round(texelFetch(earlier[PLANE], texel, 0).rg * CODES);
}

vec2 later_codes(ivec2 texel) {
    return round(texelFetch(later[PLANE], texel, 0).rg * CODES);
}

vec2 blended(ivec2 texel) {
    return (1.0 - pass.phase) * earlier_codes(texel) + pass.phase * later_codes(texel);
}

uint packed_codes(vec2 codes, int texel) {
    uvec2 whole = uvec2(clamp(floor(codes + 0.5), 0.0, TOP_CODE));
    uint bits = COMPONENTS == 1 ? whole.x : whole.x | whole.y << 8 * BYTES;
    return bits << 8 * BYTES * COMPONENTS * texel;
}
