/**
 *  What calls on images promise: the same image gives the same bits, whatever surrounds it and however many threads there are; a
 *  broken one is its own failure; files, raw pixels, strides and deferred calls agree; what a model can't do is refused.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "encode/texts.h"

enum { image_count_k = 300, side_limit_k = 61, dimension_limit_k = 64 };

static unsigned char pixels[image_count_k][side_limit_k * side_limit_k * 3];
static uform_image_t images[image_count_k];
static float reference[image_count_k][dimension_limit_k], found[image_count_k][dimension_limit_k];
static size_t const stride_bytes = sizeof(found[0]);

// Images of many shapes, whose pixels come from a seed.
static int make_images(void **state) {
    (void)state;
    uint32_t seed = 7;
    for (size_t i = 0; i < image_count_k; ++i) {
        size_t const width = 1 + i * 7 % side_limit_k, height = 1 + i * 13 % side_limit_k;
        for (size_t k = 0; k < width * height * 3; ++k)
            pixels[i][k] = (unsigned char)((seed = seed * 1664525u + 1013904223u) >> 24);
        images[i] = (uform_image_t){pixels[i], width * height * 3, uform_image_layout_rgb_k, width, height, 0};
    }
    return 0;
}

static uform_model_t load(char const *name, uform_scalar_t precision) {
    char path[256];
    snprintf(path, sizeof path, "../vision/models/%s", name);
    return texts_load(path, precision);
}

static void encode(uform_model_t model, uform_executor_t executor, size_t begin, size_t count) {
    if (uform_encode_images(model, executor, images + begin, count, NULL, found[begin], stride_bytes, NULL))
        fail_msg("%s", uform_last_detail());
}

// All images at once, then one by one backwards, in odd slices and over several threads: equal bits each time.
static void check_independence(char const *name, uform_scalar_t precision) {
    uform_model_t model = load(name, precision);
    memset(found, 0, sizeof found);
    encode(model, NULL, 0, image_count_k);
    memcpy(reference, found, sizeof found);
    memset(found, 0, sizeof found);
    for (size_t i = 0; i < image_count_k; ++i) encode(model, NULL, image_count_k - 1 - i, 1);
    assert_memory_equal(found, reference, sizeof found);
    memset(found, 0, sizeof found);
    for (size_t begin = 0; begin < image_count_k; begin += 23)
        encode(model, NULL, begin, begin + 23 < image_count_k ? 23 : image_count_k - begin);
    assert_memory_equal(found, reference, sizeof found);
    for (size_t threads = 1; threads <= 3; ++threads) {
        uform_executor_t executor = texts_executor(threads, uform_cpu_class_derived_k);
        memset(found, 0, sizeof found);
        encode(model, executor, 0, image_count_k);
        assert_memory_equal(found, reference, sizeof found);
        uform_executor_free(executor);
    }
    uform_model_free(model);
}

static void the_same_image_gives_the_same_bits(void **state) {
    (void)state;
    // One size for all, attention pooling over any shape, resampled positions, rotations over numbers instead of bytes.
    static char const *const names[] = {"clip", "siglip2", "dinov2_uneven", "dinov3"};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        check_independence(names[i], uform_scalar_f32_k);
        check_independence(names[i], uform_scalar_bf16_k);
    }
}

static void every_class_agrees(void **state) {
    (void)state;
    static uform_cpu_class_t const classes[] = {uform_cpu_class_serial_k, uform_cpu_class_intel_haswell_k,
        uform_cpu_class_intel_skylake_k, uform_cpu_class_amd_genoa_k, uform_cpu_class_intel_sapphire_k};
    uform_model_t model = load("siglip2", uform_scalar_f32_k);
    uform_executor_t serial = texts_executor(1, uform_cpu_class_serial_k);
    encode(model, serial, 0, 20);
    memcpy(reference, found, sizeof found);
    for (size_t i = 1; i < sizeof classes / sizeof *classes; ++i) {
        uform_executor_t executor = NULL;
        if (uform_executor_for_ram(NULL, 0, classes[i], 1, 0, &executor)) continue; // not this machine's
        encode(model, executor, 0, 20);
        for (size_t image = 0; image < 20; ++image)
            for (size_t k = 0; k < dimension_limit_k; ++k)
                assert_true(fabsf(found[image][k] - reference[image][k]) < 1e-5f);
        uform_executor_free(executor);
    }
    uform_executor_free(serial);
    uform_model_free(model);
}

static void a_broken_image_fails_alone(void **state) {
    (void)state;
    uform_model_t model = load("clip", uform_scalar_derived_k);
    uform_image_t mixed[5];
    memcpy(mixed, images + 40, sizeof mixed);
    uform_item_report_t items[5];
    uform_encode_report_t report = {.size = sizeof report, .items = items};
    assert_int_equal(
        uform_encode_images(model, NULL, mixed, 5, NULL, reference, stride_bytes, NULL), uform_status_ok_k);
    mixed[2] = (uform_image_t){.data = "<html>not found</html>", .length = 22};
    assert_int_equal(
        uform_encode_images(model, NULL, mixed, 5, NULL, found, stride_bytes, &report), uform_status_malformed_k);
    assert_non_null(strstr(uform_last_detail(), "image 2: "));
    assert_int_equal(report.failed_count, 1);
    for (size_t i = 0; i < 5; ++i) {
        assert_int_equal(items[i].status, i == 2 ? uform_status_malformed_k : uform_status_ok_k);
        if (i == 2) assert_true(isnan(found[i][0]));
        else {
            assert_memory_equal(found[i], reference[i], 28 * sizeof(float));
            assert_int_equal(items[i].token_count, 17); // sixteen patches and the class token
        }
    }
    assert_int_equal(report.token_count, 4 * 17);
    uform_model_free(model);
}

static void raw_layouts_agree(void **state) {
    (void)state;
    enum { side_k = 19, stride_k = side_k * 4 + 5 };
    static unsigned char wide[side_k * stride_k], gray[side_k * side_k], same[side_k * side_k * 3];
    for (size_t i = 0; i < side_k * side_k; ++i) {
        gray[i] = (unsigned char)(i * 31);
        for (size_t c = 0; c < 3; ++c)
            same[3 * i + c] = wide[i / side_k * stride_k + i % side_k * 4 + c] = (unsigned char)(i * 31);
        wide[i / side_k * stride_k + i % side_k * 4 + 3] = (unsigned char)i;
    }
    uform_image_t const three[3] = {
        {same, sizeof same, uform_image_layout_rgb_k, side_k, side_k, 0},
        {wide, sizeof wide, uform_image_layout_rgba_k, side_k, side_k, stride_k},
        {gray, sizeof gray, uform_image_layout_gray_k, side_k, side_k, 0},
    };
    uform_model_t model = load("clip", uform_scalar_derived_k);
    assert_int_equal(uform_encode_images(model, NULL, three, 3, NULL, found, stride_bytes, NULL), uform_status_ok_k);
    assert_memory_equal(found[0], found[1], 28 * sizeof(float));
    assert_memory_equal(found[0], found[2], 28 * sizeof(float));
    uform_image_t const short_of_a_byte = {same, sizeof same - 1, uform_image_layout_rgb_k, side_k, side_k, 0};
    assert_int_equal(uform_encode_images(model, NULL, &short_of_a_byte, 1, NULL, found, stride_bytes, NULL),
        uform_status_invalid_argument_k);
    uform_model_free(model);
}

static void deferred_calls_agree(void **state) {
    (void)state;
    uform_model_t model = load("siglip", uform_scalar_derived_k);
    uform_executor_t executor = texts_executor(2, uform_cpu_class_derived_k);
    memset(found, 0, sizeof found);
    encode(model, NULL, 0, image_count_k);
    memcpy(reference, found, sizeof found);
    memset(found, 0, sizeof found);
    uform_call_t call;
    assert_int_equal(uform_defer_images(model, executor, images, image_count_k, NULL, found, stride_bytes, NULL, &call),
        uform_status_ok_k);
    assert_int_equal(uform_call_await(call, 60), uform_status_ok_k);
    uform_call_free(call);
    assert_memory_equal(found, reference, sizeof found);
    uform_executor_free(executor);
    uform_model_free(model);
}

static void wrong_calls_are_refused(void **state) {
    (void)state;
    uform_model_t model = load("dinov2", uform_scalar_derived_k), texts = texts_load("mean", uform_scalar_derived_k);
    uform_text_t const text = {"a", 1};
    size_t dimensions, shape[3];
    assert_int_equal(uform_encode_texts(model, NULL, &text, 1, NULL, found, 0, NULL), uform_status_unsupported_k);
    assert_non_null(strstr(uform_last_detail(), "encodes no texts"));
    assert_int_equal(uform_encode_images(texts, NULL, images, 1, NULL, found, 0, NULL), uform_status_unsupported_k);
    assert_non_null(strstr(uform_last_detail(), "encodes no images"));
    assert_int_equal(uform_image_pixels(texts, images[0], NULL, NULL, 0, shape), uform_status_unsupported_k);
    assert_int_equal(uform_encode_dimensions(model, NULL, &dimensions), uform_status_ok_k);
    assert_int_equal(dimensions, 32);
    assert_int_equal(uform_encode_images(model, NULL, NULL, 1, NULL, found, 0, NULL), uform_status_invalid_argument_k);
    assert_int_equal(uform_encode_images(NULL, NULL, images, 1, NULL, found, 0, NULL), uform_status_invalid_argument_k);
    assert_int_equal(uform_encode_images(model, NULL, NULL, 0, NULL, NULL, 0, NULL), uform_status_ok_k);
    uform_encode_options_t options = {.size = sizeof options, .image_pixel_limit = 10};
    assert_int_equal(
        uform_encode_images(model, NULL, images + 40, 1, &options, found, 0, NULL), uform_status_unsupported_k);
    options = (uform_encode_options_t){.size = sizeof options, .image_flatten = (uform_switch_t)7};
    assert_int_equal(
        uform_encode_images(model, NULL, images, 1, &options, found, 0, NULL), uform_status_invalid_argument_k);
    assert_non_null(strstr(uform_last_detail(), "image_flatten"));
    // A caller compiled against an older header has fewer options.
    options =
        (uform_encode_options_t){.size = offsetof(uform_encode_options_t, image_orientation), .image_pixel_limit = 1};
    assert_int_equal(uform_encode_images(model, NULL, images + 40, 1, &options, found, 0, NULL), uform_status_ok_k);
    uform_model_free(model);
    uform_model_free(texts);
}

static void pooling_can_be_chosen_where_no_head_is(void **state) {
    (void)state;
    uform_encode_options_t const options = {
        .size = sizeof options, .pooling = uform_pooling_cls_k | uform_pooling_mean_k};
    uform_model_t model = load("dinov2", uform_scalar_f32_k);
    size_t dimensions;
    assert_int_equal(uform_encode_dimensions(model, &options, &dimensions), uform_status_ok_k);
    assert_int_equal(dimensions, 64);
    float both[64], usual[32];
    assert_int_equal(uform_encode_images(model, NULL, images + 9, 1, &options, both, 0, NULL), uform_status_ok_k);
    assert_int_equal(uform_encode_images(model, NULL, images + 9, 1, NULL, usual, 0, NULL), uform_status_ok_k);
    assert_memory_equal(both, usual, sizeof usual);
    uform_model_free(model);
    model = load("siglip_vision", uform_scalar_f32_k);
    assert_int_equal(uform_encode_images(model, NULL, images, 1, &options, found, 0, NULL), uform_status_unsupported_k);
    uform_model_free(model);
}

int main(void) {
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(the_same_image_gives_the_same_bits),
        cmocka_unit_test(every_class_agrees),
        cmocka_unit_test(a_broken_image_fails_alone),
        cmocka_unit_test(raw_layouts_agree),
        cmocka_unit_test(deferred_calls_agree),
        cmocka_unit_test(wrong_calls_are_refused),
        cmocka_unit_test(pooling_can_be_chosen_where_no_head_is),
    };
    return cmocka_run_group_tests_name("images", tests, make_images, NULL);
}
