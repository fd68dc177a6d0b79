/**
 *  Guarded memory, seeded random numbers, panels and comparisons. A guarded block lies between two pages without
 *  access, so that a kernel which reaches one byte too far on the checked side dies on the spot.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness.h"

static uint64_t random_state;

void random_seed(uint64_t seed) {
    random_state = seed;
}

// SplitMix64.
uint64_t random_bits(void) {
    uint64_t z = random_state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

size_t random_below(size_t limit) {
    return (size_t)(random_bits() % limit);
}

float random_float(void) {
    return (float)((double)(random_bits() >> 11) * 0x1p-52 - 1.0);
}

float random_content(contents_t contents) {
    float const x = random_float();
    switch (contents) {
        case contents_huge_k:
            return x * 1e15f;
        case contents_tiny_k:
            return x * 1e-20f;
        case contents_subnormal_k:
            return random_below(4) ? x * 1e-39f : 0.0f;
        default:
            return x;
    }
}

guarded_t guarded_new(size_t bytes, bool at_end) {
    size_t const page = (size_t)sysconf(_SC_PAGESIZE), inside = round_up(bytes ? bytes : 1, page);
    guarded_t guarded = {.bytes = bytes, .pages_bytes = inside + 2 * page};
    guarded.pages = mmap(NULL, guarded.pages_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(guarded.pages != MAP_FAILED);
    assert_int_equal(mprotect(guarded.pages, page, PROT_NONE), 0);
    assert_int_equal(mprotect((char *)guarded.pages + page + inside, page, PROT_NONE), 0);
    guarded.data = (char *)guarded.pages + page + (at_end ? inside - bytes : 0);
    memset(guarded.data, 0xFF, bytes);
    return guarded;
}

void guarded_free(guarded_t *guarded) {
    munmap(guarded->pages, guarded->pages_bytes);
}

float *vector_of(guarded_t const *guarded) {
    return guarded->data;
}

size_t round_up(size_t value, size_t step) {
    return (value + step - 1) / step * step;
}

static size_t lane_of(precision_t precision) {
    return precision == precision_f32_k ? 16 : 32;
}

matrix_t matrix_new(precision_t precision, size_t rows, size_t width, size_t spare_lines, bool at_end) {
    matrix_t matrix = {.precision = precision == precision_f32_k ? precision_f32_k : precision_bf16_k};
    matrix.rows = round_up(rows, uform_row_step_k), matrix.width = round_up(width, uform_width_step_k);
    matrix.panels.stride_bytes = (matrix.rows + spare_lines) * 64;
    // The last panel ends with its last padded row.
    size_t const panels = matrix.width / lane_of(precision);
    matrix.memory = guarded_new((panels - 1) * matrix.panels.stride_bytes + matrix.rows * 64, at_end);
    matrix.panels.data = matrix.memory.data;
    return matrix;
}

void matrix_free(matrix_t *matrix) {
    guarded_free(&matrix->memory);
}

static char *matrix_at(matrix_t const *matrix, size_t row, size_t column) {
    size_t const lane = lane_of(matrix->precision);
    return (char *)matrix->panels.data + column / lane * matrix->panels.stride_bytes + row * 64 +
           column % lane * (64 / lane);
}

uint32_t matrix_bits(matrix_t const *matrix, size_t row, size_t column) {
    uint32_t bits = 0;
    memcpy(&bits, matrix_at(matrix, row, column), 64 / lane_of(matrix->precision));
    return bits;
}

float matrix_get(matrix_t const *matrix, size_t row, size_t column) {
    uint32_t const bits = matrix_bits(matrix, row, column);
    if (matrix->precision == precision_bf16_k) return uform_bf16_to_f32_((uint16_t)bits);
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

void matrix_set(matrix_t *matrix, size_t row, size_t column, float value) {
    uint16_t const half = uform_f32_to_bf16_(value);
    if (matrix->precision == precision_bf16_k) memcpy(matrix_at(matrix, row, column), &half, sizeof(half));
    else memcpy(matrix_at(matrix, row, column), &value, sizeof(value));
}

void matrix_fill(matrix_t *matrix, size_t rows, size_t width, contents_t contents) {
    for (size_t row = 0; row < rows; ++row)
        for (size_t column = 0; column < matrix->width; ++column)
            matrix_set(matrix, row, column, column < width ? random_content(contents) : 0.0f);
}

void matrix_copy(matrix_t *to, matrix_t const *from) {
    for (size_t column = 0; column < from->width; column += lane_of(from->precision))
        memcpy(matrix_at(to, 0, column), matrix_at(from, 0, column), from->rows * 64);
}

void expect_close(
    char const *what, size_t row, size_t column, float found, float expected, double absolute, double relative) {
    if (isnan(expected) && isnan(found)) return;
    if (isinf(expected) && found == expected) return;
    double const difference = fabs((double)found - (double)expected);
    if (isfinite(expected) && isfinite(found) && difference <= absolute + relative * fabs((double)expected)) return;
    fail_msg("%s: row %zu, column %zu: found %.9g, expected %.9g, difference %.3g, allowed %.3g + %.3g", what, row,
        column, (double)found, (double)expected, difference, absolute, relative * fabs((double)expected));
}
