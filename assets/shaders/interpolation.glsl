// What the passes of frame interpolation share: parameters, the two pictures, buffers and the packing of vectors.
// The passes, in order, with app/engine/vulkan/interpolation.py that records them:
//   luma      planes 0 of both pictures as 8-bit samples, four to a word
//   halve     the next coarser level of both, once a level
//   search    every displacement within SEARCH_RADIUS, on the coarsest level
//   refine    vectors of a level from those of the next coarser one
//   smooth    each block takes its own or a neighbour's vector, whichever fits both picture and surroundings
//   evidence  how much of the picture has changed, and how much of that has no match: is there a cut?
//   trust     fractions of a pixel, and how far a block's vector is to be believed
//   compensate, blend   the made-up picture, once a plane
//
// A vector is where the content of the earlier picture has gone in the later one. Blocks lie on the grid of the made-up
// picture, at `phase` between both: its pixel p shows earlier[p - phase * v] and later[p + (1 - phase) * v]. So every
// pixel has exactly one vector: no holes and no overlaps, as forward projection would give.

const int BLOCK = 8;            // side of a block in pixels of its level
const float VECTOR_UNIT = 16.0; // parts of a pixel in `motion`; vectors of `fields` are whole pixels of their level

const int EVIDENCE_LEVELS = 3;

layout(push_constant) uniform Pass {
    ivec2 size;            // of the level, in pixels
    ivec2 blocks;          // of the level
    int stride;            // words a line of the level
    int level;             // first word of the level in a pyramid
    int field;             // first vector of the level
    int finer_stride;      // of the next finer level, for halve
    ivec2 finer_size;
    int finer_level;
    int coarser_field;     // of the next coarser level, for refine
    ivec2 coarser_blocks;
    int pyramid_words;     // from a word of the earlier picture's pyramid to that of the later one
    int field_vectors;     // from a vector as found to the same as smoothed
    int output_word;       // first word of the plane, for compensate and blend
    int output_stride;     // words a line of the plane
    int level_index;       // 0 is the finest level
    float phase;           // of the made-up picture: 0 is the earlier picture, 1 the later one
} pass;

layout(set = 0, binding = 0) uniform sampler2D earlier[3];
layout(set = 1, binding = 0) uniform sampler2D later[3];
layout(set = 2, binding = 0) buffer Pyramids { uint luma[]; };
layout(set = 2, binding = 1) buffer Fields { uint fields[]; };
layout(set = 2, binding = 2) buffer Motion {
    uvec2 tally[EVIDENCE_LEVELS];  // x: blocks that changed, y: those of them that have no match; once a level
    uvec2 motion[];                // x: vector, y: trust 0…1 as float
};
layout(set = 2, binding = 3) buffer MadePicture { uint made[]; };

uint pack_vector(ivec2 vector) {
    return uint(vector.x & 0xFFFF) | uint(vector.y) << 16;
}

ivec2 unpack_vector(uint packed_vector) {
    return ivec2(bitfieldExtract(int(packed_vector), 0, 16), int(packed_vector) >> 16);
}

int block_index(ivec2 block) {
    ivec2 inside = clamp(block, ivec2(0), pass.blocks - 1);
    return inside.y * pass.blocks.x + inside.x;
}

// The block `offset` away; over the edge of the grid the one on the other side, so that no block is its own neighbour.
ivec2 neighbour(ivec2 block, ivec2 offset) {
    ivec2 there = block + offset;
    bvec2 outside = bvec2(there.x < 0 || there.x >= pass.blocks.x, there.y < 0 || there.y >= pass.blocks.y);
    return mix(there, block - offset, outside);
}
