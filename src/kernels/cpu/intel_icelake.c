/**
 *  Ice Lake: resampling with the instruction that multiplies pairs and adds; the other groups are inherited.
 *
 *  Instructions: what Skylake-X has, and AVX-512 VNNI.
 */
#include "kernels/kernels.h"
#include "kernels/target.h"

extern uform_kernels_t const uform_kernels_intel_icelake_table_;

#if UFORM_TARGET_AVX512

#include <immintrin.h>
#include <stdbool.h>
#include <string.h>

UFORM_TARGET_BEGIN("avx2,fma,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")

#define UFORM_INTEGERS_VNNI
#include "kernels/generic/integers_avx512.h"
#include "kernels/generic/resample.h"

UFORM_TARGET_END

uform_kernels_t const uform_kernels_intel_icelake_table_ = {.compiled = true, .resample = &resample};

#else

uform_kernels_t const uform_kernels_intel_icelake_table_ = {.compiled = false};

#endif
