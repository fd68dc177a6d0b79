/**
 *  What calls on images promise: the same image gives the same bits, whatever surrounds it and however many threads there are;
 *  raw layouts, strides and files agree; classes agree; one broken image is one item's status.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "encode/pictures.h"
#include "encode/texts.h"

enum { picture_count_k = 40, dimensions_limit_k = 96 };

static unsigned char memory[picture_count_k * pictures_side_k * pictures_side_k * 4];
static uform_image_t pictures[picture_count_k];
static float reference[picture_count_k * dimensions_limit_k], found[picture_count_k * dimensions_limit_k];
static size_t dimensions;

static char const *const names[] = {"clip", "siglip", "siglip2", "dinov2_uneven", "dinov3", "uform_roberta"};

static int make_pictures(void **state) {
    (void)state;
    pictures_make(pictures, picture_count_k, memory);
    return 0;
}

static uform_model_t load(char const *name, uform_scalar_t precision) {
    uform_model_t model = pictures_load(name, precision);
    uform_model_description_t description;
    assert_int_equal(uform_model_describe(model, &description), uform_status_ok_k);
    dimensions = description.dimensions;
    assert_true(dimensions <= dimensions_limit_k);
    return model;
}

static void encode(uform_model_t model, uform_executor_t executor, size_t begin, size_t count) {
    uform_status_t const status =
        uform_encode_images(model, executor, pictures + begin, count, NULL, found + begin * dimensions, 0, NULL);
    if (status) fail_msg("%s", uform_last_detail());
}

static void check_bits(char const *what) {
    for (size_t i = 0; i < picture_count_k; ++i)
        if (memcmp(found + i * dimensions, reference + i * dimensions, dimensions * sizeof(float)))
            fail_msg("%s: picture %zu differs", what, i);
}

// All at once, then one by one backwards, in slices, and over several threads: equal bits each time.
static void check_independence(uform_scalar_t precision) {
    for (size_t k = 0; k < sizeof names / sizeof *names; ++k) {
        uform_model_t model = load(names[k], precision);
        encode(model, NULL, 0, picture_count_k);
        memcpy(reference, found, sizeof found);
        for (size_t i = picture_count_k; i-- > 0;) encode(model, NULL, i, 1);
        check_bits(names[k]);
        memset(found, 0, sizeof found);
        for (size_t begin = 0, slice = 3; begin < picture_count_k; begin += slice, slice = slice * 2 % 11 + 1)
            encode(model, NULL, begin, begin + slice < picture_count_k ? slice : picture_count_k - begin);
        check_bits(names[k]);
        for (size_t threads = 1; threads <= 5; threads += 2) {
            uform_executor_t executor = texts_executor(threads, uform_cpu_class_derived_k);
            memset(found, 0, sizeof found);
            encode(model, executor, 0, picture_count_k);
            check_bits(names[k]);
            uform_executor_free(executor);
        }
        uform_model_free(model);
    }
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

static double cosine(float const *a, float const *b) {
    double product = 0, a_square = 0, b_square = 0;
    for (size_t i = 0; i < dimensions; ++i) {
        product += (double)a[i] * b[i];
        a_square += (double)a[i] * a[i];
        b_square += (double)b[i] * b[i];
    }
    return product / sqrt(a_square * b_square);
}

static void check_classes(char const *name, uform_scalar_t precision, double smallest) {
    uform_model_t model = load(name, precision);
    uform_executor_t serial = texts_executor(1, uform_cpu_class_serial_k);
    encode(model, serial, 0, picture_count_k);
    memcpy(reference, found, sizeof found);
    uform_executor_free(serial);
    for (int value = 1; value <= uform_cpu_class_monoversioned_k; ++value) {
        uform_cpu_class_description_t description;
        assert_int_equal(uform_cpu_class_describe((uform_cpu_class_t)value, &description), uform_status_ok_k);
        if (!description.available) continue;
        uform_executor_t executor = texts_executor(2, (uform_cpu_class_t)value);
        encode(model, executor, 0, picture_count_k);
        uform_executor_free(executor);
        for (size_t i = 0; i < picture_count_k; ++i) {
            double const similar = cosine(found + i * dimensions, reference + i * dimensions);
            if (!(similar >= smallest))
                fail_msg(
                    "%s, %s, picture %zu: cosine %f", name, uform_cpu_class_name((uform_cpu_class_t)value), i, similar);
        }
    }
    uform_model_free(model);
}

static void test_classes(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof names / sizeof *names; ++k) {
        check_classes(names[k], uform_scalar_f32_k, 0.999999);
        check_classes(names[k], uform_scalar_bf16_k, 0.99);
        check_classes(names[k], uform_scalar_i8_k, 0.98);
    }
}

// A BMP of three bytes a pixel, from the bottom up, blue first, rows of a multiple of four.
static size_t write_bmp(unsigned char const *rgb, unsigned width, unsigned height, unsigned char *file) {
    unsigned const stride = (width * 3 + 3) / 4 * 4, total = 54 + stride * height;
    memset(file, 0, total);
    unsigned const fields[][2] = {{2, total}, {10, 54}, {14, 40}, {18, width}, {22, height}, {26, 1 + (24 << 16)}};
    file[0] = 'B', file[1] = 'M';
    for (size_t i = 0; i < sizeof fields / sizeof *fields; ++i)
        for (unsigned k = 0; k < 4; ++k) file[fields[i][0] + k] = (unsigned char)(fields[i][1] >> 8 * k);
    for (unsigned y = 0; y < height; ++y)
        for (unsigned x = 0; x < width; ++x)
            for (unsigned c = 0; c < 3; ++c)
                file[54 + (height - 1 - y) * stride + x * 3 + c] = rgb[(y * width + x) * 3 + 2 - c];
    return total;
}

// The same picture as three channels, four, rows apart and a file; and gray as three equal channels.
static void test_layouts(void **state) {
    (void)state;
    enum { width_k = 37, height_k = 29, apart_k = 250 };
    static unsigned char rgb[height_k * width_k * 3], rgba[height_k * width_k * 4], apart[height_k * apart_k],
        gray[height_k * width_k], grays[height_k * width_k * 3], file[54 + height_k * (width_k * 3 + 3)];
    for (size_t i = 0; i < (size_t)height_k * width_k; ++i) {
        gray[i] = memory[i];
        for (size_t c = 0; c < 3; ++c) {
            rgba[4 * i + c] = rgb[3 * i + c] = memory[7 * i + c];
            apart[i / width_k * apart_k + i % width_k * 3 + c] = rgb[3 * i + c], grays[3 * i + c] = gray[i];
        }
        rgba[4 * i + 3] = memory[7 * i + 3]; // alpha is dropped
    }
    uform_image_t const same[] = {
        {rgb, sizeof rgb, uform_image_layout_rgb_k, width_k, height_k, 0},
        {rgba, sizeof rgba, uform_image_layout_rgba_k, width_k, height_k, 0},
        {apart, sizeof apart, uform_image_layout_rgb_k, width_k, height_k, apart_k},
        {file, write_bmp(rgb, width_k, height_k, file), uform_image_layout_file_k, 0, 0, 0},
        {grays, sizeof grays, uform_image_layout_rgb_k, width_k, height_k, 0},
        {gray, sizeof gray, uform_image_layout_gray_k, width_k, height_k, 0},
    };
    uform_model_t model = load("clip", uform_scalar_f32_k);
    if (uform_encode_images(model, NULL, same, 6, NULL, found, 0, NULL)) fail_msg("%s", uform_last_detail());
    for (size_t i = 1; i < 4; ++i) assert_memory_equal(found + i * dimensions, found, dimensions * sizeof(float));
    assert_memory_equal(found + 5 * dimensions, found + 4 * dimensions, dimensions * sizeof(float));
    assert_true(memcmp(found + 4 * dimensions, found, dimensions * sizeof(float)) != 0);
    uform_model_free(model);
}

// Broken images between good ones: null rows and statuses of their own, and the others' bits as ever.
static void test_broken(void **state) {
    (void)state;
    static unsigned char const rubbish[] = "\x89PNG\r\n\x1a\n and no more", page[] = "<html>";
    uform_model_t model = load("clip", uform_scalar_f32_k);
    encode(model, NULL, 0, 8);
    memcpy(reference, found, sizeof found);
    uform_image_t mixed[8];
    memcpy(mixed, pictures, sizeof mixed);
    mixed[1] = (uform_image_t){.data = rubbish, .length = sizeof rubbish - 1};
    mixed[4] = (uform_image_t){.data = page, .length = sizeof page - 1};
    mixed[6] = (uform_image_t){.data = page, .length = 0};
    for (size_t threads = 0; threads <= 3; threads += 3) {
        uform_executor_t executor = threads ? texts_executor(threads, uform_cpu_class_derived_k) : NULL;
        uform_item_report_t items[8];
        uform_encode_report_t report = {.size = sizeof report, .items = items};
        uform_status_t const status = uform_encode_images(model, executor, mixed, 8, NULL, found, 0, &report);
        assert_int_equal(status, items[1].status);
        assert_int_equal(report.failed_count, 3);
        for (size_t i = 0; i < 8; ++i) {
            bool const bad = i == 1 || i == 4 || i == 6;
            assert_int_equal(items[i].status != uform_status_ok_k, bad);
            if (!bad) assert_int_equal(items[i].token_count, 17);
            if (!bad)
                assert_memory_equal(found + i * dimensions, reference + i * dimensions, dimensions * sizeof(float));
            for (size_t k = 0; k < dimensions && bad; ++k) assert_true(isnan(found[i * dimensions + k]));
        }
        uform_executor_free(executor);
    }
    uform_model_free(model);
}

static void expect(uform_status_t status, uform_status_t wanted, char const *word) {
    if (status != wanted)
        fail_msg(
            "expected %s, found %s: %s", uform_status_name(wanted), uform_status_name(status), uform_last_detail());
    if (!strstr(uform_last_detail(), word)) fail_msg("\"%s\" does not name %s", uform_last_detail(), word);
}

static void test_arguments(void **state) {
    (void)state;
    uform_status_t const invalid = uform_status_invalid_argument_k, unsupported = uform_status_unsupported_k;
    uform_model_t model = load("clip", uform_scalar_f32_k), words = pictures_load("clip_text", uform_scalar_f32_k);
    uform_model_t tower = pictures_load("dinov3", uform_scalar_f32_k);
    uform_image_t const image = pictures[0], hollow = {.data = NULL, .length = 4};
    uform_text_t const text = {"word", 4};
    size_t shape[3], count;
    uint32_t id;
    float small[2] = {7, 7};
    expect(uform_encode_images(NULL, NULL, &image, 1, NULL, found, 0, NULL), invalid, "model");
    expect(uform_encode_images(model, NULL, NULL, 1, NULL, found, 0, NULL), invalid, "images");
    expect(uform_encode_images(model, NULL, &image, 1, NULL, NULL, 0, NULL), invalid, "embeddings");
    expect(uform_encode_images(model, NULL, &hollow, 1, NULL, found, 0, NULL), invalid, "image 0");
    expect(uform_encode_images(words, NULL, &image, 1, NULL, found, 0, NULL), unsupported, "image");
    expect(uform_image_pixels(words, image, NULL, NULL, 0, shape), unsupported, "image");
    expect(uform_encode_texts(tower, NULL, &text, 1, NULL, found, 0, NULL), unsupported, "text");
    expect(uform_tokenize(tower, text, NULL, &id, 1, &count), unsupported, "text");
    expect(uform_image_pixels(NULL, image, NULL, NULL, 0, shape), invalid, "model");
    expect(uform_image_pixels(model, image, NULL, NULL, 0, NULL), invalid, "shape");
    expect(uform_image_pixels(model, image, NULL, NULL, 1, shape), invalid, "pixels");
    assert_int_equal(uform_image_pixels(model, image, NULL, small, 2, shape), uform_status_ok_k);
    assert_true(small[0] == 7 && small[1] == 7 && shape[0] == 3 && shape[1] == 32 && shape[2] == 32);
    assert_int_equal(uform_encode_images(model, NULL, NULL, 0, NULL, NULL, 0, NULL), uform_status_ok_k);

    // Raw pixels that don't fit together are their item's status.
    uform_image_t wrong[6] = {pictures[3], pictures[3], pictures[3], pictures[3], pictures[3], pictures[3]};
    --wrong[0].length, wrong[1].width = 0, wrong[2].height = 0, wrong[3].stride_bytes = 1;
    wrong[4].height = SIZE_MAX / 2, wrong[5].layout = (uform_image_layout_t)9;
    uform_item_report_t items[6];
    uform_encode_report_t report = {.size = sizeof report, .items = items};
    assert_int_not_equal(uform_encode_images(model, NULL, wrong, 6, NULL, found, 0, &report), uform_status_ok_k);
    assert_int_equal(report.failed_count, 6);

    // So are more pixels than the call permits.
    uform_encode_options_t const options = {.size = sizeof options, .image_pixel_limit = 100};
    uform_image_t const sizes[2] = {
        {memory, 300, uform_image_layout_rgb_k, 10, 10, 0}, {memory, 303, uform_image_layout_rgb_k, 101, 1, 0}};
    assert_int_not_equal(uform_encode_images(model, NULL, sizes, 2, &options, found, 0, &report), uform_status_ok_k);
    assert_int_equal(items[0].status, uform_status_ok_k);
    assert_int_not_equal(items[1].status, uform_status_ok_k);
    uform_model_free(tower);
    uform_model_free(words);
    uform_model_free(model);
}

// Deferred calls, several at once, texts between them; scalars and cuts as for texts.
static void test_deferred(void **state) {
    (void)state;
    uform_model_t model = load("siglip2", uform_scalar_f32_k);
    uform_executor_t executor = texts_executor(2, uform_cpu_class_derived_k);
    uform_text_t const text = {"a photo of a cat", 16};
    float words[dimensions_limit_k], again[dimensions_limit_k];
    assert_int_equal(uform_encode_texts(model, NULL, &text, 1, NULL, words, 0, NULL), uform_status_ok_k);
    encode(model, NULL, 0, picture_count_k);
    memcpy(reference, found, sizeof found);
    memset(found, 0, sizeof found);
    uform_call_t calls[3];
    size_t const half = picture_count_k / 2;
    assert_int_equal(
        uform_defer_images(model, executor, pictures, half, NULL, found, 0, NULL, &calls[0]), uform_status_ok_k);
    assert_int_equal(uform_defer_texts(model, executor, &text, 1, NULL, again, 0, NULL, &calls[1]), uform_status_ok_k);
    assert_int_equal(uform_defer_images(model, executor, pictures + half, picture_count_k - half, NULL,
                         found + half * dimensions, 0, NULL, &calls[2]),
        uform_status_ok_k);
    for (size_t i = 0; i < 3; ++i) {
        assert_int_equal(uform_call_await(calls[i], -1), uform_status_ok_k);
        uform_call_free(calls[i]);
    }
    check_bits("deferred");
    assert_memory_equal(again, words, dimensions * sizeof(float));

    uform_encode_options_t const cut = {.size = sizeof cut, .dimensions = 8};
    assert_int_equal(uform_encode_images(model, executor, pictures, 5, &cut, found, 0, NULL), uform_status_ok_k);
    for (size_t i = 0; i < 5; ++i) {
        double square = 0;
        for (size_t k = 0; k < 8; ++k) square += (double)found[i * 8 + k] * found[i * 8 + k];
        assert_true(fabs(square - 1) < 1e-5);
    }
    uform_executor_free(executor);
    uform_model_free(model);
}

static void test_pooling(void **state) {
    (void)state;
    uform_encode_options_t const options = {
        .size = sizeof options, .pooling = uform_pooling_cls_k | uform_pooling_mean_k};
    uform_model_t model = pictures_load("dinov2", uform_scalar_f32_k);
    size_t both;
    assert_int_equal(uform_encode_dimensions(model, &options, &both), uform_status_ok_k);
    assert_int_equal(both, 64);
    float rows[64], usual[32];
    assert_int_equal(uform_encode_images(model, NULL, pictures, 1, &options, rows, 0, NULL), uform_status_ok_k);
    assert_int_equal(uform_encode_images(model, NULL, pictures, 1, NULL, usual, 0, NULL), uform_status_ok_k);
    assert_memory_equal(rows, usual, sizeof usual); // the first token's is what the model gives by itself
    uform_model_free(model);
    model = pictures_load("siglip_vision", uform_scalar_f32_k);
    expect(
        uform_encode_images(model, NULL, pictures, 1, &options, rows, 0, NULL), uform_status_unsupported_k, "pooling");
    uform_model_free(model);
}

static void test_impossible_counts(void **state) {
    (void)state;
    uform_model_t model = pictures_load("dinov2", uform_scalar_f32_k);
    float row[32];
    expect(uform_encode_images(model, NULL, pictures, SIZE_MAX, NULL, row, 0, NULL), uform_status_invalid_argument_k,
        "count");
    expect(uform_encode_images(model, NULL, pictures, SIZE_MAX / 64, NULL, row, 0, NULL),
        uform_status_invalid_argument_k, "count");
    uform_model_free(model);
}

// A caller compiled against an older header has fewer options, and what lies behind them is not looked at.
static void test_older_options(void **state) {
    (void)state;
    uform_encode_options_t const options = {
        .size = offsetof(uform_encode_options_t, image_orientation), .image_pixel_limit = 1};
    uform_model_t model = pictures_load("dinov2", uform_scalar_f32_k);
    float row[32];
    assert_int_equal(uform_encode_images(model, NULL, pictures + 3, 1, &options, row, 0, NULL), uform_status_ok_k);
    uform_model_free(model);
}

int main(void) {
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(test_independence_f32),
        cmocka_unit_test(test_independence_bf16),
        cmocka_unit_test(test_independence_i8),
        cmocka_unit_test(test_classes),
        cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_broken),
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_deferred),
        cmocka_unit_test(test_pooling),
        cmocka_unit_test(test_older_options),
        cmocka_unit_test(test_impossible_counts),
    };
    return cmocka_run_group_tests_name("images", tests, make_pictures, NULL);
}
