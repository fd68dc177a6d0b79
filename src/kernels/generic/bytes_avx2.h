/**
 *  The vocabulary of bytes on AVX2; the meaning of each word is told in bytes_avx512.h.
 *
 *  With UFORM_BYTES_VNNI one instruction of AVX-VNNI adds the products of four bytes to a sum. Without it inputs are integers of 16
 *  bits, and weights become that when they are loaded: the instruction that multiplies bytes would overflow.
 */
#ifndef UFORM_KERNELS_GENERIC_BYTES_AVX2_H
#define UFORM_KERNELS_GENERIC_BYTES_AVX2_H

#include "kernels/generic/vector_avx2.h"

/// Eight integers of 32 bits, or what is multiplied. Not __m256i, which is four integers to GCC 12: sums of that leave the registers.
typedef int32_t bytes_t __attribute__((vector_size(32)));

UFORM_INLINED bytes_t bytes_set(int32_t value) {
    return (bytes_t)_mm256_set1_epi32(value);
}
UFORM_INLINED void bytes_store(int32_t *memory, bytes_t x) {
    _mm256_storeu_si256((__m256i *)memory, (__m256i)x);
}
UFORM_INLINED bytes_t bytes_add(bytes_t a, bytes_t b) {
    return (bytes_t)_mm256_add_epi32((__m256i)a, (__m256i)b);
}
UFORM_INLINED int32_t bytes_sum(bytes_t x) {
    __m128i const half = _mm_add_epi32(_mm256_castsi256_si128((__m256i)x), _mm256_extracti128_si256((__m256i)x, 1));
    __m128i const pair = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0x4E));
    return _mm_cvtsi128_si32(_mm_add_epi32(pair, _mm_shuffle_epi32(pair, 0xB1)));
}
UFORM_INLINED bytes_t bytes_round(vector_t x) {
    return (bytes_t)_mm256_cvtps_epi32(x);
}
UFORM_INLINED vector_t bytes_to_vector(bytes_t x) {
    return _mm256_cvtepi32_ps((__m256i)x);
}

UFORM_INLINED vector_t bytes_even(vector_t a, vector_t b) {
    return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(_mm256_shuffle_ps(a, b, 0x88)), 0xD8));
}
UFORM_INLINED vector_t bytes_odd(vector_t a, vector_t b) {
    return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(_mm256_shuffle_ps(a, b, 0xDD)), 0xD8));
}
/// `apart` is 2, 4 or 8, which is that of halves.
UFORM_INLINED vector_t bytes_firsts(vector_t a, vector_t b, size_t apart) {
    return apart < 8 ? _mm256_shuffle_ps(a, b, 0x88) : _mm256_permute2f128_ps(a, b, 0x20);
}
UFORM_INLINED vector_t bytes_seconds(vector_t a, vector_t b, size_t apart) {
    return apart < 8 ? _mm256_shuffle_ps(a, b, 0xDD) : _mm256_permute2f128_ps(a, b, 0x31);
}

UFORM_INLINED vector_t bytes_larger(vector_t largest, vector_t x) {
    __m256i const magnitude = _mm256_castps_si256(vector_absolute(x));
    return _mm256_castsi256_ps(_mm256_max_epi32(_mm256_castps_si256(largest), magnitude));
}
UFORM_INLINED float bytes_largest(vector_t x) {
    __m256i const bits = _mm256_castps_si256(x);
    __m128i const half = _mm_max_epi32(_mm256_castsi256_si128(bits), _mm256_extracti128_si256(bits, 1));
    __m128i const pair = _mm_max_epi32(half, _mm_shuffle_epi32(half, 0x4E));
    return _mm_cvtss_f32(_mm_castsi128_ps(_mm_max_epi32(pair, _mm_shuffle_epi32(pair, 0xB1))));
}

#if defined(UFORM_BYTES_VNNI)

enum { bytes_line_k = 64, bytes_step_k = 4, bytes_bias_k = 128, bytes_step_bytes_k = 32 };

UFORM_INLINED bytes_t bytes_load_weights(void const *memory) {
    return (bytes_t)_mm256_load_si256(memory);
}
UFORM_INLINED bytes_t bytes_dot(bytes_t sums, bytes_t weights, void const *inputs) {
    return (bytes_t)_mm256_dpbusd_avx_epi32(
        (__m256i)sums, (__m256i)weights, _mm256_set1_epi32(*(int32_t const *)inputs));
}
UFORM_INLINED bytes_t bytes_store_inputs(char *line, size_t stride_bytes, bytes_t const integers[8], bytes_t sums) {
    (void)stride_bytes;
    // Packing works within halves of 128 bits; the permutation restores the order.
    __m256i const order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    UFORM_UNROLLED
    for (size_t half = 0; half < 2; ++half) {
        bytes_t const *const four = integers + half * 4;
        __m256i const packed = _mm256_packs_epi16(_mm256_packs_epi32((__m256i)four[0], (__m256i)four[1]),
            _mm256_packs_epi32((__m256i)four[2], (__m256i)four[3]));
        _mm256_store_si256((__m256i *)(line + half * 32), _mm256_permutevar8x32_epi32(packed, order));
        sums = (bytes_t)_mm256_dpbusd_avx_epi32((__m256i)sums, _mm256_set1_epi8(1), packed);
    }
    return sums;
}

#else

enum { bytes_line_k = 32, bytes_step_k = 2, bytes_bias_k = 0, bytes_step_bytes_k = 16 };

UFORM_INLINED bytes_t bytes_load_weights(void const *memory) {
    return (bytes_t)_mm256_cvtepi8_epi16(_mm_load_si128(memory));
}
UFORM_INLINED bytes_t bytes_dot(bytes_t sums, bytes_t weights, void const *inputs) {
    return bytes_add(sums, (bytes_t)_mm256_madd_epi16((__m256i)weights, _mm256_set1_epi32(*(int32_t const *)inputs)));
}
/// Sixteen integers as half a line; answers them packed.
UFORM_INLINED __m256i bytes_store_half(char *line, bytes_t low, bytes_t high) {
    __m256i const packed = _mm256_packs_epi32((__m256i)low, (__m256i)high);
    _mm256_store_si256((__m256i *)line, _mm256_permute4x64_epi64(packed, 0xD8));
    return packed;
}
UFORM_INLINED bytes_t bytes_store_inputs(char *line, size_t stride_bytes, bytes_t const integers[8], bytes_t sums) {
    __m256i packed = bytes_store_half(line, integers[0], integers[1]);
    packed = _mm256_add_epi16(packed, bytes_store_half(line + 32, integers[2], integers[3]));
    packed = _mm256_add_epi16(packed, bytes_store_half(line + stride_bytes, integers[4], integers[5]));
    packed = _mm256_add_epi16(packed, bytes_store_half(line + stride_bytes + 32, integers[6], integers[7]));
    return bytes_add(sums, (bytes_t)_mm256_madd_epi16(packed, _mm256_set1_epi16(1)));
}

#endif

#endif
