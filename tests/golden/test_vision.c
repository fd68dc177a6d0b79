/**
 *  Every tiny tower and dual encoder of tests/golden/vision/models against its file in tests/golden/vision/expected: ids, text
 *  and image vectors, raw and of length one, and samples of the pixel tensors. One cmocka test a directory, so that a failure
 *  names the one thing that directory is about. Pictures are the formula that tools/golden_vision.py has.
 */
#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "golden/golden.h"

enum {
    text_limit_k = 16,
    picture_limit_k = 8,
    model_limit_k = 64,
    known_model_count_k = 39, ///< so that models that vanish are noticed
    id_limit_k = 128,
    path_bytes_k = 1024,
};

/// In bf16 and i8 only gross errors can show: these models are random, narrow, and amplify rounding more than trained ones.
static struct {
    uform_scalar_t precision;
    golden_tolerance_t raw, unit;
} const precisions[] = {
    {uform_scalar_f32_k, {0.999999, 2e-5}, {0.999999, 1e-5}},
    {uform_scalar_bf16_k, {0.998, 0.2}, {0.998, 0.05}},
    {uform_scalar_i8_k, {0.98, 0.5}, {0.98, 0.1}},
};

/// One directory's expectation, its items, and the numbers a call gives.
typedef struct vision_t {
    uform_json_document_t document;
    uform_model_t model;
    uform_model_description_t description;
    uform_text_t texts[text_limit_k];
    uform_image_t pictures[picture_limit_k];
    size_t text_count, picture_count;
    bool raw_by_default; ///< vectors keep their length unless asked otherwise
} vision_t;

/// [height, width, 3] that the caller frees.
static unsigned char *make_picture(unsigned width, unsigned height) {
    unsigned char *pixels = malloc((size_t)width * height * 3);
    assert_non_null(pixels);
    for (unsigned y = 0; y < height; ++y)
        for (unsigned x = 0; x < width; ++x)
            for (unsigned c = 0; c < 3; ++c)
                pixels[((size_t)y * width + x) * 3 + c] =
                    (unsigned char)(x * (5 + 4 * c) + y * (3 + 2 * c) + (x * y >> 3) * (c + 1) +
                                    ((x / 5 + y / 7) & 1) * 60 + 40 * c);
    return pixels;
}

static void read_items(vision_t *vision) {
    uform_json_t const *texts = uform_json_find_(vision->document.root, "texts");
    for (uform_json_t const *text = texts ? texts->first : NULL; text; text = text->next) {
        assert_true(vision->text_count < text_limit_k);
        vision->texts[vision->text_count++] = (uform_text_t){text->text, text->length};
    }
    uform_json_t const *sizes = uform_json_find_(vision->document.root, "pictures");
    for (uform_json_t const *size = sizes ? sizes->first : NULL; size; size = size->next) {
        assert_true(vision->picture_count < picture_limit_k);
        size_t const width = (size_t)size->first->number, height = (size_t)size->first->next->number;
        vision->pictures[vision->picture_count++] = (uform_image_t){
            .data = make_picture((unsigned)width, (unsigned)height),
            .length = width * height * 3,
            .layout = uform_image_layout_rgb_k,
            .width = width,
            .height = height,
        };
    }
    assert_true(vision->text_count + vision->picture_count > 0);
}

static size_t read_vector(uform_json_t const *row, float **vector) {
    *vector = calloc(row->length, sizeof(float));
    assert_non_null(*vector);
    size_t count = 0;
    for (uform_json_t const *number = row->first; number; number = number->next)
        (*vector)[count++] = (float)number->number;
    return count;
}

static void scale_to_one(float *vector, size_t count) {
    double square = 0;
    for (size_t i = 0; i < count; ++i) square += (double)vector[i] * vector[i];
    for (size_t i = 0; i < count; ++i) vector[i] = (float)(vector[i] / sqrt(square));
}

static void check_ids(vision_t const *vision) {
    uform_json_t const *row = uform_json_find_(vision->document.root, "ids")->first;
    for (size_t i = 0; row; row = row->next, ++i) {
        uint32_t ids[id_limit_k];
        size_t count, position = 0;
        assert_int_equal(
            uform_tokenize(vision->model, vision->texts[i], NULL, ids, id_limit_k, &count), uform_status_ok_k);
        assert_int_equal(count, row->length);
        for (uform_json_t const *id = row->first; id; id = id->next) assert_int_equal(ids[position++], id->number);
    }
}

static void check_vectors(
    vision_t const *vision, bool texts, uform_switch_t normalize, golden_tolerance_t raw, golden_tolerance_t unit) {
    uform_json_t const *vectors = uform_json_find_(vision->document.root, texts ? "text_vectors" : "image_vectors");
    size_t const dimensions = vectors->first->length;
    assert_int_equal(vision->description.dimensions, dimensions);
    float *found = calloc(vectors->length * dimensions, sizeof(float)), *expected;
    assert_non_null(found);
    uform_encode_options_t const options = {.size = sizeof(options), .normalize = normalize};
    uform_status_t const status = texts ? uform_encode_texts(vision->model, NULL, vision->texts, vision->text_count,
                                              &options, found, dimensions * sizeof(float), NULL)
                                        : uform_encode_images(vision->model, NULL, vision->pictures,
                                              vision->picture_count, &options, found, dimensions * sizeof(float), NULL);
    if (status != uform_status_ok_k) fail_msg("%s: %s", uform_status_name(status), uform_last_detail());
    bool const one = normalize == uform_switch_on_k || (normalize == uform_switch_auto_k && !vision->raw_by_default);
    size_t row = 0;
    for (uform_json_t const *vector = vectors->first; vector; vector = vector->next, ++row) {
        assert_int_equal(read_vector(vector, &expected), dimensions);
        if (one) scale_to_one(expected, dimensions);
        char what[path_bytes_k];
        if (texts) snprintf(what, sizeof(what), "text \"%s\"", vision->texts[row].data);
        else snprintf(what, sizeof(what), "picture %zux%zu", vision->pictures[row].width, vision->pictures[row].height);
        golden_compare(what, found + row * dimensions, expected, dimensions, one ? unit : raw);
        free(expected);
    }
    free(found);
}

/// Pixel tensors within an eight-bit level's rounding, in the units of the tensor, of what the reference processor gives.
static void check_pixels(vision_t const *vision) {
    size_t index = 0;
    for (uform_json_t const *picture = uform_json_find_(vision->document.root, "pixels")->first; picture;
         picture = picture->next, ++index) {
        float *expected;
        uform_json_t const *sides = uform_json_find_(picture, "shape")->first;
        size_t const step = (size_t)uform_json_find_(picture, "step")->number;
        size_t const count = read_vector(uform_json_find_(picture, "values"), &expected);
        size_t shape[3];
        uform_status_t status = uform_image_pixels(vision->model, vision->pictures[index], NULL, NULL, 0, shape);
        if (status != uform_status_ok_k) fail_msg("%s: %s", uform_status_name(status), uform_last_detail());
        for (size_t i = 0; i < 3; ++i, sides = sides->next) assert_int_equal(shape[i], sides->number);
        size_t const total = shape[0] * shape[1] * shape[2];
        float *pixels = calloc(total, sizeof(float));
        assert_non_null(pixels);
        status = uform_image_pixels(vision->model, vision->pictures[index], NULL, pixels, total, shape);
        if (status != uform_status_ok_k) fail_msg("%s: %s", uform_status_name(status), uform_last_detail());
        for (size_t i = 0; i < count; ++i)
            if (!(fabsf(pixels[i * step] - expected[i]) <= 2e-6f))
                fail_msg("picture %zu, number %zu of its tensor: expected %.8f, found %.8f", index, i * step,
                    (double)expected[i], (double)pixels[i * step]);
        free(pixels);
        free(expected);
    }
}

static void check_description(vision_t const *vision) {
    assert_int_equal(vision->description.encodes_texts, vision->text_count > 0);
    assert_int_equal(vision->description.encodes_images, vision->picture_count > 0);
    uform_json_t const *limit = uform_json_find_(vision->document.root, "max_tokens");
    if (limit) assert_int_equal(vision->description.max_tokens, limit->number);
    uform_json_t const *scale = uform_json_find_(vision->document.root, "logit_scale"),
                       *bias = uform_json_find_(vision->document.root, "logit_bias");
    // Similarities are cosines times this, plus that.
    if (scale) assert_true(fabs(vision->description.logit_scale - exp(scale->number)) < 1e-4);
    assert_int_equal(vision->description.has_logit_bias, bias != NULL);
    if (bias) assert_true(fabs(vision->description.logit_bias - bias->number) < 1e-4);
}

static void check_model(void **state) {
    char path[path_bytes_k];
    vision_t vision = {0};
    snprintf(path, sizeof(path), "%s/golden/vision/expected/%s.json", UFORM_TESTS_DIRECTORY, (char const *)*state);
    if (uform_json_open_(path, &vision.document)) fail_msg("%s", uform_last_detail());
    read_items(&vision);
    bool const dual = vision.text_count && vision.picture_count;
    vision.raw_by_default = !dual || uform_json_find_(vision.document.root, "raw_by_default");
    snprintf(path, sizeof(path), "%s/golden/vision/models/%s", UFORM_TESTS_DIRECTORY, (char const *)*state);
    for (size_t i = 0; i < sizeof(precisions) / sizeof(precisions[0]); ++i) {
        vision.model = golden_load(path, precisions[i].precision);
        assert_int_equal(uform_model_describe(vision.model, &vision.description), uform_status_ok_k);
        check_description(&vision);
        if (vision.text_count) check_ids(&vision);
        if (vision.picture_count) check_pixels(&vision);
        for (int texts = 0; texts < 2; ++texts)
            for (int normalize = uform_switch_auto_k; normalize <= uform_switch_off_k; ++normalize)
                if (texts ? vision.text_count : vision.picture_count)
                    check_vectors(&vision, texts, (uform_switch_t)normalize, precisions[i].raw, precisions[i].unit);
        uform_model_free(vision.model);
    }
    for (size_t i = 0; i < vision.picture_count; ++i) free((void *)(uintptr_t)vision.pictures[i].data);
    uform_json_close_(&vision.document);
}

static int compare_names(void const *a, void const *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int main(void) {
    static struct CMUnitTest tests[model_limit_k];
    static char *names[model_limit_k];
    size_t count = 0;
    DIR *directory = opendir(UFORM_TESTS_DIRECTORY "/golden/vision/models");
    if (!directory) return fprintf(stderr, "tests/golden/vision/models: no such directory\n"), 1;
    for (struct dirent *entry; (entry = readdir(directory)) && count < model_limit_k;)
        if (entry->d_name[0] != '.') names[count++] = strdup(entry->d_name);
    closedir(directory);
    qsort(names, count, sizeof(*names), compare_names);
    for (size_t i = 0; i < count; ++i)
        tests[i] = (struct CMUnitTest){.name = names[i], .test_func = check_model, .initial_state = names[i]};
    if (count < known_model_count_k)
        fprintf(stderr, "tests/golden/vision/models: expected %d directories, found %zu\n", known_model_count_k, count);
    int const failed = count < known_model_count_k ? 1 : _cmocka_run_group_tests("vision", tests, count, NULL, NULL);
    for (size_t i = 0; i < count; ++i) free(names[i]);
    return failed;
}
