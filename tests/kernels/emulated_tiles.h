/**
 *  A software model of the tile registers that `intel_sapphire` multiplies with, put in place of the compiler's intrinsics, so that
 *  its kernels are checked on machines that have everything they use but tiles. The vector instructions around it run
 *  natively.
 *
 *  Eight tiles of 16 rows x 64 bytes, configured by palette 1. As documented for the instruction that multiplies bf16: each
 *  element's products of even depths and those of odd ones are two chains of fused multiply-adds from zero, whose sum is added to what
 *  the tile holds; subnormal numbers are zeros, read or made. The one for integers of 8 bits, both with a sign, adds the products
 *  of four depths at a time; sums have 32 bits and wrap around. What a processor would refuse fails the test: tiles that aren't configured, shapes that
 *  don't match, one register in two places. So does a configuration over another: its release is missing.
 *
 *  Not for threads: there is one set of registers. Include it once, before what it is for.
 */
#ifndef UFORM_TESTS_KERNELS_EMULATED_TILES_H
#define UFORM_TESTS_KERNELS_EMULATED_TILES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <immintrin.h>
#include <string.h>

#include "kernels/target.h"

enum { emulated_tile_count_k = 8, emulated_tile_rows_k = 16, emulated_tile_row_bytes_k = 64 };

typedef struct emulated_tile_t {
    size_t rows, row_bytes; ///< zero where it isn't configured
    char bytes[emulated_tile_rows_k][emulated_tile_row_bytes_k] __attribute__((aligned(64)));
} emulated_tile_t;

static emulated_tile_t emulated_tiles[emulated_tile_count_k];
static bool emulated_tiles_configured;

/// A tile that may be used.
static emulated_tile_t *emulated_tile(size_t index) {
    if (index >= emulated_tile_count_k) fail_msg("tile %zu: there are %d", index, emulated_tile_count_k);
    emulated_tile_t *const tile = &emulated_tiles[index];
    if (!tile->rows) fail_msg("tile %zu is used, and not configured", index);
    return tile;
}

/// The layout in memory: palette, first row to restart at, 14 bytes of zeros, 16 widths of two bytes, 16 heights of one.
static void emulated_tile_configure(void const *memory) {
    uint8_t bytes[64];
    memcpy(bytes, memory, sizeof(bytes));
    if (emulated_tiles_configured) fail_msg("tiles are configured, and were not released");
    if (bytes[0] != 1) fail_msg("palette %d, expected 1", bytes[0]);
    for (size_t i = 1; i < 16; ++i)
        if (bytes[i]) fail_msg("byte %zu of the configuration is %d, expected zero", i, bytes[i]);
    for (size_t i = 0; i < 16; ++i) {
        size_t const row_bytes = bytes[16 + 2 * i] + 256u * bytes[17 + 2 * i], rows = bytes[48 + i];
        bool const there = i < emulated_tile_count_k;
        if (rows > (there ? emulated_tile_rows_k : 0) || row_bytes > (there ? emulated_tile_row_bytes_k : 0) ||
            row_bytes % 4 || !rows != !row_bytes)
            fail_msg("tile %zu is configured as %zu rows of %zu bytes", i, rows, row_bytes);
        if (!there) continue;
        memset(&emulated_tiles[i], 0, sizeof(emulated_tiles[i]));
        emulated_tiles[i].rows = rows, emulated_tiles[i].row_bytes = row_bytes;
    }
    emulated_tiles_configured = true;
}

static void emulated_tile_release(void) {
    memset(emulated_tiles, 0, sizeof(emulated_tiles));
    emulated_tiles_configured = false;
}

static void emulated_tile_zero(size_t index) {
    memset(emulated_tile(index)->bytes, 0, sizeof(emulated_tiles[index].bytes));
}

static void emulated_tile_load(size_t index, void const *memory, size_t stride) {
    emulated_tile_t *const tile = emulated_tile(index);
    memset(tile->bytes, 0, sizeof(tile->bytes));
    for (size_t row = 0; row < tile->rows; ++row)
        memcpy(tile->bytes[row], (char const *)memory + row * stride, tile->row_bytes);
}

static void emulated_tile_store(size_t index, void *memory, size_t stride) {
    emulated_tile_t const *const tile = emulated_tile(index);
    for (size_t row = 0; row < tile->rows; ++row)
        memcpy((char *)memory + row * stride, tile->bytes[row], tile->row_bytes);
}

UFORM_TARGET_BEGIN("avx512f")

/// The sixteen columns of one row. Not inlined, so that no arithmetic leaves the bounds of the mode it needs.
static __attribute__((noinline)) void emulated_multiply_row(
    char const *left, emulated_tile_t const *right, char *sums, size_t pairs) {
    __m512i const upper = _mm512_set1_epi32((int)0xFFFF0000);
    __m512 even = _mm512_setzero_ps(), odd = _mm512_setzero_ps();
    for (size_t k = 0; k < pairs; ++k) {
        int32_t pair;
        memcpy(&pair, left + 4 * k, sizeof(pair));
        __m512i const a = _mm512_set1_epi32(pair), b = _mm512_load_si512(right->bytes[k]);
        even = _mm512_fmadd_ps(
            _mm512_castsi512_ps(_mm512_slli_epi32(a, 16)), _mm512_castsi512_ps(_mm512_slli_epi32(b, 16)), even);
        odd = _mm512_fmadd_ps(
            _mm512_castsi512_ps(_mm512_and_si512(a, upper)), _mm512_castsi512_ps(_mm512_and_si512(b, upper)), odd);
    }
    _mm512_store_ps(sums, _mm512_add_ps(_mm512_load_ps(sums), _mm512_add_ps(even, odd)));
}

/// Byte `index` of each of sixteen, with its sign.
static inline __m512i emulated_signed_bytes(__m512i bytes, unsigned index) {
    return _mm512_srai_epi32(_mm512_sll_epi32(bytes, _mm_cvtsi32_si128((int)(24 - 8 * index))), 24);
}

/// The same of integers, in quads.
static __attribute__((noinline)) void emulated_multiply_integers(
    char const *left, emulated_tile_t const *right, char *sums, size_t quads) {
    __m512i sum = _mm512_load_si512(sums);
    for (size_t k = 0; k < quads; ++k) {
        int32_t quad;
        memcpy(&quad, left + 4 * k, sizeof(quad));
        __m512i const a = _mm512_set1_epi32(quad), b = _mm512_load_si512(right->bytes[k]);
        for (unsigned i = 0; i < 4; ++i)
            sum = _mm512_add_epi32(sum, _mm512_mullo_epi32(emulated_signed_bytes(a, i), emulated_signed_bytes(b, i)));
    }
    _mm512_store_si512(sums, sum);
}

UFORM_TARGET_END

typedef void (*emulated_row_t)(char const *left, emulated_tile_t const *right, char *sums, size_t count);

static void emulated_tile_multiply(
    size_t sums_index, size_t left_index, size_t right_index, emulated_row_t multiply_row) {
    emulated_tile_t *const sums = emulated_tile(sums_index);
    emulated_tile_t const *const left = emulated_tile(left_index), *const right = emulated_tile(right_index);
    if (sums == left || sums == right || left == right)
        fail_msg("tiles %zu, %zu, %zu: three are needed", sums_index, left_index, right_index);
    if (sums->rows != left->rows || sums->row_bytes != right->row_bytes || left->row_bytes / 4 != right->rows)
        fail_msg("tiles of %zu x %zu, %zu x %zu and %zu x %zu bytes can't be multiplied", sums->rows, sums->row_bytes,
            left->rows, left->row_bytes, right->rows, right->row_bytes);
    unsigned const mode = _mm_getcsr();
    // All exceptions masked, to nearest even, subnormal numbers read and made as zeros.
    _mm_setcsr(0x1F80 | _MM_FLUSH_ZERO_ON | 0x0040);
    for (size_t row = 0; row < sums->rows; ++row) multiply_row(left->bytes[row], right, sums->bytes[row], right->rows);
    _mm_setcsr(mode);
}

#undef _tile_loadd
#undef _tile_stream_loadd
#undef _tile_stored
#undef _tile_zero
#undef _tile_dpbf16ps
#undef _tile_dpbssd
#define _tile_loadconfig(memory) emulated_tile_configure(memory)
#define _tile_release() emulated_tile_release()
#define _tile_zero(tile) emulated_tile_zero(tile)
#define _tile_loadd(tile, memory, stride) emulated_tile_load(tile, memory, stride)
#define _tile_stream_loadd(tile, memory, stride) emulated_tile_load(tile, memory, stride)
#define _tile_stored(tile, memory, stride) emulated_tile_store(tile, memory, stride)
#define _tile_dpbf16ps(sums, left, right) emulated_tile_multiply(sums, left, right, emulated_multiply_row)
#define _tile_dpbssd(sums, left, right) emulated_tile_multiply(sums, left, right, emulated_multiply_integers)

#endif
