#version 450
#extension GL_GOOGLE_include_directive : require
#include "interpolation.glsl"
#include "interpolation_match.glsl"
layout(local_size_x = 8, local_size_y = 8) in;

const int DEPARTURE_PENALTY = 4;  // in 1/16 step a pixel away from rest and from what the coarser level says
const int DEPARTURE_LIMIT = 8;
const int LENGTH_PENALTY = 1;     // in 1/16 step a pixel: where a repeated texture fits alike, the shortest
const int SEARCH_LEVEL = 1;       // where blocks that have gone astray are searched for without regard to coarser levels
const int SEARCH_SIDE = 17;       // of the square of displacements tried then, about rest
const int ASTRAY = 8 * 16;        // mean difference from which a block has, in 1/16 step

ivec2 coarser_vector(ivec2 block) {
    ivec2 inside = clamp(block, ivec2(0), pass.coarser_blocks - 1);
    int index = pass.field_vectors + pass.coarser_field + inside.y * pass.coarser_blocks.x + inside.x;
    return 2 * unpack_vector(fields[index]);
}

int penalty(ivec2 vector, ivec2 expected) {
    int length = city_distance(vector, ivec2(0));
    int departure = min(min(city_distance(vector, expected), max(0, length - 2)), DEPARTURE_LIMIT);
    return DEPARTURE_PENALTY * departure + LENGTH_PENALTY * length;
}

// The eight neighbours of no movement.
ivec2 step_to(int neighbour) {
    int position = neighbour < 4 ? neighbour : neighbour + 1;
    return ivec2(position % 3, position / 3) - 1;
}

void main() {
    ivec2 block = ivec2(gl_GlobalInvocationID.xy);
    if (any(greaterThanEqual(block, pass.blocks))) {
        return;
    }
    ivec2 parent = block >> 1, side = (block & 1) * 2 - 1;
    ivec2 expected = coarser_vector(parent);
    ivec2 best = expected, centre = expected;
    int least = 0x7FFFFFFF;
    bool astray = false;
    // What the four nearest coarser blocks say, and rest; then the pixels around the best of these. Above the finest
    // level also those around rest: there a repeated texture has been taken for one that goes the other way. Last, for
    // something small that the coarse levels do not show, every displacement near rest.
    int candidates = pass.level_index > 0 ? 21 : 13;
    for (int i = 0; i < candidates; i++) {
        ivec2 vector = ivec2(0);
        if (i < 4) {
            vector = coarser_vector(parent + ivec2(i & 1, i >> 1) * side);
        } else if (i >= 21) {
            vector = ivec2((i - 21) % SEARCH_SIDE, (i - 21) / SEARCH_SIDE) - SEARCH_SIDE / 2;
        } else if (i >= 13) {
            vector = step_to(i - 13);
        } else if (i >= 5) {
            centre = i == 5 ? best : centre;
            vector = centre + step_to(i - 5);
        }
        if (i > 0 && i < 5 && vector == expected) {
            continue;
        }
        Comparison found = compare(block, vector, 2);
        int cost = mean_difference(found, 2) + penalty(vector, expected);
        if (cost < least) {
            best = vector;
            least = cost;
            astray = found.sum * 16 > ASTRAY * found.samples;
        }
        if (i == 20 && astray && pass.level_index == SEARCH_LEVEL) {
            candidates += SEARCH_SIDE * SEARCH_SIDE;
        }
    }
    fields[pass.field + block_index(block)] = pack_vector(best);
}
