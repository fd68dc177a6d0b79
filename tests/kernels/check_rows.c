/**
 *  Row normalisation, embedding look-up, gates and rotary positions against `serial`: odd widths, every number of rows up
 *  to 40, hostile contents, padding.
 *
 *  Tolerance: normalising 6e-6 in f32, one rounding more in bf16, and more where the mean dwarfs the variance; what it
 *  keeps, the look-up and gates are exact.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness.h"

static float const row_epsilon = 1e-12f;

static uform_rows_t const *rows_of(uform_kernels_t const *kernels, precision_t precision) {
    return precision == precision_f32_k ? kernels->rows_f32 : kernels->rows_bf16;
}

/// What normalising reads beside the rows.
typedef struct parameters_t {
    guarded_t gain, shift, next_bias;
    bool with_bias, keep, root_mean_square;
} parameters_t;

static guarded_t padded_vector(size_t width, bool at_end) {
    guarded_t guarded = guarded_new(round_up(width, uform_width_step_k) * sizeof(float), at_end);
    memset(guarded.data, 0, guarded.bytes);
    for (size_t i = 0; i < width; ++i) vector_of(&guarded)[i] = random_float();
    return guarded;
}

/// Of four variants: whether the residual is kept, and whether the mean is taken for zero.
static parameters_t parameters_new(size_t width, bool at_end, unsigned variant) {
    return (parameters_t){padded_vector(width, at_end), padded_vector(width, at_end), padded_vector(width, at_end),
        at_end, variant & 1, variant & 2};
}

static void parameters_free(parameters_t *parameters) {
    guarded_free(&parameters->gain);
    guarded_free(&parameters->shift);
    guarded_free(&parameters->next_bias);
}

static void normalize(uform_rows_t const *rows, matrix_t *residual, matrix_t *outputs, size_t row_begin, size_t count,
    size_t width, parameters_t const *parameters) {
    uform_normalize_call_t const call = {
        .residual = {(char *)residual->panels.data + row_begin * 64, residual->panels.stride_bytes},
        .outputs = {(char *)outputs->panels.data + row_begin * 64, outputs->panels.stride_bytes},
        .rows = count,
        .width = width,
        .epsilon = row_epsilon,
        .gain = vector_of(&parameters->gain),
        .shift = vector_of(&parameters->shift),
        .next_bias = parameters->with_bias ? vector_of(&parameters->next_bias) : NULL,
        .keep = parameters->keep,
        .root_mean_square = parameters->root_mean_square,
    };
    rows->normalize(&call);
}

/// Rows that make a normalisation err: the variance vanishes beside the mean, or overflows nothing but nearly.
static void fill_rows(matrix_t *residual, size_t rows, size_t width) {
    matrix_fill(residual, rows, width, contents_plain_k);
    for (size_t row = 0; row < rows; ++row)
        for (size_t column = 0; column < width; ++column) {
            float const x = matrix_get(residual, row, column);
            if (row % 5 == 1) matrix_set(residual, row, column, x * 1e12f);
            if (row % 5 == 2) matrix_set(residual, row, column, 100.0f + x);
            if (row % 5 == 3) matrix_set(residual, row, column, x * 1e-3f);
            if (row % 5 == 4 && row % 2) matrix_set(residual, row, column, 0.0f);
        }
}

static void check_normalize_shape(
    subject_t const *subject, precision_t precision, size_t rows, size_t width, bool at_end, unsigned variant) {
    matrix_t found = matrix_new(precision_f32_k, rows, width, random_below(3), at_end);
    fill_rows(&found, rows, width);
    matrix_t expected = matrix_new(precision_f32_k, rows, width, 1, at_end);
    matrix_copy(&expected, &found);
    matrix_t found_outputs = matrix_new(precision, rows, width, random_below(3), at_end);
    matrix_t expected_outputs = matrix_new(precision, rows, width, 0, at_end);
    parameters_t parameters = parameters_new(width, at_end, variant);
    bool const keep = parameters.keep;
    normalize(rows_of(subject->kernels, precision), &found, &found_outputs, 0, rows, width, &parameters);
    normalize(rows_of(subject->serial, precision), &expected, &expected_outputs, 0, rows, width, &parameters);
    char what[128];
    snprintf(what, sizeof(what), "normalize %zu x %zu, variant %u", rows, width, variant);
    for (size_t row = 0; row < rows; ++row)
        for (size_t column = 0; column < found.width; ++column) {
            // Beside a mean of 100 the differences have lost two digits before anything is summed.
            double const absolute = row % 5 == 2 ? 2e-4 : 6e-6;
            expect_close(what, row, column, matrix_get(&found, row, column), matrix_get(&expected, row, column),
                keep ? 0.0 : absolute, keep ? 0.0 : 1e-6);
            expect_close(what, row, column, matrix_get(&found_outputs, row, column),
                matrix_get(&expected_outputs, row, column), absolute, precision == precision_f32_k ? 1e-6 : 0x1p-7);
            if (column >= width) {
                assert_int_equal(matrix_bits(&found, row, column), 0);
                assert_int_equal(matrix_bits(&found_outputs, row, column), 0);
            }
        }
    matrix_free(&found);
    matrix_free(&expected);
    matrix_free(&found_outputs);
    matrix_free(&expected_outputs);
    parameters_free(&parameters);
}

/// A NaN spoils its row, up to its padding, and no other; parts of the rows give the bits of the whole.
static void check_normalize_independence(subject_t const *subject, precision_t precision, unsigned variant) {
    size_t const rows = 45, width = 75;
    matrix_t all = matrix_new(precision_f32_k, rows + uform_row_step_k, width, 1, true);
    fill_rows(&all, rows, width);
    matrix_set(&all, 6, 31, NAN);
    matrix_set(&all, 44, 74, INFINITY);
    matrix_t parts = matrix_new(precision_f32_k, rows + uform_row_step_k, width, 1, false);
    matrix_copy(&parts, &all);
    matrix_t all_outputs = matrix_new(precision, rows + uform_row_step_k, width, 1, true);
    matrix_t part_outputs = matrix_new(precision, rows + uform_row_step_k, width, 1, true);
    parameters_t parameters = parameters_new(width, true, variant);
    uform_rows_t const *const kernels = rows_of(subject->kernels, precision);
    normalize(kernels, &all, &all_outputs, 0, rows, width, &parameters);
    // Backwards, because kernels may write up to whole steps past their last row.
    size_t const begins[] = {44, 41, 39, 22, 8, 5, 0};
    matrix_t initial = matrix_new(precision_f32_k, rows + uform_row_step_k, width, 1, false);
    matrix_copy(&initial, &parts);
    for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); ++i) {
        size_t const end = i ? begins[i - 1] : rows;
        matrix_copy(&parts, &initial);
        normalize(kernels, &parts, &part_outputs, begins[i], end - begins[i], width, &parameters);
        for (size_t row = begins[i]; row < end; ++row)
            for (size_t column = 0; column < all.width; ++column) {
                assert_int_equal(matrix_bits(&all, row, column), matrix_bits(&parts, row, column));
                assert_int_equal(matrix_bits(&all_outputs, row, column), matrix_bits(&part_outputs, row, column));
                // Beside an infinity all numbers vanish where no mean makes NaNs of them.
                bool const alone = parameters.root_mean_square && column != 74;
                bool const spoiled = (row == 6 || (row == 44 && !alone)) && column < width;
                assert_int_equal(!isfinite(matrix_get(&all_outputs, row, column)), spoiled);
            }
    }
    matrix_free(&initial);
    matrix_free(&all);
    matrix_free(&parts);
    matrix_free(&all_outputs);
    matrix_free(&part_outputs);
    parameters_free(&parameters);
}

/// A table of embeddings in the precision's scalar, rows padded with zeros.
static guarded_t table_new(precision_t precision, size_t rows, size_t width, bool at_end) {
    size_t const padded = round_up(width, uform_width_step_k);
    guarded_t table = guarded_new(round_up(rows * padded * (precision == precision_f32_k ? 4 : 2), 64), at_end);
    for (size_t i = 0; i < rows * padded; ++i) {
        float const value = i % padded < width ? random_float() : 0.0f;
        if (precision == precision_f32_k) ((float *)table.data)[i] = value;
        else ((uint16_t *)table.data)[i] = uform_f32_to_bf16_(value);
    }
    return table;
}

static void check_lookup(
    subject_t const *subject, precision_t precision, size_t rows, size_t width, bool at_end, bool with_types) {
    enum { word_count = 50, position_count = 48, type_count = 2 };
    guarded_t words = table_new(precision, word_count, width, at_end);
    guarded_t positions = table_new(precision, position_count, width, at_end);
    guarded_t types = table_new(precision, type_count, width, at_end);
    uint32_t ids[64], position_ids[64], type_ids[64];
    for (size_t row = 0; row < rows; ++row) {
        ids[row] = row ? (uint32_t)random_below(word_count) : word_count - 1;
        position_ids[row] = (uint32_t)(row ? random_below(position_count) : position_count - 1);
        type_ids[row] = (uint32_t)(row ? random_below(type_count) : type_count - 1);
    }
    matrix_t found = matrix_new(precision_f32_k, rows, width, 2, at_end);
    matrix_t expected = matrix_new(precision_f32_k, rows, width, 2, at_end);
    uform_lookup_call_t call = {
        words.data, positions.data, types.data, ids, position_ids, type_ids, rows, width, found.panels};
    if (!with_types) call.types = NULL, call.type_ids = NULL;
    if (rows % 3 == 2) call.positions = NULL, call.position_ids = NULL;
    rows_of(subject->kernels, precision)->lookup(&call);
    call.residual = expected.panels;
    rows_of(subject->serial, precision)->lookup(&call);
    for (size_t row = 0; row < rows; ++row)
        for (size_t column = 0; column < found.width; ++column) {
            assert_int_equal(matrix_bits(&found, row, column), matrix_bits(&expected, row, column));
            if (column >= width) assert_int_equal(matrix_bits(&found, row, column), 0);
        }
    matrix_free(&found);
    matrix_free(&expected);
    guarded_free(&words);
    guarded_free(&positions);
    guarded_free(&types);
}

/// A product is one rounding, or two of bf16, so every class gives the same bits; NaN and infinity stay where they are.
static void check_gate(subject_t const *subject, precision_t precision, size_t rows, size_t width, bool at_end) {
    matrix_t found = matrix_new(precision, rows, width, random_below(3), at_end);
    matrix_t expected = matrix_new(precision, rows, width, random_below(3), at_end);
    matrix_t gates = matrix_new(precision, rows, width, random_below(3), at_end);
    matrix_fill(&found, rows, width, (contents_t)(rows % contents_tiny_k));
    matrix_fill(&gates, rows, width, contents_plain_k);
    matrix_set(&found, rows - 1, 3, NAN);
    matrix_set(&gates, rows - 1, 30, INFINITY);
    matrix_copy(&expected, &found);
    uform_gate_call_t call = {found.panels, gates.panels, rows, found.width};
    rows_of(subject->kernels, precision)->gate(&call);
    call.inner = expected.panels;
    rows_of(subject->serial, precision)->gate(&call);
    for (size_t row = 0; row < rows; ++row)
        for (size_t column = 0; column < found.width; ++column)
            expect_close(
                "gate", row, column, matrix_get(&found, row, column), matrix_get(&expected, row, column), 1e-37, 0.0);
    matrix_free(&found);
    matrix_free(&expected);
    matrix_free(&gates);
}

/// Rows before and after the text's keep their bits; two products and their sum differ by a rounding, and a tie of bf16.
static void check_rotate(
    subject_t const *subject, precision_t precision, size_t rows, size_t heads, size_t head_width, bool at_end) {
    size_t const row_begin = random_below(5), half = head_width / 2, all = row_begin + rows + 1;
    matrix_t found = matrix_new(precision, all, heads * head_width, random_below(3), at_end);
    matrix_t expected = matrix_new(precision, all, heads * head_width, 1, at_end);
    matrix_fill(&found, all, heads * head_width, contents_plain_k);
    matrix_set(&found, row_begin + rows - 1, 1, NAN);
    matrix_copy(&expected, &found);
    guarded_t cosines = guarded_new(rows * half * sizeof(float), at_end);
    guarded_t sines = guarded_new(rows * half * sizeof(float), at_end);
    for (size_t i = 0; i < rows * half; ++i) {
        float const angle = random_float() * 4.0f;
        vector_of(&cosines)[i] = cosf(angle), vector_of(&sines)[i] = sinf(angle);
    }
    uform_rotate_call_t call = {
        found.panels, row_begin, rows, heads, head_width, vector_of(&cosines), vector_of(&sines)};
    rows_of(subject->kernels, precision)->rotate(&call);
    call.panels = expected.panels;
    rows_of(subject->serial, precision)->rotate(&call);
    for (size_t row = 0; row < all; ++row)
        for (size_t column = 0; column < found.width; ++column)
            if (row < row_begin || row >= row_begin + rows)
                assert_int_equal(matrix_bits(&found, row, column), matrix_bits(&expected, row, column));
            else
                expect_close("rotate", row, column, matrix_get(&found, row, column), matrix_get(&expected, row, column),
                    2e-7, precision == precision_f32_k ? 0.0 : 0x1p-7);
    matrix_free(&found);
    matrix_free(&expected);
    guarded_free(&cosines);
    guarded_free(&sines);
}

static void check_normalize_heads(
    subject_t const *subject, precision_t precision, size_t rows, size_t heads, size_t width, bool at_end) {
    size_t const head_width = round_up(width, uform_width_step_k);
    matrix_t found = matrix_new(precision, rows, heads * head_width, random_below(3), at_end);
    matrix_t expected = matrix_new(precision, rows, heads * head_width, 1, at_end);
    matrix_fill(&found, rows, heads * head_width, contents_plain_k);
    for (size_t row = 0; row < rows; ++row)
        for (size_t column = 0; column < heads * head_width; ++column) {
            float const x = matrix_get(&found, row, column) * (row % 3 ? 1.0f : 1e-8f);
            matrix_set(&found, row, column, column % head_width < width ? x : 0.0f);
        }
    matrix_copy(&expected, &found);
    guarded_t gain = padded_vector(width, at_end);
    uform_normalize_heads_call_t call = {found.panels, rows, heads, head_width, width, row_epsilon, vector_of(&gain)};
    rows_of(subject->kernels, precision)->normalize_heads(&call);
    call.panels = expected.panels;
    rows_of(subject->serial, precision)->normalize_heads(&call);
    for (size_t row = 0; row < rows; ++row)
        for (size_t column = 0; column < found.width; ++column)
            expect_close("normalize heads", row, column, matrix_get(&found, row, column),
                matrix_get(&expected, row, column), 2e-6, precision == precision_f32_k ? 1e-6 : 0x1p-7);
    matrix_free(&found);
    matrix_free(&expected);
    guarded_free(&gain);
}

void check_rows(subject_t const *subject, precision_t precision) {
    static size_t const widths[] = {1, 7, 16, 31, 32, 33, 48, 65, 96, 384, 100};
    for (size_t rows = 1; rows <= 40; ++rows) {
        size_t const width = widths[rows % (sizeof(widths) / sizeof(widths[0]))];
        for (unsigned variant = 0; variant < 4; ++variant)
            check_normalize_shape(subject, precision, rows, width, rows % 2, variant);
        for (size_t flag = 0; flag < 2; ++flag) check_lookup(subject, precision, rows, width, rows % 2, flag);
        check_gate(subject, precision, rows, width, rows % 2);
        check_rotate(subject, precision, rows, 1 + rows % 3, 64 * (1 + rows % 4), rows % 2);
        check_normalize_heads(subject, precision, rows, 1 + rows % 3, 3 * rows, rows % 2);
    }
    for (unsigned variant = 0; variant < 4; ++variant) check_normalize_independence(subject, precision, variant);
}
