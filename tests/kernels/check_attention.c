/**
 *  Attention against `serial`: lengths around every step, several heads and widths, texts that begin at any row,
 *  neighbours full of NaN that must not be felt, rows of other texts that must not be written.
 *
 *  Tolerance: f32 2e-5 of the values' size, more where scores are hundreds and their last digits are exponents; bf16
 *  adds the rounding of weights and outputs and the approximate exponential: 2^-6.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>

#include "harness.h"

typedef struct shape_t {
    size_t row_begin, length, heads, head_width;
    float scale, size; ///< of the softmax; factor of queries and keys
    bool at_end, causal;
    size_t query_begin, query_count;
    bool biased;
} shape_t;

typedef struct operands_t {
    matrix_t queries, keys, values;
    guarded_t bias; ///< [heads, bias_stride]
} operands_t;

static uform_attention_t const *attention_of(uform_kernels_t const *kernels, precision_t precision) {
    return precision == precision_f32_k ? kernels->attention_f32 : kernels->attention_bf16;
}

/// Rows of the text hold numbers, its neighbours NaN, or numbers that would win every comparison.
static matrix_t text_matrix(shape_t const *shape, precision_t precision, float size) {
    // The text may be followed by the row step that attention may read.
    matrix_t matrix = matrix_new(precision, shape->row_begin + shape->length + uform_row_step_k,
        shape->heads * shape->head_width, random_below(5), shape->at_end);
    if (!shape->at_end)
        for (size_t row = 0; row < matrix.rows; ++row)
            for (size_t column = 0; column < matrix.width; ++column) matrix_set(&matrix, row, column, 1e15f);
    for (size_t row = shape->row_begin; row < shape->row_begin + shape->length; ++row)
        for (size_t column = 0; column < matrix.width; ++column) {
            // The last quarter of each head plays the padding.
            bool const padding = column % shape->head_width >= shape->head_width - shape->head_width / 4;
            matrix_set(&matrix, row, column, padding ? 0.0f : random_float() * size);
        }
    return matrix;
}

/// Numbers for all distances of a text's tokens, and NaN where none is.
static size_t bias_stride(shape_t const *shape) {
    return round_up(2 * (shape->length + uform_row_step_k), 16);
}

static guarded_t bias_new(shape_t const *shape) {
    size_t const stride = bias_stride(shape), middle = shape->length + uform_row_step_k - 1;
    guarded_t bias = guarded_new(shape->heads * stride * sizeof(float), shape->at_end);
    for (size_t i = 0; i < shape->heads * stride; ++i) {
        size_t const place = i % stride, distance = place > middle ? place - middle : middle - place;
        ((float *)bias.data)[i] = distance < shape->length ? random_float() * 8.0f : NAN;
    }
    return bias;
}

static operands_t operands_new(shape_t const *shape, precision_t precision) {
    operands_t operands;
    operands.queries = text_matrix(shape, precision, shape->size);
    operands.keys = text_matrix(shape, precision, shape->size);
    operands.values = text_matrix(shape, precision, 1.0f);
    operands.bias = bias_new(shape);
    return operands;
}

static void operands_free(operands_t *operands) {
    matrix_free(&operands->queries);
    matrix_free(&operands->keys);
    matrix_free(&operands->values);
    guarded_free(&operands->bias);
}

static matrix_t attend(uform_attention_t const *attention, shape_t const *shape, operands_t const *operands) {
    matrix_t outputs =
        matrix_new(operands->values.precision, operands->values.rows, operands->values.width, 3, shape->at_end);
    guarded_t scratch =
        guarded_new(round_up(attention->scratch_bytes(shape->length, shape->head_width), 64), shape->at_end);
    uform_attention_call_t call = {
        .queries = operands->queries.panels,
        .keys = operands->keys.panels,
        .values = operands->values.panels,
        .outputs = outputs.panels,
        .row_begin = shape->row_begin,
        .length = shape->length,
        .heads = shape->heads,
        .head_width = shape->head_width,
        .scale = shape->scale,
        .scratch = scratch.data,
        .causal = shape->causal,
        .query_begin = shape->query_begin,
        .query_count = shape->query_count,
        .bias_stride = bias_stride(shape),
    };
    if (shape->biased) call.bias = (float const *)operands->bias.data + shape->length + uform_row_step_k - 1;
    attention->attend(&call);
    guarded_free(&scratch);
    return outputs;
}

static void check_shape(subject_t const *subject, precision_t precision, shape_t const *shape) {
    operands_t operands = operands_new(shape, precision);
    matrix_t found = attend(attention_of(subject->kernels, precision), shape, &operands);
    matrix_t expected = attend(attention_of(subject->serial, precision), shape, &operands);
    char what[128];
    snprintf(what, sizeof(what), "attention: row %zu, length %zu, %zu queries from %zu, %zu heads of %zu%s%s",
        shape->row_begin, shape->length, shape->query_count, shape->query_begin, shape->heads, shape->head_width,
        shape->causal ? ", causal" : "", shape->biased ? ", biased" : "");
    size_t const first = shape->row_begin + shape->query_begin;
    size_t const last = shape->query_count ? first + shape->query_count : shape->row_begin + shape->length;
    double const absolute = (precision == precision_f32_k ? 2e-5 : 0x1p-6) + (shape->size > 2.0f ? 1e-3 : 0.0);
    uint32_t const untouched = precision == precision_f32_k ? 0xFFFFFFFFu : 0xFFFFu;
    for (size_t row = 0; row < found.rows; ++row)
        for (size_t column = 0; column < found.width; ++column) {
            if (row < first || row >= last) assert_int_equal(matrix_bits(&found, row, column), untouched);
            else
                expect_close(what, row, column, matrix_get(&found, row, column), matrix_get(&expected, row, column),
                    absolute, 0.0);
        }
    matrix_free(&found);
    matrix_free(&expected);
    operands_free(&operands);
}

static void check_lengths(subject_t const *subject, precision_t precision) {
    static size_t const longer[] = {47, 48, 49, 63, 64, 65, 95, 97, 128, 129};
    for (size_t i = 0; i < 40 + sizeof(longer) / sizeof(longer[0]); ++i) {
        shape_t shape = {
            .row_begin = random_below(40),
            .length = i < 40 ? i + 1 : longer[i - 40],
            .heads = 1 + i % 2,
            .head_width = i % 5 == 4   ? 96
                          : i % 3 == 2 ? 64
                                       : 32,
            .scale = 0.17f,
            .size = i % 7 == 6 ? 30.0f : 1.0f, // scores so far apart that weights vanish
            .at_end = i % 2,
        };
        check_shape(subject, precision, &shape);
        shape.causal = true;
        check_shape(subject, precision, &shape);
        shape.query_begin = random_below(shape.length);
        shape.query_count = 1 + random_below(shape.length - shape.query_begin);
        check_shape(subject, precision, &shape);
        shape.causal = false;
        check_shape(subject, precision, &shape);
        shape.biased = true;
        check_shape(subject, precision, &shape);
        shape.query_begin = shape.query_count = 0;
        check_shape(subject, precision, &shape);
        shape.causal = true;
        check_shape(subject, precision, &shape);
    }
}

/// The towers' own shapes: patches of whole pictures, wide heads, one query that pools them all.
static void check_long(subject_t const *subject, precision_t precision) {
    static shape_t const shapes[] = {
        {.row_begin = 3, .length = 700, .heads = 1, .head_width = 32, .scale = 0.2f, .size = 2.0f},
        {.row_begin = 3, .length = 700, .heads = 1, .head_width = 32, .scale = 0.2f, .size = 2.0f, .causal = true},
        {.length = 197, .heads = 2, .head_width = 64, .scale = 0.125f, .size = 1.0f, .at_end = true},
        {.row_begin = 1, .length = 257, .heads = 1, .head_width = 96, .scale = 0.118f, .size = 1.0f, .at_end = true},
        {.length = 729, .heads = 2, .head_width = 96, .scale = 0.118f, .size = 1.0f, .query_count = 1},
        {.length = 130, .heads = 1, .head_width = 256, .scale = 0.0625f, .size = 1.0f, .causal = true},
        {.length = 77, .heads = 3, .head_width = 64, .scale = 0.125f, .size = 1.0f, .at_end = true, .causal = true},
        {.length = 197, .heads = 3, .head_width = 64, .scale = 0.125f, .size = 1.0f, .at_end = true, .biased = true},
        {.length = 4100, .heads = 1, .head_width = 32, .scale = 0.2f, .size = 2.0f, .query_count = 40},
    };
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); ++i) check_shape(subject, precision, &shapes[i]);
}

/// What a query does not see can't be felt: other keys and values after it leave its bits alone. Values of zero would be felt
/// if they were not finite, so these are.
static void check_causality(subject_t const *subject, precision_t precision) {
    shape_t shape = {.length = 70, .heads = 2, .head_width = 32, .scale = 0.2f, .size = 1.0f, .causal = true};
    operands_t operands = operands_new(&shape, precision);
    matrix_t whole = attend(attention_of(subject->kernels, precision), &shape, &operands);
    for (size_t query = 0; query + 1 < shape.length; query += 1 + random_below(9)) {
        operands_t changed = operands_new(&shape, precision);
        matrix_copy(&changed.queries, &operands.queries);
        for (size_t row = 0; row <= query; ++row)
            for (size_t column = 0; column < whole.width; ++column) {
                matrix_set(&changed.keys, row, column, matrix_get(&operands.keys, row, column));
                matrix_set(&changed.values, row, column, matrix_get(&operands.values, row, column));
            }
        matrix_set(&changed.keys, query + 1, 5, random_below(2) ? NAN : 1e4f);
        matrix_t found = attend(attention_of(subject->kernels, precision), &shape, &changed);
        for (size_t row = 0; row <= query; ++row)
            for (size_t column = 0; column < whole.width; ++column)
                assert_int_equal(matrix_bits(&found, row, column), matrix_bits(&whole, row, column));
        bool felt = false;
        for (size_t column = 0; column < whole.width; ++column)
            felt = felt || matrix_bits(&found, query + 1, column) != matrix_bits(&whole, query + 1, column);
        assert_true(felt);
        matrix_free(&found);
        operands_free(&changed);
    }
    matrix_free(&whole);
    operands_free(&operands);
}

/// One NaN among the queries spoils its row and head alone; one among the values spoils the whole column of its head.
static void check_not_finite(subject_t const *subject, precision_t precision) {
    shape_t const shape = {.row_begin = 5, .length = 37, .heads = 2, .head_width = 32, .scale = 0.2f, .size = 1.0f};
    operands_t operands = operands_new(&shape, precision);
    matrix_set(&operands.queries, 5 + 20, 3, NAN);
    matrix_set(&operands.queries, 5 + 36, 3, INFINITY);
    matrix_set(&operands.values, 5 + 36, 40, NAN);
    matrix_t found = attend(attention_of(subject->kernels, precision), &shape, &operands);
    for (size_t row = 0; row < shape.length; ++row)
        for (size_t column = 0; column < found.width; ++column) {
            bool const spoiled = ((row == 20 || row == 36) && column < 32) || column == 40;
            assert_int_equal(!isfinite(matrix_get(&found, 5 + row, column)), spoiled);
        }
    matrix_free(&found);
    operands_free(&operands);
}

/// The same text at another row gives the same bits.
static void check_independence(subject_t const *subject, precision_t precision) {
    for (size_t length = 1; length < 70; length += 3) {
        shape_t const first = {.length = length, .heads = 1, .head_width = 32, .scale = 0.2f, .size = 1.0f};
        shape_t second = first;
        second.row_begin = 1 + random_below(30);
        second.at_end = true;
        operands_t here = operands_new(&first, precision), there = operands_new(&second, precision);
        for (size_t row = 0; row < length; ++row)
            for (size_t column = 0; column < 32; ++column) {
                matrix_set(&there.queries, second.row_begin + row, column, matrix_get(&here.queries, row, column));
                matrix_set(&there.keys, second.row_begin + row, column, matrix_get(&here.keys, row, column));
                matrix_set(&there.values, second.row_begin + row, column, matrix_get(&here.values, row, column));
            }
        matrix_t a = attend(attention_of(subject->kernels, precision), &first, &here);
        matrix_t b = attend(attention_of(subject->kernels, precision), &second, &there);
        for (size_t row = 0; row < length; ++row)
            for (size_t column = 0; column < 32; ++column)
                assert_int_equal(matrix_bits(&a, row, column), matrix_bits(&b, second.row_begin + row, column));
        matrix_free(&a);
        matrix_free(&b);
        operands_free(&here);
        operands_free(&there);
    }
}

void check_attention(subject_t const *subject, precision_t precision) {
    check_lengths(subject, precision);
    check_long(subject, precision);
    check_causality(subject, precision);
    check_not_finite(subject, precision);
    check_independence(subject, precision);
}
