/**
 *  The `attention_bf16` group over the vector vocabulary.
 */
#ifndef UFORM_KERNELS_GENERIC_ATTENTION_BF16_H
#define UFORM_KERNELS_GENERIC_ATTENTION_BF16_H

#include "kernels/generic/attention.h"
#include "kernels/generic/gemm_bf16.h"

static size_t attention_scratch_bytes_bf16(size_t length, size_t head_width) {
    return attention_bytes(length, head_width, true);
}

static void attend_bf16(uform_attention_call_t const *call) {
    attention(call, block_functions_bf16, true);
}

static uform_attention_t const attention_bf16 = {.scratch_bytes = attention_scratch_bytes_bf16, .attend = attend_bf16};

#endif
