/**
 *  The vocabulary of bytes on AVX-512: what products of integers need beside vectors of floats.
 *
 *  With UFORM_BYTES_VNNI one instruction adds the products of four bytes to a sum, one of them without a sign: the weights, 128
 *  larger than they are. Without it inputs are integers of 16 bits, and weights become that when they are loaded.
 */
#ifndef UFORM_KERNELS_GENERIC_BYTES_AVX512_H
#define UFORM_KERNELS_GENERIC_BYTES_AVX512_H

#include "kernels/generic/vector_avx512.h"

/// Sixteen integers of 32 bits, or what is multiplied. Not __m512i, which is eight integers to GCC 12: its sums would be copied
/// before every instruction.
typedef int32_t bytes_t __attribute__((vector_size(64)));

UFORM_INLINED bytes_t bytes_set(int32_t value) {
    return (bytes_t)_mm512_set1_epi32(value);
}
UFORM_INLINED void bytes_store(int32_t *memory, bytes_t x) {
    _mm512_storeu_si512(memory, (__m512i)x);
}
UFORM_INLINED bytes_t bytes_add(bytes_t a, bytes_t b) {
    return (bytes_t)_mm512_add_epi32((__m512i)a, (__m512i)b);
}
UFORM_INLINED int32_t bytes_sum(bytes_t x) {
    return _mm512_reduce_add_epi32((__m512i)x);
}
/// To nearest even; what is no number becomes the smallest integer.
UFORM_INLINED bytes_t bytes_round(vector_t x) {
    return (bytes_t)_mm512_cvtps_epi32(x);
}
UFORM_INLINED vector_t bytes_to_vector(bytes_t x) {
    return _mm512_cvtepi32_ps((__m512i)x);
}

/// The even and the odd ones of the numbers in two consecutive vectors.
UFORM_INLINED vector_t bytes_even(vector_t a, vector_t b) {
    __m512i const even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    return _mm512_permutex2var_ps(a, even, b);
}
UFORM_INLINED vector_t bytes_odd(vector_t a, vector_t b) {
    __m512i const odd = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
    return _mm512_permutex2var_ps(a, odd, b);
}

/// From two vectors that hold numbers `apart / 2` from each other in the same lanes, two that hold those `apart` from each other,
/// which is 2, 4, 8 or 16: the first lanes, or quarters, of each two of both vectors, and the second ones. It begins with what
/// is even and odd; after the last step all numbers are in their order.
UFORM_INLINED vector_t bytes_firsts(vector_t a, vector_t b, size_t apart) {
    return apart < 8 ? _mm512_shuffle_ps(a, b, 0x88) : _mm512_shuffle_f32x4(a, b, 0x88);
}
UFORM_INLINED vector_t bytes_seconds(vector_t a, vector_t b, size_t apart) {
    return apart < 8 ? _mm512_shuffle_ps(a, b, 0xDD) : _mm512_shuffle_f32x4(a, b, 0xDD);
}

/// The larger of the magnitudes in each lane; a NaN is larger than all numbers.
UFORM_INLINED vector_t bytes_larger(vector_t largest, vector_t x) {
    __m512i const magnitude = _mm512_castps_si512(vector_absolute(x));
    return _mm512_castsi512_ps(_mm512_max_epi32(_mm512_castps_si512(largest), magnitude));
}
UFORM_INLINED float bytes_largest(vector_t x) {
    return _mm_cvtss_f32(_mm_castsi128_ps(_mm_cvtsi32_si128(_mm512_reduce_max_epi32(_mm512_castps_si512(x)))));
}

#if defined(UFORM_BYTES_VNNI)

enum {
    bytes_line_k = 64,       ///< inputs in a line
    bytes_step_k = 4,        ///< depths that one instruction multiplies
    bytes_bias_k = 128,      ///< what packed weights are larger by
    bytes_step_bytes_k = 64, ///< weights of one vector's columns and one step
};

UFORM_INLINED bytes_t bytes_load_weights(void const *memory) {
    return (bytes_t)_mm512_load_si512(memory);
}
/// Adds the products of four inputs with every column's four weights.
UFORM_INLINED bytes_t bytes_dot(bytes_t sums, bytes_t weights, void const *inputs) {
    __m512i const four = _mm512_set1_epi32(*(int32_t const *)inputs);
    return (bytes_t)_mm512_dpbusd_epi32((__m512i)sums, (__m512i)weights, four);
}
/// Stores 64 integers as a line of inputs, and adds them to the sums, in whatever lanes.
UFORM_INLINED bytes_t bytes_store_inputs(char *line, size_t stride_bytes, bytes_t const integers[4], bytes_t sums) {
    (void)stride_bytes;
    // Packing works within quarters; the permutation restores the order.
    __m512i const low = _mm512_packs_epi32((__m512i)integers[0], (__m512i)integers[1]);
    __m512i const high = _mm512_packs_epi32((__m512i)integers[2], (__m512i)integers[3]);
    __m512i const order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    __m512i const bytes = _mm512_packs_epi16(low, high);
    _mm512_store_si512(line, _mm512_permutexvar_epi32(order, bytes));
    return (bytes_t)_mm512_dpbusd_epi32((__m512i)sums, _mm512_set1_epi8(1), bytes);
}

#else

enum { bytes_line_k = 32, bytes_step_k = 2, bytes_bias_k = 0, bytes_step_bytes_k = 32 };

UFORM_INLINED bytes_t bytes_load_weights(void const *memory) {
    return (bytes_t)_mm512_cvtepi8_epi16(_mm256_load_si256(memory));
}
UFORM_INLINED bytes_t bytes_dot(bytes_t sums, bytes_t weights, void const *inputs) {
    __m512i const pair = _mm512_set1_epi32(*(int32_t const *)inputs);
    return bytes_add(sums, (bytes_t)_mm512_madd_epi16((__m512i)weights, pair));
}
UFORM_INLINED bytes_t bytes_store_inputs(char *line, size_t stride_bytes, bytes_t const integers[4], bytes_t sums) {
    __m512i const order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
    __m512i const low = _mm512_packs_epi32((__m512i)integers[0], (__m512i)integers[1]);
    __m512i const high = _mm512_packs_epi32((__m512i)integers[2], (__m512i)integers[3]);
    _mm512_store_si512(line, _mm512_permutexvar_epi64(order, low));
    _mm512_store_si512(line + stride_bytes, _mm512_permutexvar_epi64(order, high));
    // Sums of a few integers fit 16 bits.
    __m512i const pairs = _mm512_madd_epi16(_mm512_add_epi16(low, high), _mm512_set1_epi16(1));
    return bytes_add(sums, (bytes_t)pairs);
}

#endif

#endif
