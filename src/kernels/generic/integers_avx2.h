/**
 *  The integer vocabulary on AVX2: 32 bytes a vector. Bytes become pairs of 16 bits, one of each of two inputs, that one
 *  instruction multiplies by a pair of weights and adds to a number of 32 bits.
 */
#ifndef UFORM_KERNELS_GENERIC_INTEGERS_AVX2_H
#define UFORM_KERNELS_GENERIC_INTEGERS_AVX2_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels/target.h"

typedef __m256i integers_t;

enum {
    integers_bytes_k = 32,
    integers_rows_k = 1,  ///< rows whose four neighbouring pixels one vector takes
    integers_block_k = 4, ///< rows of a block: their sums of both halves take eight of sixteen registers
};

UFORM_INLINED integers_t integers_zero(void) {
    return _mm256_setzero_si256();
}
UFORM_INLINED integers_t integers_set(int32_t value) {
    return _mm256_set1_epi32(value);
}
UFORM_INLINED integers_t integers_load(void const *memory) {
    return _mm256_loadu_si256(memory);
}
UFORM_INLINED void integers_store(void *memory, integers_t x) {
    _mm256_storeu_si256(memory, x);
}
/// A pair of neighbouring weights in every number of 32 bits.
UFORM_INLINED integers_t integers_pair(int16_t const *weights) {
    int32_t pair;
    memcpy(&pair, weights, sizeof(pair));
    return _mm256_set1_epi32(pair);
}
/// Bytes of two vectors in turns, the lower and the upper half of each 16 bytes.
UFORM_INLINED integers_t integers_zip_low(integers_t a, integers_t b) {
    return _mm256_unpacklo_epi8(a, b);
}
UFORM_INLINED integers_t integers_zip_high(integers_t a, integers_t b) {
    return _mm256_unpackhi_epi8(a, b);
}
/// sums + pixels * weights over pairs.
UFORM_INLINED integers_t integers_multiply_add(integers_t sums, integers_t pixels, integers_t weights) {
    return _mm256_add_epi32(sums, _mm256_madd_epi16(pixels, weights));
}
/// low + 2^split * high.
UFORM_INLINED integers_t integers_join(integers_t low, integers_t high, int split) {
    return _mm256_add_epi32(low, _mm256_slli_epi32(high, split));
}
/// (sum + half) >> precision.
UFORM_INLINED integers_t integers_scale(integers_t sum, integers_t half, __m128i precision) {
    return _mm256_sra_epi32(_mm256_add_epi32(sum, half), precision);
}
/// Undoes two steps of zipping: numbers of 32 bits, clamped to bytes.
UFORM_INLINED integers_t integers_bytes(integers_t const numbers[4]) {
    return _mm256_packus_epi16(_mm256_packs_epi32(numbers[0], numbers[1]), _mm256_packs_epi32(numbers[2], numbers[3]));
}
/// Four pixels of each row, as pairs of each channel: pixels 0 and 1, then 2 and 3. Reads 16 bytes a row.
UFORM_INLINED integers_t integers_pixels(uint8_t const *const rows[integers_rows_k], size_t offset) {
    __m256i const order = _mm256_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1, //
        6, -1, 9, -1, 7, -1, 10, -1, 8, -1, 11, -1, -1, -1, -1, -1);
    __m128i const pixels = _mm_loadu_si128((__m128i const *)(void const *)(rows[0] + offset));
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(pixels), order);
}
/// Four weights where `integers_pixels` puts their pixels; a quad holds low halves, then high ones.
UFORM_INLINED integers_t integers_quad(int16_t const *quad) {
    return _mm256_broadcastsi128_si256(_mm_loadu_si128((__m128i const *)(void const *)quad));
}
UFORM_INLINED integers_t integers_quad_low(integers_t quad) {
    __m256i const order = _mm256_setr_epi8(0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, //
        4, 5, 6, 7, 4, 5, 6, 7, 4, 5, 6, 7, 4, 5, 6, 7);
    return _mm256_shuffle_epi8(quad, order);
}
UFORM_INLINED integers_t integers_quad_high(integers_t quad) {
    __m256i const order = _mm256_setr_epi8(8, 9, 10, 11, 8, 9, 10, 11, 8, 9, 10, 11, 8, 9, 10, 11, //
        12, 13, 14, 15, 12, 13, 14, 15, 12, 13, 14, 15, 12, 13, 14, 15);
    return _mm256_shuffle_epi8(quad, order);
}
/// (sum of both pairs + half) >> precision of two neighbouring outputs of a block's rows, as six bytes a row and two zeros.
UFORM_INLINED void integers_pixel_pairs(integers_t const first[integers_block_k],
    integers_t const second[integers_block_k], integers_t half, __m128i precision, uint64_t pixels[integers_block_k]) {
    integers_t sums[integers_block_k];
    UFORM_UNROLLED
    for (size_t i = 0; i < integers_block_k; ++i) {
        integers_t const sum = _mm256_add_epi32(
            _mm256_permute2x128_si256(first[i], second[i], 0x20), _mm256_permute2x128_si256(first[i], second[i], 0x31));
        sums[i] = integers_scale(sum, half, precision);
    }
    // The first output of all rows, then the second: four bytes each.
    integers_t const bytes = integers_bytes(sums);
    integers_t const rows = _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    __m256i const order = _mm256_setr_epi8(0, 1, 2, 4, 5, 6, -1, -1, 8, 9, 10, 12, 13, 14, -1, -1, //
        0, 1, 2, 4, 5, 6, -1, -1, 8, 9, 10, 12, 13, 14, -1, -1);
    _mm256_storeu_si256((__m256i *)(void *)pixels, _mm256_shuffle_epi8(rows, order));
}

#endif
