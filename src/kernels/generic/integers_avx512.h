/**
 *  The integer vocabulary on AVX-512: 64 bytes a vector, four pixels of two rows at once. The meaning of each word is told in
 *  integers_avx2.h. With UFORM_INTEGERS_VNNI multiplying and adding are one instruction.
 */
#ifndef UFORM_KERNELS_GENERIC_INTEGERS_AVX512_H
#define UFORM_KERNELS_GENERIC_INTEGERS_AVX512_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels/target.h"

typedef __m512i integers_t;

enum {
    integers_bytes_k = 64,
    integers_rows_k = 2,
    integers_block_k = 8, ///< rows of a block: four vectors, whose sums of both halves take eight registers
};

UFORM_INLINED integers_t integers_zero(void) {
    return _mm512_setzero_si512();
}
UFORM_INLINED integers_t integers_set(int32_t value) {
    return _mm512_set1_epi32(value);
}
UFORM_INLINED integers_t integers_load(void const *memory) {
    return _mm512_loadu_si512(memory);
}
UFORM_INLINED void integers_store(void *memory, integers_t x) {
    _mm512_storeu_si512(memory, x);
}
UFORM_INLINED integers_t integers_pair(int16_t const *weights) {
    int32_t pair;
    memcpy(&pair, weights, sizeof(pair));
    return _mm512_set1_epi32(pair);
}
UFORM_INLINED integers_t integers_zip_low(integers_t a, integers_t b) {
    return _mm512_unpacklo_epi8(a, b);
}
UFORM_INLINED integers_t integers_zip_high(integers_t a, integers_t b) {
    return _mm512_unpackhi_epi8(a, b);
}
UFORM_INLINED integers_t integers_multiply_add(integers_t sums, integers_t pixels, integers_t weights) {
#if defined(UFORM_INTEGERS_VNNI)
    return _mm512_dpwssd_epi32(sums, pixels, weights);
#else
    return _mm512_add_epi32(sums, _mm512_madd_epi16(pixels, weights));
#endif
}
UFORM_INLINED integers_t integers_join(integers_t low, integers_t high, int split) {
    return _mm512_add_epi32(low, _mm512_slli_epi32(high, (unsigned)split));
}
UFORM_INLINED integers_t integers_scale(integers_t sum, integers_t half, __m128i precision) {
    return _mm512_sra_epi32(_mm512_add_epi32(sum, half), precision);
}
UFORM_INLINED integers_t integers_bytes(integers_t const numbers[4]) {
    return _mm512_packus_epi16(_mm512_packs_epi32(numbers[0], numbers[1]), _mm512_packs_epi32(numbers[2], numbers[3]));
}
UFORM_INLINED integers_t integers_pixels(uint8_t const *const rows[integers_rows_k], size_t offset) {
    __m512i const order =
        _mm512_broadcast_i64x4(_mm256_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1, //
            6, -1, 9, -1, 7, -1, 10, -1, 8, -1, 11, -1, -1, -1, -1, -1));
    __m512i const first = _mm512_broadcast_i32x4(_mm_loadu_si128((__m128i const *)(void const *)(rows[0] + offset)));
    __m128i const second = _mm_loadu_si128((__m128i const *)(void const *)(rows[1] + offset));
    return _mm512_shuffle_epi8(_mm512_mask_broadcast_i32x4(first, 0xFF00, second), order);
}
UFORM_INLINED integers_t integers_quad(int16_t const *quad) {
    return _mm512_broadcast_i32x4(_mm_loadu_si128((__m128i const *)(void const *)quad));
}
UFORM_INLINED integers_t integers_quad_low(integers_t quad) {
    __m512i const order = _mm512_broadcast_i64x4(_mm256_setr_epi8(0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, //
        4, 5, 6, 7, 4, 5, 6, 7, 4, 5, 6, 7, 4, 5, 6, 7));
    return _mm512_shuffle_epi8(quad, order);
}
UFORM_INLINED integers_t integers_quad_high(integers_t quad) {
    __m512i const order =
        _mm512_broadcast_i64x4(_mm256_setr_epi8(8, 9, 10, 11, 8, 9, 10, 11, 8, 9, 10, 11, 8, 9, 10, 11, //
            12, 13, 14, 15, 12, 13, 14, 15, 12, 13, 14, 15, 12, 13, 14, 15));
    return _mm512_shuffle_epi8(quad, order);
}
UFORM_INLINED void integers_pixel_pairs(integers_t const first[integers_block_k / integers_rows_k],
    integers_t const second[integers_block_k / integers_rows_k], integers_t half, __m128i precision,
    uint64_t pixels[integers_block_k]) {
    integers_t sums[4];
    UFORM_UNROLLED
    for (size_t i = 0; i < 4; ++i) { // both rows of the first output, then of the second
        integers_t const sum = _mm512_add_epi32(
            _mm512_shuffle_i32x4(first[i], second[i], 0x88), _mm512_shuffle_i32x4(first[i], second[i], 0xDD));
        sums[i] = integers_scale(sum, half, precision);
    }
    integers_t const bytes = integers_bytes(sums);
    integers_t const rows =
        _mm512_permutexvar_epi32(_mm512_setr_epi32(0, 8, 4, 12, 1, 9, 5, 13, 2, 10, 6, 14, 3, 11, 7, 15), bytes);
    __m512i const order = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 2, 4, 5, 6, -1, -1, 8, 9, 10, 12, 13, 14, -1, -1));
    _mm512_storeu_si512(pixels, _mm512_shuffle_epi8(rows, order));
}

#endif
