/**
 *  Matrix multiplication over the block kernel.
 *
 *  Packed weights: [columns / block_columns_k][depth][block_columns_k] f32 numbers, or [..][depth / 2][..] pairs of
 * bf16. The weights of one block of columns stay in the caches near the core while all rows of the call pass by;
 * meanwhile the next block's are fetched, so that short calls, which wait for memory alone, overlap it with arithmetic.
 */
#ifndef UFORM_KERNELS_GENERIC_GEMM_H
#define UFORM_KERNELS_GENERIC_GEMM_H

#include "kernels/generic/block.h"
#include "kernels/generic/functions.h"

enum { packed_step_bytes_k = block_columns_k * sizeof(float) };

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

UFORM_INLINED void gemm_multiply(
    uform_gemm_call_t const *call, bool pairs, block_function_t const *blocks, activate_function_t const *functions) {
    size_t const step_numbers = pairs ? 2 : 1, lane = vector_line_k * step_numbers;
    size_t const depth_steps = call->depth / step_numbers, first_step = call->depth_begin / step_numbers;
    bool const direct = call->accumulate || !pairs;
    float sums[vector_block_rows_k * block_columns_k] __attribute__((aligned(64)));
    block_t block = {
        .inputs_stride = call->inputs.stride_bytes,
        .weights_next = packed_step_bytes_k / 2,
        .weights_step = packed_step_bytes_k,
        .steps = (call->depth_end - call->depth_begin) / step_numbers,
        .outputs_stride = call->outputs.stride_bytes,
    };
    char const *const inputs = (char const *)call->inputs.data + call->depth_begin / lane * block.inputs_stride;
    for (size_t column = call->column_begin; column < call->column_end; column += block_columns_k) {
        block.weights =
            (char const *)call->weights + (column / block_columns_k * depth_steps + first_step) * packed_step_bytes_k;
        block.bias = call->accumulate ? NULL : call->bias + column;
        bool const last = column + block_columns_k >= call->column_end;
        char const *const next = last ? block.weights : block.weights + depth_steps * packed_step_bytes_k;
        for (size_t row = 0, index = 0, rows; row < call->rows; row += rows, ++index) {
            rows = block_rows(call->rows - row);
            gemm_prefetch(&block, next, index, rows == call->rows);
            block.inputs = inputs + row * 64;
            size_t const panel_lane = direct ? vector_line_k : 2 * vector_line_k;
            char *const outputs = (char *)call->outputs.data + column / panel_lane * call->outputs.stride_bytes +
                                  row * 64 + column % panel_lane * (direct ? sizeof(float) : sizeof(uint16_t));
            block.outputs = direct ? outputs : (char *)sums;
            if (!direct) block.outputs_stride = rows * 64;
            blocks[rows - 1](&block);
            if (call->accumulate) continue;
            // Whole lines: each panel of the block holds `rows` of them, one behind the other.
            for (size_t part = 0; part < block_columns_k / vector_line_k; ++part)
                activate(functions, call->activation, (float *)(block.outputs + part * block.outputs_stride),
                    rows * vector_line_k);
            if (!direct) round_block(sums, rows, outputs);
        }
    }
}

enum { limit_chains_k = 12, limit_repeats_k = 1000 };

/// Twelve independent chains of multiply-adds, which is more than units times latency.
UFORM_INLINED double gemm_limit(size_t rounds, bool dot) {
    float volatile seed = 0.999999f;
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
