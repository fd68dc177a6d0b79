/**
 *  Pixel tensors against those of transformers' image processors and UForm 3's: bit for bit, through checksums; where a processor
 *  resizes tensors of f32, within 2e-6 of numbers up to 2.7.
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
#include "pictures.h"

static char *numbers;
static size_t numbers_length;

static size_t size_of(uform_json_t const *one, char const *key) {
    size_t size = 0;
    assert_int_equal(uform_json_size_(one, "case", key, 0, 1u << 30, uform_json_required_k, &size), uform_status_ok_k);
    return size;
}

static void compare_numbers(char const *what, float const *found, size_t count, size_t place) {
    assert_true((place + count) * sizeof(float) <= numbers_length);
    for (size_t i = 0; i < count; ++i) {
        float expected;
        memcpy(&expected, numbers + (place + i) * sizeof(float), sizeof(expected));
        if (!(fabsf(found[i] - expected) <= 2e-6f))
            fail_msg("%s: number %zu: expected %.9g, found %.9g", what, i, (double)expected, (double)found[i]);
    }
}

static void check_case(
    uform_json_t const *one, size_t index, uform_kernels_t const *kernels, uform_preprocess_buffer_t *buffer) {
    char what[64];
    uform_json_t const *const config = uform_json_find_(one, "config"), *const encoder =
                                                                            uform_json_find_(one, "encoder");
    snprintf(what, sizeof(what), "processors.json: case %zu", index);
    uform_preprocessor_t preprocessor;
    uform_status_t const status = config ? uform_preprocessor_parse_(config, what, NULL, &preprocessor)
                                         : uform_preprocessor_parse_encoder_(encoder, what, &preprocessor);
    if (status != uform_status_ok_k) fail_msg("%s", uform_last_detail());

    size_t const width = size_of(one, "width"), height = size_of(one, "height");
    char const *const kind = uform_json_find_(one, "picture")->text;
    uint8_t *const pixels = picture_new(kind, width, height, (uint32_t)size_of(one, "seed"));
    uform_bitmap_t const source = {pixels, width, height};
    uform_picture_t picture;
    if (uform_preprocess_(&preprocessor, kernels, &source, buffer, &picture) != uform_status_ok_k)
        fail_msg("%s: %s", what, uform_last_detail());
    uform_json_t const *const shape = uform_json_find_(one, "shape")->first;
    if ((double)picture.height != shape->next->number || (double)picture.width != shape->next->next->number)
        fail_msg("%s: found %zu x %zu", what, picture.height, picture.width);
    if (preprocessor.output_width) {
        assert_int_equal(preprocessor.output_width, picture.width);
        assert_int_equal(preprocessor.output_height, picture.height);
    }

    size_t const count = 3 * picture.width * picture.height;
    float *const tensor = malloc(count * sizeof(float));
    uform_picture_tensor_(&preprocessor, &picture, tensor);
    uform_json_t const *const sum = uform_json_find_(one, "crc32");
    if (!sum) compare_numbers(what, tensor, count, size_of(one, "numbers"));
    else if (checksum(tensor, count * sizeof(float)) != (uint32_t)strtoul(sum->text, NULL, 16))
        fail_msg("%s: expected checksum %s, found %08x", what, sum->text, checksum(tensor, count * sizeof(float)));
    free(tensor);
    free(pixels);
}

static void tensors_equal_the_references(void **state) {
    (void)state;
    uform_kernels_t const *kernels[kernels_limit_k];
    size_t const kernels_count = kernels_list(kernels);
    numbers = expected_read("tensors.f32", &numbers_length);
    size_t length, index = 0;
    char *const text = expected_read("processors.json", &length);
    uform_json_document_t document;
    assert_int_equal(uform_json_parse_(text, length, "processors.json", &document), uform_status_ok_k);
    uform_preprocess_buffer_t buffer = {.bytes = {0}};
    for (uform_json_t const *one = document.root->first; one; one = one->next, ++index)
        check_case(one, index, kernels[index % kernels_count], &buffer); // a class each: resizing is compared elsewhere
    assert_true(index > 200);
    uform_preprocess_buffer_free_(&buffer);
    uform_json_close_(&document);
    free(text);
    free(numbers);
}

static uform_preprocessor_t parse(char const *text) {
    uform_json_document_t document;
    uform_preprocessor_t preprocessor;
    assert_int_equal(uform_json_parse_(text, strlen(text), "config", &document), uform_status_ok_k);
    if (uform_preprocessor_parse_(document.root, "config", NULL, &preprocessor)) fail_msg("%s", uform_last_detail());
    uform_json_close_(&document);
    return preprocessor;
}

/// A picture that needs nothing is not copied.
static void what_fits_stays_where_it_is(void **state) {
    (void)state;
    uform_preprocessor_t const preprocessor =
        parse("{\"image_processor_type\": \"CLIPImageProcessor\", \"size\": 20, \"crop_size\": 20}");
    uint8_t *const pixels = picture_new("noise", 20, 20, 1);
    uform_bitmap_t const source = {pixels, 20, 20};
    uform_preprocess_buffer_t buffer = {.bytes = {0}};
    uform_picture_t picture;
    assert_int_equal(
        uform_preprocess_(&preprocessor, uform_kernels_(uform_cpu_class_serial_k), &source, &buffer, &picture),
        uform_status_ok_k);
    assert_ptr_equal(picture.pixels, pixels);
    assert_null(buffer.bytes.memory);
    free(pixels);
    uform_preprocess_buffer_free_(&buffer);
}

/// Where a margin is odd, what is cut and what is padded: left, of a picture `edge` wide of which `wanted` are wanted.
static void odd_margins(void **state) {
    (void)state;
    static struct {
        char const *type;
        size_t edge, wanted;
        uint8_t first; ///< the first pixel of the result, whose columns count from 1
        size_t place;  ///< and where the picture begins in it
    } const cases[] = {
        {"CLIPImageProcessor", 225, 224, 1, 0},
        {"CLIPImageProcessor", 227, 224, 2, 0},
        {"CLIPImageProcessor", 229, 224, 3, 0},
        {"CLIPImageProcessor", 3, 8, 1, 3},
        {"CLIPImageProcessorFast", 227, 224, 2, 0},
        {"CLIPImageProcessorFast", 3, 8, 1, 2},
        {NULL, 225, 224, 1, 0},
        {NULL, 227, 224, 3, 0},
        {NULL, 229, 224, 3, 0},
        {NULL, 231, 224, 5, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        char text[160];
        snprintf(text, sizeof(text),
            "{\"image_processor_type\": \"%s\", \"do_resize\": false, \"crop_size\": [%zu, %zu]}",
            cases[i].type ? cases[i].type : "CLIPImageProcessor", (size_t)1, cases[i].wanted);
        uform_preprocessor_t preprocessor = parse(text);
        if (!cases[i].type) preprocessor.middle = uform_middle_even_k;
        uint8_t pixels[3 * 240];
        for (size_t x = 0; x < cases[i].edge; ++x) memset(pixels + 3 * x, (int)(x + 1), 3);
        uform_bitmap_t const source = {pixels, cases[i].edge, 1};
        uform_preprocess_buffer_t buffer = {.bytes = {0}};
        uform_picture_t picture;
        assert_int_equal(
            uform_preprocess_(&preprocessor, uform_kernels_(uform_cpu_class_serial_k), &source, &buffer, &picture),
            uform_status_ok_k);
        assert_int_equal(picture.width, cases[i].wanted);
        assert_int_equal(picture.pixels[3 * cases[i].place], cases[i].first);
        if (cases[i].place) assert_int_equal(picture.pixels[3 * cases[i].place - 1], 0);
        uform_preprocess_buffer_free_(&buffer);
    }
}

/// Pictures that no processor could do anything with have a status of their own.
static void hopeless_pictures(void **state) {
    (void)state;
    static struct {
        char const *config;
        size_t width, height;
        char const *detail;
    } const cases[] = {
        {"{\"image_processor_type\": \"CLIPImageProcessor\", \"size\": {\"max_height\": 10, \"max_width\": 10}}", 100,
            1, "nothing is left"},
        {"{\"image_processor_type\": \"ViTImageProcessor\", \"size\": {\"shortest_edge\": 16000}}", 65000, 2,
            "520000000 x 16000"},
        {"{\"image_processor_type\": \"ViTImageProcessor\", \"size\": {\"shortest_edge\": 16000}}", 3, 2, "67108864"},
        {"{\"image_processor_type\": \"ViTImageProcessor\", \"do_pad\": true, \"pad_size\": 100}", 5, 5, "100 x 100"},
        {"{\"image_processor_type\": \"Siglip2ImageProcessor\", \"do_resize\": false}", 33, 16, "patches of 16"},
    };
    uint8_t *const pixels = picture_new("noise", 65000, 2, 1);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        uform_preprocessor_t const preprocessor = parse(cases[i].config);
        uform_bitmap_t const source = {pixels, cases[i].width, cases[i].height};
        uform_preprocess_buffer_t buffer = {.bytes = {0}};
        uform_picture_t picture;
        assert_int_equal(
            uform_preprocess_(&preprocessor, uform_kernels_(uform_cpu_class_serial_k), &source, &buffer, &picture),
            uform_status_unsupported_k);
        if (!strstr(uform_last_detail(), cases[i].detail)) fail_msg("case %zu: %s", i, uform_last_detail());
        assert_true(!picture.pixels && !picture.planes && !picture.width);
        uform_preprocess_buffer_free_(&buffer);
    }
    free(pixels);
}

int main(void) {
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(tensors_equal_the_references),
        cmocka_unit_test(what_fits_stays_where_it_is),
        cmocka_unit_test(odd_margins),
        cmocka_unit_test(hopeless_pictures),
    };
    return cmocka_run_group_tests_name("processors", tests, NULL, NULL);
}
