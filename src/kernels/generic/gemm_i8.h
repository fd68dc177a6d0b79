/**
 *  The `gemm_i8` group over the vocabularies of vectors and bytes: the blocks of the other groups, with sums of integers, which
 *  are exact, and scaled at their end.
 *
 *  Packed weights: [columns] f32 scales, then [columns / block_columns_k][depth / bytes_step_k][block_columns_k][bytes_step_k]
 *  integers, each larger by `bytes_bias_k` than it is; depth is rounded up to `uform_rotation_k`.
 */
#ifndef UFORM_KERNELS_GENERIC_GEMM_I8_H
#define UFORM_KERNELS_GENERIC_GEMM_I8_H

#include "kernels/generic/activate_fast.h"
#include "kernels/generic/gemm.h"
#include "kernels/generic/quantize.h"
#if defined(UFORM_BYTES_LANES)
#include "kernels/generic/block_lanes_i8.h"
#endif

/// Scales the sums of a block and adds them to what is there, or to the bias.
UFORM_INLINED void block_scale(
    block_t const *block, size_t rows, bytes_t sums[vector_block_rows_k][2], float const *bias) {
    uform_quantized_row_t const *const quantized = block->quantized;
    vector_t const scales[2] = {vector_load(block->scales), vector_load(block->scales + vector_lanes_k)};
    char *const outputs[2] = {block_output(block, 0, 0), block_output(block, 0, 1)};
    UFORM_UNROLLED
    for (size_t row = 0; row < rows; ++row) {
        vector_t const scale = vector_set_from(&quantized[row].scale);
        UFORM_UNROLLED
        for (size_t v = 0; v < 2; ++v) {
            char *const output = outputs[v] + row * 64;
            vector_t const product = vector_multiply(bytes_to_vector(sums[row][v]), scale);
            vector_t const before = vector_load(bias ? (char const *)(bias + v * vector_lanes_k) : output);
            vector_store(output, vector_fma(product, scales[v], before));
        }
    }
}

UFORM_INLINED void block_multiply_i8(size_t rows, block_t const *block) {
    bytes_t sums[vector_block_rows_k][2];
    UFORM_UNROLLED
    for (size_t row = 0; row < rows; ++row)
        // Unsigned, since the sum of a row that holds no numbers is any.
        sums[row][0] = sums[row][1] = bytes_set((int32_t)(0u - bytes_bias_k * (uint32_t)block->quantized[row].sum));
#if defined(UFORM_BYTES_LANES)
    block_sum_i8(rows, block, sums);
#else
    char const *weights = block->weights, *inputs = block->inputs, *prefetch = block->prefetch;
    size_t const prefetch_next = block->prefetch_next, prefetch_step = block->prefetch_step;
    for (size_t step = 0, steps = block->steps; step < steps; ++step) {
        bytes_t const columns[2] = {bytes_load_weights(weights), bytes_load_weights(weights + bytes_step_bytes_k)};
        vector_prefetch(prefetch);
        vector_prefetch(prefetch + prefetch_next);
        // The lines of the next panel, one a step, as for other numbers.
        vector_prefetch_near(inputs + block->inputs_stride + step % vector_line_k * (64 - sizeof(float)));
        UFORM_UNROLLED
        for (size_t row = 0; row < rows; ++row) {
            UFORM_UNROLLED
            for (size_t v = 0; v < 2; ++v) sums[row][v] = bytes_dot(sums[row][v], columns[v], inputs + row * 64);
        }
        weights += 2 * bytes_step_bytes_k;
        prefetch += prefetch_step;
        inputs += sizeof(float);
        if (step % vector_line_k == vector_line_k - 1) inputs += block->inputs_stride - 64;
    }
#endif
    if (block->bias) block_scale(block, rows, sums, block->bias);
    else block_scale(block, rows, sums, NULL);
}

#define UFORM_BLOCK_ROW_(count)                                                                                        \
    static void block_multiply_i8_##count(block_t const *block) {                                                      \
        block_multiply_i8(count, block);                                                                               \
    }
VECTOR_BLOCK_ROWS(UFORM_BLOCK_ROW_)
#undef UFORM_BLOCK_ROW_

/// By number of rows, less one.
static block_function_t const block_functions_i8[vector_block_rows_k] = {
#define UFORM_BLOCK_ROW_(count) block_multiply_i8_##count,
    VECTOR_BLOCK_ROWS(UFORM_BLOCK_ROW_)
#undef UFORM_BLOCK_ROW_
};

static size_t gemm_packed_bytes_i8(size_t columns, size_t depth) {
    return columns * (sizeof(float) + uform_rotated_depth_(depth));
}

static void gemm_pack_i8(float const *weights, size_t stride, size_t column_begin, size_t column_count, size_t columns,
    size_t depth, void *packed) {
    float *const scales = packed;
    for (size_t column = 0; column < column_count; ++column, weights += stride) {
        size_t const target = column_begin + column;
        uint8_t *steps = (uint8_t *)(scales + columns) +
                         target / block_columns_k * block_columns_k * uform_rotated_depth_(depth) +
                         target % block_columns_k * bytes_step_k;
        float factor;
        scales[target] = quantize_scale(weights, depth, &factor);
        for (size_t k = 0; k < depth; k += uform_rotation_k) {
            int32_t integers[uform_rotation_k];
            quantize_weights(weights, depth, k, factor, integers);
            for (size_t i = 0; i < uform_rotation_k; ++i)
                steps[i / bytes_step_k * block_columns_k * bytes_step_k + i % bytes_step_k] =
                    (uint8_t)(integers[i] + bytes_bias_k);
            steps += uform_rotation_k * block_columns_k;
        }
    }
}

static void gemm_multiply_i8(uform_gemm_call_t const *call) {
    gemm_scheme_t const scheme = {.step_numbers = bytes_step_k,
        .step_bytes = 2 * bytes_step_bytes_k,
        .depth_step = uform_rotation_k,
        .rounds = true,
        .scaled = true};
    gemm_multiply(call, scheme, block_functions_i8, activate_fast);
}

static double gemm_limit_i8(size_t rounds) {
    int32_t volatile seed = 0x01010101;
    int32_t inputs[vector_block_rows_k];
    for (size_t row = 0; row < vector_block_rows_k; ++row) inputs[row] = seed;
    bytes_t const weights[2] = {bytes_set(seed), bytes_set(seed + 1)};
    bytes_t sums[vector_block_rows_k][2];
    UFORM_UNROLLED
    for (size_t row = 0; row < vector_block_rows_k; ++row) sums[row][0] = sums[row][1] = bytes_set(0);
    for (size_t round = 0; round < rounds * limit_repeats_k; ++round) {
        // Where the inputs are is hidden from the compiler, which would compute products that never change once.
        int32_t const *hidden = inputs;
        __asm__ volatile("" : "+r"(hidden) : : "memory");
        UFORM_UNROLLED
        for (size_t row = 0; row < vector_block_rows_k; ++row) {
            UFORM_UNROLLED
            for (size_t v = 0; v < 2; ++v) sums[row][v] = bytes_dot(sums[row][v], weights[v], hidden + row);
        }
    }
    UFORM_UNROLLED
    for (size_t row = 0; row < vector_block_rows_k; ++row) seed = bytes_sum(bytes_add(sums[row][0], sums[row][1]));
    return (double)rounds * limit_repeats_k * limit_chains_k * vector_lanes_k * 2 * bytes_step_k;
}

static uform_gemm_t const gemm_i8 = {
    .column_step = uform_width_step_k,
    .depth_step = uform_rotation_k,
    .packed_bytes = gemm_packed_bytes_i8,
    .pack = gemm_pack_i8,
    .multiply = gemm_multiply_i8,
    .quantize = quantize,
    .input_lane = bytes_line_k,
    .limit = gemm_limit_i8,
};

#endif
