/**
 *  all-MiniLM-L6-v2 on hard texts against sentence-transformers: ids exactly, vectors in every precision.
 *  The model's directory is the first argument.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/json.h"
#include "golden/golden.h"

enum {
    dimensions_k = 384,
    text_limit_k = 256,
    id_limit_k = 512,
    npy_header_bytes_k = 10, ///< magic, version, and two bytes of the length of what follows
};

static char const *model_directory;

typedef struct expectation_t {
    uform_json_document_t document;
    uform_file_t vectors;
    uform_text_t texts[text_limit_k];
    size_t count;
} expectation_t;

static float const *expected_row(expectation_t const *expectation, size_t row, float *copy) {
    unsigned char const *bytes = expectation->vectors.data;
    size_t const offset = npy_header_bytes_k + bytes[8] + 256u * bytes[9] + row * dimensions_k * sizeof(float);
    assert_true(offset + dimensions_k * sizeof(float) <= expectation->vectors.length);
    memcpy(copy, bytes + offset, dimensions_k * sizeof(float));
    return copy;
}

static int open_expectation(void **state) {
    expectation_t *expectation = calloc(1, sizeof(*expectation));
    *state = expectation;
    if (!expectation || uform_json_open_(UFORM_TESTS_DIRECTORY "/golden/minilm/texts.json", &expectation->document) ||
        uform_file_map_(UFORM_TESTS_DIRECTORY "/golden/minilm/vectors.npy", &expectation->vectors))
        return -1;
    for (uform_json_t const *item = expectation->document.root->first; item; item = item->next) {
        uform_json_t const *text = uform_json_find_(item, "text");
        if (expectation->count == text_limit_k) return -1;
        expectation->texts[expectation->count++] = (uform_text_t){text->text, text->length};
    }
    return expectation->count ? 0 : -1;
}

static int close_expectation(void **state) {
    expectation_t *expectation = *state;
    uform_json_close_(&expectation->document);
    uform_file_unmap_(&expectation->vectors);
    free(expectation);
    return 0;
}

static void ids_are_equal(void **state) {
    expectation_t const *expectation = *state;
    uform_model_t model = golden_load(model_directory, uform_scalar_f32_k);
    uform_json_t const *item = expectation->document.root->first;
    for (size_t row = 0; row < expectation->count; ++row, item = item->next) {
        uform_json_t const *expected = uform_json_find_(item, "ids");
        uint32_t ids[id_limit_k];
        size_t count, position = 0;
        assert_int_equal(
            uform_tokenize(model, expectation->texts[row], NULL, ids, id_limit_k, &count), uform_status_ok_k);
        assert_int_equal(count, expected->length);
        for (uform_json_t const *id = expected->first; id; id = id->next) assert_int_equal(ids[position++], id->number);
    }
    uform_model_free(model);
}

static void compare_vectors(expectation_t const *expectation, uform_scalar_t precision, golden_tolerance_t tolerance) {
    uform_model_t model = golden_load(model_directory, precision);
    float *found = calloc(expectation->count * dimensions_k, sizeof(float)), expected[dimensions_k];
    uform_status_t const status =
        uform_encode_texts(model, NULL, expectation->texts, expectation->count, NULL, found, 0, NULL);
    if (status != uform_status_ok_k) fail_msg("%s", uform_last_detail());
    for (size_t row = 0; row < expectation->count; ++row)
        golden_compare(expectation->texts[row].data, found + row * dimensions_k,
            expected_row(expectation, row, expected), dimensions_k, tolerance);
    free(found);
    uform_model_free(model);
}

static void vectors_are_close_in_f32(void **state) {
    compare_vectors(*state, uform_scalar_f32_k, (golden_tolerance_t){0.99999, 2e-5});
}

static void vectors_are_close_in_bf16(void **state) {
    compare_vectors(*state, uform_scalar_bf16_k, (golden_tolerance_t){0.9999, 5e-3});
}

static void vectors_are_close_in_i8(void **state) {
    compare_vectors(*state, uform_scalar_i8_k, (golden_tolerance_t){0.998, 2e-2});
}

int main(int count, char **arguments) {
    if (count != 2) return fprintf(stderr, "usage: %s DIRECTORY of all-MiniLM-L6-v2\n", arguments[0]), 1;
    model_directory = arguments[1];
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(ids_are_equal),
        cmocka_unit_test(vectors_are_close_in_f32),
        cmocka_unit_test(vectors_are_close_in_bf16),
        cmocka_unit_test(vectors_are_close_in_i8),
    };
    return cmocka_run_group_tests_name("minilm", tests, open_expectation, close_expectation);
}
