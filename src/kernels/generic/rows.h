/**
 *  Row normalisation and embedding look-up over the vector vocabulary, for either scalar.
 *
 *  Rows are taken four at a time: their lines are neighbours in every panel, and their sums don't wait for each other.
 */
#ifndef UFORM_KERNELS_GENERIC_ROWS_H
#define UFORM_KERNELS_GENERIC_ROWS_H

#include <math.h>

#include "kernels/kernels.h"

enum {
    rows_at_once_k = 4,
    rows_step_k = 2 * vector_lanes_k, ///< columns taken at once: what one rounding to bf16 takes
};

static inline size_t rows_padded(size_t width) {
    return (width + uform_width_step_k - 1) / uform_width_step_k * uform_width_step_k;
}

UFORM_INLINED char *rows_f32_at(uform_panels_t const *panels, size_t row, size_t column) {
    return (char *)panels->data + column / vector_line_k * panels->stride_bytes + row * 64 +
           column % vector_line_k * sizeof(float);
}

UFORM_INLINED char *rows_bf16_at(uform_panels_t const *panels, size_t row, size_t column) {
    size_t const lane = 2 * vector_line_k;
    return (char *)panels->data + column / lane * panels->stride_bytes + row * 64 + column % lane * sizeof(uint16_t);
}

/// The lanes from `column` on that belong to the real width.
UFORM_INLINED vector_mask_t rows_mask(size_t width, size_t column) {
    return vector_first(column < width ? width - column : 0);
}

/// Means of `count` rows, and what one over the deviation is.
UFORM_INLINED void rows_moments(
    uform_normalize_call_t const *call, size_t row, size_t count, vector_t *means, vector_t *factors) {
    size_t const padded = rows_padded(call->width);
    vector_t sums[rows_at_once_k], squares[rows_at_once_k];
    UFORM_UNROLLED
    for (size_t r = 0; r < count; ++r) sums[r] = squares[r] = vector_zero();
    for (size_t column = 0; column < padded; column += vector_lanes_k) {
        vector_mask_t const mask = rows_mask(call->width, column);
        UFORM_UNROLLED
        for (size_t r = 0; r < count; ++r) {
            vector_t const x = vector_load(rows_f32_at(&call->residual, row + r, column));
            sums[r] = vector_add(sums[r], vector_select(mask, x, vector_zero()));
        }
    }
    UFORM_UNROLLED
    for (size_t r = 0; r < count; ++r) means[r] = vector_set(vector_sum(sums[r]) / (float)call->width);
    for (size_t column = 0; column < padded; column += vector_lanes_k) {
        vector_mask_t const mask = rows_mask(call->width, column);
        UFORM_UNROLLED
        for (size_t r = 0; r < count; ++r) {
            vector_t const x = vector_load(rows_f32_at(&call->residual, row + r, column));
            vector_t const difference = vector_select(mask, vector_subtract(x, means[r]), vector_zero());
            squares[r] = vector_fma(difference, difference, squares[r]);
        }
    }
    UFORM_UNROLLED
    for (size_t r = 0; r < count; ++r)
        factors[r] = vector_set(1.0f / sqrtf(vector_sum(squares[r]) / (float)call->width + call->epsilon));
}

/// The normalised numbers of one vector; the padding becomes zeros even in a row of NaNs.
UFORM_INLINED vector_t rows_normalized(uform_normalize_call_t const *call, size_t row, size_t column, vector_t mean,
    vector_t factor, vector_t gain, vector_t shift) {
    vector_t const x = vector_load(rows_f32_at(&call->residual, row, column));
    vector_t const y = vector_fma(vector_multiply(vector_subtract(x, mean), factor), gain, shift);
    return vector_select(rows_mask(call->width, column), y, vector_zero());
}

UFORM_INLINED void rows_normalize_few(uform_normalize_call_t const *call, size_t row, size_t count, bool bf16) {
    vector_t means[rows_at_once_k], factors[rows_at_once_k];
    rows_moments(call, row, count, means, factors);
    for (size_t column = 0, padded = rows_padded(call->width); column < padded; column += rows_step_k) {
        size_t const next = column + vector_lanes_k;
        vector_t const low_gain = vector_load(call->gain + column), high_gain = vector_load(call->gain + next);
        vector_t const low_shift = vector_load(call->shift + column), high_shift = vector_load(call->shift + next);
        vector_t const low_bias = call->next_bias ? vector_load(call->next_bias + column) : vector_zero();
        vector_t const high_bias = call->next_bias ? vector_load(call->next_bias + next) : vector_zero();
        UFORM_UNROLLED
        for (size_t r = 0; r < count; ++r) {
            vector_t const low = rows_normalized(call, row + r, column, means[r], factors[r], low_gain, low_shift);
            vector_t const high = rows_normalized(call, row + r, next, means[r], factors[r], high_gain, high_shift);
            if (bf16) vector_store_bf16(rows_bf16_at(&call->outputs, row + r, column), low, high);
            else {
                vector_store(rows_f32_at(&call->outputs, row + r, column), low);
                vector_store(rows_f32_at(&call->outputs, row + r, next), high);
            }
            vector_store(rows_f32_at(&call->residual, row + r, column), vector_add(low, low_bias));
            vector_store(rows_f32_at(&call->residual, row + r, next), vector_add(high, high_bias));
        }
    }
}

UFORM_INLINED void rows_normalize(uform_normalize_call_t const *call, bool bf16) {
    size_t row = 0;
    for (; row + rows_at_once_k <= call->rows; row += rows_at_once_k)
        rows_normalize_few(call, row, rows_at_once_k, bf16);
    for (; row < call->rows; ++row) rows_normalize_few(call, row, 1, bf16);
}

UFORM_INLINED vector_t rows_table_load(char const *row, size_t column, bool bf16) {
    return bf16 ? vector_load_bf16(row + column * sizeof(uint16_t)) : vector_load(row + column * sizeof(float));
}

UFORM_INLINED void rows_lookup(uform_lookup_call_t const *call, bool bf16) {
    size_t const padded = rows_padded(call->width), stride = padded * (bf16 ? sizeof(uint16_t) : sizeof(float));
    for (size_t row = 0; row < call->rows; ++row) {
        char const *const words = (char const *)call->words + call->ids[row] * stride;
        char const *const types = (char const *)call->types + call->type_ids[row] * stride;
        char const *const positions = (char const *)call->positions + call->position_ids[row] * stride;
        for (size_t column = 0; column < padded; column += vector_lanes_k) {
            vector_t sum = vector_add(rows_table_load(words, column, bf16), rows_table_load(types, column, bf16));
            sum = vector_add(sum, rows_table_load(positions, column, bf16));
            vector_store(rows_f32_at(&call->residual, row, column),
                vector_select(rows_mask(call->width, column), sum, vector_zero()));
        }
    }
}

#endif
