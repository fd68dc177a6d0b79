/**
 *  The vocabulary of bytes on NEON; the meaning of each word is told in bytes_avx512.h. Both operands have signs.
 *
 *  With UFORM_BYTES_SDOT one instruction adds the products of four bytes to a sum. Without it products of two depths are added as
 *  16 bits, which two of up to 127 * 127 fit, and neighbours of those to the sums.
 */
#ifndef UFORM_KERNELS_GENERIC_BYTES_NEON_H
#define UFORM_KERNELS_GENERIC_BYTES_NEON_H

#include "kernels/generic/vector_neon.h"

/// Eight integers of 32 bits, or what is multiplied.
typedef struct bytes_t {
    int32x4_t low, high;
} bytes_t;

enum { bytes_line_k = 64, bytes_step_k = 4, bytes_bias_k = 0, bytes_step_bytes_k = 32 };

UFORM_INLINED bytes_t bytes_set(int32_t value) {
    int32x4_t const both = vdupq_n_s32(value);
    return (bytes_t){both, both};
}
UFORM_INLINED void bytes_store(int32_t *memory, bytes_t x) {
    vst1q_s32(memory, x.low);
    vst1q_s32(memory + 4, x.high);
}
UFORM_INLINED bytes_t bytes_add(bytes_t a, bytes_t b) {
    return (bytes_t){vaddq_s32(a.low, b.low), vaddq_s32(a.high, b.high)};
}
UFORM_INLINED int32_t bytes_sum(bytes_t x) {
    return vaddvq_s32(vaddq_s32(x.low, x.high));
}
/// What is no number becomes zero.
UFORM_INLINED bytes_t bytes_round(vector_t x) {
    return (bytes_t){vcvtnq_s32_f32(x.low), vcvtnq_s32_f32(x.high)};
}
UFORM_INLINED vector_t bytes_to_vector(bytes_t x) {
    return (vector_t){vcvtq_f32_s32(x.low), vcvtq_f32_s32(x.high)};
}

UFORM_INLINED vector_t bytes_even(vector_t a, vector_t b) {
    return (vector_t){vuzp1q_f32(a.low, a.high), vuzp1q_f32(b.low, b.high)};
}
UFORM_INLINED vector_t bytes_odd(vector_t a, vector_t b) {
    return (vector_t){vuzp2q_f32(a.low, a.high), vuzp2q_f32(b.low, b.high)};
}
/// `apart` is 2, 4 or 8, which is that of halves.
UFORM_INLINED vector_t bytes_firsts(vector_t a, vector_t b, size_t apart) {
    return apart < 8 ? (vector_t){vuzp1q_f32(a.low, b.low), vuzp1q_f32(a.high, b.high)} : (vector_t){a.low, b.low};
}
UFORM_INLINED vector_t bytes_seconds(vector_t a, vector_t b, size_t apart) {
    return apart < 8 ? (vector_t){vuzp2q_f32(a.low, b.low), vuzp2q_f32(a.high, b.high)} : (vector_t){a.high, b.high};
}

UFORM_INLINED float32x4_t bytes_larger_half(float32x4_t largest, float32x4_t magnitude) {
    return vreinterpretq_f32_s32(vmaxq_s32(vreinterpretq_s32_f32(largest), vreinterpretq_s32_f32(magnitude)));
}
UFORM_INLINED vector_t bytes_larger(vector_t largest, vector_t x) {
    vector_t const magnitude = vector_absolute(x);
    return (vector_t){bytes_larger_half(largest.low, magnitude.low), bytes_larger_half(largest.high, magnitude.high)};
}
UFORM_INLINED float bytes_largest(vector_t x) {
    int32_t const bits = vmaxvq_s32(vreinterpretq_s32_f32(bytes_larger_half(x.low, x.high)));
    return vgetq_lane_f32(vreinterpretq_f32_s32(vdupq_n_s32(bits)), 0);
}

#define UFORM_BYTES_LANES

#if defined(UFORM_BYTES_SDOT)

/// Inputs of four steps.
typedef int8x16_t bytes_inputs_t;

UFORM_INLINED bytes_inputs_t bytes_load_inputs(void const *memory) {
    return vld1q_s8(memory);
}
UFORM_INLINED bytes_t bytes_load_weights(void const *memory) {
    return (bytes_t){vld1q_s32(memory), vld1q_s32((int32_t const *)memory + 4)};
}
UFORM_INLINED int32x4_t bytes_dot_half(int32x4_t sums, int32x4_t weights, bytes_inputs_t inputs, size_t lane) {
    int8x16_t const columns = vreinterpretq_s8_s32(weights);
    return lane == 0   ? vdotq_laneq_s32(sums, columns, inputs, 0)
           : lane == 1 ? vdotq_laneq_s32(sums, columns, inputs, 1)
           : lane == 2 ? vdotq_laneq_s32(sums, columns, inputs, 2)
                       : vdotq_laneq_s32(sums, columns, inputs, 3);
}
/// With the inputs of one of the four steps.
UFORM_INLINED bytes_t bytes_dot_lane(bytes_t sums, bytes_t weights, bytes_inputs_t inputs, size_t lane) {
    return (bytes_t){
        bytes_dot_half(sums.low, weights.low, inputs, lane), bytes_dot_half(sums.high, weights.high, inputs, lane)};
}
UFORM_INLINED bytes_t bytes_dot(bytes_t sums, bytes_t weights, void const *inputs) {
    return bytes_dot_lane(sums, weights, vreinterpretq_s8_s32(vld1q_dup_s32(inputs)), 0);
}

#else

/// Inputs stay in memory: two of them fill a register.
typedef char const *bytes_inputs_t;

UFORM_INLINED bytes_inputs_t bytes_load_inputs(void const *memory) {
    return memory;
}
/// The first two depths of eight columns, then the other two.
UFORM_INLINED bytes_t bytes_load_weights(void const *memory) {
    uint16x8_t const first = vld1q_u16(memory), second = vld1q_u16((uint16_t const *)memory + 8);
    return (bytes_t){
        vreinterpretq_s32_u16(vuzp1q_u16(first, second)), vreinterpretq_s32_u16(vuzp2q_u16(first, second))};
}
UFORM_INLINED bytes_t bytes_dot(bytes_t sums, bytes_t weights, void const *inputs) {
    int8x16_t const first = vreinterpretq_s8_s32(weights.low), second = vreinterpretq_s8_s32(weights.high);
    int8x16_t const pair = vreinterpretq_s8_s16(vld1q_dup_s16(inputs));
    int8x16_t const next = vreinterpretq_s8_s16(vld1q_dup_s16((int16_t const *)inputs + 1));
    int16x8_t const low =
        vmlal_s8(vmull_s8(vget_low_s8(first), vget_low_s8(pair)), vget_low_s8(second), vget_low_s8(next));
    int16x8_t const high = vmlal_high_s8(vmull_high_s8(first, pair), second, next);
    return (bytes_t){vpadalq_s16(sums.low, low), vpadalq_s16(sums.high, high)};
}
UFORM_INLINED bytes_t bytes_dot_lane(bytes_t sums, bytes_t weights, bytes_inputs_t inputs, size_t lane) {
    // The address is made anew, as inputs should be loaded once more for each vector of weights, not kept: registers are full.
    __asm__("" : "+r"(inputs) : UFORM_VECTOR_REGISTER(weights.low));
    return bytes_dot(sums, weights, inputs + lane * sizeof(float));
}

#endif

/// Sixteen integers of 32 bits as bytes.
UFORM_INLINED int8x16_t bytes_narrow(bytes_t low, bytes_t high) {
    int16x8_t const first = vcombine_s16(vmovn_s32(low.low), vmovn_s32(low.high));
    int16x8_t const second = vcombine_s16(vmovn_s32(high.low), vmovn_s32(high.high));
    return vcombine_s8(vmovn_s16(first), vmovn_s16(second));
}
UFORM_INLINED bytes_t bytes_store_inputs(char *line, size_t stride_bytes, bytes_t const integers[8], bytes_t sums) {
    (void)stride_bytes;
    UFORM_UNROLLED
    for (size_t i = 0; i < 4; ++i) {
        int8x16_t const bytes = bytes_narrow(integers[2 * i], integers[2 * i + 1]);
        vst1q_s8((int8_t *)line + 16 * i, bytes);
        sums.low = vpadalq_s16(sums.low, vpaddlq_s8(bytes));
    }
    return sums;
}

#endif
