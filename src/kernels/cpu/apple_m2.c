/**
 *  Apple's M2, and what else has NEON of Armv8.6, such as Graviton3 and Grace: products of bf16 and of integers; the f32 groups are
 *  inherited.
 *
 *  Instructions: BFDOT by element adds the products of two pairs to each sum, SDOT by element those of four bytes, both on the
 *  same blocks of 5 rows x 16 columns as f32; BFCVTN rounds. BFDOT takes subnormal numbers for zeros, and rounds once or twice,
 *  depending on the processor's mode. I8MM comes with both everywhere, and isn't used yet.
 *
 *  Layouts are those of the generic loops, with vectors of eight floats. No figure yet: it ran under emulators only.
 */
#include "kernels/kernels.h"
#include "kernels/target.h"

extern uform_kernels_t const uform_kernels_apple_m2_table_;

#if UFORM_TARGET_NEON_BF16

#include <arm_neon.h>
#include <math.h>
#include <string.h>

UFORM_TARGET_BEGIN("arch=armv8.2-a+dotprod+bf16")
UFORM_UNSCHEDULED_BEGIN

#define UFORM_VECTOR_NATIVE_BF16
#include "kernels/generic/vector_neon.h"

#define UFORM_BYTES_SDOT
#include "kernels/generic/bytes_neon.h"
#include "kernels/generic/gemm_i8.h"

#include "kernels/generic/attention_bf16.h"
#include "kernels/generic/rows_bf16.h"

UFORM_UNSCHEDULED_END
UFORM_TARGET_END

uform_kernels_t const uform_kernels_apple_m2_table_ = {
    .compiled = true,
    .gemm_bf16 = &gemm_bf16,
    .gemm_i8 = &gemm_i8,
    .attention_bf16 = &attention_bf16,
    .rows_bf16 = &rows_bf16,
};

#else

uform_kernels_t const uform_kernels_apple_m2_table_ = {.compiled = false};

#endif
