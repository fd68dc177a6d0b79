/**
 *  The vector vocabulary on AVX2 and FMA: eight floats a vector, half a line of an f32 panel.
 *
 *  The meaning of each word is told in vector_avx512.h. Minimum and maximum answer their second operand when one is a
 *  NaN.
 */
#ifndef UFORM_KERNELS_GENERIC_VECTOR_AVX2_H
#define UFORM_KERNELS_GENERIC_VECTOR_AVX2_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/target.h"

typedef __m256 vector_t;
typedef __m256 vector_mask_t; ///< all bits of a lane, or none

enum {
    vector_lanes_k = 8,
    vector_cache_bytes_k = 128 << 10, ///< inputs that may stay near the core while weights pass by
    vector_line_k = 16,               ///< numbers of 32 bits in a line of a panel
    vector_block_rows_k = 6, ///< rows of a block of 2 * vector_lanes_k columns: twelve sums in sixteen registers
    vector_multiplies_bf16_k = false,
};

/// One block kernel for each number of rows.
#define VECTOR_BLOCK_ROWS(row) row(1) row(2) row(3) row(4) row(5) row(6)

UFORM_INLINED vector_t vector_zero(void) {
    return _mm256_setzero_ps();
}
UFORM_INLINED vector_t vector_set(float value) {
    return _mm256_set1_ps(value);
}
UFORM_INLINED vector_t vector_set_from(void const *memory) {
    return _mm256_broadcast_ss(memory);
}
UFORM_INLINED vector_t vector_load(void const *memory) {
    return _mm256_load_ps(memory);
}
UFORM_INLINED vector_t vector_load_unaligned(void const *memory) {
    return _mm256_loadu_ps(memory);
}
UFORM_INLINED void vector_store(void *memory, vector_t x) {
    _mm256_store_ps(memory, x);
}

UFORM_INLINED vector_t vector_add(vector_t a, vector_t b) {
    return _mm256_add_ps(a, b);
}
UFORM_INLINED vector_t vector_subtract(vector_t a, vector_t b) {
    return _mm256_sub_ps(a, b);
}
UFORM_INLINED vector_t vector_multiply(vector_t a, vector_t b) {
    return _mm256_mul_ps(a, b);
}
UFORM_INLINED vector_t vector_divide(vector_t a, vector_t b) {
    return _mm256_div_ps(a, b);
}
UFORM_INLINED vector_t vector_reciprocal(vector_t x) {
    return _mm256_div_ps(_mm256_set1_ps(1.0f), x);
}
UFORM_INLINED vector_t vector_fma(vector_t a, vector_t b, vector_t c) {
    return _mm256_fmadd_ps(a, b, c);
}
UFORM_INLINED vector_t vector_minimum(vector_t a, vector_t b) {
    return _mm256_min_ps(a, b);
}
UFORM_INLINED vector_t vector_maximum(vector_t a, vector_t b) {
    return _mm256_max_ps(a, b);
}
UFORM_INLINED vector_t vector_absolute(vector_t x) {
    return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x);
}
UFORM_INLINED vector_t vector_copy_sign(vector_t size, vector_t sign) {
    return _mm256_or_ps(size, _mm256_and_ps(sign, _mm256_set1_ps(-0.0f)));
}
UFORM_INLINED vector_t vector_round(vector_t x) {
    return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
/// In two steps, each a power of two that a float holds, so that results overflow and underflow as they should.
UFORM_INLINED vector_t vector_scale(vector_t x, vector_t n) {
    __m256i const whole = _mm256_cvtps_epi32(n), half = _mm256_srai_epi32(whole, 1), bias = _mm256_set1_epi32(127);
    __m256i const first = _mm256_slli_epi32(_mm256_add_epi32(half, bias), 23);
    __m256i const second = _mm256_slli_epi32(_mm256_add_epi32(_mm256_sub_epi32(whole, half), bias), 23);
    return _mm256_mul_ps(_mm256_mul_ps(x, _mm256_castsi256_ps(first)), _mm256_castsi256_ps(second));
}

UFORM_INLINED vector_mask_t vector_first(size_t count) {
    __m256i const lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_castsi256_ps(_mm256_cmpgt_epi32(_mm256_set1_epi32(count < 8 ? (int)count : 8), lanes));
}
UFORM_INLINED vector_mask_t vector_above(vector_t a, vector_t b) {
    return _mm256_cmp_ps(a, b, _CMP_GT_OQ);
}
UFORM_INLINED vector_t vector_select(vector_mask_t mask, vector_t yes, vector_t no) {
    return _mm256_blendv_ps(no, yes, mask);
}

UFORM_INLINED float vector_sum(vector_t x) {
    __m128 const half = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    __m128 const pair = _mm_add_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_add_ss(pair, _mm_movehdup_ps(pair)));
}

UFORM_INLINED float vector_largest(vector_t x) {
    __m128 const half = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    __m128 const pair = _mm_max_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_max_ss(pair, _mm_movehdup_ps(pair)));
}

UFORM_INLINED vector_t vector_load_bf16(void const *memory) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_load_si128(memory)), 16));
}

UFORM_INLINED vector_t vector_even_bf16(vector_t pairs) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(pairs), 16));
}
UFORM_INLINED vector_t vector_odd_bf16(vector_t pairs) {
    // Shifts back and forth, since the mask for a bitwise and would take a register that a block needs.
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_srli_epi32(_mm256_castps_si256(pairs), 16), 16));
}

/// Never called: pairs are widened.
UFORM_INLINED vector_t vector_dot_bf16(vector_t a, vector_t b, vector_t sums) {
    (void)a, (void)b;
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

/// The rounded numbers in the high halves of their lanes, as integers below 2^16.
UFORM_INLINED __m256i vector_round_bf16(vector_t x) {
    __m256i const bits = _mm256_castps_si256(x);
    __m256i const odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    __m256i const rounded = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7FFF)), odd);
    // Carries would turn some NaNs into infinities or zeros: they keep their high half, with the quiet bit set.
    __m256i const quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
    __m256i const unordered = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
    return _mm256_srli_epi32(_mm256_blendv_epi8(rounded, quiet, unordered), 16);
}
UFORM_INLINED void vector_store_bf16(void *memory, vector_t low, vector_t high) {
    // Packing works within halves of 128 bits; the permutation restores the order.
    __m256i const packed = _mm256_packus_epi32(vector_round_bf16(low), vector_round_bf16(high));
    _mm256_store_si256(memory, _mm256_permute4x64_epi64(packed, 0xD8));
}

/// Transposes 8 x 8 numbers of 32 bits; strides are in bytes, `source` need not be aligned.
UFORM_INLINED void vector_transpose(char const *source, size_t source_stride, char *target, size_t target_stride) {
    __m256 halves[8], pairs[4];
    UFORM_UNROLLED
    for (size_t i = 0; i < 4; ++i) UFORM_UNROLLED
    for (size_t part = 0; part < 2; ++part) {
        // Half `part` of the rows i and i + 4.
        char const *const first = source + i * source_stride + part * 16;
        __m256 const row = _mm256_castps128_ps256(_mm_loadu_ps((float const *)first));
        halves[part * 4 + i] = _mm256_insertf128_ps(row, _mm_loadu_ps((float const *)(first + 4 * source_stride)), 1);
    }
    UFORM_UNROLLED
    for (size_t part = 0; part < 8; part += 4) {
        pairs[0] = _mm256_unpacklo_ps(halves[part], halves[part + 1]);
        pairs[1] = _mm256_unpackhi_ps(halves[part], halves[part + 1]);
        pairs[2] = _mm256_unpacklo_ps(halves[part + 2], halves[part + 3]);
        pairs[3] = _mm256_unpackhi_ps(halves[part + 2], halves[part + 3]);
        char *const row = target + part * target_stride;
        _mm256_store_ps((float *)row, _mm256_shuffle_ps(pairs[0], pairs[2], 0x44));
        _mm256_store_ps((float *)(row + target_stride), _mm256_shuffle_ps(pairs[0], pairs[2], 0xEE));
        _mm256_store_ps((float *)(row + 2 * target_stride), _mm256_shuffle_ps(pairs[1], pairs[3], 0x44));
        _mm256_store_ps((float *)(row + 3 * target_stride), _mm256_shuffle_ps(pairs[1], pairs[3], 0xEE));
    }
}

UFORM_INLINED void vector_interleave_bf16(void const *even, void const *odd, void *pairs) {
    __m256i const first = _mm256_load_si256(even), second = _mm256_load_si256(odd);
    __m256i const low = _mm256_unpacklo_epi16(first, second), high = _mm256_unpackhi_epi16(first, second);
    _mm256_store_si256(pairs, _mm256_permute2x128_si256(low, high, 0x20));
    _mm256_store_si256((__m256i *)pairs + 1, _mm256_permute2x128_si256(low, high, 0x31));
}

/// Towards the second-level cache, or all the way.
UFORM_INLINED void vector_prefetch(void const *memory) {
    _mm_prefetch((char const *)memory, _MM_HINT_T1);
}

UFORM_INLINED void vector_prefetch_near(void const *memory) {
    _mm_prefetch((char const *)memory, _MM_HINT_T0);
}

#endif
