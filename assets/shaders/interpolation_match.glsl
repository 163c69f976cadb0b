// How well a displacement fits a block, on the packed samples of a pyramid level.

const int WINDOW = 16;        // side of what is compared: the block and half a block around it
const int UNKNOWN = 10 * 16;  // difference assumed where a displacement leaves the picture; between a match and none

// Sum of the absolute differences of four samples, as two sums in the halves of a word.
uint absolute_differences(uint a, uint b) {
    uint sums = 0;
    for (int odd = 0; odd < 2; odd++) {
        uint difference = (a & 0x00FF00FFu | 0x01000100u) - (b & 0x00FF00FFu);
        uint negative = (difference >> 8 & 0x00010001u) ^ 0x00010001u;
        sums += (difference & 0x00FF00FFu ^ negative * 0xFFu) + negative;
        a >>= 8;
        b >>= 8;
    }
    return sums;
}

// Five words that hold the sixteen samples from `x` on; words beyond the line are read from its end.
struct Columns {
    ivec4 words;
    int last;
    int shift;
};

Columns columns_from(int x) {
    int first = x >> 2;
    return Columns(
        clamp(ivec4(first, first + 1, first + 2, first + 3), 0, pass.stride - 1),
        clamp(first + 4, 0, pass.stride - 1), (x & 3) * 8);
}

uvec4 sixteen_samples(int line, Columns columns) {
    uvec4 low = uvec4(
        luma[line + columns.words.x], luma[line + columns.words.y],
        luma[line + columns.words.z], luma[line + columns.words.w]);
    uvec4 high = uvec4(low.yzw, luma[line + columns.last]);
    return low >> columns.shift | high << 1 << 31 - columns.shift;
}

struct Comparison {
    int sum;      // of absolute differences, in steps of 8-bit luma
    int samples;  // that both pictures have
};

// Compares every `row_step`-th line of a block's window.
Comparison compare(ivec2 block, ivec2 vector, int row_step) {
    ivec2 from = block * BLOCK - (WINDOW - BLOCK) / 2 - ivec2(floor(pass.phase * vec2(vector) + 0.5));
    ivec2 to = from + vector;
    ivec4 column = ivec4(0, 4, 8, 12);
    ivec4 leftmost = min(from.x, to.x) + column;
    ivec4 rightmost = max(from.x, to.x) + column + 3;
    uvec4 known = uvec4(greaterThanEqual(leftmost, ivec4(0))) * uvec4(lessThan(rightmost, ivec4(pass.size.x)));
    uvec4 mask = known * 0xFFFFFFFFu;
    int first_row = max(0, -min(from.y, to.y));
    first_row += first_row % row_step;
    int end_row = min(WINDOW, pass.size.y - max(from.y, to.y));
    Columns earlier_columns = columns_from(from.x), later_columns = columns_from(to.x);
    uvec4 sums = uvec4(0);
    for (int row = first_row; row < end_row; row += row_step) {
        int earlier_line = pass.level + (from.y + row) * pass.stride;
        int later_line = pass.level + pass.pyramid_words + (to.y + row) * pass.stride;
        uvec4 a = sixteen_samples(earlier_line, earlier_columns) & mask;
        uvec4 b = sixteen_samples(later_line, later_columns) & mask;
        sums.x += absolute_differences(a.x, b.x) + absolute_differences(a.y, b.y);
        sums.y += absolute_differences(a.z, b.z) + absolute_differences(a.w, b.w);
    }
    uint halves = sums.x + sums.y;
    int sum = int((halves & 0xFFFFu) + (halves >> 16));
    int rows = max(0, end_row - first_row + row_step - 1) / row_step;
    return Comparison(sum, rows * 4 * int(known.x + known.y + known.z + known.w));
}

// Mean absolute difference in 1/16 of a step.
int mean_difference(Comparison found, int row_step) {
    int all_samples = WINDOW * WINDOW / row_step;
    return (found.sum * 16 + UNKNOWN * (all_samples - found.samples)) / all_samples;
}

int difference(ivec2 block, ivec2 vector, int row_step) {
    return mean_difference(compare(block, vector, row_step), row_step);
}

int city_distance(ivec2 one, ivec2 other) {
    ivec2 apart = abs(one - other);
    return apart.x + apart.y;
}
