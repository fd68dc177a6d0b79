/**
 *  Matrix multiplication over the block kernel.
 *
 *  Packed weights: [columns / block_columns_k][depth][block_columns_k] f32 numbers, [..][depth / 2][..] pairs of bf16, or
 *  more integers behind their scales. The weights of one block of columns stay in the caches near the core while all rows of the call pass by;
 *  meanwhile the next block's are fetched, so that short calls, which wait for memory alone, overlap it with
 *  arithmetic.
 */
#ifndef UFORM_KERNELS_GENERIC_GEMM_H
#define UFORM_KERNELS_GENERIC_GEMM_H

#include "kernels/generic/block.h"
#include "kernels/generic/functions.h"

enum { packed_step_bytes_k = block_columns_k * sizeof(float) };

/// What a group multiplies.
typedef struct gemm_scheme_t {
    size_t step_numbers; ///< depths of a step: what 32 bits of the inputs hold
    size_t step_bytes;   ///< packed weights of a step
    size_t depth_step;   ///< what the packed depth is a multiple of
    bool rounds;         ///< outputs are rounded to bf16, else they are f32
    bool scaled;         ///< sums are of integers, and the packed weights begin with [columns] scales
} gemm_scheme_t;

/// Rounds `rows` rows of a block of sums to bf16 and stores them where the outputs want them.
UFORM_INLINED void round_block(float const *sums, size_t rows, char *outputs) {
    for (size_t row = 0; row < rows; ++row) {
        float const *const low = sums + row * vector_line_k;
        // The second vector is in the same line, or in the line of the next panel.
        float const *const high = low + (vector_lanes_k < vector_line_k ? vector_lanes_k : rows * vector_line_k);
        vector_store_bf16(outputs + row * 64, vector_load(low), vector_load(high));
    }
}

/// Which part of the next block's weights the rows' block number `index` fetches: the first two share them.
UFORM_INLINED void gemm_prefetch(block_t *block, char const *next, size_t index, bool alone) {
    block->prefetch = next + (alone ? 0 : index % 2 * block->steps * 64);
    block->prefetch_next = alone ? 64 : 0;
    block->prefetch_step = alone ? 128 : 64;
    if (index > 1) block->prefetch_step = 0;
}

/// One block of columns over rows [row_begin, row_end). `next` are the weights that come after, of as many steps.
UFORM_INLINED void gemm_multiply_columns(uform_gemm_call_t const *call, block_t block, size_t column, size_t row_begin,
    size_t row_end, char const *next, gemm_scheme_t scheme, block_function_t const *blocks,
    activate_function_t const *functions) {
    // Outputs of bf16 are summed and activated aside, then rounded.
    bool const direct = call->accumulate || !scheme.rounds;
    float sums[vector_block_rows_k * block_columns_k] __attribute__((aligned(64)));
    size_t const lane = direct ? vector_line_k : 2 * vector_line_k;
    char *const outputs = (char *)call->outputs.data + column / lane * call->outputs.stride_bytes +
                          column % lane * (direct ? sizeof(float) : sizeof(uint16_t));
    char const *const inputs = block.inputs;
    for (size_t row = row_begin, index = 0, rows; row < row_end; row += rows, ++index) {
        rows = block_rows(row_end - row);
        gemm_prefetch(&block, next, index, rows == row_end - row_begin);
        block.inputs = inputs + row * 64;
        if (scheme.scaled) block.quantized = call->quantized + row;
        block.outputs = direct ? outputs + row * 64 : (char *)sums;
        block.outputs_stride = direct ? call->outputs.stride_bytes : rows * 64;
        blocks[rows - 1](&block);
        if (call->accumulate) continue;
        // Whole lines: each panel of the block holds `rows` of them, one behind the other.
        for (size_t part = 0; part < block_columns_k / vector_line_k; ++part)
            activate(functions, call->activation, (float *)(block.outputs + part * block.outputs_stride),
                rows * vector_line_k);
        if (!direct) round_block(sums, rows, outputs + row * 64);
    }
}

/// How many rows pass by all columns while their inputs stay in the cache: equal parts of the call, in whole blocks.
UFORM_INLINED size_t gemm_rows_at_once(size_t rows, size_t row_bytes) {
    size_t const fitting = vector_cache_bytes_k / (row_bytes + 1) + 1, parts = (rows + fitting - 1) / fitting;
    size_t const share = (rows + parts - 1) / parts;
    return (share + vector_block_rows_k - 1) / vector_block_rows_k * vector_block_rows_k;
}

UFORM_INLINED void gemm_multiply(uform_gemm_call_t const *call, gemm_scheme_t scheme, block_function_t const *blocks,
    activate_function_t const *functions) {
    size_t const begin = call->depth_begin / scheme.step_numbers;
    size_t const end =
        (call->depth_end + scheme.depth_step - 1) / scheme.depth_step * scheme.depth_step / scheme.step_numbers;
    size_t const depth =
        (call->depth + scheme.depth_step - 1) / scheme.depth_step * scheme.depth_step / scheme.step_numbers;
    block_t block = {
        .inputs = (char const *)call->inputs.data + begin / vector_line_k * call->inputs.stride_bytes,
        .inputs_stride = call->inputs.stride_bytes,
        .weights_next = scheme.step_bytes / 2,
        .weights_step = scheme.step_bytes,
        .steps = end - begin,
    };
    float const *const scales = scheme.scaled ? call->weights : NULL;
    char const *const packed = scheme.scaled ? (char const *)(scales + call->columns) : call->weights;
    // From the weights of one block of columns to those of the next.
    size_t const stride = depth * scheme.step_bytes;
    char const *const first = packed + call->column_begin / block_columns_k * stride + begin * scheme.step_bytes;
    size_t const rows_at_once = gemm_rows_at_once(call->rows, block.steps * sizeof(float));
    for (size_t row = 0; row < call->rows; row += rows_at_once) {
        size_t const row_end = row + rows_at_once < call->rows ? row + rows_at_once : call->rows;
        block.weights = first;
        for (size_t column = call->column_begin; column < call->column_end; column += block_columns_k) {
            block.bias = call->accumulate ? NULL : call->bias + column;
            if (scheme.scaled) block.scales = scales + column;
            char const *const next = column + block_columns_k < call->column_end ? block.weights + stride : first;
            gemm_multiply_columns(call, block, column, row, row_end, next, scheme, blocks, functions);
            block.weights += stride;
        }
    }
}

enum { limit_chains_k = 2 * vector_block_rows_k, limit_repeats_k = 1000 };

/// As many independent chains of multiply-adds as the block kernel has, which is more than units times latency.
UFORM_INLINED double gemm_limit(size_t rounds, bool dot) {
    float volatile seed = 0.5f;
    vector_t const factor = vector_set(seed);
    vector_t sums[limit_chains_k];
    UFORM_UNROLLED
    for (size_t i = 0; i < limit_chains_k; ++i) sums[i] = vector_set((float)i);
    for (size_t round = 0; round < rounds * limit_repeats_k; ++round) {
        UFORM_UNROLLED
        for (size_t i = 0; i < limit_chains_k; ++i)
            sums[i] = dot ? vector_dot_bf16(factor, factor, sums[i]) : vector_fma(sums[i], factor, factor);
    }
    UFORM_UNROLLED
    for (size_t i = 0; i < limit_chains_k; ++i) seed = vector_sum(sums[i]);
    return (double)rounds * limit_repeats_k * limit_chains_k * vector_lanes_k * (dot ? 4 : 2);
}

#endif
