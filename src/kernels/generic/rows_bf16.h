/**
 *  The `rows_bf16` group over the vector vocabulary.
 */
#ifndef UFORM_KERNELS_GENERIC_ROWS_BF16_H
#define UFORM_KERNELS_GENERIC_ROWS_BF16_H

#include "kernels/generic/rows.h"

static void rows_normalize_bf16(uform_normalize_call_t const *call) {
    rows_normalize(call, true);
}
static void rows_lookup_bf16(uform_lookup_call_t const *call) {
    rows_lookup(call, true);
}
static void rows_gate_bf16(uform_gate_call_t const *call) {
    rows_gate(call, true);
}
static void rows_rotate_bf16(uform_rotate_call_t const *call) {
    rows_rotate(call, true);
}

static void rows_normalize_heads_bf16(uform_normalize_heads_call_t const *call) {
    rows_normalize_heads(call, true);
}

static uform_rows_t const rows_bf16 = {
    .normalize = rows_normalize_bf16,
    .lookup = rows_lookup_bf16,
    .gate = rows_gate_bf16,
    .rotate = rows_rotate_bf16,
    .normalize_heads = rows_normalize_heads_bf16,
};

#endif
