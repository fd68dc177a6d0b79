/**
 *  Every tiny model of tests/golden/models against its file in tests/golden/expected: limit, ids, and the vectors of
 *  every call. One cmocka test a model, so that a failure names the one thing that model is about.
 */
#include <dirent.h>
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
    model_limit_k = 256,
    id_limit_k = 512,
    path_bytes_k = 1024,
};

/// In bf16 and i8 only gross errors can show: these models are random and amplify rounding more than trained ones.
static struct {
    uform_scalar_t precision;
    golden_tolerance_t tolerance;
} const precisions[] = {
    {uform_scalar_f32_k, {0.999999, 2e-5}},
    {uform_scalar_bf16_k, {0.99, 0.5}},
    {uform_scalar_i8_k, {0.95, 1.0}},
};

static size_t read_texts(uform_json_t const *root, uform_text_t *texts) {
    size_t count = 0;
    for (uform_json_t const *text = uform_json_find_(root, "texts")->first; text; text = text->next) {
        assert_true(count < text_limit_k);
        texts[count++] = (uform_text_t){text->text, text->length};
    }
    assert_true(count > 0);
    return count;
}

static void check_ids(uform_model_t model, uform_text_t const *texts, uform_json_t const *root) {
    uform_json_t const *row = uform_json_find_(root, "ids")->first;
    for (size_t i = 0; row; row = row->next, ++i) {
        uint32_t ids[id_limit_k];
        size_t count;
        assert_int_equal(uform_tokenize(model, texts[i], NULL, ids, id_limit_k, &count), uform_status_ok_k);
        assert_int_equal(count, row->length);
        size_t position = 0;
        for (uform_json_t const *id = row->first; id; id = id->next, ++position)
            assert_int_equal(ids[position], id->number);
    }
}

static uform_encode_options_t read_options(uform_json_t const *call) {
    uform_encode_options_t options = {.size = sizeof(options)};
    uform_json_t const *normalize = uform_json_find_(call, "normalize"),
                       *dimensions = uform_json_find_(call, "dimensions");
    uform_json_t const *name = uform_json_find_(call, "prompt_name"), *prompt = uform_json_find_(call, "prompt");
    if (normalize) options.normalize = normalize->truth ? uform_switch_on_k : uform_switch_off_k;
    if (dimensions) options.dimensions = (size_t)dimensions->number;
    if (name) options.prompt_name = name->text;
    if (prompt) options.prompt = prompt->text;
    return options;
}

static void check_call(uform_model_t model, uform_text_t const *texts, size_t count, uform_json_t const *call,
    golden_tolerance_t tolerance) {
    uform_encode_options_t const options = read_options(call);
    uform_json_t const *vectors = uform_json_find_(call, "vectors");
    assert_int_equal(vectors->length, count);
    size_t const dimensions = vectors->first->length;
    float *found = calloc(count * dimensions, sizeof(float)), *expected = calloc(dimensions, sizeof(float));
    uform_status_t const status =
        uform_encode_texts(model, NULL, texts, count, &options, found, dimensions * sizeof(float), NULL);
    if (status != uform_status_ok_k) fail_msg("%s: %s", uform_status_name(status), uform_last_detail());
    size_t row = 0;
    for (uform_json_t const *vector = vectors->first; vector; vector = vector->next, ++row) {
        size_t column = 0;
        for (uform_json_t const *number = vector->first; number; number = number->next)
            expected[column++] = (float)number->number;
        assert_int_equal(column, dimensions);
        golden_compare(texts[row].data, found + row * dimensions, expected, dimensions, tolerance);
    }
    free(expected);
    free(found);
}

static void check_model(void **state) {
    char const *name = *state;
    char path[path_bytes_k];
    uform_json_document_t document;
    snprintf(path, sizeof(path), "%s/golden/expected/%s.json", UFORM_TESTS_DIRECTORY, name);
    if (uform_json_open_(path, &document)) fail_msg("%s", uform_last_detail());
    uform_text_t texts[text_limit_k];
    size_t const count = read_texts(document.root, texts);
    snprintf(path, sizeof(path), "%s/golden/models/%s", UFORM_TESTS_DIRECTORY, name);
    for (size_t i = 0; i < sizeof(precisions) / sizeof(precisions[0]); ++i) {
        uform_model_t model = golden_load(path, precisions[i].precision);
        uform_model_description_t description;
        assert_int_equal(uform_model_describe(model, &description), uform_status_ok_k);
        assert_int_equal(description.max_tokens, uform_json_find_(document.root, "max_tokens")->number);
        check_ids(model, texts, document.root);
        uform_json_t const *calls = uform_json_find_(document.root, "calls");
        assert_int_equal(description.dimensions, uform_json_find_(calls->first, "vectors")->first->length);
        for (uform_json_t const *call = calls->first; call; call = call->next)
            check_call(model, texts, count, call, precisions[i].tolerance);
        uform_model_free(model);
    }
    uform_json_close_(&document);
}

static int compare_names(void const *a, void const *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int main(void) {
    static struct CMUnitTest tests[model_limit_k];
    static char *names[model_limit_k];
    size_t count = 0;
    DIR *directory = opendir(UFORM_TESTS_DIRECTORY "/golden/models");
    if (!directory) return fprintf(stderr, "tests/golden/models: no such directory\n"), 1;
    for (struct dirent *entry; (entry = readdir(directory)) && count < model_limit_k;)
        if (entry->d_name[0] != '.') names[count++] = strdup(entry->d_name);
    closedir(directory);
    qsort(names, count, sizeof(*names), compare_names);
    for (size_t i = 0; i < count; ++i)
        tests[i] = (struct CMUnitTest){.name = names[i], .test_func = check_model, .initial_state = names[i]};
    // A number this program knows, so that models that vanish are noticed.
    int const failed = count < 133 ? 1 : _cmocka_run_group_tests("models", tests, count, NULL, NULL);
    for (size_t i = 0; i < count; ++i) free(names[i]);
    return failed;
}
