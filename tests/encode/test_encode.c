/**
 *  What every call promises: the same text gives the same bits, whatever surrounds it and however many threads there
 * are; output scalars, strides and cuts; one model on executors of every class.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "encode/texts.h"

enum { text_count_k = 150, longest_words_k = 40, dimensions_k = 32 };

static char memory[text_count_k * longest_words_k * 8];
static uform_text_t texts[text_count_k];
static float reference[text_count_k][dimensions_k], found[text_count_k][dimensions_k];

static int make_texts(void **state) {
    (void)state;
    texts_make(texts, text_count_k, longest_words_k, memory);
    return 0;
}

static void encode(uform_model_t model, uform_executor_t executor, size_t begin, size_t count) {
    uform_status_t const status =
        uform_encode_texts(model, executor, texts + begin, count, NULL, found[begin], 0, NULL);
    if (status) fail_msg("%s", uform_last_detail());
}

// All texts at once, then one by one, in odd slices, backwards and over several threads: equal bits each time.
static void check_independence(uform_scalar_t precision) {
    uform_model_t model = texts_load("pooling_mean", precision);
    uform_model_description_t description;
    assert_int_equal(uform_model_describe(model, &description), uform_status_ok_k);
    assert_int_equal(description.dimensions, dimensions_k);
    encode(model, NULL, 0, text_count_k);
    memcpy(reference, found, sizeof found);

    for (size_t i = 0; i < text_count_k; ++i) encode(model, NULL, text_count_k - 1 - i, 1);
    assert_memory_equal(found, reference, sizeof found);
    for (size_t slice = 3; slice < 60; slice += 17) {
        memset(found, 0, sizeof found);
        for (size_t begin = 0; begin < text_count_k; begin += slice)
            encode(model, NULL, begin, begin + slice < text_count_k ? slice : text_count_k - begin);
        assert_memory_equal(found, reference, sizeof found);
    }
    for (size_t threads = 1; threads <= 5; threads += 2) {
        uform_executor_t executor = texts_executor(threads, uform_cpu_class_derived_k);
        memset(found, 0, sizeof found);
        encode(model, executor, 0, text_count_k);
        assert_memory_equal(found, reference, sizeof found);
        encode(model, executor, 7, 1);
        assert_memory_equal(found, reference, sizeof found);
        uform_executor_free(executor);
    }
    uform_model_free(model);
}

static void test_independence_f32(void **state) {
    (void)state;
    check_independence(uform_scalar_f32_k);
}

static void test_independence_bf16(void **state) {
    (void)state;
    check_independence(uform_scalar_bf16_k);
}

static void test_independence_i8(void **state) {
    (void)state;
    check_independence(uform_scalar_i8_k);
}

// The neighbours' contents must not matter either: the same text between different ones.
static void test_neighbours(void **state) {
    (void)state;
    uform_model_t model = texts_load("pooling_mean", uform_scalar_derived_k);
    uform_text_t const middle = {"the same text", 13};
    float first[3][dimensions_k], second[3][dimensions_k];
    for (size_t i = 0; i + 1 < 40; i += 2) {
        uform_text_t const one[3] = {texts[i], middle, texts[i + 1]}, other[3] = {texts[i + 1], middle, texts[i + 20]};
        assert_int_equal(uform_encode_texts(model, NULL, one, 3, NULL, first, 0, NULL), uform_status_ok_k);
        assert_int_equal(uform_encode_texts(model, NULL, other, 3, NULL, second, 0, NULL), uform_status_ok_k);
        assert_memory_equal(first[1], second[1], sizeof first[1]);
    }
    uform_model_free(model);
}

static double cosine(float const *a, float const *b) {
    double product = 0, a_square = 0, b_square = 0;
    for (size_t i = 0; i < dimensions_k; ++i) {
        product += (double)a[i] * b[i];
        a_square += (double)a[i] * a[i];
        b_square += (double)b[i] * b[i];
    }
    return product / sqrt(a_square * b_square);
}

// One model serves executors of every class: weights are packed again where a class has another format.
static void check_classes(uform_scalar_t precision, double smallest) {
    uform_model_t model = texts_load("pooling_mean", precision);
    uform_executor_t serial = texts_executor(1, uform_cpu_class_serial_k);
    encode(model, serial, 0, text_count_k);
    memcpy(reference, found, sizeof found);
    uform_executor_free(serial);
    for (int value = 1; value <= uform_cpu_class_monoversioned_k; ++value) {
        uform_cpu_class_description_t description;
        assert_int_equal(uform_cpu_class_describe((uform_cpu_class_t)value, &description), uform_status_ok_k);
        if (!description.available) continue;
        uform_executor_t executor = texts_executor(2, (uform_cpu_class_t)value);
        encode(model, executor, 0, text_count_k);
        uform_executor_free(executor);
        for (size_t i = 0; i < text_count_k; ++i) {
            double const similar = cosine(found[i], reference[i]);
            if (!(similar >= smallest))
                fail_msg("%s, text %zu: cosine %f", uform_cpu_class_name((uform_cpu_class_t)value), i, similar);
        }
    }
    uform_model_free(model);
}

static void test_classes_f32(void **state) {
    (void)state;
    check_classes(uform_scalar_f32_k, 0.999999);
}

static void test_classes_bf16(void **state) {
    (void)state;
    check_classes(uform_scalar_bf16_k, 0.99);
}

static void test_classes_i8(void **state) {
    (void)state;
    check_classes(uform_scalar_i8_k, 0.98);
}

static float f16_value(uint16_t half) {
    int const exponent = half >> 10 & 31, mantissa = half & 1023;
    float const size = exponent ? ldexpf((float)(mantissa + 1024), exponent - 25) : ldexpf((float)mantissa, -24);
    return half & 0x8000 ? -size : size;
}

// Every output scalar is the f32 row rounded; rows are `stride_bytes` apart and what lies between them is left alone.
static void test_scalars(void **state) {
    (void)state;
    uform_model_t model = texts_load("normalize", uform_scalar_f32_k);
    enum { count_k = 5, stride_k = 256 };
    float exact[count_k][dimensions_k];
    assert_int_equal(uform_encode_texts(model, NULL, texts, count_k, NULL, exact, 0, NULL), uform_status_ok_k);
    static unsigned char rows[count_k * stride_k] __attribute__((aligned(8)));
    static size_t const bytes[] = {
        0, 4 * dimensions_k, 2 * dimensions_k, 2 * dimensions_k, dimensions_k, dimensions_k / 8};
    for (int scalar = uform_scalar_f32_k; scalar <= uform_scalar_b1_k; ++scalar) {
        memset(rows, 0xA5, sizeof rows);
        uform_encode_options_t const options = {.size = sizeof options, .scalar = (uform_scalar_t)scalar};
        assert_int_equal(
            uform_encode_texts(model, NULL, texts, count_k, &options, rows, stride_k, NULL), uform_status_ok_k);
        for (size_t row = 0; row < count_k; ++row) {
            unsigned char const *data = rows + row * stride_k;
            for (size_t i = bytes[scalar]; i < stride_k; ++i) assert_int_equal(data[i], 0xA5);
            for (size_t i = 0; i < dimensions_k; ++i) {
                float const x = exact[row][i];
                uint16_t half;
                memcpy(&half, data + (2 * i < bytes[scalar] ? 2 * i : 0), 2);
                uint32_t const upper = (uint32_t)half << 16;
                float wide;
                memcpy(&wide, &upper, 4);
                if (scalar == uform_scalar_f32_k) assert_memory_equal(data + 4 * i, &x, 4);
                if (scalar == uform_scalar_f16_k) assert_true(fabsf(f16_value(half) - x) <= fabsf(x) / 2048 + 3e-8f);
                if (scalar == uform_scalar_bf16_k) assert_true(fabsf(wide - x) <= fabsf(x) / 256);
                if (scalar == uform_scalar_i8_k) assert_int_equal((signed char)data[i], (int)rintf(x * 127.0f));
                if (scalar == uform_scalar_b1_k) assert_int_equal(data[i / 8] >> (7 - i % 8) & 1, x > 0.0f);
            }
        }
    }
    uform_model_free(model);
}

static void test_dimensions(void **state) {
    (void)state;
    uform_model_t model = texts_load("normalize", uform_scalar_f32_k);
    float full[dimensions_k], cut[8];
    assert_int_equal(uform_encode_texts(model, NULL, texts, 1, NULL, full, 0, NULL), uform_status_ok_k);
    uform_encode_options_t options = {.size = sizeof options, .dimensions = 8};
    assert_int_equal(uform_encode_texts(model, NULL, texts, 1, &options, cut, 0, NULL), uform_status_ok_k);
    float length = 0, kept = 0;
    for (size_t i = 0; i < 8; ++i) length += cut[i] * cut[i], kept += full[i] * full[i];
    assert_true(fabsf(length - 1.0f) < 1e-5f);
    for (size_t i = 0; i < 8; ++i) assert_true(fabsf(cut[i] - full[i] / sqrtf(kept)) < 1e-5f);
    options.normalize = uform_switch_off_k;
    assert_int_equal(uform_encode_texts(model, NULL, texts, 1, &options, cut, 0, NULL), uform_status_ok_k);
    length = 0;
    for (size_t i = 0; i < 8; ++i) length += cut[i] * cut[i];
    assert_true(fabsf(length - 1.0f) > 1e-3f);
    options.dimensions = dimensions_k + 1;
    assert_int_equal(
        uform_encode_texts(model, NULL, texts, 1, &options, cut, 0, NULL), uform_status_invalid_argument_k);
    assert_non_null(strstr(uform_last_detail(), "dimensions"));
    uform_model_free(model);
}

static void test_row_lengths(void **state) {
    (void)state;
    uform_model_t model = texts_load("truncate_dim", uform_scalar_f32_k);
    uform_encode_options_t options = {.size = sizeof options};
    size_t dimensions;
    assert_int_equal(uform_encode_dimensions(model, NULL, &dimensions), uform_status_ok_k);
    assert_int_equal(dimensions, 8);
    options.pooling = uform_pooling_cls_k | uform_pooling_mean_k;
    assert_int_equal(uform_encode_dimensions(model, &options, &dimensions), uform_status_ok_k);
    assert_int_equal(dimensions, 8);
    options.dimensions = 2 * dimensions_k;
    assert_int_equal(uform_encode_dimensions(model, &options, &dimensions), uform_status_ok_k);
    assert_int_equal(dimensions, 2 * dimensions_k);
    options.dimensions = 2 * dimensions_k + 1;
    assert_int_equal(uform_encode_dimensions(model, &options, &dimensions), uform_status_invalid_argument_k);
    assert_int_equal(dimensions, 0);
    assert_int_equal(uform_encode_dimensions(NULL, NULL, &dimensions), uform_status_invalid_argument_k);
    uform_model_free(model);
}

static void test_report(void **state) {
    (void)state;
    uform_model_t model = texts_load("pooling_mean", uform_scalar_derived_k);
    uform_item_report_t items[text_count_k];
    uform_encode_report_t report = {.size = sizeof report, .items = items};
    uform_encode_options_t const options = {.size = sizeof options, .max_tokens = 12};
    assert_int_equal(
        uform_encode_texts(model, NULL, texts, text_count_k, &options, found, 0, &report), uform_status_ok_k);
    size_t tokens = 0, truncated = 0;
    for (size_t i = 0; i < text_count_k; ++i) {
        size_t count;
        assert_int_equal(uform_tokenize(model, texts[i], &options, NULL, 0, &count), uform_status_ok_k);
        assert_int_equal(items[i].status, uform_status_ok_k);
        assert_int_equal(items[i].token_count, count);
        assert_int_equal(uform_tokenize(model, texts[i], NULL, NULL, 0, &count), uform_status_ok_k);
        assert_int_equal(items[i].truncated, count > 12);
        tokens += items[i].token_count;
        truncated += items[i].truncated;
    }
    assert_int_equal(report.token_count, tokens);
    assert_int_equal(report.truncated_count, truncated);
    assert_true(truncated > 0 && truncated < text_count_k);
    assert_int_equal(report.failed_count, 0);
    uform_model_free(model);
}

int main(void) {
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(test_independence_f32),
        cmocka_unit_test(test_independence_bf16),
        cmocka_unit_test(test_independence_i8),
        cmocka_unit_test(test_neighbours),
        cmocka_unit_test(test_classes_f32),
        cmocka_unit_test(test_classes_bf16),
        cmocka_unit_test(test_classes_i8),
        cmocka_unit_test(test_scalars),
        cmocka_unit_test(test_dimensions),
        cmocka_unit_test(test_row_lengths),
        cmocka_unit_test(test_report),
    };
    return cmocka_run_group_tests(tests, make_texts, NULL);
}
