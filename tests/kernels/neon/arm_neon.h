/**
 *  NEON on x86: SIMDe's functions, and models of what it lacks, or makes otherwise than a processor would. Found in place of the
 *  compiler's own header by the files that compile an Arm class for tests.
 *
 *  As Arm documents them: multiply-adds by element round once; an estimate of a reciprocal has eight bits, and its step answers two
 *  for infinity times zero; conversions to integers saturate, and a NaN becomes zero. BFDOT is that of extended behaviour: the two
 *  products are summed with one rounding, then added with another; subnormal numbers are numbers.
 *
 *  Needs AVX2 and FMA.
 */
#ifndef UFORM_TESTS_KERNELS_NEON_ARM_NEON_H
#define UFORM_TESTS_KERNELS_NEON_ARM_NEON_H

#define SIMDE_ENABLE_NATIVE_ALIASES
#define SIMDE_X86_MMX_NO_NATIVE // would leave the processor's old registers in a state for which nobody cleans up
#include <simde/arm/neon.h>

#include <immintrin.h>

typedef uint16x8_t bfloat16x8_t;

static inline float32x4_t emulated_vdivq_f32(float32x4_t a, float32x4_t b) {
    return _mm_div_ps(a, b);
}

static inline float32x4_t emulated_vrecpeq_f32(float32x4_t x) {
    return _mm_and_ps(_mm_rcp_ps(x), _mm_castsi128_ps(_mm_set1_epi32((int)0xFFFF8000)));
}

static inline float32x4_t emulated_vrecpsq_f32(float32x4_t a, float32x4_t b) {
    // Infinity times zero is the only product that is no number though both operands are.
    __m128 const numbers = _mm_and_ps(_mm_cmpord_ps(a, a), _mm_cmpord_ps(b, b)), product = _mm_mul_ps(a, b);
    __m128 const special = _mm_and_ps(numbers, _mm_cmpunord_ps(product, product)), two = _mm_set1_ps(2.0f);
    return _mm_blendv_ps(_mm_fnmadd_ps(a, b, two), two, special);
}

static inline int32x4_t emulated_vcvtnq_s32_f32(float32x4_t x) {
    // What is too large or no number becomes the smallest integer; what is too large, all bits of that turned.
    __m128i const whole = _mm_cvtps_epi32(x);
    __m128i const above = _mm_castps_si128(_mm_cmpge_ps(x, _mm_set1_ps(0x1p31f)));
    return (int32x4_t)_mm_and_si128(_mm_xor_si128(whole, above), _mm_castps_si128(_mm_cmpord_ps(x, x)));
}

static inline float emulated_vmaxnmvq_f32(float32x4_t x) {
    float32x4_t const pair = vmaxnmq_f32(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(vmaxnmq_f32(pair, _mm_movehdup_ps(pair)));
}

/// To nearest even; a NaN keeps its upper bits and becomes quiet.
static inline uint16x4_t emulated_round_bf16(float32x4_t x) {
    uint32x4_t const bits = vreinterpretq_u32_f32(x);
    uint32x4_t const odd = vandq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(1));
    uint32x4_t const rounded = vaddq_u32(vaddq_u32(bits, vdupq_n_u32(0x7FFF)), odd);
    return vshrn_n_u32(vbslq_u32(vceqq_f32(x, x), rounded, vorrq_u32(bits, vdupq_n_u32(0x400000))), 16);
}

static inline float32x4_t emulated_even_bf16(bfloat16x8_t pairs) {
    return vreinterpretq_f32_u32(vshlq_n_u32(vreinterpretq_u32_u16(pairs), 16));
}
static inline float32x4_t emulated_odd_bf16(bfloat16x8_t pairs) {
    return vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_u16(pairs), vdupq_n_u32(0xFFFF0000u)));
}
static inline float32x4_t emulated_vbfdotq_f32(float32x4_t sums, bfloat16x8_t a, bfloat16x8_t b) {
    // The first product is exact, unless it is subnormal.
    float32x4_t const first = vmulq_f32(emulated_even_bf16(a), emulated_even_bf16(b));
    return vaddq_f32(sums, vfmaq_f32(first, emulated_odd_bf16(a), emulated_odd_bf16(b)));
}

#undef vshll_n_u16
#undef vdivq_f32
#undef vrecpeq_f32
#undef vrecpsq_f32
#undef vfmaq_laneq_f32
#define vshll_n_u16(x, count) vshlq_n_u32(vmovl_u16(x), count)
#define vdivq_f32(a, b) emulated_vdivq_f32(a, b)
#define vrecpeq_f32(x) emulated_vrecpeq_f32(x)
#define vrecpsq_f32(a, b) emulated_vrecpsq_f32(a, b)
#define vfmaq_laneq_f32(c, a, b, lane) vfmaq_f32(c, a, vdupq_laneq_f32(b, lane))
#define vcvtnq_s32_f32(x) emulated_vcvtnq_s32_f32(x)
#define vmaxnmvq_f32(x) emulated_vmaxnmvq_f32(x)

#define vreinterpretq_bf16_f32(x) vreinterpretq_u16_f32(x)
#define vreinterpretq_u16_bf16(x) (x)
#define vcvtq_low_bf16_f32(x) vcombine_u16(emulated_round_bf16(x), vdup_n_u16(0))
#define vcvtq_high_bf16_f32(low, x) vcombine_u16(vget_low_u16(low), emulated_round_bf16(x))
#define vbfdotq_f32(sums, a, b) emulated_vbfdotq_f32(sums, a, b)
#define vbfdotq_laneq_f32(sums, a, b, lane)                                                                            \
    emulated_vbfdotq_f32(sums, a, vreinterpretq_u16_u32(vdupq_laneq_u32(vreinterpretq_u32_u16(b), lane)))

#endif
