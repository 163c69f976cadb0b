#version 450
#extension GL_GOOGLE_include_directive : require
#include "interpolation.glsl"
layout(local_size_x = 8, local_size_y = 8) in;
layout(constant_id = 0) const float LUMA_SCALE = 255.0;  // from a sample as a texture gives it to 8-bit steps

void main() {
    ivec3 word = ivec3(gl_GlobalInvocationID);
    if (word.x >= pass.stride || word.y >= pass.size.y) {
        return;
    }
    uint packed_samples = 0;
    for (int i = 0; i < 4; i++) {
        ivec2 texel = ivec2(min(word.x * 4 + i, pass.size.x - 1), word.y);
        float value = word.z == 0 ? texelFetch(earlier[0], texel, 0).r : texelFetch(later[0], texel, 0).r;
        packed_samples |= min(uint(value * LUMA_SCALE + 0.5), 255u) << 8 * i;
    }
    luma[word.z * pass.pyramid_words + pass.level + word.y * pass.stride + word.x] = packed_samples;
}
