/**
 *  The `attention_f32` group over the vector vocabulary.
 */
#ifndef UFORM_KERNELS_GENERIC_ATTENTION_F32_H
#define UFORM_KERNELS_GENERIC_ATTENTION_F32_H

#include "kernels/generic/attention.h"
#include "kernels/generic/gemm_f32.h"

static size_t attention_scratch_bytes_f32(size_t length, size_t head_width) {
    return attention_bytes(length, head_width, false);
}

static void attend_f32(uform_attention_call_t const *call) {
    attention(call, block_functions_f32, false);
}

static uform_attention_t const attention_f32 = {.scratch_bytes = attention_scratch_bytes_f32, .attend = attend_f32};

#endif
