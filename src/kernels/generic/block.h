/**
 *  The block kernel under every matrix multiplication: up to `vector_block_rows_k` rows by two vectors of columns,
 *  sums in registers, one chain of fused multiply-adds over ascending depth for every element, whatever the number of
 *  rows.
 *
 *  Inputs are panels whose lines hold 16 numbers of 32 bits: f32 numbers, or pairs of bf16. Weights are two vectors a
 *  depth step, `weights_next` bytes apart, steps `weights_step` bytes apart: that describes packed weights, and rows
 *  of values in attention.
 *
 *  Narrow blocks are one vector wide, for what is left at the end of attention's keys: the second vector's place is left alone.
 *
 *  Needs a vocabulary (vector_*.h).
 */
#ifndef UFORM_KERNELS_GENERIC_BLOCK_H
#define UFORM_KERNELS_GENERIC_BLOCK_H

#include <stdbool.h>

#include "kernels/kernels.h"

enum { block_columns_k = 2 * vector_lanes_k };

/// One multiplication of a block.
typedef struct block_t {
    char const *inputs;   ///< first row, first depth
    size_t inputs_stride; ///< from one input panel to the next
    char const *weights;  ///< first vector of the first depth step
    size_t weights_next, weights_step;
    size_t steps;          ///< depth in numbers (or pairs)
    char *outputs;         ///< f32: first row, first column
    size_t outputs_stride; ///< from one output panel to the next
    float const *bias;     ///< of the block's columns; NULL adds the product to what the outputs hold
    char const *prefetch;  ///< what the next block will want: one line a step, or two
    size_t prefetch_next, prefetch_step;
    uform_quantized_row_t const *quantized; ///< of integers: what the rows stand for
    float const *scales;                    ///< and the block's columns
} block_t;

/// Where vector `v` (0 or 1) of a row's outputs begins.
UFORM_INLINED char *block_output(block_t const *block, size_t row, size_t v) {
    return block->outputs + v * vector_lanes_k / vector_line_k * block->outputs_stride + row * 64 +
           v * vector_lanes_k % vector_line_k * sizeof(float);
}

UFORM_INLINED void block_store(
    block_t const *block, size_t rows, size_t vectors, vector_t sums[vector_block_rows_k][2]) {
    if (block->bias) {
        vector_t const bias[2] = {vector_load(block->bias), vector_load(block->bias + vector_lanes_k)};
        UFORM_UNROLLED
        for (size_t row = 0; row < rows; ++row) {
            UFORM_UNROLLED
            for (size_t v = 0; v < vectors; ++v)
                vector_store(block_output(block, row, v), vector_add(sums[row][v], bias[v]));
        }
    } else {
        UFORM_UNROLLED
        for (size_t row = 0; row < rows; ++row) {
            UFORM_UNROLLED
            for (size_t v = 0; v < vectors; ++v) {
                char *const output = block_output(block, row, v);
                vector_store(output, vector_add(vector_load(output), sums[row][v]));
            }
        }
    }
}

#if defined(UFORM_VECTOR_LANES)

#include "kernels/generic/block_lanes.h"

#else

/// Sums of f32 products, or of `dot` products of pairs.
UFORM_INLINED void block_multiply(size_t rows, size_t vectors, block_t const *block, bool dot) {
    vector_t sums[vector_block_rows_k][2];
    UFORM_UNROLLED
    for (size_t row = 0; row < rows; ++row) sums[row][0] = sums[row][1] = vector_zero();
    char const *weights = block->weights, *inputs = block->inputs, *prefetch = block->prefetch;
    size_t const weights_next = block->weights_next, weights_step = block->weights_step;
    size_t const prefetch_next = block->prefetch_next, prefetch_step = block->prefetch_step;
    for (size_t step = 0, steps = block->steps; step < steps; ++step) {
        vector_t columns[2];
        UFORM_UNROLLED
        for (size_t v = 0; v < vectors; ++v) columns[v] = vector_load(weights + v * weights_next);
        vector_prefetch(prefetch);
        vector_prefetch(prefetch + prefetch_next);
        // The lines of the next panel, one a step: each is needed sixteen steps later, all of them at once.
        vector_prefetch_near(inputs + block->inputs_stride + step % vector_line_k * (64 - sizeof(float)));
        UFORM_UNROLLED
        for (size_t row = 0; row < rows; ++row) {
            vector_t const input = vector_set_from(inputs + row * 64);
            UFORM_UNROLLED
            for (size_t v = 0; v < vectors; ++v)
                sums[row][v] = dot ? vector_dot_bf16(input, columns[v], sums[row][v])
                                   : vector_fma(input, columns[v], sums[row][v]);
        }
        weights += weights_step;
        prefetch += prefetch_step;
        inputs += sizeof(float);
        if (step % vector_line_k == vector_line_k - 1) inputs += block->inputs_stride - 64;
    }
    block_store(block, rows, vectors, sums);
}

/// Sums of products of pairs that are widened to f32 first: the first numbers' product is added first.
UFORM_INLINED void block_multiply_widened(size_t rows, size_t vectors, block_t const *block) {
    vector_t sums[vector_block_rows_k][2];
    float widened[vector_block_rows_k][2][vector_line_k] __attribute__((aligned(64)));
    UFORM_UNROLLED
    for (size_t row = 0; row < rows; ++row) sums[row][0] = sums[row][1] = vector_zero();
    char const *weights = block->weights, *inputs = block->inputs, *prefetch = block->prefetch;
    for (size_t first = 0; first < block->steps; first += vector_line_k, inputs += block->inputs_stride) {
        for (size_t row = 0; row < rows; ++row)
            for (size_t i = 0; i < vector_line_k; i += vector_lanes_k) {
                vector_t const pairs = vector_load(inputs + row * 64 + i * sizeof(float));
                vector_store(&widened[row][0][i], vector_even_bf16(pairs));
                vector_store(&widened[row][1][i], vector_odd_bf16(pairs));
            }
        size_t const steps = block->steps - first < vector_line_k ? block->steps - first : vector_line_k;
        for (size_t step = 0; step < steps; ++step, weights += block->weights_step, prefetch += block->prefetch_step) {
            vector_prefetch(prefetch);
            vector_prefetch(prefetch + block->prefetch_next);
            UFORM_UNROLLED
            for (size_t odd = 0; odd < 2; ++odd) {
                vector_t columns[2];
                UFORM_UNROLLED
                for (size_t v = 0; v < vectors; ++v) {
                    vector_t const pairs = vector_load(weights + v * block->weights_next);
                    columns[v] = odd ? vector_odd_bf16(pairs) : vector_even_bf16(pairs);
                }
                UFORM_UNROLLED
                for (size_t row = 0; row < rows; ++row) {
                    vector_t const input = vector_set_from(&widened[row][odd][step]);
                    UFORM_UNROLLED
                    for (size_t v = 0; v < vectors; ++v) sums[row][v] = vector_fma(input, columns[v], sums[row][v]);
                }
            }
        }
    }
    block_store(block, rows, vectors, sums);
}

#endif

typedef void (*block_function_t)(block_t const *block);

/// How many rows the next block takes when `rows` remain: the blocks of a call differ by one row at most, so that none
/// is nearly empty.
static inline size_t block_rows(size_t rows) {
    size_t const blocks = (rows + vector_block_rows_k - 1) / vector_block_rows_k;
    return (rows + blocks - 1) / blocks;
}

#endif
