/**
 *  Sierra Forest, and every core with AVX-VNNI and without AVX-512: products of integers; the other groups are inherited.
 *
 *  Memory: inputs are signed bytes, 64 in a line; weights are bytes larger by 128, four depths of a column next to each other.
 *
 *  Instructions: AVX2, FMA, AVX-VNNI in its VEX form. Sums of a block take twelve of the sixteen registers, its weights two, the
 *  broadcast input one.
 *
 *  512 rows x 384 x 384, measured on Zen 4 with the instruction's AVX-512 form: 0.86 of the limit, 3.7 times intel_haswell's f32.
 */
#include "kernels/kernels.h"
#include "kernels/target.h"

extern uform_kernels_t const uform_kernels_intel_sierra_table_;

#if UFORM_TARGET_AVX_VNNI

#include <immintrin.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

UFORM_TARGET_BEGIN("avx2,fma,bmi2,avxvnni")

#define UFORM_BYTES_VNNI
#include "kernels/generic/bytes_avx2.h"

#include "kernels/generic/gemm_i8.h"

UFORM_TARGET_END

uform_kernels_t const uform_kernels_intel_sierra_table_ = {
    .compiled = true,
    .gemm_i8 = &gemm_i8,
};

#else

uform_kernels_t const uform_kernels_intel_sierra_table_ = {.compiled = false};

#endif
