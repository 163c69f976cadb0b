#version 450
#extension GL_GOOGLE_include_directive : require
#include "interpolation.glsl"
#include "interpolation_match.glsl"
layout(local_size_x = 8, local_size_y = 8) in;
layout(constant_id = 0) const float LUMA_SCALE = 255.0;

const float UNEXPLAINED = 12.0;  // mean difference from which a match is in doubt, in 8-bit steps

ivec2 smoothed(ivec2 block) {
    return unpack_vector(fields[pass.field_vectors + pass.field + block_index(block)]);
}

// Mean difference where both pictures are known, in 1/16 step.
float known_difference(ivec2 block, ivec2 vector) {
    Comparison found = compare(block, vector, 2);
    return found.samples == 0 ? 0.0 : float(found.sum * 16) / float(found.samples);
}

// Where the least difference lies between whole pixels, -½…½. The absolute difference has a V about its minimum, so
// both flanks are taken as equally steep (equiangular fit, Shimizu & Okutomi 2001); no difference at all needs none.
float fraction(float before, float here, float after) {
    float rise = max(before, after) - here;
    if (rise < 8.0 || min(before, after) < here) {
        return 0.0;
    }
    float most = here / rise;
    return clamp(0.5 * (before - after) / rise, -most, most);
}

vec2 with_fraction(ivec2 block, ivec2 vector) {
    const ivec2 STEPS[5] = ivec2[](ivec2(0), ivec2(-1, 0), ivec2(1, 0), ivec2(0, -1), ivec2(0, 1));
    float found[5];
    for (int i = 0; i < 5; i++) {
        found[i] = known_difference(block, vector + STEPS[i]);
    }
    return vec2(vector) + vec2(fraction(found[1], found[0], found[2]), fraction(found[3], found[0], found[4]));
}

bool inside(vec2 position) {
    return all(greaterThanEqual(position, vec2(0.0))) && all(lessThanEqual(position, vec2(pass.size)));
}

struct Fit {
    float difference;  // mean difference of both pictures, in steps of 8-bit luma
    float spread;      // standard deviation of the differences: what no change of brightness explains
};

// How well a vector fits, from every second sample of every second line.
Fit fit_along(ivec2 block, vec2 vector) {
    vec2 scale = 1.0 / vec2(pass.size);
    float sum = 0.0, mean = 0.0, square = 0.0, samples = 0.0;
    for (int i = 0; i < 16; i++) {
        vec2 position = vec2(block * BLOCK + ivec2(i % 4, i / 4) * 2) + 1.0;
        vec2 from = position - pass.phase * vector, to = position + (1.0 - pass.phase) * vector;
        if (inside(from) && inside(to)) {
            float apart = textureLod(earlier[0], from * scale, 0.0).r - textureLod(later[0], to * scale, 0.0).r;
            sum += abs(apart) / 16.0;
            mean += apart / 16.0;
            square += apart * apart / 16.0;
            samples += 1.0;
        }
    }
    float unknown = (16.0 - samples) * float(UNKNOWN) / 16.0 / 16.0;
    return Fit(sum * LUMA_SCALE + unknown, sqrt(max(0.0, square - mean * mean)) * LUMA_SCALE);
}

// Share of the eight neighbours that move alike.
float agreement(ivec2 block, ivec2 vector) {
    int limit = 2 + city_distance(vector, ivec2(0)) / 4;
    int agreeing = -1;
    for (int i = 0; i < 9; i++) {
        agreeing += int(city_distance(smoothed(neighbour(block, ivec2(i % 3, i / 3) - 1)), vector) <= limit);
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
    // Believed when it explains most of the change, better than a change of brightness would, leaves little unexplained,
    // and the surroundings move alike.
    float trust = 1.0;
    if (vector != ivec2(0)) {
        Fit standing = fit_along(block, vec2(0.0)), moving = fit_along(block, vec2(vector) / VECTOR_UNIT);
        trust = (1.0 - smoothstep(0.5, 0.8, moving.difference / max(standing.difference, 1.0)))
            * (1.0 - smoothstep(1.0, 1.5, moving.spread / max(standing.spread, 1.0)))
            * (1.0 - smoothstep(UNEXPLAINED, 2.0 * UNEXPLAINED, moving.difference))
            * smoothstep(0.1, 0.4, agreement(block, whole));
    }
    motion[block_index(block)] = uvec2(pack_vector(vector), floatBitsToUint(trust));
}
