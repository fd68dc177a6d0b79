/**
 *  Ice Lake: products of integers, and resampling, with the instructions that multiply and add; the other groups are inherited.
 *
 *  Instructions: what Skylake-X has, and AVX-512 VNNI. Sums of integers are on blocks of 14 rows x 32 columns, as those of floats.
 *
 *  Integers, 512 rows x 384 x 384, on a Zen 4 core: 0.97 of the limit; making them of a row of 384 takes 82 ns there, an eighth of
 *  what multiplying the row by 384 columns does.
 */
#include "kernels/kernels.h"
#include "kernels/target.h"

extern uform_kernels_t const uform_kernels_intel_icelake_table_;

#if UFORM_TARGET_AVX512

#include <immintrin.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

UFORM_TARGET_BEGIN("avx2,fma,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")

#define UFORM_BYTES_VNNI
#include "kernels/generic/bytes_avx512.h"
#include "kernels/generic/gemm_i8.h"

#define UFORM_INTEGERS_VNNI
#include "kernels/generic/integers_avx512.h"
#include "kernels/generic/resample.h"

UFORM_TARGET_END

uform_kernels_t const uform_kernels_intel_icelake_table_ = {
    .compiled = true,
    .gemm_i8 = &gemm_i8,
    .resample = &resample,
};

#else

uform_kernels_t const uform_kernels_intel_icelake_table_ = {.compiled = false};

#endif
