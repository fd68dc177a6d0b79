/**
 *  Deferred encoding: the same rows, report, status and detail as the direct call's, and nothing of the options needed
 *  after submission.
 */
#include "executor_test.h"

#include <stdlib.h>

#include "encode/texts.h"

enum { count_k = 60, words_k = 20, dimensions_k = 32 };

static char letters[count_k * words_k * 8];
static uform_text_t texts[count_k];
static float expected[count_k][dimensions_k], rows[count_k][dimensions_k];

/// Over executors of one and several threads, and over none.
static void test_rows(void **state) {
    (void)state;
    uform_model_t model = texts_load("mean", uform_scalar_derived_k);
    for (size_t threads = 0; threads <= 3; threads++) {
        uform_executor_t executor = threads ? make_executor(threads) : NULL;
        uform_item_report_t items[count_k], direct_items[count_k];
        uform_encode_report_t report = {.size = sizeof(report), .items = items};
        uform_encode_report_t direct = {.size = sizeof(direct), .items = direct_items};
        uform_call_t call;
        char *const prompt = strdup("a prompt ");
        uform_encode_options_t *const options = malloc(sizeof(*options));
        *options = (uform_encode_options_t){.size = sizeof(*options), .prompt = prompt, .max_tokens = 12};
        assert_ok(uform_encode_texts(model, executor, texts, count_k, options, expected, 0, &direct));
        memset(rows, 0, sizeof(rows));
        assert_ok(uform_defer_texts(model, executor, texts, count_k, options, rows, 0, &report, &call));
        memset(prompt, 'x', strlen(prompt));
        free(prompt);
        free(options);
        assert_ok(uform_call_await(call, -1));
        assert_memory_equal(rows, expected, sizeof(rows));
        assert_int_equal(report.token_count, direct.token_count);
        assert_true(report.truncated_count > 0);
        assert_int_equal(report.truncated_count, direct.truncated_count);
        assert_int_equal(report.failed_count, 0);
        for (size_t i = 0; i < count_k; i++) assert_int_equal(items[i].token_count, direct_items[i].token_count);
        uform_call_free(call);
        uform_executor_free(executor);
    }
    uform_model_free(model);
}

/// A failing item fails the call; why is told to whoever awaits it.
static void test_failing_item(void **state) {
    (void)state;
    uform_model_t model = texts_load("mean", uform_scalar_derived_k);
    uform_executor_t executor = make_executor(2);
    uform_text_t broken[count_k];
    memcpy(broken, texts, sizeof(broken));
    broken[7] = (uform_text_t){NULL, 5};
    uform_encode_report_t report = {.size = sizeof(report)};
    uform_call_t call;
    assert_ok(uform_encode_texts(model, executor, texts, count_k, NULL, expected, 0, NULL));
    assert_ok(uform_defer_texts(model, executor, broken, count_k, NULL, rows, 0, &report, &call));
    uform_executor_free(executor);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(uform_executor_drain(NULL, 9), uform_status_invalid_argument_k);
        assert_int_equal(uform_call_await(call, 0), uform_status_invalid_argument_k);
        assert_string_equal(uform_last_detail(), "text 7: data: expected a pointer, found NULL");
    }
    assert_int_equal(report.failed_count, 1);
    assert_memory_equal(rows[6], expected[6], sizeof(rows[6]));
    assert_memory_equal(rows[8], expected[8], sizeof(rows[8]));
    assert_true(rows[7][0] != rows[7][0]); // a null row
    uform_call_free(call);
    uform_model_free(model);
}

/// What the direct call refuses, deferring refuses at once.
static void test_refusals(void **state) {
    (void)state;
    uform_model_t model = texts_load("mean", uform_scalar_derived_k);
    uform_encode_options_t const unknown = {.size = sizeof(unknown), .prompt_name = "nobody's"};
    uform_encode_report_t report = {.size = 1};
    uform_call_t call = (uform_call_t)(uintptr_t)1;
    static struct {
        bool model, texts, rows, prompt, report;
        uform_status_t status;
    } const cases[] = {
        {false, true, true, false, false, uform_status_invalid_argument_k},
        {true, false, true, false, false, uform_status_invalid_argument_k},
        {true, true, false, false, false, uform_status_invalid_argument_k},
        {true, true, true, true, false, uform_status_not_found_k},
        {true, true, true, false, true, uform_status_invalid_argument_k},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        assert_int_equal(uform_defer_texts(cases[i].model ? model : NULL, NULL, cases[i].texts ? texts : NULL, count_k,
                             cases[i].prompt ? &unknown : NULL, cases[i].rows ? rows : NULL, 0,
                             cases[i].report ? &report : NULL, &call),
            cases[i].status);
        assert_null(call);
    }
    assert_int_equal(
        uform_defer_texts(model, NULL, texts, count_k, NULL, rows, 0, NULL, NULL), uform_status_invalid_argument_k);
    assert_ok(uform_defer_texts(model, NULL, NULL, 0, NULL, NULL, 0, NULL, &call)); // nothing to do is fine
    assert_ok(uform_call_await(call, 0));
    uform_call_free(call);
    uform_model_free(model);
}

/// Rows in an arena, round after round.
static void test_into_arena(void **state) {
    (void)state;
    uform_model_t model = texts_load("mean", uform_scalar_derived_k);
    uform_executor_t executor = make_executor(2);
    uform_arena_t arena;
    assert_ok(uform_encode_texts(model, executor, texts, count_k, NULL, expected, 0, NULL));
    assert_ok(uform_arena_new_in(executor, 0, &arena));
    for (size_t round = 0; round < 3; round++) {
        void *memory[4];
        uform_call_t calls[4];
        for (size_t i = 0; i < 4; i++) {
            assert_ok(uform_arena_allocate(arena, sizeof(expected), 0, &memory[i]));
            assert_ok(uform_defer_texts(model, executor, texts, count_k, NULL, memory[i], 0, NULL, &calls[i]));
        }
        for (size_t i = 0; i < 4; i++) {
            assert_ok(uform_call_await(calls[i], -1));
            assert_memory_equal(memory[i], expected, sizeof(expected));
            uform_call_free(calls[i]);
        }
        assert_ok(uform_arena_reset(arena));
    }
    uform_executor_free(executor);
    uform_arena_free(arena);
    uform_model_free(model);
}

int main(void) {
    texts_make(texts, count_k, words_k, letters);
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_failing_item),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_into_arena),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
