/**
 *  The floor of 64-bit Arm, named after Graviton2: NEON of Armv8.0 and no optional instruction, so that every such processor has
 *  it. f32 on blocks of 5 rows x 16 columns; bf16 is widened to f32.
 *
 *  Instructions: FMLA by element; SMULL, SMLAL and SADALP for integers. Sums of a block take 20 of the 32 registers, the inputs of
 *  four steps five; the rest is for weights.
 *
 *  Layouts are those of the generic loops, with vectors of eight floats. No figure yet: it ran under emulators only.
 */
#include "kernels/kernels.h"
#include "kernels/target.h"

extern uform_kernels_t const uform_kernels_aws_g2_table_;

#if UFORM_TARGET_NEON

#include <arm_neon.h>
#include <math.h>
#include <string.h>

UFORM_UNSCHEDULED_BEGIN

#include "kernels/generic/vector_neon.h"

#include "kernels/generic/bytes_neon.h"
#include "kernels/generic/gemm_i8.h"

#include "kernels/generic/attention_bf16.h"
#include "kernels/generic/attention_f32.h"
#include "kernels/generic/rows_bf16.h"
#include "kernels/generic/rows_f32.h"

#include "kernels/generic/resample_neon.h"

UFORM_UNSCHEDULED_END

uform_kernels_t const uform_kernels_aws_g2_table_ = {
    .compiled = true,
    .gemm_f32 = &gemm_f32,
    .gemm_bf16 = &gemm_bf16,
    .gemm_i8 = &gemm_i8,
    .attention_f32 = &attention_f32,
    .attention_bf16 = &attention_bf16,
    .rows_f32 = &rows_f32,
    .rows_bf16 = &rows_bf16,
    .resample = &resample,
};

#else

uform_kernels_t const uform_kernels_aws_g2_table_ = {.compiled = false};

#endif
