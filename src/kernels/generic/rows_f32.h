/**
 *  The `rows_f32` group over the vector vocabulary.
 */
#ifndef UFORM_KERNELS_GENERIC_ROWS_F32_H
#define UFORM_KERNELS_GENERIC_ROWS_F32_H

#include "kernels/generic/rows.h"

static void rows_normalize_f32(uform_normalize_call_t const *call) {
    rows_normalize(call, false);
}
static void rows_lookup_f32(uform_lookup_call_t const *call) {
    rows_lookup(call, false);
}
static void rows_gate_f32(uform_gate_call_t const *call) {
    rows_gate(call, false);
}
static void rows_rotate_f32(uform_rotate_call_t const *call) {
    rows_rotate(call, false);
}

static void rows_normalize_heads_f32(uform_normalize_heads_call_t const *call) {
    rows_normalize_heads(call, false);
}

static uform_rows_t const rows_f32 = {
    .normalize = rows_normalize_f32,
    .lookup = rows_lookup_f32,
    .gate = rows_gate_f32,
    .rotate = rows_rotate_f32,
    .normalize_heads = rows_normalize_heads_f32,
};

#endif
