#version 450
#extension GL_GOOGLE_include_directive : require
#include "interpolation.glsl"
#include "interpolation_match.glsl"
layout(local_size_x = 64) in;
layout(constant_id = 0) const int SEARCH_RADIUS = 6;

const int LENGTH_PENALTY = 2;  // in 1/16 step a pixel: of displacements that fit alike, repeated textures, the shortest

shared uint best;

void main() {
    if (gl_LocalInvocationIndex == 0) {
        best = 0xFFFFFFFFu;
    }
    barrier();
    ivec2 block = ivec2(gl_WorkGroupID.xy);
    int side = 2 * SEARCH_RADIUS + 1;
    for (int candidate = int(gl_LocalInvocationIndex); candidate < side * side; candidate += 64) {
        ivec2 vector = ivec2(candidate % side, candidate / side) - SEARCH_RADIUS;
        int cost = difference(block, vector, 1) + LENGTH_PENALTY * city_distance(vector, ivec2(0));
        atomicMin(best, uint(cost) << 16 | uint(candidate));
    }
    barrier();
    if (gl_LocalInvocationIndex == 0) {
        int candidate = int(best & 0xFFFFu);
        fields[pass.field + block_index(block)] =
            pack_vector(ivec2(candidate % side, candidate / side) - SEARCH_RADIUS);
    }
}
