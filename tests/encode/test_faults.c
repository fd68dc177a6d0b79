/**
 *  Out of memory at every allocation of loading, tokenizing and encoding: each ends in a status, and nothing is lost or
 * left.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "encode/texts.h"
#include "faults/allocation.h"

enum { text_count_k = 20, dimensions_k = 64 };

static char memory[text_count_k * 30 * 8];
static uform_text_t texts[text_count_k];

static void sweep_loading(char const *name) {
    char path[1024];
    snprintf(path, sizeof path, "%s/golden/models/%s", UFORM_TESTS_DIRECTORY, name);
    size_t nth = 1;
    for (;; ++nth) {
        uform_model_t model = NULL;
        faults_arm(nth, false);
        uform_status_t const status = uform_model_load_ram(path, NULL, 0, NULL, &model);
        bool const failed = faults_disarm();
        if (!failed) {
            assert_int_equal(status, uform_status_ok_k);
            uform_model_free(model);
            break;
        }
        // What memory is missing for may be something the call can do without.
        if (status == uform_status_ok_k) uform_model_free(model);
        else {
            assert_int_equal(status, uform_status_out_of_memory_k);
            assert_null(model);
        }
    }
    assert_true(nth > 20);
}

static void test_loading(void **state) {
    (void)state;
    static char const *const names[] = {"mean", "sharded", "dense_stack", "prompts", "layout_new", "no_modules"};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) sweep_loading(names[i]);
}

static void sweep_encoding(char const *name, size_t count, size_t threads) {
    static float expected[text_count_k * dimensions_k], rows[text_count_k * dimensions_k];
    uform_model_t model = texts_load(name, uform_scalar_derived_k);
    size_t dimensions;
    assert_int_equal(uform_encode_dimensions(model, NULL, &dimensions), uform_status_ok_k);
    assert_true(dimensions <= dimensions_k);
    assert_int_equal(uform_encode_texts(model, NULL, texts, count, NULL, expected, 0, NULL), uform_status_ok_k);
    uform_model_free(model);
    for (size_t nth = 1;; ++nth) {
        // Fresh ones each time, so that nothing was grown before.
        model = texts_load(name, uform_scalar_derived_k);
        uform_executor_t executor = threads ? texts_executor(threads, uform_cpu_class_derived_k) : NULL;
        uform_item_report_t items[text_count_k];
        uform_encode_report_t report = {.size = sizeof report, .items = items};
        faults_arm(nth, false);
        uform_status_t const status = uform_encode_texts(model, executor, texts, count, NULL, rows, 0, &report);
        bool const failed = faults_disarm();
        if (status != uform_status_ok_k) assert_int_equal(status, uform_status_out_of_memory_k);
        if (status != uform_status_ok_k) assert_true(failed);
        // The call, the executor and the model go on as if nothing had been.
        assert_int_equal(uform_encode_texts(model, executor, texts, count, NULL, rows, 0, NULL), uform_status_ok_k);
        assert_memory_equal(rows, expected, count * dimensions * sizeof *rows);
        uform_executor_free(executor);
        uform_model_free(model);
        if (!failed) break;
    }
}

static void test_encoding(void **state) {
    (void)state;
    sweep_encoding("mean", text_count_k, 0);
    sweep_encoding("mean", text_count_k, 2);
    // Few enough for two threads to encode them together, and many of them not.
    sweep_encoding("size_two_layers", 1, 2);
    sweep_encoding("size_two_layers", 3, 2);
    sweep_encoding("size_two_layers", text_count_k, 2);
}

static void test_tokenizing(void **state) {
    (void)state;
    for (size_t nth = 1;; ++nth) {
        uform_model_t model = texts_load("mean", uform_scalar_derived_k);
        size_t count;
        faults_arm(nth, false);
        uform_status_t const status = uform_tokenize(model, texts[3], NULL, NULL, 0, &count);
        bool const failed = faults_disarm();
        assert_int_equal(status, failed ? uform_status_out_of_memory_k : uform_status_ok_k);
        uform_model_free(model);
        if (!failed) break;
    }
}

int main(void) {
    texts_make(texts, text_count_k, 30, memory);
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(test_loading),
        cmocka_unit_test(test_encoding),
        cmocka_unit_test(test_tokenizing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
