#version 450
#extension GL_GOOGLE_include_directive : require
#include "interpolation.glsl"
#include "interpolation_match.glsl"
layout(local_size_x = 8, local_size_y = 8) in;
layout(constant_id = 0) const float LUMA_SCALE = 255.0;

const float CHANGED = 3.0;  // mean difference from which a block counts as changed, in 8-bit steps
const float UNEXPLAINED = 12.0;  // mean difference from which a match is in doubt

ivec2 smoothed(ivec2 block) {
    return unpack_vector(fields[pass.field_vectors + pass.field + block_index(block)]);
}

// Where the least difference lies between whole pixels, -½…½. The absolute difference has a V about its minimum, so
// both flanks are taken as equally steep (equiangular fit, Shimizu & Okutomi 2001); no difference at all needs none.
float fraction(int before, int here, int after) {
    int rise = max(before, after) - here;
    if (rise < 8 || min(before, after) < here) {
        return 0.0;
    }
    float most = float(here) / float(rise);
    return clamp(0.5 * float(before - after) / float(rise), -most, most);
}

vec2 with_fraction(ivec2 block, ivec2 vector) {
    int here = difference(block, vector, 2);
    return vec2(vector) + vec2(
        fraction(difference(block, vector - ivec2(1, 0), 2), here, difference(block, vector + ivec2(1, 0), 2)),
        fraction(difference(block, vector - ivec2(0, 1), 2), here, difference(block, vector + ivec2(0, 1), 2)));
}

bool inside(vec2 position) {
    return all(greaterThanEqual(position, vec2(0.0))) && all(lessThanEqual(position, vec2(pass.size)));
}

// Mean difference of both pictures along a vector, in 8-bit steps, from every second sample of every second line.
float difference_along(ivec2 block, vec2 vector) {
    vec2 scale = 1.0 / vec2(pass.size);
    float sum = 0.0, samples = 0.0;
    for (int i = 0; i < 16; i++) {
        vec2 position = vec2(block * BLOCK + ivec2(i % 4, i / 4) * 2) + 1.0;
        vec2 from = position - pass.phase * vector, to = position + (1.0 - pass.phase) * vector;
        if (inside(from) && inside(to)) {
            sum += abs(textureLod(earlier[0], from * scale, 0.0).r - textureLod(later[0], to * scale, 0.0).r);
            samples += 1.0;
        }
    }
    return (sum * LUMA_SCALE + (16.0 - samples) * float(UNKNOWN) / 16.0) / 16.0;
}

// Share of the eight neighbours that move alike.
float agreement(ivec2 block, ivec2 vector) {
    int limit = 2 + city_distance(vector, ivec2(0)) / 4;
    int agreeing = -1;
    for (int i = 0; i < 9; i++) {
        agreeing += int(city_distance(smoothed(block + ivec2(i % 3, i / 3) - 1), vector) <= limit);
    }
    return float(agreeing) / 8.0;
}

void main() {
    ivec2 block = ivec2(gl_GlobalInvocationID.xy);
    if (any(greaterThanEqual(block, pass.blocks))) {
        return;
    }
    ivec2 whole = smoothed(block);
    ivec2 vector = ivec2(round(with_fraction(block, whole) * VECTOR_UNIT));
    float standing = difference_along(block, vec2(0.0));
    float moving = vector == ivec2(0) ? standing : difference_along(block, vec2(vector) / VECTOR_UNIT);
    // Believed when it explains most of the change, leaves little unexplained and the surroundings move alike.
    float trust = vector == ivec2(0) ? 1.0
        : (1.0 - smoothstep(0.5, 0.8, moving / max(standing, 1.0)))
            * (1.0 - smoothstep(UNEXPLAINED, 2.0 * UNEXPLAINED, moving))
            * smoothstep(0.1, 0.4, agreement(block, whole));
    motion[block_index(block)] = uvec2(pack_vector(vector), floatBitsToUint(trust));
    if (standing > CHANGED) {
        atomicAdd(changed_blocks, 1);
        if (trust < 0.5 || moving > UNEXPLAINED) {
            atomicAdd(unmatched_blocks, 1);
        }
    }
}
