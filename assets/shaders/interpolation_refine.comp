#version 450
#extension GL_GOOGLE_include_directive : require
#include "interpolation.glsl"
#include "interpolation_match.glsl"
layout(local_size_x = 8, local_size_y = 8) in;

const int DEPARTURE_PENALTY = 4;  // in 1/16 step a pixel away from what the coarser level says, up to DEPARTURE_LIMIT
const int DEPARTURE_LIMIT = 8;

ivec2 coarser_vector(ivec2 block) {
    ivec2 inside = clamp(block, ivec2(0), pass.coarser_blocks - 1);
    int index = pass.field_vectors + pass.coarser_field + inside.y * pass.coarser_blocks.x + inside.x;
    return 2 * unpack_vector(fields[index]);
}

void main() {
    ivec2 block = ivec2(gl_GlobalInvocationID.xy);
    if (any(greaterThanEqual(block, pass.blocks))) {
        return;
    }
    ivec2 parent = block >> 1, side = (block & 1) * 2 - 1;
    ivec2 expected = coarser_vector(parent);
    ivec2 candidates[4] = ivec2[](
        coarser_vector(parent + ivec2(side.x, 0)), coarser_vector(parent + ivec2(0, side.y)),
        coarser_vector(parent + side), ivec2(0));
    ivec2 best = expected;
    int least = difference(block, expected, 2);
    for (int i = 0; i < 4; i++) {
        if (candidates[i] != expected) {
            int departure = min(city_distance(candidates[i], expected), DEPARTURE_LIMIT);
            int cost = difference(block, candidates[i], 2) + DEPARTURE_PENALTY * departure;
            best = cost < least ? candidates[i] : best;
            least = min(cost, least);
        }
    }
    ivec2 centre = best;
    for (int i = 0; i < 9; i++) {
        ivec2 vector = centre + ivec2(i % 3, i / 3) - 1;
        if (i != 4) {
            int departure = min(city_distance(vector, expected), DEPARTURE_LIMIT);
            int cost = difference(block, vector, 2) + DEPARTURE_PENALTY * departure;
            best = cost < least ? vector : best;
            least = min(cost, least);
        }
    }
    fields[pass.field + block_index(block)] = pack_vector(best);
}
