#version 450
#extension GL_GOOGLE_include_directive : require
#include "interpolation.glsl"
#include "interpolation_plane.glsl"

void main() {
    ivec2 word = ivec2(gl_GlobalInvocationID.xy);
    ivec2 plane_size = textureSize(earlier[PLANE], 0);
    if (word.x >= pass.output_stride || word.y >= plane_size.y) {
        return;
    }
    uint bits = 0;
    for (int i = 0; i < TEXELS; i++) {
        bits |= packed_codes(blended(ivec2(min(word.x * TEXELS + i, plane_size.x - 1), word.y)), i);
    }
    made[pass.output_word + word.y * pass.output_stride + word.x] = bits;
}
