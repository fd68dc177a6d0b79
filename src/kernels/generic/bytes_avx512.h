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

/// Lanes `apart` from each other change places; `apart` is 1, 2, 4 or 8.
UFORM_INLINED vector_t bytes_swap(vector_t x, size_t apart) {
    if (apart == 1) return _mm512_permute_ps(x, 0xB1);
    if (apart == 2) return _mm512_permute_ps(x, 0x4E);
    return apart == 4 ? _mm512_shuffle_f32x4(x, x, 0xB1) : _mm512_shuffle_f32x4(x, x, 0x4E);
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
    return (bytes_t)_mm512_dpbusd_epi32((__m512i)sums, (__m512i)weights, _mm512_set1_epi32(*(int32_t const *)inputs));
}
/// Stores 64 integers as a line of inputs.
UFORM_INLINED void bytes_store_inputs(char *line, size_t stride_bytes, bytes_t const integers[4]) {
    (void)stride_bytes;
    // Packing works within quarters; the permutation restores the order.
    __m512i const low = _mm512_packs_epi32((__m512i)integers[0], (__m512i)integers[1]);
    __m512i const high = _mm512_packs_epi32((__m512i)integers[2], (__m512i)integers[3]);
    __m512i const order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    _mm512_store_si512(line, _mm512_permutexvar_epi32(order, _mm512_packs_epi16(low, high)));
}

#else

enum { bytes_line_k = 32, bytes_step_k = 2, bytes_bias_k = 0, bytes_step_bytes_k = 32 };

UFORM_INLINED bytes_t bytes_load_weights(void const *memory) {
    return (bytes_t)_mm512_cvtepi8_epi16(_mm256_load_si256(memory));
}
UFORM_INLINED bytes_t bytes_dot(bytes_t sums, bytes_t weights, void const *inputs) {
    return bytes_add(sums, (bytes_t)_mm512_madd_epi16((__m512i)weights, _mm512_set1_epi32(*(int32_t const *)inputs)));
}
UFORM_INLINED void bytes_store_inputs(char *line, size_t stride_bytes, bytes_t const integers[4]) {
    __m512i const order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
    _mm512_store_si512(
        line, _mm512_permutexvar_epi64(order, _mm512_packs_epi32((__m512i)integers[0], (__m512i)integers[1])));
    _mm512_store_si512(line + stride_bytes,
        _mm512_permutexvar_epi64(order, _mm512_packs_epi32((__m512i)integers[2], (__m512i)integers[3])));
}

#endif

#endif
