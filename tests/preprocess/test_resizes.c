/**
 *  Resized pictures against Pillow's and torchvision's, byte for byte, in every class; windows against the whole; tensors of f32
 *  within 1e-6, which is eight units in the last place of their largest numbers. `--bench` times resizing instead.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/detail.h"
#include "bench.h"
#include "pictures.h"

/// One line of resizes.txt.
typedef struct case_t {
    char line[128], arithmetic[16], kind[16];
    unsigned filter, seed;
    size_t width, height, new_width, new_height;
    unsigned long expected; ///< a checksum, or where the numbers are
} case_t;

typedef void (*check_t)(
    case_t const *one, uform_bitmap_t const *source, uform_resample_t const *kernels, uform_resizer_t *resizer);

static char *numbers;
static size_t numbers_length;

static case_t parse(char const *line) {
    case_t one = {0};
    snprintf(one.line, sizeof(one.line), "%.*s", (int)strcspn(line, "\n"), line);
    char expected[16] = "";
    int const count = sscanf(one.line, "%15s %u %15s %u %zu %zu %zu %zu %15s", one.arithmetic, &one.filter, one.kind,
        &one.seed, &one.width, &one.height, &one.new_width, &one.new_height, expected);
    assert_int_equal(count, 9);
    one.expected = strtoul(expected, NULL, one.arithmetic[1] == 'e' ? 10 : 16);
    return one;
}

static uform_resize_t whole(case_t const *one) {
    uform_arithmetic_t const arithmetic = one->arithmetic[0] == 'p'   ? uform_arithmetic_pillow_k
                                          : one->arithmetic[1] == 'o' ? uform_arithmetic_torch_k
                                                                      : uform_arithmetic_tensor_k;
    return (uform_resize_t){arithmetic, (uform_filter_t)one->filter, one->new_width, one->new_height, 0, 0,
        one->new_width, one->new_height};
}

static void check_bytes(
    case_t const *one, uform_bitmap_t const *source, uform_resample_t const *kernels, uform_resizer_t *resizer) {
    uform_resize_t const resize = whole(one);
    size_t const bytes = one->new_width * one->new_height * 3;
    uint8_t *const found = malloc(bytes);
    assert_int_equal(uform_resize_(&resize, kernels, source, resizer, found, one->new_width * 3), uform_status_ok_k);
    uint32_t const sum = checksum(found, bytes);
    if (sum != (uint32_t)one->expected) fail_msg("%s: found %08x", one->line, sum);
    // A window, at a stride of its own, is the same part of the whole.
    uform_resize_t window = resize;
    window.left = one->new_width / 3, window.top = one->new_height / 4;
    window.columns = (one->new_width - window.left + 1) / 2, window.rows = (one->new_height - window.top + 1) / 2;
    size_t const stride = window.columns * 3 + 5;
    uint8_t *const part = malloc((window.rows - 1) * stride + window.columns * 3);
    assert_int_equal(uform_resize_(&window, kernels, source, resizer, part, stride), uform_status_ok_k);
    for (size_t y = 0; y < window.rows; ++y)
        assert_memory_equal(
            part + y * stride, found + ((window.top + y) * one->new_width + window.left) * 3, window.columns * 3);
    free(part);
    free(found);
}

static void check_numbers(
    case_t const *one, uform_bitmap_t const *source, uform_resample_t const *kernels, uform_resizer_t *resizer) {
    uform_resize_t const resize = whole(one);
    float const scale = (float)(1.0 / 255.0);
    size_t const count = one->new_width * one->new_height * 3;
    assert_true((one->expected + count) * sizeof(float) <= numbers_length);
    float *const found = malloc(count * sizeof(float));
    assert_int_equal(uform_resize_tensor_(&resize, kernels, source, scale, resizer, found), uform_status_ok_k);
    for (size_t i = 0; i < count; ++i) {
        float expected;
        memcpy(&expected, numbers + (one->expected + i) * sizeof(float), sizeof(expected));
        if (!(fabsf(found[i] - expected) <= 1e-6f))
            fail_msg("%s: number %zu: expected %.9g, found %.9g", one->line, i, (double)expected, (double)found[i]);
    }
    free(found);
}

static void each_case(bool tensors, check_t check) {
    uform_kernels_t const *kernels[kernels_limit_k];
    size_t const kernels_count = kernels_list(kernels);
    size_t length, cases = 0;
    char *const text = expected_read("resizes.txt", &length);
    uform_resizer_t resizer = {.horizontal = {0}};
    for (char const *line = text; *line; line = strchr(line, '\n') + 1) {
        case_t const one = parse(line);
        if ((one.arithmetic[1] == 'e') != tensors) continue;
        uint8_t *const pixels = picture_new(one.kind, one.width, one.height, one.seed);
        uform_bitmap_t const source = {pixels, one.width, one.height};
        for (size_t i = 0; i < kernels_count; ++i) check(&one, &source, kernels[i]->resample, &resizer);
        free(pixels);
        ++cases;
    }
    assert_true(cases > 0);
    uform_resizer_free_(&resizer);
    free(text);
}

static void bytes_equal_the_references(void **state) {
    (void)state;
    each_case(false, check_bytes);
}

static void tensors_are_close_to_torch(void **state) {
    (void)state;
    numbers = expected_read("tensors.f32", &numbers_length);
    each_case(true, check_numbers);
    free(numbers);
}

/// Sizes beyond the limits end in a status that names them, before anything of their size is allocated.
static void limits_are_told(void **state) {
    (void)state;
    uform_resample_t const *const kernels = uform_kernels_(uform_cpu_class_serial_k)->resample;
    uint8_t *const pixels = picture_new("noise", 65535, 1, 1), target[3 * 16];
    uform_bitmap_t const source = {pixels, 65535, 1};
    uform_resizer_t resizer = {.horizontal = {0}};
    for (int arithmetic = uform_arithmetic_pillow_k; arithmetic <= uform_arithmetic_torch_k; ++arithmetic) {
        uform_resize_t resize = {
            (uform_arithmetic_t)arithmetic, uform_filter_bicubic_k, uform_edge_limit_k + 1, 4, 0, 0, 4, 4};
        assert_int_equal(uform_resize_(&resize, kernels, &source, &resizer, target, 12), uform_status_unsupported_k);
        assert_non_null(strstr(uform_last_detail(), "16777216"));
        // A picture just within them.
        resize.width = uform_edge_limit_k, resize.left = uform_edge_limit_k - 4;
        assert_int_equal(uform_resize_(&resize, kernels, &source, &resizer, target, 12), uform_status_ok_k);
    }
    // More weights than memory should be spent on: 2048 outputs of 24 thousand inputs each.
    size_t const wide = 12u << 20;
    uint8_t *const line = calloc(wide, 3);
    uform_bitmap_t const flat = {line, wide, 1};
    uform_resize_t const many = {uform_arithmetic_pillow_k, uform_filter_lanczos_k, 2048, 1, 0, 0, 2048, 1};
    assert_int_equal(uform_resize_(&many, kernels, &flat, &resizer, target, 6144), uform_status_unsupported_k);
    assert_non_null(strstr(uform_last_detail(), "weights"));
    free(line);
    free(pixels);
    uform_resizer_free_(&resizer);
}

static uform_status_t resize_as(
    uform_resize_t const *resize, uform_bitmap_t const *source, uform_resizer_t *resizer, float *target) {
    uform_resample_t const *const kernels = uform_kernels_(uform_cpu_class_serial_k)->resample;
    if (resize->arithmetic == uform_arithmetic_tensor_k)
        return uform_resize_tensor_(resize, kernels, source, 1.0f, resizer, target);
    return uform_resize_(resize, kernels, source, resizer, (uint8_t *)target, resize->columns * 3);
}

/// Rows made as wide as the result before most of them go: bands of them in memory, and a limit on the work, told beforehand.
static void tall_pictures_stay_small(void **state) {
    (void)state;
    size_t const rows = 600000;
    uint8_t *const pixels = calloc(rows, 3);
    float *const target = malloc(224 * 224 * 3 * sizeof(float));
    for (int arithmetic = uform_arithmetic_torch_k; arithmetic <= uform_arithmetic_tensor_k; ++arithmetic) {
        uform_bitmap_t source = {pixels, 1, 20000};
        uform_resizer_t resizer = {.horizontal = {0}};
        uform_resize_t resize = {(uform_arithmetic_t)arithmetic, uform_filter_bilinear_k, 224, 224, 0, 0, 224, 224};
        assert_int_equal(resize_as(&resize, &source, &resizer, target), uform_status_ok_k);
        assert_true(resizer.between.bytes <= 1 << 20);
        uform_resizer_free_(&resizer);
        source.height = rows;
        assert_int_equal(resize_as(&resize, &source, &resizer, target), uform_status_unsupported_k);
        assert_non_null(strstr(uform_last_detail(), "at most 134217728 pixels for the result"));
        assert_null(resizer.between.memory);
        assert_null(resizer.vertical.block.memory);
        // A window of it is less work.
        resize.top = 100, resize.rows = 1;
        assert_int_equal(resize_as(&resize, &source, &resizer, target), uform_status_ok_k);
        uform_resizer_free_(&resizer);
        // A single row that takes all of them.
        resize = (uform_resize_t){(uform_arithmetic_t)arithmetic, uform_filter_bilinear_k, 16, 1, 0, 0, 16, 1};
        assert_int_equal(resize_as(&resize, &source, &resizer, target), uform_status_unsupported_k);
        assert_non_null(strstr(uform_last_detail(), "at most 8388608 pixels for a row of the result"));
        assert_null(resizer.between.memory);
        uform_resizer_free_(&resizer);
    }
    // Pillow takes rows away first.
    uform_bitmap_t const source = {pixels, 1, rows};
    uform_resizer_t resizer = {.horizontal = {0}};
    uform_resize_t const resize = {uform_arithmetic_pillow_k, uform_filter_bilinear_k, 224, 224, 0, 0, 224, 224};
    assert_int_equal(resize_as(&resize, &source, &resizer, target), uform_status_ok_k);
    assert_true(resizer.between.bytes <= 1 << 20);
    uform_resizer_free_(&resizer);
    free(target);
    free(pixels);
}

int main(int count, char **arguments) {
    if (count > 1 && !strcmp(arguments[1], "--bench")) return bench_resizes();
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(bytes_equal_the_references),
        cmocka_unit_test(tensors_are_close_to_torch),
        cmocka_unit_test(limits_are_told),
        cmocka_unit_test(tall_pictures_stay_small),
    };
    return cmocka_run_group_tests_name("resizes", tests, NULL, NULL);
}
