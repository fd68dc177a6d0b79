/**
 *  Calls that fail: wrong arguments get a status and a sentence; an item that fails gets a null row and the others are
 * served.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/safetensors.h"
#include "encode/texts.h"
#include "malformed/workspace.h"

enum { dimensions_k = 32 };

static void expect(uform_status_t found, uform_status_t wanted, char const *word) {
    if (found != wanted)
        fail_msg("expected %s, found %s: %s", uform_status_name(wanted), uform_status_name(found), uform_last_detail());
    if (!strstr(uform_last_detail(), word)) fail_msg("\"%s\" does not name %s", uform_last_detail(), word);
}

static void test_arguments(void **state) {
    (void)state;
    uform_model_t model = texts_load("pooling_mean", uform_scalar_derived_k);
    uform_text_t const text = {"word", 4}, hollow = {NULL, 4};
    float row[dimensions_k];
    size_t count;
    uform_status_t const invalid = uform_status_invalid_argument_k;
    expect(uform_encode_texts(NULL, NULL, &text, 1, NULL, row, 0, NULL), invalid, "model");
    expect(uform_encode_texts(model, NULL, NULL, 1, NULL, row, 0, NULL), invalid, "texts");
    expect(uform_encode_texts(model, NULL, &text, 1, NULL, NULL, 0, NULL), invalid, "embeddings");
    expect(uform_encode_texts(model, NULL, &text, 1, NULL, row, 4, NULL), invalid, "stride_bytes");
    expect(uform_encode_texts(model, NULL, &text, 1, NULL, row, sizeof row + 1, NULL), invalid, "stride_bytes");
    expect(uform_encode_texts(model, NULL, &text, 1, NULL, (char *)row + 1, 0, NULL), invalid, "embeddings");
    expect(uform_encode_texts(model, NULL, &hollow, 1, NULL, row, 0, NULL), invalid, "text 0");
    expect(uform_tokenize(NULL, text, NULL, NULL, 0, &count), invalid, "model");
    expect(uform_tokenize(model, text, NULL, NULL, 1, &count), invalid, "ids");
    expect(uform_tokenize(model, text, NULL, NULL, 0, NULL), invalid, "count");
    expect(uform_tokenize(model, hollow, NULL, NULL, 0, &count), invalid, "text");
    uform_encode_report_t report = {.size = 1};
    expect(uform_encode_texts(model, NULL, &text, 1, NULL, row, 0, &report), invalid, "report");
    assert_int_equal(uform_encode_texts(model, NULL, NULL, 0, NULL, NULL, 0, NULL), uform_status_ok_k);
    uform_model_free(model);
    uform_model_free(NULL);
}

static void test_options(void **state) {
    (void)state;
    uform_model_t model = texts_load("prompts", uform_scalar_derived_k);
    static struct {
        uform_encode_options_t options;
        uform_status_t status;
        char const *word;
    } const rows[] = {
        {{.size = 0}, uform_status_invalid_argument_k, "size"},
        {{.size = sizeof(uform_encode_options_t), .scalar = (uform_scalar_t)6}, uform_status_invalid_argument_k,
            "scalar"},
        {{.size = sizeof(uform_encode_options_t), .dimensions = 4096}, uform_status_invalid_argument_k, "dimensions"},
        {{.size = sizeof(uform_encode_options_t), .normalize = (uform_switch_t)3}, uform_status_invalid_argument_k,
            "normalize"},
        {{.size = sizeof(uform_encode_options_t), .pooling = 64}, uform_status_invalid_argument_k, "pooling"},
        {{.size = sizeof(uform_encode_options_t), .pooling = 0x80000000u}, uform_status_invalid_argument_k, "pooling"},
        {{.size = sizeof(uform_encode_options_t), .prompt_name = "none such"}, uform_status_not_found_k, "none such"},
        {{.size = sizeof(uform_encode_options_t), .max_tokens = 1 << 20}, uform_status_invalid_argument_k,
            "max_tokens"},
        {{.size = sizeof(uform_encode_options_t), .max_tokens = 1}, uform_status_invalid_argument_k, "token"},
    };
    uform_text_t const text = {"word", 4};
    float row[dimensions_k * 6];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i)
        expect(uform_encode_texts(model, NULL, &text, 1, &rows[i].options, row, 0, NULL), rows[i].status, rows[i].word);
    uform_model_free(model);
}

static void test_loading(void **state) {
    (void)state;
    uform_model_t model = (uform_model_t)(uintptr_t)1;
    expect(uform_model_load_ram(NULL, NULL, 0, NULL, &model), uform_status_invalid_argument_k, "directory");
    assert_null(model);
    expect(uform_model_load_ram("/nonexistent/model", NULL, 0, NULL, &model), uform_status_not_found_k,
        "/nonexistent/model");
    assert_null(model);
    expect(uform_model_load_ram("x", NULL, 0, NULL, NULL), uform_status_invalid_argument_k, "model");
    uform_model_options_t options = {.size = sizeof options, .precision = uform_scalar_f16_k};
    char const *const tiny = UFORM_TESTS_DIRECTORY "/golden/models/mean";
    expect(uform_model_load_ram(tiny, NULL, 0, &options, &model), uform_status_unsupported_k, "f16");
    options = (uform_model_options_t){.size = sizeof options, .cpu_class = uform_cpu_class_apple_m4_k};
    expect(uform_model_load_ram(tiny, NULL, 0, &options, &model), uform_status_unsupported_k, "apple_m4");
    int32_t const nowhere = 4096;
    expect(uform_model_load_ram(tiny, &nowhere, 1, NULL, &model), uform_status_not_found_k, "4096");
}

// Puts a value that is no number into the embedding of one token.
static void spoil_token(workspace_t const *workspace, uint32_t id, float value) {
    char path[workspace_path_bytes_k];
    uform_safetensors_t file;
    assert_int_equal(
        uform_safetensors_open_(workspace_file(workspace, "model.safetensors", path), &file), uform_status_ok_k);
    uform_safetensor_t const *words = uform_safetensors_find_(&file, "embeddings.word_embeddings.weight");
    assert_non_null(words);
    size_t const offset = (size_t)(file.data - file.file.data) + words->begin + id * dimensions_k * sizeof(float);
    uform_safetensors_close_(&file);
    size_t length;
    unsigned char *bytes = workspace_read(workspace, "model.safetensors", &length);
    memcpy(bytes + offset, &value, sizeof value);
    workspace_write(workspace, "model.safetensors", bytes, length);
    free(bytes);
}

static void check_not_finite(workspace_t const *workspace, float value, uform_scalar_t precision) {
    workspace_copy_model(workspace, "mean");
    uform_text_t texts[5] = {{"a", 1}, {"b c", 3}, {"d", 1}, {"c", 1}, {"", 0}};
    uform_model_options_t const options = {.size = sizeof options, .precision = precision};
    uform_model_t model;
    uint32_t ids[16];
    size_t count;
    assert_int_equal(uform_model_load_ram(workspace->path, NULL, 0, &options, &model), uform_status_ok_k);
    assert_int_equal(uform_tokenize(model, texts[2], NULL, ids, 16, &count), uform_status_ok_k);
    assert_int_equal(count, 3);
    float clean[5][dimensions_k], rows[5][dimensions_k];
    assert_int_equal(uform_encode_texts(model, NULL, texts, 5, NULL, clean, 0, NULL), uform_status_ok_k);
    uform_model_free(model);

    spoil_token(workspace, ids[1], value);
    assert_int_equal(uform_model_load_ram(workspace->path, NULL, 0, &options, &model), uform_status_ok_k);
    uform_item_report_t items[5];
    uform_encode_report_t report = {.size = sizeof report, .items = items};
    uform_executor_t executor = texts_executor(2, uform_cpu_class_derived_k);
    expect(uform_encode_texts(model, executor, texts, 5, NULL, rows, 0, &report), uform_status_not_finite_k, "text 2");
    assert_int_equal(report.failed_count, 1);
    for (size_t i = 0; i < 5; ++i) {
        assert_int_equal(items[i].status, i == 2 ? uform_status_not_finite_k : uform_status_ok_k);
        if (i != 2) assert_memory_equal(rows[i], clean[i], sizeof rows[i]);
        else
            for (size_t column = 0; column < dimensions_k; ++column) assert_true(isnan(rows[i][column]));
    }
    static signed char narrow[5][dimensions_k];
    memset(narrow, 1, sizeof narrow);
    uform_encode_options_t const small = {.size = sizeof small, .scalar = uform_scalar_i8_k};
    expect(uform_encode_texts(model, executor, texts, 5, &small, narrow, 0, NULL), uform_status_not_finite_k, "text 2");
    for (size_t column = 0; column < dimensions_k; ++column) assert_int_equal(narrow[2][column], 0);
    uform_executor_free(executor);
    uform_model_free(model);
}

static void test_not_finite(void **state) {
    workspace_t const *workspace = *state;
    float const values[] = {NAN, INFINITY, -INFINITY};
    static uform_scalar_t const precisions[] = {uform_scalar_f32_k, uform_scalar_bf16_k, uform_scalar_i8_k};
    for (size_t i = 0; i < 9; ++i) {
        check_not_finite(workspace, values[i / 3], precisions[i % 3]);
        workspace_remove(workspace, "");
    }
}

int main(void) {
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_loading),
        cmocka_unit_test_setup_teardown(test_not_finite, workspace_setup, workspace_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
