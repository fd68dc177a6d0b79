/**
 *  The vector vocabulary on AVX-512 (F, BW, DQ, VL): sixteen floats a vector, one line of an f32 panel.
 *
 *  A file of generic loops includes nothing but this or another vocabulary; see vector_avx2.h for its sibling.
 *  Operand order of minimum and maximum matters: both answer their second operand when one is a NaN.
 */
#ifndef UFORM_KERNELS_GENERIC_VECTOR_AVX512_H
#define UFORM_KERNELS_GENERIC_VECTOR_AVX512_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/target.h"

typedef __m512 vector_t;
typedef __mmask16 vector_mask_t;

enum {
    vector_lanes_k = 16,
    vector_cache_bytes_k = 1 << 20, ///< inputs that may stay near the core while weights pass by
    vector_line_k = 16,             ///< numbers of 32 bits in a line of a panel
    vector_block_rows_k =
        14, ///< rows of a block of 2 * vector_lanes_k columns: 28 sums, two weights and an input in 32 registers
};

/// One block kernel for each number of rows.
#define VECTOR_BLOCK_ROWS(row)                                                                                         \
    row(1) row(2) row(3) row(4) row(5) row(6) row(7) row(8) row(9) row(10) row(11) row(12) row(13) row(14)

UFORM_INLINED vector_t vector_zero(void) {
    return _mm512_setzero_ps();
}
UFORM_INLINED vector_t vector_set(float value) {
    return _mm512_set1_ps(value);
}
/// The four bytes at `memory`, a float or a pair of bf16, in all lanes.
UFORM_INLINED vector_t vector_set_from(void const *memory) {
    return _mm512_set1_ps(*(float const *)memory);
}
UFORM_INLINED vector_t vector_load(void const *memory) {
    return _mm512_load_ps(memory);
}
UFORM_INLINED vector_t vector_load_unaligned(void const *memory) {
    return _mm512_loadu_ps(memory);
}
UFORM_INLINED void vector_store(void *memory, vector_t x) {
    _mm512_store_ps(memory, x);
}

UFORM_INLINED vector_t vector_add(vector_t a, vector_t b) {
    return _mm512_add_ps(a, b);
}
UFORM_INLINED vector_t vector_subtract(vector_t a, vector_t b) {
    return _mm512_sub_ps(a, b);
}
UFORM_INLINED vector_t vector_multiply(vector_t a, vector_t b) {
    return _mm512_mul_ps(a, b);
}
UFORM_INLINED vector_t vector_divide(vector_t a, vector_t b) {
    return _mm512_div_ps(a, b);
}
/// One over x, with a relative error of 1e-4 at most; zero for what is infinite.
UFORM_INLINED vector_t vector_reciprocal(vector_t x) {
    return _mm512_rcp14_ps(x);
}
/// a * b + c with one rounding.
UFORM_INLINED vector_t vector_fma(vector_t a, vector_t b, vector_t c) {
    return _mm512_fmadd_ps(a, b, c);
}
UFORM_INLINED vector_t vector_minimum(vector_t a, vector_t b) {
    return _mm512_min_ps(a, b);
}
UFORM_INLINED vector_t vector_maximum(vector_t a, vector_t b) {
    return _mm512_max_ps(a, b);
}
UFORM_INLINED vector_t vector_absolute(vector_t x) {
    return _mm512_abs_ps(x);
}
/// `size` with the sign of `sign`; `size` must not be negative.
UFORM_INLINED vector_t vector_copy_sign(vector_t size, vector_t sign) {
    return _mm512_or_ps(size, _mm512_and_ps(sign, _mm512_set1_ps(-0.0f)));
}
UFORM_INLINED vector_t vector_round(vector_t x) {
    return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
/// x * 2^n for whole n of at most a few hundred.
UFORM_INLINED vector_t vector_scale(vector_t x, vector_t n) {
    return _mm512_scalef_ps(x, n);
}

/// The first `count` lanes; all of them when there are more.
UFORM_INLINED vector_mask_t vector_first(size_t count) {
    return count >= 16 ? (vector_mask_t)0xFFFF : (vector_mask_t)((1u << count) - 1u);
}
/// Lanes where a > b; none where one is a NaN.
UFORM_INLINED vector_mask_t vector_above(vector_t a, vector_t b) {
    return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ);
}
/// `yes` where the mask is set, else `no`.
UFORM_INLINED vector_t vector_select(vector_mask_t mask, vector_t yes, vector_t no) {
    return _mm512_mask_blend_ps(mask, no, yes);
}

UFORM_INLINED float vector_sum(vector_t x) {
    __m256 const half = _mm256_add_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1));
    __m128 const quarter = _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
    __m128 const pair = _mm_add_ps(quarter, _mm_movehl_ps(quarter, quarter));
    return _mm_cvtss_f32(_mm_add_ss(pair, _mm_movehdup_ps(pair)));
}

/// The largest lane; NaNs may get lost.
UFORM_INLINED float vector_largest(vector_t x) {
    __m256 const half = _mm256_max_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1));
    __m128 const quarter = _mm_max_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
    __m128 const pair = _mm_max_ps(quarter, _mm_movehl_ps(quarter, quarter));
    return _mm_cvtss_f32(_mm_max_ss(pair, _mm_movehdup_ps(pair)));
}

/// Sixteen consecutive bf16 numbers as f32.
UFORM_INLINED vector_t vector_load_bf16(void const *memory) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_load_si256(memory)), 16));
}

/// The first and the second numbers of sixteen pairs of bf16.
UFORM_INLINED vector_t vector_even_bf16(vector_t pairs) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_castps_si512(pairs), 16));
}
UFORM_INLINED vector_t vector_odd_bf16(vector_t pairs) {
    // A mask of words, as a vector for a bitwise and would take the last register of a block.
    return _mm512_castsi512_ps(_mm512_maskz_mov_epi16(0xAAAAAAAAu, _mm512_castps_si512(pairs)));
}

/// Rounds 2 * vector_lanes_k floats to nearest even and stores them as consecutive bf16 numbers; NaN stays NaN.
#if defined(UFORM_VECTOR_NATIVE_BF16)
enum { vector_multiplies_bf16_k = true };
UFORM_INLINED void vector_store_bf16(void *memory, vector_t low, vector_t high) {
    // The instruction takes subnormal numbers for zeros, which changes nothing a sum could feel.
    _mm512_store_si512(memory, (__m512i)_mm512_cvtne2ps_pbh(high, low));
}
/// Adds the products of both numbers of each pair to the sums.
UFORM_INLINED vector_t vector_dot_bf16(vector_t a, vector_t b, vector_t sums) {
    return _mm512_dpbf16_ps(sums, (__m512bh)_mm512_castps_si512(a), (__m512bh)_mm512_castps_si512(b));
}
/// Powers of two as bf16, from exponents i in 128ths: the integer part is where bf16 keeps its exponent already, so the power is
/// i + 127 * 128 + what the mantissa 2^f - 1 differs from the fraction f, looked up by the six upper bits of f. Largest
/// relative error 0.45 %, standard deviation 0.17 %: little more than that of rounding to bf16, which the weights of a softmax
/// go through anyway. This is half of the table.
UFORM_INLINED __m512i vector_power_terms(size_t half) {
    static int8_t const power_terms[64] = {0, -1, -1, -2, -2, -3, -4, -4, -5, -5, -5, -6, -6, -7, -7, -8, -8, -8, -9,
        -9, -9, -9, -10, -10, -10, -10, -10, -11, -11, -11, -11, -11, -11, -11, -11, -11, -11, -11, -11, -11, -11, -10,
        -10, -10, -10, -10, -9, -9, -9, -8, -8, -8, -7, -7, -6, -6, -5, -5, -4, -3, -3, -2, -1, -1};
    __m256i const terms = _mm256_loadu_si256((__m256i const *)power_terms + half);
    return _mm512_add_epi16(_mm512_cvtepi8_epi16(terms), _mm512_set1_epi16(127 * 128));
}
/// No power is below 2^-126.
UFORM_INLINED __m512i vector_raise_bf16(__m512i exponents, __m512i low_terms, __m512i high_terms) {
    exponents = _mm512_max_epi16(exponents, _mm512_set1_epi16(-126 * 128));
    __m512i const terms = _mm512_permutex2var_epi16(low_terms, _mm512_srai_epi16(exponents, 1), high_terms);
    return _mm512_add_epi16(terms, exponents);
}
/// 2^((x * factor - offset) / 128) of both vectors as consecutive bf16 numbers; NaN gives the smallest.
UFORM_INLINED vector_t vector_exp2_bf16(vector_t low, vector_t high, vector_t factor, vector_t offset) {
    __m512i const first = _mm512_cvtps_epi32(_mm512_fmsub_ps(low, factor, offset));
    __m512i const second = _mm512_cvtps_epi32(_mm512_fmsub_ps(high, factor, offset));
    // Packing works within quarters; the permutation restores the order.
    __m512i const exponents =
        _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), _mm512_packs_epi32(first, second));
    return _mm512_castsi512_ps(vector_raise_bf16(exponents, vector_power_terms(0), vector_power_terms(1)));
}
/// The first `count` of the numbers, zeros behind; all of them when there are no more.
UFORM_INLINED vector_t vector_first_bf16(vector_t pairs, size_t count) {
    __mmask32 const mask = count >= 32 ? 0xFFFFFFFFu : (1u << count) - 1u;
    return _mm512_castsi512_ps(_mm512_maskz_mov_epi16(mask, _mm512_castps_si512(pairs)));
}
#else
enum { vector_multiplies_bf16_k = false };
/// Never called: without the instruction pairs are widened.
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
UFORM_INLINED __m256i vector_round_bf16(vector_t x) {
    __m512i const bits = _mm512_castps_si512(x);
    __m512i const odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    __m512i const rounded = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7FFF)), odd);
    // Carries would turn some NaNs into infinities or zeros: they keep their high half, with the quiet bit set.
    __mmask16 const unordered = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
    __m512i const kept = _mm512_mask_or_epi32(rounded, unordered, bits, _mm512_set1_epi32(0x400000));
    return _mm512_cvtepi32_epi16(_mm512_srli_epi32(kept, 16));
}
UFORM_INLINED void vector_store_bf16(void *memory, vector_t low, vector_t high) {
    _mm256_store_si256(memory, vector_round_bf16(low));
    _mm256_store_si256((__m256i *)memory + 1, vector_round_bf16(high));
}
#endif

/// Transposes 16 x 16 numbers of 32 bits; strides are in bytes, `source` need not be aligned.
UFORM_INLINED void vector_transpose(char const *source, size_t source_stride, char *target, size_t target_stride) {
    __m512i quarters[16], pairs[16];
    UFORM_UNROLLED
    for (size_t i = 0; i < 4; ++i) UFORM_UNROLLED
    for (size_t part = 0; part < 4; ++part) {
        // Quarter `part` of the rows i, i + 4, i + 8, i + 12.
        char const *const first = source + i * source_stride + part * 16;
        __m512i rows = _mm512_castsi128_si512(_mm_loadu_si128((__m128i const *)first));
        rows = _mm512_inserti32x4(rows, _mm_loadu_si128((__m128i const *)(first + 4 * source_stride)), 1);
        rows = _mm512_inserti32x4(rows, _mm_loadu_si128((__m128i const *)(first + 8 * source_stride)), 2);
        rows = _mm512_inserti32x4(rows, _mm_loadu_si128((__m128i const *)(first + 12 * source_stride)), 3);
        quarters[part * 4 + i] = rows;
    }
    UFORM_UNROLLED
    for (size_t part = 0; part < 16; part += 4) {
        pairs[part + 0] = _mm512_unpacklo_epi32(quarters[part], quarters[part + 1]);
        pairs[part + 1] = _mm512_unpackhi_epi32(quarters[part], quarters[part + 1]);
        pairs[part + 2] = _mm512_unpacklo_epi32(quarters[part + 2], quarters[part + 3]);
        pairs[part + 3] = _mm512_unpackhi_epi32(quarters[part + 2], quarters[part + 3]);
        char *const row = target + part * target_stride;
        _mm512_store_si512(row, _mm512_unpacklo_epi64(pairs[part], pairs[part + 2]));
        _mm512_store_si512(row + target_stride, _mm512_unpackhi_epi64(pairs[part], pairs[part + 2]));
        _mm512_store_si512(row + 2 * target_stride, _mm512_unpacklo_epi64(pairs[part + 1], pairs[part + 3]));
        _mm512_store_si512(row + 3 * target_stride, _mm512_unpackhi_epi64(pairs[part + 1], pairs[part + 3]));
    }
}

/// Interleaves 2 * vector_lanes_k bf16 numbers of one row with those of the next: pairs (even, odd), stored one behind
/// the other.
UFORM_INLINED void vector_interleave_bf16(void const *even, void const *odd, void *pairs) {
    __m512i const low = _mm512_set_epi16(47, 15, 46, 14, 45, 13, 44, 12, 43, 11, 42, 10, 41, 9, 40, 8, 39, 7, 38, 6, 37,
        5, 36, 4, 35, 3, 34, 2, 33, 1, 32, 0);
    __m512i const high = _mm512_add_epi16(low, _mm512_set1_epi16(16));
    __m512i const first = _mm512_load_si512(even), second = _mm512_load_si512(odd);
    _mm512_store_si512(pairs, _mm512_permutex2var_epi16(first, low, second));
    _mm512_store_si512((char *)pairs + 64, _mm512_permutex2var_epi16(first, high, second));
}

/// Towards the second-level cache, or all the way.
UFORM_INLINED void vector_prefetch(void const *memory) {
    _mm_prefetch((char const *)memory, _MM_HINT_T1);
}

UFORM_INLINED void vector_prefetch_near(void const *memory) {
    _mm_prefetch((char const *)memory, _MM_HINT_T0);
}

#endif
