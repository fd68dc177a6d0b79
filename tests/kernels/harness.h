/**
 *  What the kernel checks share: guarded memory, seeded random numbers, panels, and comparison with what `serial`
 *  answers.
 */
#ifndef UFORM_TESTS_KERNELS_HARNESS_H
#define UFORM_TESTS_KERNELS_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/kernels.h"

/// Which scalar the matrices of a group hold. Those of i8 hold bf16: integers are made from it.
typedef enum precision_t { precision_f32_k, precision_bf16_k, precision_i8_k } precision_t;

/// Numbers from a seed that is printed, and that UFORM_TEST_SEED sets.
void random_seed(uint64_t seed);
uint64_t random_bits(void);
size_t random_below(size_t limit);
float random_float(void); ///< in [-1, 1)

/// What random matrices hold.
typedef enum contents_t {
    contents_plain_k,     ///< [-1, 1)
    contents_huge_k,      ///< up to 1e15: sums stay finite
    contents_tiny_k,      ///< around 1e-20: products are subnormal
    contents_subnormal_k, ///< subnormal numbers and zeros
    contents_count_k
} contents_t;
float random_content(contents_t contents);

/// Memory between two pages that must not be touched; `at_end` puts its last byte before the second one, else its first
/// byte follows the first one. Sizes are multiples of 64.
typedef struct guarded_t {
    void *data;
    size_t bytes;
    void *pages;
    size_t pages_bytes;
} guarded_t;
guarded_t guarded_new(size_t bytes, bool at_end);
void guarded_free(guarded_t *guarded);

/// A matrix in panels in guarded memory, every byte of it set to a pattern that reads as NaN.
typedef struct matrix_t {
    guarded_t memory;
    uform_panels_t panels;
    precision_t precision;
    size_t rows, width; ///< both padded
} matrix_t;
matrix_t matrix_new(precision_t precision, size_t rows, size_t width, size_t spare_lines, bool at_end);
void matrix_free(matrix_t *matrix);
float matrix_get(matrix_t const *matrix, size_t row, size_t column);
void matrix_set(matrix_t *matrix, size_t row, size_t column, float value);
void matrix_fill(matrix_t *matrix, size_t rows, size_t width, contents_t contents); ///< zeros up to the padded width
void matrix_copy(matrix_t *to, matrix_t const *from);                               ///< the same shape
uint32_t matrix_bits(matrix_t const *matrix, size_t row, size_t column);

/// A vector of f32 in guarded memory.
float *vector_of(guarded_t const *guarded);

size_t round_up(size_t value, size_t step);

/// Fails with what, place and both values unless |found - expected| <= absolute + relative * |expected|; NaN must meet
/// NaN, and an infinity the same one.
void expect_close(
    char const *what, size_t row, size_t column, float found, float expected, double absolute, double relative);

/// One class under test; `kernels` NULL when this machine can't run it.
typedef struct subject_t {
    uform_cpu_class_t cpu_class;
    char const *name;
    uform_kernels_t const *kernels, *serial;
    uform_kernels_t const *equal; ///< another class whose products of integers are the same bits, or NULL
} subject_t;

/// The checks: each fails through cmocka.
void check_gemm(subject_t const *subject, precision_t precision);
void check_quantize(subject_t const *subject, precision_t precision); ///< of i8
void check_attention(subject_t const *subject, precision_t precision);
void check_rows(subject_t const *subject, precision_t precision);
void check_activations(subject_t const *subject, precision_t precision);
void check_resample(subject_t const *subject, precision_t precision); ///< which has no precisions

/// Times the same calls and prints their rates and shares of the class's limit; `token` NULL for all classes, `part` NULL
/// for all lines, else those that contain it.
int bench_classes(subject_t const *subjects, size_t count, char const *token, char const *part);

#endif
