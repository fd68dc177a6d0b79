/**
 *  Matrix multiplication against `serial`: every number of rows up to 40, ranges of columns and depth, hostile
 *  contents, memory that must not be touched, and rows that must not feel each other.
 *
 *  Tolerance: sums of the same exact products in another order, so a multiple of the unit roundoff times the sum of
 *  the products' magnitudes; plus one rounding of the output to bf16 where it is bf16.
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

/// One multiplication: shape, range and what the matrices hold.
typedef struct shape_t {
    size_t rows, columns, depth;
    size_t column_begin, column_end, depth_begin, depth_end;
    bool accumulate;
    uform_activation_t activation;
    contents_t contents;
    bool at_end; ///< guard page behind the buffers, else before them
    size_t spare_lines;
} shape_t;

/// Everything a multiplication reads.
typedef struct operands_t {
    matrix_t inputs, initial; ///< initial contents of the outputs
    guarded_t weights, bias;
} operands_t;

static uform_gemm_t const *gemm_of(uform_kernels_t const *kernels, precision_t precision) {
    return precision == precision_f32_k    ? kernels->gemm_f32
           : precision == precision_bf16_k ? kernels->gemm_bf16
                                           : kernels->gemm_i8;
}

static operands_t operands_new(shape_t const *shape, precision_t precision) {
    operands_t operands;
    operands.inputs = matrix_new(precision, shape->rows, shape->depth, shape->spare_lines, shape->at_end);
    matrix_fill(&operands.inputs, shape->rows, shape->depth, shape->contents);
    precision_t const output = shape->accumulate ? precision_f32_k : precision;
    operands.initial = matrix_new(output, shape->rows, shape->columns, shape->spare_lines, shape->at_end);
    if (shape->accumulate) matrix_fill(&operands.initial, shape->rows, shape->columns, contents_plain_k);
    operands.weights = guarded_new(shape->columns * shape->depth * sizeof(float), shape->at_end);
    for (size_t i = 0; i < shape->columns * shape->depth; ++i) vector_of(&operands.weights)[i] = random_float();
    operands.bias = guarded_new(shape->columns * sizeof(float), shape->at_end);
    for (size_t i = 0; i < shape->columns; ++i) vector_of(&operands.bias)[i] = random_content(shape->contents);
    return operands;
}

static void operands_free(operands_t *operands) {
    matrix_free(&operands->inputs);
    matrix_free(&operands->initial);
    guarded_free(&operands->weights);
    guarded_free(&operands->bias);
}

/// A range of rows and depth as integers: lines of them in a matrix of as many lines of floats.
typedef struct integers_t {
    matrix_t lines;
    guarded_t quantized; ///< [rows padded]
} integers_t;

static integers_t quantize(
    uform_gemm_t const *gemm, shape_t const *shape, matrix_t const *inputs, size_t row_begin, size_t rows) {
    size_t const depth = shape->depth_end - shape->depth_begin, rotated = round_up(depth, uform_rotation_k);
    integers_t made = {
        .lines = matrix_new(precision_f32_k, rows, rotated / gemm->input_lane * 16, shape->spare_lines, shape->at_end),
        .quantized = guarded_new(round_up(rows, uform_row_step_k) * sizeof(uform_quantized_row_t), shape->at_end),
    };
    guarded_t scratch = guarded_new(rotated * sizeof(float), shape->at_end);
    uform_quantize_call_t const call = {
        .inputs = {(char *)inputs->panels.data + shape->depth_begin / 32 * inputs->panels.stride_bytes + row_begin * 64,
            inputs->panels.stride_bytes},
        .rows = rows,
        .depth = depth,
        .outputs = made.lines.panels,
        .quantized = made.quantized.data,
        .scratch = scratch.data,
    };
    gemm->quantize(&call);
    guarded_free(&scratch);
    return made;
}

static void integers_free(integers_t *integers) {
    matrix_free(&integers->lines);
    guarded_free(&integers->quantized);
}

/// Packs, multiplies rows [row_begin, row_begin + rows), and answers the outputs; row 0 of them is row `row_begin`.
static matrix_t multiply(
    uform_gemm_t const *gemm, shape_t const *shape, operands_t const *operands, size_t row_begin, size_t rows) {
    guarded_t packed = guarded_new(round_up(gemm->packed_bytes(shape->columns, shape->depth), 64), shape->at_end);
    // In two parts, as threads do.
    size_t const half = round_up(shape->columns / 2, uform_width_step_k);
    gemm->pack(vector_of(&operands->weights), shape->depth, 0, half, shape->columns, shape->depth, packed.data);
    gemm->pack(vector_of(&operands->weights) + half * shape->depth, shape->depth, half, shape->columns - half,
        shape->columns, shape->depth, packed.data);
    guarded_t scratch = guarded_new(round_up(gemm->scratch_bytes, 64), shape->at_end);
    matrix_t outputs = matrix_new(operands->initial.precision, rows, shape->columns, shape->spare_lines, shape->at_end);
    for (size_t row = 0; shape->accumulate && row < rows; ++row)
        for (size_t column = 0; column < shape->columns; ++column)
            matrix_set(&outputs, row, column, matrix_get(&operands->initial, row_begin + row, column));
    uform_gemm_call_t call = {
        .inputs = {(char *)operands->inputs.panels.data + row_begin * 64, operands->inputs.panels.stride_bytes},
        .weights = packed.data,
        .columns = shape->columns,
        .depth = shape->depth,
        .column_begin = shape->column_begin,
        .column_end = shape->column_end,
        .depth_begin = shape->depth_begin,
        .depth_end = shape->depth_end,
        .rows = rows,
        .accumulate = shape->accumulate,
        .bias = shape->accumulate ? NULL : vector_of(&operands->bias),
        .activation = shape->activation,
        .outputs = outputs.panels,
        .scratch = scratch.data,
    };
    integers_t integers;
    if (gemm->quantize) {
        integers = quantize(gemm, shape, &operands->inputs, row_begin, rows);
        // Numbered as the panels of the whole depth are.
        size_t const before = shape->depth_begin / gemm->input_lane * integers.lines.panels.stride_bytes;
        call.inputs = integers.lines.panels;
        call.inputs.data = (void *)((uintptr_t)call.inputs.data - before);
        call.quantized = integers.quantized.data;
    }
    gemm->multiply(&call);
    if (gemm->quantize) integers_free(&integers);
    guarded_free(&packed);
    guarded_free(&scratch);
    return outputs;
}

/// The sum of the magnitudes of everything that went into one output.
static double magnitude(shape_t const *shape, operands_t const *operands, size_t row, size_t column) {
    double sum = shape->accumulate ? fabs((double)matrix_get(&operands->initial, row, column))
                                   : fabs((double)vector_of(&operands->bias)[column]);
    for (size_t k = shape->depth_begin; k < shape->depth_end; ++k)
        sum += fabs((double)matrix_get(&operands->inputs, row, k) *
                    (double)vector_of(&operands->weights)[column * shape->depth + k]);
    return sum;
}

static void check_shape(subject_t const *subject, precision_t precision, shape_t const *shape) {
    operands_t operands = operands_new(shape, precision);
    matrix_t found = multiply(gemm_of(subject->kernels, precision), shape, &operands, 0, shape->rows);
    matrix_t expected = multiply(gemm_of(subject->serial, precision), shape, &operands, 0, shape->rows);
    char what[160];
    snprintf(what, sizeof(what), "gemm %zu x %zu x %zu, columns %zu to %zu, depth %zu to %zu, activation %s%s",
        shape->rows, shape->columns, shape->depth, shape->column_begin, shape->column_end, shape->depth_begin,
        shape->depth_end, uform_activation_name_(shape->activation), shape->accumulate ? ", accumulating" : "");
    // Activations have slopes up to 1.2; those of bf16 groups are approximate. One bf16 step of difference is a tie
    // rounded the other way; subnormal products may be lost.
    double const relative = found.precision == precision_bf16_k ? 0x1p-7 : 0.0;
    double const rounding = found.precision == precision_bf16_k && shape->activation ? 2e-4 : 0.0;
    for (size_t row = 0; row < shape->rows; ++row)
        for (size_t column = 0; column < shape->columns; ++column) {
            bool const inside = column >= shape->column_begin && column < shape->column_end;
            if (!inside) assert_int_equal(matrix_bits(&found, row, column), matrix_bits(&expected, row, column));
            else
                expect_close(what, row, column, matrix_get(&found, row, column), matrix_get(&expected, row, column),
                    1e-6 * magnitude(shape, &operands, row, column) + rounding + 1e-37, relative);
        }
    // Columns outside the range belong to somebody else, in the rows of the padding too.
    uint32_t const untouched = found.precision == precision_f32_k ? 0xFFFFFFFFu : 0xFFFFu;
    for (size_t row = shape->rows; row < found.rows; ++row)
        for (size_t column = 0; column < shape->columns; ++column)
            if (column < shape->column_begin || column >= shape->column_end)
                assert_int_equal(matrix_bits(&found, row, column), untouched);
    matrix_free(&expected);
    if (subject->equal && precision == precision_i8_k) {
        expected = multiply(subject->equal->gemm_i8, shape, &operands, 0, shape->rows);
        for (size_t row = 0; row < shape->rows; ++row)
            for (size_t column = 0; column < shape->columns; ++column)
                assert_int_equal(matrix_bits(&found, row, column), matrix_bits(&expected, row, column));
        matrix_free(&expected);
    }
    matrix_free(&found);
    operands_free(&operands);
}

static shape_t whole(size_t rows, size_t columns, size_t depth) {
    return (shape_t){.rows = rows, .columns = columns, .depth = depth, .column_end = columns, .depth_end = depth};
}

static void check_row_counts(subject_t const *subject, precision_t precision) {
    for (size_t rows = 1; rows <= 40; ++rows)
        for (size_t variant = 0; variant < 3; ++variant) {
            shape_t shape = whole(rows, 64, 64);
            shape.accumulate = variant == 1;
            shape.activation = variant == 2 ? uform_activation_gelu_k : uform_activation_identity_k;
            shape.at_end = rows % 2;
            shape.spare_lines = random_below(3);
            check_shape(subject, precision, &shape);
        }
}

static void check_ranges(subject_t const *subject, precision_t precision) {
    uform_gemm_t const *const gemm = gemm_of(subject->kernels, precision);
    size_t const column_step = round_up(gemm->column_step, uform_width_step_k);
    size_t const depth_step = round_up(gemm->depth_step, uform_width_step_k);
    static size_t const row_counts[] = {1, 7, 16, 33, 70};
    for (size_t variant = 0; variant < 40; ++variant) {
        shape_t shape =
            whole(row_counts[variant % 5], (1 + random_below(5)) * column_step, (1 + random_below(6)) * depth_step);
        shape.column_begin = random_below(shape.columns / column_step) * column_step;
        shape.column_end =
            shape.column_begin + (1 + random_below((shape.columns - shape.column_begin) / column_step)) * column_step;
        shape.depth_begin = random_below(shape.depth / depth_step) * depth_step;
        shape.depth_end =
            shape.depth_begin + (1 + random_below((shape.depth - shape.depth_begin) / depth_step)) * depth_step;
        shape.accumulate = random_below(2);
        shape.at_end = random_below(2);
        shape.spare_lines = random_below(40);
        shape.contents = (contents_t)(variant % contents_count_k);
        check_shape(subject, precision, &shape);
    }
}

/// Depths and rows of whole towers, which classes may cut into parts: parts of the depth, ranges of it, rows past the last
/// whole stretch.
static void check_towers(subject_t const *subject, precision_t precision) {
    static shape_t const shapes[] = {
        {.rows = 197, .columns = 64, .depth = 768, .activation = uform_activation_quick_gelu_k, .at_end = true},
        {.rows = 577, .columns = 32, .depth = 640},
        {.rows = 1050, .columns = 64, .depth = 544, .activation = uform_activation_tanh_k, .spare_lines = 32},
        {.rows = 97, .columns = 64, .depth = 1664, .accumulate = true, .at_end = true},
        {.rows = 20, .columns = 32, .depth = 6144},
        {.rows = 81, .columns = 32, .depth = 6144, .accumulate = true},
        {.rows = 130, .columns = 96, .depth = 1408, .column_begin = 32, .depth_begin = 704, .depth_end = 1344},
    };
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); ++i) {
        shape_t shape = shapes[i];
        shape.column_end = shape.columns;
        if (!shape.depth_end) shape.depth_end = shape.depth;
        check_shape(subject, precision, &shape);
    }
}

/// NaN and infinities stay in their row, and appear in every output they go into.
static void check_not_finite(subject_t const *subject, precision_t precision) {
    shape_t const shape = whole(40, 64, 64);
    operands_t operands = operands_new(&shape, precision);
    matrix_set(&operands.inputs, 3, 17, NAN);
    matrix_set(&operands.inputs, 14, 63, INFINITY);
    matrix_set(&operands.inputs, 39, 0, -INFINITY);
    matrix_t found = multiply(gemm_of(subject->kernels, precision), &shape, &operands, 0, shape.rows);
    for (size_t row = 0; row < shape.rows; ++row)
        for (size_t column = 0; column < shape.columns; ++column) {
            float const value = matrix_get(&found, row, column);
            if (row == 3) assert_true(isnan(value));
            else if (row == 14 || row == 39) assert_true(isinf(value) || isnan(value));
            else assert_true(isfinite(value));
        }
    matrix_free(&found);
    operands_free(&operands);
}

/// Any part of the rows, wherever it begins, gives the bits that all of them give.
static void check_independence(subject_t const *subject, precision_t precision) {
    for (size_t variant = 0; variant < 5; ++variant) {
        shape_t shape = variant < 3 ? whole(73, 64, 96) : whole(150, 32, 832);
        shape.accumulate = variant % 3 == 1;
        shape.activation = variant == 2 ? uform_activation_gelu_k : uform_activation_identity_k;
        // Parts read up to whole steps past their last row.
        shape_t roomy = shape;
        roomy.rows += uform_row_step_k;
        operands_t operands = operands_new(&roomy, precision);
        matrix_t all = multiply(gemm_of(subject->kernels, precision), &shape, &operands, 0, shape.rows);
        for (size_t part = 0; part < 40; ++part) {
            size_t const begin = random_below(shape.rows), rows = part < 15 ? 1 + part : 1 + random_below(shape.rows);
            size_t const count = rows < shape.rows - begin ? rows : shape.rows - begin;
            matrix_t some = multiply(gemm_of(subject->kernels, precision), &shape, &operands, begin, count);
            for (size_t row = 0; row < count; ++row)
                for (size_t column = 0; column < shape.columns; ++column)
                    assert_int_equal(matrix_bits(&some, row, column), matrix_bits(&all, begin + row, column));
            matrix_free(&some);
        }
        matrix_free(&all);
        operands_free(&operands);
    }
}

void check_gemm(subject_t const *subject, precision_t precision) {
    check_row_counts(subject, precision);
    check_ranges(subject, precision);
    check_towers(subject, precision);
    check_not_finite(subject, precision);
    check_independence(subject, precision);
}

/// Integer `k` of a row: of 8 bits, or of 16.
static int integer_at(integers_t const *integers, size_t lane, size_t row, size_t k) {
    uform_panels_t const *const panels = &integers->lines.panels;
    char const *const line = (char const *)panels->data + k / lane * panels->stride_bytes + row * 64;
    return lane == 64 ? ((int8_t const *)line)[k % lane] : ((int16_t const *)line)[k % lane];
}

/// The same integers, sums and scales as `serial`, bit for bit.
static void check_integers(subject_t const *subject, shape_t const *shape) {
    uform_gemm_t const *const gemm = subject->kernels->gemm_i8, *const serial = subject->serial->gemm_i8;
    operands_t operands = operands_new(shape, precision_i8_k);
    // A row with one large number, and one with nothing else.
    if (shape->contents == contents_plain_k) matrix_set(&operands.inputs, 0, shape->depth_begin, 1000.0f);
    for (size_t k = 0; k < shape->depth && shape->rows > 2; ++k) matrix_set(&operands.inputs, 2, k, 0.0f);
    integers_t found = quantize(gemm, shape, &operands.inputs, 0, shape->rows);
    integers_t expected = quantize(serial, shape, &operands.inputs, 0, shape->rows);
    size_t const depth = round_up(shape->depth_end - shape->depth_begin, uform_rotation_k);
    for (size_t row = 0; row < shape->rows; ++row) {
        int sum = 0;
        for (size_t k = 0; k < depth; ++k) {
            int const integer = integer_at(&found, gemm->input_lane, row, k);
            assert_int_equal(integer, integer_at(&expected, serial->input_lane, row, k));
            sum += integer;
        }
        uform_quantized_row_t const *const quantized = found.quantized.data;
        assert_int_equal(quantized[row].sum, sum);
        assert_memory_equal(
            &quantized[row], (uform_quantized_row_t const *)expected.quantized.data + row, sizeof(quantized[row]));
    }
    integers_free(&found);
    integers_free(&expected);
    operands_free(&operands);
}

/// What integers make of products: against those of the numbers themselves, within 1.2 % of how large they are. So they are with
/// one number seventy times as large as the others, which without a rotation would make that 4 %.
static void check_products(subject_t const *subject, bool outlier) {
    shape_t shape = whole(20, 64, 384);
    shape.accumulate = true;
    operands_t operands = operands_new(&shape, precision_i8_k);
    for (size_t row = 0; row < shape.rows; ++row) {
        for (size_t column = 0; column < shape.columns; ++column) matrix_set(&operands.initial, row, column, 0.0f);
        if (outlier) matrix_set(&operands.inputs, row, row * 7, 40.0f);
    }
    matrix_t found = multiply(subject->kernels->gemm_i8, &shape, &operands, 0, shape.rows);
    double errors = 0, sizes = 0;
    for (size_t row = 0; row < shape.rows; ++row)
        for (size_t column = 0; column < shape.columns; ++column) {
            double exact = 0;
            for (size_t k = 0; k < shape.depth; ++k)
                exact += (double)matrix_get(&operands.inputs, row, k) *
                         (double)vector_of(&operands.weights)[column * shape.depth + k];
            double const error = (double)matrix_get(&found, row, column) - exact;
            errors += error * error, sizes += exact * exact;
        }
    assert_true(errors > 0);
    if (!(errors <= 1.5e-4 * sizes)) fail_msg("products of integers err by %g of their size", sqrt(errors / sizes));
    matrix_free(&found);
    operands_free(&operands);
}

void check_quantize(subject_t const *subject, precision_t precision) {
    (void)precision;
    for (size_t variant = 0; variant < 24; ++variant) {
        shape_t shape = whole(1 + random_below(40), 64, (1 + random_below(20)) * uform_width_step_k);
        shape.depth_begin = random_below((shape.depth + uform_rotation_k - 1) / uform_rotation_k) * uform_rotation_k;
        shape.at_end = random_below(2);
        shape.spare_lines = random_below(4);
        shape.contents = (contents_t)(variant % contents_count_k);
        check_integers(subject, &shape);
    }
    check_products(subject, false);
    check_products(subject, true);
}

/// What an activation may differ by from the reference in double precision: `per_input` times the larger of |x| and
/// one, where it cancels; `relative` to the result.
static struct {
    double per_input, relative;
} const activation_tolerances[uform_activation_count_k] = {
    [uform_activation_identity_k] = {0.0, 0.0},
    [uform_activation_gelu_k] = {2e-7, 1e-6},
    [uform_activation_gelu_tanh_k] = {0.0, 3e-5},
    [uform_activation_quick_gelu_k] = {0.0, 3e-5},
    [uform_activation_relu_k] = {0.0, 0.0},
    [uform_activation_relu6_k] = {0.0, 0.0},
    [uform_activation_silu_k] = {0.0, 1e-6},
    [uform_activation_mish_k] = {0.0, 1e-6},
    [uform_activation_tanh_k] = {0.0, 1e-6},
    [uform_activation_sigmoid_k] = {0.0, 1e-6},
    [uform_activation_elu_k] = {0.0, 1e-6},
    [uform_activation_selu_k] = {0.0, 1e-6},
    [uform_activation_leaky_relu_k] = {0.0, 1e-6},
    [uform_activation_softplus_k] = {0.0, 1e-6},
    [uform_activation_relu_squared_k] = {0.0, 1e-6},
    [uform_activation_laplace_k] = {2e-7, 1e-6},
};

/// Inputs an activation must survive: zeros, where its pieces meet, ties of bf16, overflow, what isn't finite.
static float const activation_inputs[] = {0.0f, -0.0f, 1e-40f, -1e-40f, 1e-10f, -1e-10f, 0.5f, -0.5f, 1.00390625f,
    1.01171875f, -1.00390625f, 0x1.7fp-3f, 0x1.ffp7f, 3.9f, -3.9f, 6.0f, 6.0001f, 20.0f, 20.001f, 44.0f, -44.0f, 87.0f,
    -87.0f, 88.7f, -88.7f, 89.0f, -89.0f, 104.0f, -104.0f, 1e4f, -1e4f, 1e20f, -1e20f, 3e38f, -3e38f, INFINITY,
    -INFINITY, NAN, -NAN};

static void expect_activation(
    precision_t precision, uform_activation_t activation, float x, size_t column, float found) {
    float const exact = uform_activate_(activation, x);
    bool const rounded = precision != precision_f32_k, identity = activation == uform_activation_identity_k;
    bool const approximate =
        rounded && (activation == uform_activation_gelu_k || activation == uform_activation_gelu_tanh_k);
    // -infinity gives NaN, the product with zero; approximations may answer their zero.
    if (approximate && isinf(x)) return;
    double absolute = approximate ? 2e-4 : 2e-36, relative = activation_tolerances[activation].relative;
    if (isfinite(x)) absolute += activation_tolerances[activation].per_input * fmax(fabs((double)x), 1.0);
    // Gates whose outputs are rounded are approximate to this part of the result.
    if (rounded && (activation == uform_activation_quick_gelu_k || activation == uform_activation_silu_k))
        relative += 2e-4;
    // Half a step of bf16, which is what rounding to nearest costs at most; with nothing but the rounding the result is
    // exact, ties included.
    if (rounded && !identity) relative += 0x1p-8;
    float const expected = rounded && identity ? uform_bf16_to_f32_(uform_f32_to_bf16_(exact)) : exact;
    char what[64];
    snprintf(what, sizeof(what), "%s of %.9g", uform_activation_name_(activation), (double)x);
    if (rounded && isinf(found) && fabsf(exact) > 3.38e38f) return;
    expect_close(what, 0, column, found, expected, absolute, relative);
}

void check_activations(subject_t const *subject, precision_t precision) {
    enum { special_count = sizeof(activation_inputs) / sizeof(activation_inputs[0]) };
    shape_t shape = whole(3, 2048, 32);
    operands_t operands = operands_new(&shape, precision);
    // Nothing but the bias arrives at the activation.
    memset(operands.weights.data, 0, operands.weights.bytes);
    for (size_t activation = 0; activation < uform_activation_count_k; ++activation) {
        shape.activation = (uform_activation_t)activation;
        float *const bias = vector_of(&operands.bias);
        for (size_t i = 0; i < shape.columns; ++i)
            bias[i] = i < special_count ? activation_inputs[i] : random_float() * (float)(1 << i % 8);
        // NaNs of all bits, which an increment would turn into zeros.
        static uint32_t const patterns[] = {0x7FFFFFFFu, 0xFFFFFFFFu};
        memcpy(&bias[special_count], patterns, sizeof(patterns));
        matrix_t found = multiply(gemm_of(subject->kernels, precision), &shape, &operands, 0, shape.rows);
        for (size_t row = 0; row < shape.rows; ++row)
            for (size_t column = 0; column < shape.columns; ++column)
                expect_activation(precision, shape.activation, bias[column], column, matrix_get(&found, row, column));
        matrix_free(&found);
    }
    operands_free(&operands);
}
