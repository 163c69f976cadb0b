#version 450
// Y'CbCr (or G, B, R) planes to R'G'B'. All numbers come from app/engine/vulkan/colour.py and geometry.py.
layout(constant_id = 0) const int PLANE_COUNT = 3;  // 1 grey, 2 luma + interleaved chroma, 3 planar

layout(set = 0, binding = 0) uniform sampler2D plane_0;
layout(set = 0, binding = 1) uniform sampler2D plane_1;
layout(set = 0, binding = 2) uniform sampler2D plane_2;

layout(push_constant) uniform Conversion {
    vec4 red;             // xyz: weights of the three components as sampled, w: offset
    vec4 green;
    vec4 blue;
    vec4 picture_x;       // x of the picture position in picture pixels = dot(xy, gl_FragCoord.xy) + z
    vec4 picture_y;
    vec4 plane_scale;     // xy: picture pixels to plane 0 coordinates, zw: to chroma plane coordinates
    vec4 chroma_offset;   // xy: chroma siting, in chroma plane coordinates
} conversion;

layout(location = 0) out vec4 colour;

void main() {
    vec2 position = vec2(
        dot(conversion.picture_x.xy, gl_FragCoord.xy) + conversion.picture_x.z,
        dot(conversion.picture_y.xy, gl_FragCoord.xy) + conversion.picture_y.z);
    vec2 chroma = position * conversion.plane_scale.zw + conversion.chroma_offset.xy;
    vec4 sampled = vec4(texture(plane_0, position * conversion.plane_scale.xy).r, 0.0, 0.0, 1.0);
    if (PLANE_COUNT == 2) {
        sampled.yz = texture(plane_1, chroma).rg;
    } else if (PLANE_COUNT == 3) {
        sampled.y = texture(plane_1, chroma).r;
        sampled.z = texture(plane_2, chroma).r;
    }
    colour = vec4(
        dot(conversion.red, sampled), dot(conversion.green, sampled), dot(conversion.blue, sampled), 1.0);
}
