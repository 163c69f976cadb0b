#version 450
#extension GL_GOOGLE_include_directive : require
#include "interpolation.glsl"
layout(local_size_x = 8, local_size_y = 8) in;

// Rounded means of two samples by two: two results in the low bytes of both halves of a word.
uint means(uint upper, uint lower) {
    uint columns = (upper & 0x00FF00FFu) + (upper >> 8 & 0x00FF00FFu) + (lower & 0x00FF00FFu) + (lower >> 8 & 0x00FF00FFu);
    return columns + 0x00020002u >> 2 & 0x00FF00FFu;
}

void main() {
    ivec3 word = ivec3(gl_GlobalInvocationID);
    if (word.x >= pass.stride || word.y >= pass.size.y) {
        return;
    }
    int finer = word.z * pass.pyramid_words + pass.finer_level;
    int upper = finer + 2 * word.y * pass.finer_stride;
    int lower = finer + min(2 * word.y + 1, pass.finer_size.y - 1) * pass.finer_stride;
    uint packed_samples = 0;
    for (int i = 0; i < 2; i++) {
        int column = min(2 * word.x + i, pass.finer_stride - 1);
        uint pair = means(luma[upper + column], luma[lower + column]);
        packed_samples |= (pair & 0xFFu | pair >> 8 & 0xFF00u) << 16 * i;
    }
    luma[word.z * pass.pyramid_words + pass.level + word.y * pass.stride + word.x] = packed_samples;
}
