#version 450
#extension GL_GOOGLE_include_directive : require
#include "interpolation.glsl"
#include "interpolation_match.glsl"
layout(local_size_x = 8, local_size_y = 8) in;

// Runs on several levels. On a coarse one noise is averaged away, and a window spans enough that smooth pictures which
// have nothing to do with each other do not match by chance; on the finest one fine texture is still there.

const int CHANGED = 3 * 16;  // mean difference from which a block counts as changed, in 1/16 of a step of 8-bit luma

// Mean departure of the window's samples from their mean, in the earlier picture and in 1/16 step.
int structure(ivec2 block) {
    ivec2 start = block * BLOCK - (WINDOW - BLOCK) / 2;
    Columns columns = columns_from(start.x);
    uint sum = 0;
    for (int row = 0; row < WINDOW; row += 2) {
        int line = pass.level + clamp(start.y + row, 0, pass.size.y - 1) * pass.stride;
        uvec4 samples = sixteen_samples(line, columns);
        uvec4 pairs = (samples & 0x00FF00FFu) + (samples >> 8 & 0x00FF00FFu);
        sum += pairs.x + pairs.y + pairs.z + pairs.w;
    }
    uint mean = ((sum & 0xFFFFu) + (sum >> 16)) / (WINDOW * WINDOW / 2);
    uint departures = 0;
    for (int row = 0; row < WINDOW; row += 2) {
        int line = pass.level + clamp(start.y + row, 0, pass.size.y - 1) * pass.stride;
        uvec4 samples = sixteen_samples(line, columns);
        for (int i = 0; i < 4; i++) {
            departures += absolute_differences(samples[i], mean * 0x01010101u);
        }
    }
    return int((departures & 0xFFFFu) + (departures >> 16)) * 16 / (WINDOW * WINDOW / 2);
}

void main() {
    ivec2 block = ivec2(gl_GlobalInvocationID.xy);
    if (any(greaterThanEqual(block, pass.blocks))) {
        return;
    }
    ivec2 vectors[2] = ivec2[](ivec2(0), unpack_vector(fields[pass.field_vectors + pass.field + block_index(block)]));
    int found[2];
    for (int i = 0; i < 2; i++) {
        found[i] = difference(block, vectors[i], 2);
    }
    if (found[0] >= CHANGED) {
        atomicAdd(tally[pass.level_index].x, 1);
        if (2 * found[1] > structure(block)) {
            atomicAdd(tally[pass.level_index].y, 1);
        }
    }
}
