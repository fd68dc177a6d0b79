/**
 *  The vector vocabulary on NEON: eight floats a vector, half a line of an f32 panel, in two registers.
 *
 *  The meaning of each word is told in vector_avx512.h. Two registers, since blocks of two vectors must make whole lines. A
 *  class that defines UFORM_VECTOR_NATIVE_BF16 has BFDOT and BFCVTN; else pairs are widened.
 *
 *  Multiply-adds take one operand from a lane, so that blocks load four steps of a row's inputs at once: see block_lanes.h.
 *  Broadcasting each would take as many slots of the vector units as loads.
 */
#ifndef UFORM_KERNELS_GENERIC_VECTOR_NEON_H
#define UFORM_KERNELS_GENERIC_VECTOR_NEON_H

#include <arm_neon.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/target.h"

typedef struct vector_t {
    float32x4_t low, high;
} vector_t;
typedef struct vector_mask_t { ///< all bits of a lane, or none
    uint32x4_t low, high;
} vector_mask_t;

/// The constraint of inline assembly for vectors; tests compile this for another architecture.
#if defined(__aarch64__)
#define UFORM_VECTOR_REGISTER "w"
#else
#define UFORM_VECTOR_REGISTER "x"
#endif

/// Four steps of inputs, each to be multiplied with a vector.
#define UFORM_VECTOR_LANES
typedef float32x4_t vector_inputs_t;

enum {
    vector_lanes_k = 8,
    vector_inputs_k = 4,              ///< numbers of 32 bits in `vector_inputs_t`
    vector_cache_bytes_k = 256 << 10, ///< inputs that may stay near the core while weights pass by
    vector_line_k = 16,               ///< numbers of 32 bits in a line of a panel
    vector_block_rows_k =
        5, ///< rows of a block of 2 * vector_lanes_k columns: 20 sums, five inputs and weights in 32 registers
};

/// One block kernel for each number of rows.
#define VECTOR_BLOCK_ROWS(row) row(1) row(2) row(3) row(4) row(5)

UFORM_INLINED vector_t vector_set(float value) {
    float32x4_t const both = vdupq_n_f32(value);
    return (vector_t){both, both};
}
UFORM_INLINED vector_t vector_zero(void) {
    return vector_set(0.0f);
}
UFORM_INLINED vector_t vector_set_from(void const *memory) {
    float32x4_t const both = vld1q_dup_f32(memory);
    return (vector_t){both, both};
}
UFORM_INLINED vector_t vector_load(void const *memory) {
    return (vector_t){vld1q_f32(memory), vld1q_f32((float const *)memory + 4)};
}
UFORM_INLINED vector_t vector_load_unaligned(void const *memory) {
    return vector_load(memory);
}
UFORM_INLINED void vector_store(void *memory, vector_t x) {
    vst1q_f32(memory, x.low);
    vst1q_f32((float *)memory + 4, x.high);
}

UFORM_INLINED vector_t vector_add(vector_t a, vector_t b) {
    return (vector_t){vaddq_f32(a.low, b.low), vaddq_f32(a.high, b.high)};
}
UFORM_INLINED vector_t vector_subtract(vector_t a, vector_t b) {
    return (vector_t){vsubq_f32(a.low, b.low), vsubq_f32(a.high, b.high)};
}
UFORM_INLINED vector_t vector_multiply(vector_t a, vector_t b) {
    return (vector_t){vmulq_f32(a.low, b.low), vmulq_f32(a.high, b.high)};
}
UFORM_INLINED vector_t vector_divide(vector_t a, vector_t b) {
    return (vector_t){vdivq_f32(a.low, b.low), vdivq_f32(a.high, b.high)};
}
/// An estimate of eight bits, and one step of Newton's method, whose instruction knows about infinity times zero.
UFORM_INLINED float32x4_t vector_reciprocal_half(float32x4_t x) {
    float32x4_t const estimate = vrecpeq_f32(x);
    return vmulq_f32(estimate, vrecpsq_f32(x, estimate));
}
UFORM_INLINED vector_t vector_reciprocal(vector_t x) {
    return (vector_t){vector_reciprocal_half(x.low), vector_reciprocal_half(x.high)};
}
UFORM_INLINED vector_t vector_fma(vector_t a, vector_t b, vector_t c) {
    return (vector_t){vfmaq_f32(c.low, a.low, b.low), vfmaq_f32(c.high, a.high, b.high)};
}
UFORM_INLINED vector_t vector_select(vector_mask_t mask, vector_t yes, vector_t no) {
    return (vector_t){vbslq_f32(mask.low, yes.low, no.low), vbslq_f32(mask.high, yes.high, no.high)};
}
UFORM_INLINED vector_mask_t vector_above(vector_t a, vector_t b) {
    return (vector_mask_t){vcgtq_f32(a.low, b.low), vcgtq_f32(a.high, b.high)};
}
// The instructions for these two would answer a NaN whichever operand is one.
UFORM_INLINED vector_t vector_minimum(vector_t a, vector_t b) {
    return vector_select(vector_above(b, a), a, b);
}
UFORM_INLINED vector_t vector_maximum(vector_t a, vector_t b) {
    return vector_select(vector_above(a, b), a, b);
}
UFORM_INLINED vector_t vector_absolute(vector_t x) {
    return (vector_t){vabsq_f32(x.low), vabsq_f32(x.high)};
}
UFORM_INLINED vector_t vector_copy_sign(vector_t size, vector_t sign) {
    uint32x4_t const bit = vdupq_n_u32(0x80000000u);
    return vector_select((vector_mask_t){bit, bit}, sign, size);
}
UFORM_INLINED vector_t vector_round(vector_t x) {
    return (vector_t){vrndnq_f32(x.low), vrndnq_f32(x.high)};
}
/// In two steps, each a power of two that a float holds, so that results overflow and underflow as they should.
UFORM_INLINED float32x4_t vector_scale_half(float32x4_t x, float32x4_t n) {
    int32x4_t const whole = vcvtnq_s32_f32(n), half = vshrq_n_s32(whole, 1), bias = vdupq_n_s32(127);
    int32x4_t const first = vshlq_n_s32(vaddq_s32(half, bias), 23);
    int32x4_t const second = vshlq_n_s32(vaddq_s32(vsubq_s32(whole, half), bias), 23);
    return vmulq_f32(vmulq_f32(x, vreinterpretq_f32_s32(first)), vreinterpretq_f32_s32(second));
}
UFORM_INLINED vector_t vector_scale(vector_t x, vector_t n) {
    return (vector_t){vector_scale_half(x.low, n.low), vector_scale_half(x.high, n.high)};
}

UFORM_INLINED vector_mask_t vector_first(size_t count) {
    static uint32_t const lanes[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    uint32x4_t const limit = vdupq_n_u32(count < 8 ? (uint32_t)count : 8);
    return (vector_mask_t){vcgtq_u32(limit, vld1q_u32(lanes)), vcgtq_u32(limit, vld1q_u32(lanes + 4))};
}

UFORM_INLINED float vector_sum(vector_t x) {
    return vaddvq_f32(vaddq_f32(x.low, x.high));
}

UFORM_INLINED float vector_largest(vector_t x) {
    return vmaxnmvq_f32(vmaxnmq_f32(x.low, x.high));
}

UFORM_INLINED float32x4_t vector_widen_bf16(uint16x4_t numbers) {
    return vreinterpretq_f32_u32(vshll_n_u16(numbers, 16));
}
UFORM_INLINED vector_t vector_load_bf16(void const *memory) {
    uint16x8_t const numbers = vld1q_u16(memory);
    return (vector_t){vector_widen_bf16(vget_low_u16(numbers)), vector_widen_bf16(vget_high_u16(numbers))};
}

UFORM_INLINED float32x4_t vector_even_half(float32x4_t pairs) {
    return vreinterpretq_f32_u32(vshlq_n_u32(vreinterpretq_u32_f32(pairs), 16));
}
UFORM_INLINED vector_t vector_even_bf16(vector_t pairs) {
    return (vector_t){vector_even_half(pairs.low), vector_even_half(pairs.high)};
}
UFORM_INLINED float32x4_t vector_odd_half(float32x4_t pairs) {
    return vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(pairs), vdupq_n_u32(0xFFFF0000u)));
}
UFORM_INLINED vector_t vector_odd_bf16(vector_t pairs) {
    return (vector_t){vector_odd_half(pairs.low), vector_odd_half(pairs.high)};
}

/// Inputs of four steps, or the four bf16 numbers of two steps as f32.
UFORM_INLINED vector_inputs_t vector_load_inputs(void const *memory) {
    return vld1q_f32(memory);
}
UFORM_INLINED vector_inputs_t vector_load_inputs_bf16(void const *memory) {
    return vector_widen_bf16(vld1_u16(memory));
}
/// One of the four inputs times `b`, plus c, with one rounding. The intrinsics want lanes that the source spells out.
UFORM_INLINED float32x4_t vector_fma_lane_half(vector_inputs_t inputs, size_t lane, float32x4_t b, float32x4_t c) {
    return lane == 0   ? vfmaq_laneq_f32(c, b, inputs, 0)
           : lane == 1 ? vfmaq_laneq_f32(c, b, inputs, 1)
           : lane == 2 ? vfmaq_laneq_f32(c, b, inputs, 2)
                       : vfmaq_laneq_f32(c, b, inputs, 3);
}
UFORM_INLINED vector_t vector_fma_lane(vector_inputs_t inputs, size_t lane, vector_t b, vector_t c) {
    return (vector_t){
        vector_fma_lane_half(inputs, lane, b.low, c.low), vector_fma_lane_half(inputs, lane, b.high, c.high)};
}

#if defined(UFORM_VECTOR_NATIVE_BF16)

enum { vector_multiplies_bf16_k = true };

UFORM_INLINED void vector_store_bf16(void *memory, vector_t low, vector_t high) {
    bfloat16x8_t const first = vcvtq_high_bf16_f32(vcvtq_low_bf16_f32(low.low), low.high);
    bfloat16x8_t const second = vcvtq_high_bf16_f32(vcvtq_low_bf16_f32(high.low), high.high);
    vst1q_u16(memory, vreinterpretq_u16_bf16(first));
    vst1q_u16((uint16_t *)memory + 8, vreinterpretq_u16_bf16(second));
}
UFORM_INLINED float32x4_t vector_dot_half(float32x4_t a, float32x4_t b, float32x4_t sums) {
    // A constant isn't to be seen as one: GCC 12 would take ones in bf16 for ones in f16, and move those into the register.
    __asm__("" : "+" UFORM_VECTOR_REGISTER(b));
    return vbfdotq_f32(sums, vreinterpretq_bf16_f32(a), vreinterpretq_bf16_f32(b));
}
UFORM_INLINED vector_t vector_dot_bf16(vector_t a, vector_t b, vector_t sums) {
    return (vector_t){vector_dot_half(a.low, b.low, sums.low), vector_dot_half(a.high, b.high, sums.high)};
}
/// One of the four pairs of inputs.
#if defined(__aarch64__) && defined(__clang__)
// Of the intrinsic clang 16 makes two instructions, the first of which spreads the pair over a register.
#define UFORM_VECTOR_DOT_LANE(lane) __asm__("bfdot %0.4s, %1.8h, %2.2h[" #lane "]" : "+w"(sums) : "w"(b), "w"(inputs))
UFORM_INLINED float32x4_t vector_dot_lane_half(vector_inputs_t inputs, size_t lane, float32x4_t b, float32x4_t sums) {
    if (lane == 0) UFORM_VECTOR_DOT_LANE(0);
    else if (lane == 1) UFORM_VECTOR_DOT_LANE(1);
    else if (lane == 2) UFORM_VECTOR_DOT_LANE(2);
    else UFORM_VECTOR_DOT_LANE(3);
    return sums;
}
#else
UFORM_INLINED float32x4_t vector_dot_lane_half(vector_inputs_t inputs, size_t lane, float32x4_t b, float32x4_t sums) {
    bfloat16x8_t const pairs = vreinterpretq_bf16_f32(inputs), columns = vreinterpretq_bf16_f32(b);
    return lane == 0   ? vbfdotq_laneq_f32(sums, columns, pairs, 0)
           : lane == 1 ? vbfdotq_laneq_f32(sums, columns, pairs, 1)
           : lane == 2 ? vbfdotq_laneq_f32(sums, columns, pairs, 2)
                       : vbfdotq_laneq_f32(sums, columns, pairs, 3);
}
#endif
UFORM_INLINED vector_t vector_dot_lane_bf16(vector_inputs_t inputs, size_t lane, vector_t b, vector_t sums) {
    return (vector_t){
        vector_dot_lane_half(inputs, lane, b.low, sums.low), vector_dot_lane_half(inputs, lane, b.high, sums.high)};
}

/// Exponents of four powers in 128ths. The instruction that takes the larger of a number and a NaN answers the number.
UFORM_INLINED int16x4_t vector_exponents(float32x4_t x, float32x4_t factor, float32x4_t offset) {
    float32x4_t const exponents = vfmaq_f32(vnegq_f32(offset), x, factor);
    return vqmovn_s32(vcvtnq_s32_f32(vmaxnmq_f32(exponents, vdupq_n_f32(-126.0f * 128.0f))));
}
/// The powers are made as vector_avx512.h does, terms looked up in four registers.
UFORM_INLINED vector_t vector_exp2_bf16(vector_t low, vector_t high, vector_t factor, vector_t offset) {
    static int8_t const power_terms[64] = {0, -1, -1, -2, -2, -3, -4, -4, -5, -5, -5, -6, -6, -7, -7, -8, -8, -8, -9,
        -9, -9, -9, -10, -10, -10, -10, -10, -11, -11, -11, -11, -11, -11, -11, -11, -11, -11, -11, -11, -11, -11, -10,
        -10, -10, -10, -10, -9, -9, -9, -8, -8, -8, -7, -7, -6, -6, -5, -5, -4, -3, -3, -2, -1, -1};
    int8x16x4_t const table = {
        {vld1q_s8(power_terms), vld1q_s8(power_terms + 16), vld1q_s8(power_terms + 32), vld1q_s8(power_terms + 48)}};
    int16x8_t const first = vcombine_s16(
        vector_exponents(low.low, factor.low, offset.low), vector_exponents(low.high, factor.high, offset.high));
    int16x8_t const second = vcombine_s16(
        vector_exponents(high.low, factor.low, offset.low), vector_exponents(high.high, factor.high, offset.high));
    // The six upper bits of the fractions.
    int8x16_t const fractions = vcombine_s8(vshrn_n_s16(first, 1), vshrn_n_s16(second, 1));
    int8x16_t const terms = vqtbl4q_s8(table, vandq_u8(vreinterpretq_u8_s8(fractions), vdupq_n_u8(63)));
    int16x8_t const bias = vdupq_n_s16(127 * 128);
    int16x8_t const low_powers = vaddw_s8(vaddq_s16(first, bias), vget_low_s8(terms));
    int16x8_t const high_powers = vaddw_s8(vaddq_s16(second, bias), vget_high_s8(terms));
    return (vector_t){vreinterpretq_f32_s16(low_powers), vreinterpretq_f32_s16(high_powers)};
}
UFORM_INLINED vector_t vector_first_bf16(vector_t pairs, size_t count) {
    static uint16_t const lanes[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    uint16x8_t const limit = vdupq_n_u16(count < 16 ? (uint16_t)count : 16);
    uint16x8_t const low = vandq_u16(vreinterpretq_u16_f32(pairs.low), vcgtq_u16(limit, vld1q_u16(lanes)));
    uint16x8_t const high = vandq_u16(vreinterpretq_u16_f32(pairs.high), vcgtq_u16(limit, vld1q_u16(lanes + 8)));
    return (vector_t){vreinterpretq_f32_u16(low), vreinterpretq_f32_u16(high)};
}

#else

enum { vector_multiplies_bf16_k = false };

/// Never called: without the instruction pairs are widened.
UFORM_INLINED vector_t vector_dot_bf16(vector_t a, vector_t b, vector_t sums) {
    (void)a, (void)b;
    return sums;
}
UFORM_INLINED vector_t vector_dot_lane_bf16(vector_inputs_t inputs, size_t lane, vector_t b, vector_t sums) {
    (void)inputs, (void)lane, (void)b;
    return sums;
}
UFORM_INLINED vector_t vector_exp2_bf16(vector_t low, vector_t high, vector_t factor, vector_t offset) {
    (void)high, (void)factor, (void)offset;
    return low;
}
UFORM_INLINED vector_t vector_first_bf16(vector_t pairs, size_t count) {
    (void)count;
    return pairs;
}

UFORM_INLINED uint16x4_t vector_round_bf16(float32x4_t x) {
    uint32x4_t const bits = vreinterpretq_u32_f32(x);
    uint32x4_t const odd = vandq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(1));
    uint32x4_t const rounded = vaddq_u32(vaddq_u32(bits, vdupq_n_u32(0x7FFF)), odd);
    // Carries would turn some NaNs into infinities or zeros: they keep their high half, with the quiet bit set.
    uint32x4_t const quiet = vorrq_u32(bits, vdupq_n_u32(0x400000));
    return vshrn_n_u32(vbslq_u32(vceqq_f32(x, x), rounded, quiet), 16);
}
UFORM_INLINED void vector_store_bf16(void *memory, vector_t low, vector_t high) {
    vst1q_u16(memory, vcombine_u16(vector_round_bf16(low.low), vector_round_bf16(low.high)));
    vst1q_u16((uint16_t *)memory + 8, vcombine_u16(vector_round_bf16(high.low), vector_round_bf16(high.high)));
}

#endif

/// Transposes 4 x 4 numbers of 32 bits.
UFORM_INLINED void vector_transpose_part(char const *source, size_t source_stride, char *target, size_t target_stride) {
    float32x4_t rows[4];
    UFORM_UNROLLED
    for (size_t i = 0; i < 4; ++i) rows[i] = vld1q_f32((float const *)(void const *)(source + i * source_stride));
    float32x4_t const even_low = vzip1q_f32(rows[0], rows[2]), even_high = vzip2q_f32(rows[0], rows[2]);
    float32x4_t const odd_low = vzip1q_f32(rows[1], rows[3]), odd_high = vzip2q_f32(rows[1], rows[3]);
    vst1q_f32((float *)(void *)target, vzip1q_f32(even_low, odd_low));
    vst1q_f32((float *)(void *)(target + target_stride), vzip2q_f32(even_low, odd_low));
    vst1q_f32((float *)(void *)(target + 2 * target_stride), vzip1q_f32(even_high, odd_high));
    vst1q_f32((float *)(void *)(target + 3 * target_stride), vzip2q_f32(even_high, odd_high));
}
/// Transposes 8 x 8 numbers of 32 bits; strides are in bytes, `source` need not be aligned.
UFORM_INLINED void vector_transpose(char const *source, size_t source_stride, char *target, size_t target_stride) {
    UFORM_UNROLLED
    for (size_t row = 0; row < 8; row += 4) UFORM_UNROLLED
    for (size_t column = 0; column < 8; column += 4)
        vector_transpose_part(source + row * source_stride + column * sizeof(float), source_stride,
            target + column * target_stride + row * sizeof(float), target_stride);
}

UFORM_INLINED void vector_interleave_bf16(void const *even, void const *odd, void *pairs) {
    UFORM_UNROLLED
    for (size_t half = 0; half < 2; ++half) {
        uint16x8_t const first = vld1q_u16((uint16_t const *)even + half * 8);
        uint16x8_t const second = vld1q_u16((uint16_t const *)odd + half * 8);
        vst1q_u16((uint16_t *)pairs + half * 16, vzip1q_u16(first, second));
        vst1q_u16((uint16_t *)pairs + half * 16 + 8, vzip2q_u16(first, second));
    }
}

/// Towards the second-level cache, or all the way.
UFORM_INLINED void vector_prefetch(void const *memory) {
    __builtin_prefetch(memory, 0, 2);
}

UFORM_INLINED void vector_prefetch_near(void const *memory) {
    __builtin_prefetch(memory, 0, 3);
}

#endif
