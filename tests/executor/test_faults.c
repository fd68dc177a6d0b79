/**
 *  Out-of-memory swept over every allocation of making and using executors.
 */
#include "executor_test.h"

#include "encode/texts.h"
#include "faults/allocation.h"

static void grow(void *context, uform_worker_t const *worker) {
    if (!uform_scratch_(worker, *(size_t *)context)) *(size_t *)context = 0;
}

static void test_making(void **state) {
    (void)state;
    static int32_t const domains[] = {0};
    for (int persistent = 0; persistent < 2; persistent++) {
        size_t nth = 1;
        for (;; nth++) {
            uform_executor_t executor = NULL;
            faults_arm(nth, persistent);
            uform_status_t const status = uform_executor_for_ram(domains, nth % 2, 0, 4, 0, &executor);
            bool const hit = faults_disarm();
            if (status == uform_status_ok_k) uform_executor_free(executor);
            else {
                assert_int_equal(status, uform_status_out_of_memory_k);
                assert_null(executor);
            }
            if (hit) continue;
            assert_ok(status);
            break;
        }
        assert_true(nth > 5);
    }
}

static void test_describing(void **state) {
    (void)state;
    for (size_t nth = 1;; nth++) {
        uform_machine_description_t machine;
        faults_arm(nth, false);
        uform_status_t const status = uform_machine_describe(&machine);
        if (!faults_disarm()) {
            assert_ok(status);
            break;
        }
        assert_int_equal(status, uform_status_out_of_memory_k);
    }
}

static void test_scratch(void **state) {
    (void)state;
    uform_executor_t executors[] = {make_executor(1), NULL};
    for (size_t e = 0; e < 2; e++) {
        size_t bytes = 1 << 20;
        faults_arm(1, true);
        assert_ok(uform_executor_run_(executors[e], grow, &bytes));
        assert_true(faults_disarm());
        assert_int_equal(bytes, 0);
        bytes = 1 << 20;
        assert_ok(uform_executor_run_(executors[e], grow, &bytes));
        assert_int_equal(bytes, 1 << 20);
        uform_executor_free(executors[e]);
    }
}

static void do_nothing(void *context, uform_worker_t const *worker) {
    (void)context, (void)worker;
}

static uform_status_t finish_nothing(void *context) {
    (void)context;
    return uform_status_ok_k;
}

static void release_nothing(void *context) {
    (void)context;
}

static void test_deferring(void **state) {
    (void)state;
    uform_work_t const work = {do_nothing, finish_nothing, release_nothing, NULL};
    for (size_t own = 0; own < 2; own++)
        for (size_t nth = 1;; nth++) {
            uform_executor_t executor = own ? make_executor(1) : NULL;
            uform_call_t call;
            faults_arm(nth, false);
            uform_status_t const status = uform_executor_defer_(executor, &work, &call);
            bool const hit = faults_disarm();
            if (status == uform_status_ok_k) assert_ok(uform_call_await(call, -1));
            else {
                assert_int_equal(status, uform_status_out_of_memory_k);
                assert_null(call);
            }
            uform_call_free(call);
            uform_executor_free(executor);
            if (hit) continue;
            assert_ok(status);
            assert_true(nth > 1);
            break;
        }
}

/// A call that could be deferred finds its memory, or fails by its status; nothing is left behind either way.
static void test_deferring_texts(void **state) {
    (void)state;
    enum { count_k = 10, words_k = 10, dimensions_k = 32 };
    static char letters[count_k * words_k * 8];
    static float expected[count_k][dimensions_k], rows[count_k][dimensions_k];
    uform_text_t texts[count_k];
    uform_encode_options_t const options = {.size = sizeof(options), .prompt = "a prompt "};
    texts_make(texts, count_k, words_k, letters);
    uform_model_t model = texts_load("mean", uform_scalar_derived_k);
    assert_ok(uform_encode_texts(model, NULL, texts, count_k, &options, expected, 0, NULL));
    for (size_t nth = 1;; nth++) {
        uform_executor_t executor = make_executor(2);
        uform_call_t call;
        faults_arm(nth, false);
        uform_status_t status = uform_defer_texts(model, executor, texts, count_k, &options, rows, 0, NULL, &call);
        bool const deferred = status == uform_status_ok_k;
        if (deferred) status = uform_call_await(call, -1);
        else assert_null(call);
        bool const hit = faults_disarm();
        if (status == uform_status_ok_k) assert_memory_equal(rows, expected, sizeof(rows));
        else assert_int_equal(status, uform_status_out_of_memory_k);
        uform_call_free(call);
        uform_executor_free(executor);
        if (hit) continue;
        assert_ok(status);
        assert_true(nth > 4);
        break;
    }
    uform_model_free(model);
}

/// An arena without memory to grow or to be joined into one block is of use as before.
static void test_arenas(void **state) {
    (void)state;
    for (size_t nth = 1;; nth++) {
        uform_arena_t arena = NULL;
        void *memory = NULL;
        faults_arm(nth, false);
        uform_status_t status = uform_arena_new_in(NULL, 1000, &arena);
        if (status == uform_status_ok_k) status = uform_arena_allocate(arena, 5000, 0, &memory);
        if (status == uform_status_ok_k) status = uform_arena_reset(arena);
        bool const hit = faults_disarm();
        assert_int_equal(status, hit ? uform_status_out_of_memory_k : uform_status_ok_k);
        if (arena) {
            assert_ok(uform_arena_allocate(arena, 7000, 0, &memory));
            memset(memory, 1, 7000);
            assert_ok(uform_arena_reset(arena));
        }
        uform_arena_free(arena);
        if (hit) continue;
        assert_true(nth > 4);
        break;
    }
}

int main(void) {
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(test_making),
        cmocka_unit_test(test_deferring),
        cmocka_unit_test(test_deferring_texts),
        cmocka_unit_test(test_arenas),
        cmocka_unit_test(test_describing),
        cmocka_unit_test(test_scratch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
