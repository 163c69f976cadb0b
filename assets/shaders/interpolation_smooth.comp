#version 450
#extension GL_GOOGLE_include_directive : require
#include "interpolation.glsl"
#include "interpolation_match.glsl"
layout(local_size_x = 8, local_size_y = 8) in;

const int DISAGREEMENT_PENALTY = 2;  // in 1/16 step a pixel from each neighbour, up to DISAGREEMENT_LIMIT
const int DISAGREEMENT_LIMIT = 8;    // beyond it a neighbour belongs to something else that moves

void main() {
    ivec2 block = ivec2(gl_GlobalInvocationID.xy);
    if (any(greaterThanEqual(block, pass.blocks))) {
        return;
    }
    ivec2 around[9];
    bool agree = true;
    for (int i = 0; i < 9; i++) {
        around[i] = unpack_vector(fields[pass.field + block_index(neighbour(block, ivec2(i % 3, i / 3) - 1))]);
        agree = agree && around[i] == around[0];
    }
    ivec2 best = around[4];
    int least = 0x7FFFFFFF;
    for (int i = 0; i < 9 && !agree; i++) {
        ivec2 vector = around[(i + 4) % 9];  // its own first, which so wins a draw
        if (i > 0 && vector == around[4]) {
            continue;
        }
        int cost = difference(block, vector, 2);
        for (int j = 0; j < 9; j++) {
            cost += DISAGREEMENT_PENALTY * min(city_distance(vector, around[j]), DISAGREEMENT_LIMIT);
        }
        best = cost < least ? vector : best;
        least = min(cost, least);
    }
    fields[pass.field_vectors + pass.field + block_index(block)] = pack_vector(best);
}
