#version 450
#extension GL_GOOGLE_include_directive : require
#include "interpolation.glsl"
#include "interpolation_plane.glsl"
layout(constant_id = 4) const int SHIFT_X = 0;  // log2 of the plane's subsampling
layout(constant_id = 5) const int SHIFT_Y = 0;
layout(constant_id = 6) const int LEVELS = EVIDENCE_LEVELS;  // on which evidence was taken

const float ONE_MOTION = 24.0;  // in VECTOR_UNIT: vectors this close are one motion, further apart they are two

vec2 subsampling() {
    return vec2(1 << SHIFT_X, 1 << SHIFT_Y);
}

// Weights of Catmull-Rom's cubic for the four samples about a position `t` after the second.
vec4 cubic(float t) {
    return vec4(
        ((-0.5 * t + 1.0) * t - 0.5) * t, (1.5 * t - 2.5) * t * t + 1.0,
        ((-1.5 * t + 2.0) * t + 0.5) * t, (0.5 * t - 0.5) * t * t);
}

// A gather gives the lower left, lower right, upper right and upper left of the four texels about a corner.
vec4 around(sampler2D plane, vec2 corner, int component) {
    return component == 0 ? textureGather(plane, corner, 0) : textureGather(plane, corner, 1);
}

float cubic_at(sampler2D plane, vec2 corner, vec2 step, vec4 across, vec4 down, int component) {
    vec4 left_up = around(plane, corner, component), right_up = around(plane, corner + vec2(step.x, 0), component);
    vec4 left_down = around(plane, corner + vec2(0, step.y), component);
    vec4 right_down = around(plane, corner + step, component);
    return dot(down, vec4(
        dot(across, vec4(left_up.wz, right_up.wz)), dot(across, vec4(left_up.xy, right_up.xy)),
        dot(across, vec4(left_down.wz, right_down.wz)), dot(across, vec4(left_down.xy, right_down.xy))));
}

// A line between two samples would soften every other picture; the cubic keeps detail. Whole positions are exact.
vec2 codes_at(sampler2D plane, vec2 position) {
    vec2 start = floor(position), t = position - start;
    ivec2 last = textureSize(plane, 0) - 1;
    if (t == vec2(0.0)) {
        return round(texelFetch(plane, clamp(ivec2(start), ivec2(0), last), 0).rg * CODES);
    }
    vec2 scale = 1.0 / vec2(last + 1);
    vec4 across = cubic(t.x), down = cubic(t.y);
    vec2 value = vec2(cubic_at(plane, start * scale, 2.0 * scale, across, down, 0), 0.0);
    if (COMPONENTS == 2) {
        value.y = cubic_at(plane, start * scale, 2.0 * scale, across, down, 1);
    }
    return value * CODES;
}

bool inside(vec2 position, ivec2 plane_size) {
    return all(greaterThan(position, vec2(-0.51))) && all(lessThan(position, vec2(plane_size) - 0.49));
}

// The texel along a vector in VECTOR_UNIT. What one picture does not show, beyond its edge, the other one does.
vec2 along(ivec2 texel, vec2 vector, ivec2 plane_size) {
    vec2 way = vector / (VECTOR_UNIT * subsampling());
    vec2 from = vec2(texel) - pass.phase * way, to = vec2(texel) + (1.0 - pass.phase) * way;
    bool has_from = inside(from, plane_size), has_to = inside(to, plane_size);
    float share = has_from == has_to ? pass.phase : has_from ? 0.0 : 1.0;
    return (1.0 - share) * codes_at(earlier[PLANE], from) + share * codes_at(later[PLANE], to);
}

// Most of what changed, and that is no small part of the picture, has no match on any level: a cut. Chance matches of
// single blocks would then be worse than none.
float belief_in_motion() {
    float unmatched = 1.0;
    for (int level = 0; level < LEVELS; level++) {
        float few = 0.25 * float(pass.blocks.x * pass.blocks.y >> 2 * level);
        unmatched = min(unmatched, float(tally[level].y) / max(float(tally[level].x), few));
    }
    return 1.0 - smoothstep(0.3, 0.5, unmatched);
}

vec2 compensated(ivec2 texel, ivec2 plane_size, float belief) {
    vec2 grid = (vec2(texel) + 0.5) * subsampling() / float(BLOCK) - 0.5;
    ivec2 block = ivec2(floor(grid));
    vec2 t = grid - vec2(block);
    vec4 weights = vec4((1.0 - t.x) * (1.0 - t.y), t.x * (1.0 - t.y), (1.0 - t.x) * t.y, t.x * t.y);
    vec4 right, down, trusts;
    for (int i = 0; i < 4; i++) {
        uvec2 found = motion[block_index(block + ivec2(i & 1, i >> 1))];
        vec2 vector = vec2(unpack_vector(found.x));
        right[i] = vector.x;
        down[i] = vector.y;
        trusts[i] = uintBitsToFloat(found.y) * belief;
    }
    vec4 apart = max(abs(right - right.x), abs(down - down.x));
    bool one_motion = all(lessThanEqual(apart, vec4(ONE_MOTION)));
    vec2 mean = vec2(dot(weights, right), dot(weights, down));
    weights *= trusts;
    float trust = dot(weights, vec4(1.0));
    vec2 result = trust < 1.0 ? (1.0 - trust) * blended(texel) : vec2(0.0);
    // Overlapped blocks where things part: a vector between two motions would be that of neither.
    for (int i = 0; i < (one_motion ? 1 : 4); i++) {
        float weight = one_motion ? trust : weights[i];
        if (weight > 0.0) {
            result += weight * along(texel, one_motion ? mean : vec2(right[i], down[i]), plane_size);
        }
    }
    return result;
}

void main() {
    ivec2 word = ivec2(gl_GlobalInvocationID.xy);
    ivec2 plane_size = textureSize(earlier[PLANE], 0);
    if (word.x >= pass.output_stride || word.y >= plane_size.y) {
        return;
    }
    float belief = belief_in_motion();
    uint bits = 0;
    for (int i = 0; i < TEXELS; i++) {
        ivec2 texel = ivec2(min(word.x * TEXELS + i, plane_size.x - 1), word.y);
        bits |= packed_codes(compensated(texel, plane_size, belief), i);
    }
    made[pass.output_word + word.y * pass.output_stride + word.x] = bits;
}
