/**
 *  The `gemm_f32` group over the vector vocabulary.
 *
 *  Packed weights: [columns / block_columns_k][depth][block_columns_k].
 */
#ifndef UFORM_KERNELS_GENERIC_GEMM_F32_H
#define UFORM_KERNELS_GENERIC_GEMM_F32_H

#include "kernels/generic/gemm.h"

UFORM_INLINED void block_multiply_f32(size_t rows, size_t vectors, block_t const *block) {
    block_multiply(rows, vectors, block, false);
}

#define UFORM_BLOCK_ROW_(count)                                                                                        \
    static void block_multiply_f32_##count(block_t const *block) {                                                     \
        block_multiply_f32(count, 2, block);                                                                           \
    }                                                                                                                  \
    static void block_multiply_f32_narrow_##count(block_t const *block) {                                              \
        block_multiply_f32(count, 1, block);                                                                           \
    }
VECTOR_BLOCK_ROWS(UFORM_BLOCK_ROW_)
#undef UFORM_BLOCK_ROW_

/// By number of rows, less one; then the narrow ones.
static block_function_t const block_functions_f32[2][vector_block_rows_k] = {{
#define UFORM_BLOCK_ROW_(count) block_multiply_f32_##count,
                                                                                 VECTOR_BLOCK_ROWS(UFORM_BLOCK_ROW_)
#undef UFORM_BLOCK_ROW_
                                                                             },
    {
#define UFORM_BLOCK_ROW_(count) block_multiply_f32_narrow_##count,
        VECTOR_BLOCK_ROWS(UFORM_BLOCK_ROW_)
#undef UFORM_BLOCK_ROW_
    }};

/// For outputs kept in f32.
UFORM_ACTIVATE_(gelu)
UFORM_ACTIVATE_(gelu_tanh)
UFORM_ACTIVATE_(quick_gelu)
UFORM_ACTIVATE_(silu)
static activate_function_t const activate_precise[uform_activation_count_k] = {UFORM_ACTIVATE_ROW_(gelu),
    UFORM_ACTIVATE_ROW_(gelu_tanh), UFORM_ACTIVATE_ROW_(quick_gelu), UFORM_ACTIVATE_ROW_(silu),
    UFORM_ACTIVATE_SHARED_ROWS_};

static size_t gemm_packed_bytes_f32(size_t columns, size_t depth) {
    return columns * depth * sizeof(float);
}

static void gemm_pack_f32(float const *weights, size_t stride, size_t column_begin, size_t column_count, size_t columns,
    size_t depth, void *packed) {
    (void)columns;
    for (size_t column = 0; column < column_count; column += vector_lanes_k) {
        size_t const target = column_begin + column;
        char *const block = (char *)packed + target / block_columns_k * depth * packed_step_bytes_k +
                            target % block_columns_k * sizeof(float);
        for (size_t k = 0; k < depth; k += vector_lanes_k)
            vector_transpose((char const *)(weights + column * stride + k), stride * sizeof(float),
                block + k * packed_step_bytes_k, packed_step_bytes_k);
    }
}

static void gemm_multiply_f32(uform_gemm_call_t const *call) {
    gemm_scheme_t const scheme = {
        .step_numbers = 1, .step_bytes = packed_step_bytes_k, .depth_step = uform_width_step_k};
    gemm_multiply(call, scheme, block_functions_f32[0], activate_precise);
}

static double gemm_limit_f32(size_t rounds) {
    return gemm_limit(rounds, false);
}

static uform_gemm_t const gemm_f32 = {
    .column_step = uform_width_step_k,
    .depth_step = uform_width_step_k,
    .packed_bytes = gemm_packed_bytes_f32,
    .pack = gemm_pack_f32,
    .multiply = gemm_multiply_f32,
    .input_lane = 16,
    .limit = gemm_limit_f32,
};

#endif
