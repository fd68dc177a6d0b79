/**
 *  Activations of outputs that are rounded to bf16.
 */
#ifndef UFORM_KERNELS_GENERIC_ACTIVATE_FAST_H
#define UFORM_KERNELS_GENERIC_ACTIVATE_FAST_H

#include "kernels/generic/functions.h"

UFORM_ACTIVATE_(gelu_erf_fast)
UFORM_ACTIVATE_(gelu_tanh_fast)
UFORM_ACTIVATE_(quick_gelu_fast)
UFORM_ACTIVATE_(silu_fast)
static activate_function_t const activate_fast[uform_activation_count_k] = {
    [uform_activation_gelu_k] = activate_gelu_erf_fast,
    [uform_activation_gelu_tanh_k] = activate_gelu_tanh_fast,
    [uform_activation_quick_gelu_k] = activate_quick_gelu_fast,
    [uform_activation_silu_k] = activate_silu_fast,
    UFORM_ACTIVATE_SHARED_ROWS_};

#endif
