/**
 *  The class `intel_sierra` once more, for processors that have its one instruction in the form of AVX-512 alone: that is put in the
 *  place of the other. The file itself is the product's, line by line.
 */
#include "kernels/target.h"

#if UFORM_TARGET_AVX_VNNI
#include <immintrin.h>

// A function of its own, or the compiler would use AVX-512 all around it.
UFORM_TARGET_BEGIN("avx2,fma,bmi2,avx512f,avx512vl,avx512vnni")
static __attribute__((noinline)) __m256i emulated_dot(__m256i sums, __m256i weights, __m256i inputs) {
    return _mm256_dpbusd_epi32(sums, weights, inputs);
}
UFORM_TARGET_END

#undef _mm256_dpbusd_avx_epi32
#define _mm256_dpbusd_avx_epi32 emulated_dot
#endif

#define uform_kernels_intel_sierra_table_ emulated_sierra_table
#include "kernels/cpu/intel_sierra.c"
