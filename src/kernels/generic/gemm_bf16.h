/**
 *  The `gemm_bf16` group over the vector vocabulary.
 *
 *  Packed weights: [columns / block_columns_k][depth / 2][block_columns_k][2].
 */
#ifndef UFORM_KERNELS_GENERIC_GEMM_BF16_H
#define UFORM_KERNELS_GENERIC_GEMM_BF16_H

#include "kernels/generic/activate_fast.h"
#include "kernels/generic/gemm.h"

UFORM_INLINED void block_multiply_bf16(size_t rows, size_t vectors, block_t const *block) {
    if (vector_multiplies_bf16_k) block_multiply(rows, vectors, block, true);
    else block_multiply_widened(rows, vectors, block);
}

#define UFORM_BLOCK_ROW_(count)                                                                                        \
    static void block_multiply_bf16_##count(block_t const *block) {                                                    \
        block_multiply_bf16(count, 2, block);                                                                          \
    }                                                                                                                  \
    static void block_multiply_bf16_narrow_##count(block_t const *block) {                                             \
        block_multiply_bf16(count, 1, block);                                                                          \
    }
VECTOR_BLOCK_ROWS(UFORM_BLOCK_ROW_)
#undef UFORM_BLOCK_ROW_

/// By number of rows, less one; then the narrow ones.
static block_function_t const block_functions_bf16[2][vector_block_rows_k] = {{
#define UFORM_BLOCK_ROW_(count) block_multiply_bf16_##count,
                                                                                  VECTOR_BLOCK_ROWS(UFORM_BLOCK_ROW_)
#undef UFORM_BLOCK_ROW_
                                                                              },
    {
#define UFORM_BLOCK_ROW_(count) block_multiply_bf16_narrow_##count,
        VECTOR_BLOCK_ROWS(UFORM_BLOCK_ROW_)
#undef UFORM_BLOCK_ROW_
    }};

static size_t gemm_packed_bytes_bf16(size_t columns, size_t depth) {
    return columns * depth * sizeof(uint16_t);
}

static void gemm_pack_bf16(float const *weights, size_t stride, size_t column_begin, size_t column_count,
    size_t columns, size_t depth, void *packed) {
    (void)columns;
    for (size_t column = 0; column < column_count; column += vector_lanes_k) {
        size_t const target = column_begin + column;
        char *const block = (char *)packed + target / block_columns_k * (depth / 2) * packed_step_bytes_k +
                            target % block_columns_k * sizeof(float);
        for (size_t k = 0; k < depth; k += 2 * vector_lanes_k) {
            float pairs[vector_lanes_k][vector_lanes_k] __attribute__((aligned(64)));
            for (size_t i = 0; i < vector_lanes_k; ++i) {
                float const *const source = weights + (column + i) * stride + k;
                vector_store_bf16(
                    pairs[i], vector_load_unaligned(source), vector_load_unaligned(source + vector_lanes_k));
            }
            vector_transpose(
                (char const *)pairs, sizeof(pairs[0]), block + k / 2 * packed_step_bytes_k, packed_step_bytes_k);
        }
    }
}

static void gemm_multiply_bf16(uform_gemm_call_t const *call) {
    gemm_scheme_t const scheme = {
        .step_numbers = 2, .step_bytes = packed_step_bytes_k, .depth_step = uform_width_step_k, .rounds = true};
    gemm_multiply(call, scheme, block_functions_bf16[0], activate_fast);
}

static double gemm_limit_bf16(size_t rounds) {
    return gemm_limit(rounds, vector_multiplies_bf16_k);
}

static uform_gemm_t const gemm_bf16 = {
    .column_step = uform_width_step_k,
    .depth_step = uform_width_step_k,
    .packed_bytes = gemm_packed_bytes_bf16,
    .pack = gemm_pack_bf16,
    .multiply = gemm_multiply_bf16,
    .input_lane = 32,
    .limit = gemm_limit_bf16,
};

#endif
