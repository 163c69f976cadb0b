#version 450
#extension GL_GOOGLE_include_directive : require
#include "interpolation.glsl"
layout(local_size_x = 8, local_size_y = 8) in;

int finer_sample(int line, int x) {
    int inside = clamp(x, 0, pass.finer_size.x - 1);
    return int(luma[line + (inside >> 2)] >> 8 * (inside & 3) & 0xFFu);
}

// Weighted 1 3 3 1 both ways: a plain mean of two by two would let fine stripes through as coarse ones.
int halved(int first_line, ivec2 at) {
    const int WEIGHTS[4] = int[](1, 3, 3, 1);
    int sum = 32;
    for (int j = 0; j < 4; j++) {
        int line = first_line + clamp(2 * at.y + j - 1, 0, pass.finer_size.y - 1) * pass.finer_stride;
        for (int i = 0; i < 4; i++) {
            sum += WEIGHTS[i] * WEIGHTS[j] * finer_sample(line, 2 * at.x + i - 1);
        }
    }
    return sum >> 6;
}

void main() {
    ivec3 word = ivec3(gl_GlobalInvocationID);
    if (word.x >= pass.stride || word.y >= pass.size.y) {
        return;
    }
    int first_line = word.z * pass.pyramid_words + pass.finer_level;
    uint packed_samples = 0;
    for (int i = 0; i < 4; i++) {
        packed_samples |= uint(halved(first_line, ivec2(word.x * 4 + i, word.y))) << 8 * i;
    }
    luma[word.z * pass.pyramid_words + pass.level + word.y * pass.stride + word.x] = packed_samples;
}
