/**
 *  Executors over borrowed pools.
 */
#include "forkunion_test.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "encode/texts.h"
#include "uform/uform.h"

maker_t maker;

/// As ForkUnion has them.
enum { inclusive_k = 0, exclusive_k = 1 };

static void *make_pool(size_t threads, int exclusivity) {
    void *const pool = maker.make("test");
    assert_non_null(pool);
    assert_true(maker.spawn(pool, threads, exclusivity));
    return pool;
}

static uform_executor_t make_borrowing(void *pool) {
    uform_executor_t executor;
    if (borrow(pool, &executor)) fail_msg("%s", uform_last_detail());
    return executor;
}

static void test_arguments(void **state) {
    (void)state;
    void *const pool = maker.make("test");
    uform_executor_t executor = (uform_executor_t)(uintptr_t)1;
    assert_int_equal(borrow(NULL, &executor), uform_status_invalid_argument_k);
    assert_null(executor);
    assert_int_equal(borrow(pool, NULL), uform_status_invalid_argument_k);
    assert_int_equal(borrow(pool, &executor), uform_status_invalid_argument_k);
    assert_non_null(strstr(uform_last_detail(), "pool: it has no threads"));
    assert_true(maker.spawn(pool, 2, inclusive_k));
    static int32_t const domains[] = {0, 100000};
    assert_int_equal(
        uform_executor_on_pool(domains, 2, uform_cpu_class_derived_k, pool, 0, &executor), uform_status_not_found_k);
    assert_int_equal(
        uform_executor_on_pool(NULL, 0, uform_cpu_class_wasm32_v128_k, pool, 0, &executor), uform_status_unsupported_k);
    assert_null(executor);
    assert_ok(uform_executor_on_pool(domains, 1, uform_cpu_class_serial_k, pool, 0, &executor));
    uform_executor_description_t description;
    assert_ok(uform_executor_describe(executor, &description));
    assert_int_equal(description.threads, 2);
    assert_int_equal(description.cpu_class, uform_cpu_class_serial_k);
    uform_executor_free(executor);
    maker.destroy(pool);
}

typedef struct shares_t {
    tally_t counts;
    pthread_t submitter;
    atomic_size_t on_submitter;
} shares_t;

static void take_share(void *context, uform_worker_t const *worker) {
    shares_t *const shares = context;
    tally(&shares->counts, worker);
    if (pthread_equal(pthread_self(), shares->submitter)) atomic_fetch_add(&shares->on_submitter, 1);
    if (!uform_scratch_(worker, 1000)) atomic_fetch_add(&shares->on_submitter, 1000);
}

/// Every thread of the pool has its share of every call; none is added, and the pool is as it was afterwards.
static void test_shares(void **state) {
    (void)state;
    for (size_t threads = 1; threads <= 4; threads++)
        for (int exclusivity = inclusive_k; exclusivity <= exclusive_k; exclusivity++) {
            void *const pool = make_pool(threads, exclusivity);
            size_t const before = own_threads(), faults = maker.faults(pool);
            shares_t shares = {.counts.threads = threads, .submitter = pthread_self()};
            uform_executor_t executor = make_borrowing(pool);
            for (size_t call = 0; call < 60; call++) {
                if (call % 20 == 0) assert_ok(uform_executor_drain(executor, (uform_mood_t)(1 + call / 20)));
                assert_ok(uform_executor_run_(executor, take_share, &shares));
            }
            assert_int_equal(own_threads(), before);
            for (size_t i = 0; i < threads; i++) assert_int_equal(shares.counts.runs[i], 60);
            assert_int_equal(shares.on_submitter, exclusivity == inclusive_k ? 60 : 0);
            uform_executor_free(executor);
            assert_int_equal(maker.faults(pool), faults);
            executor = make_borrowing(pool);
            assert_ok(uform_executor_run_(executor, take_share, &shares));
            uform_executor_free(executor);
            maker.destroy(pool);
        }
}

/// A pool that was ended, or spawned anew, under its executor.
static void test_changed_pool(void **state) {
    (void)state;
    void *const pool = make_pool(3, inclusive_k);
    uform_executor_t executor = make_borrowing(pool);
    shares_t shares = {.counts.threads = 3, .submitter = pthread_self()};
    maker.terminate(pool);
    assert_int_equal(uform_executor_run_(executor, take_share, &shares), uform_status_mismatched_k);
    assert_true(maker.spawn(pool, 2, inclusive_k));
    assert_int_equal(uform_executor_run_(executor, take_share, &shares), uform_status_mismatched_k);
    assert_non_null(strstr(uform_last_detail(), "3 threads when the executor was made, and has 2 now"));
    maker.terminate(pool);
    assert_true(maker.spawn(pool, 3, inclusive_k));
    assert_ok(uform_executor_run_(executor, take_share, &shares));
    uform_executor_free(executor);
    maker.destroy(pool);
}

typedef struct crowd_t {
    uform_executor_t executors[2];
    tally_t counts;
    atomic_size_t failures;
} crowd_t;

static void *submit_many(void *argument) {
    crowd_t *const crowd = argument;
    for (size_t call = 0; call < 60; call++)
        if (uform_executor_run_(crowd->executors[call % 2], tally, &crowd->counts))
            atomic_fetch_add(&crowd->failures, 1);
    return NULL;
}

/// Two executors never drive one pool at once.
static void test_shared_pool(void **state) {
    (void)state;
    void *const pool = make_pool(2, exclusive_k);
    size_t const faults = maker.faults(pool);
    crowd_t crowd = {.executors = {make_borrowing(pool), make_borrowing(pool)}, .counts.threads = 2};
    pthread_t threads[6];
    for (size_t i = 0; i < 6; i++) assert_int_equal(pthread_create(&threads[i], NULL, submit_many, &crowd), 0);
    for (size_t i = 0; i < 6; i++) pthread_join(threads[i], NULL);
    assert_int_equal(crowd.failures, 0);
    for (size_t i = 0; i < 2; i++) assert_int_equal(crowd.counts.runs[i], 360);
    assert_int_equal(maker.faults(pool), faults);
    uform_executor_free(crowd.executors[0]);
    assert_ok(uform_executor_run_(crowd.executors[1], tally, &crowd.counts));
    uform_executor_free(crowd.executors[1]);
    maker.destroy(pool);
}

typedef struct nesting_t {
    uform_executor_t executor, other;
    atomic_int own_status[4], other_status[4];
} nesting_t;

static void do_nothing(void *context, uform_worker_t const *worker) {
    (void)context, (void)worker;
}

static void nest(void *context, uform_worker_t const *worker) {
    nesting_t *const nesting = context;
    nesting->own_status[worker->index] = (int)uform_executor_run_(nesting->executor, do_nothing, NULL);
    nesting->other_status[worker->index] = (int)uform_executor_run_(nesting->other, do_nothing, NULL);
}

/// A call from inside a call would wait for the pool it runs on, through whichever executor.
static void test_nested(void **state) {
    (void)state;
    for (int exclusivity = inclusive_k; exclusivity <= exclusive_k; exclusivity++) {
        void *const pool = make_pool(4, exclusivity);
        nesting_t nesting = {.executor = make_borrowing(pool), .other = make_borrowing(pool)};
        assert_ok(uform_executor_run_(nesting.executor, nest, &nesting));
        for (size_t i = 0; i < 4; i++) {
            assert_int_equal(nesting.own_status[i], uform_status_contended_k);
            assert_int_equal(nesting.other_status[i], uform_status_contended_k);
        }
        assert_ok(uform_executor_run_(nesting.other, do_nothing, NULL));
        uform_executor_free(nesting.executor);
        uform_executor_free(nesting.other);
        maker.destroy(pool);
    }
}

/// A text's embedding through the pool, directly and deferred, is what the calling thread alone makes.
static void test_encoding(void **state) {
    (void)state;
    enum { count_k = 40, dimensions_k = 32 };
    static char memory[count_k * 20 * 8];
    static float expected[count_k][dimensions_k], rows[count_k][dimensions_k];
    uform_text_t texts[count_k];
    texts_make(texts, count_k, 20, memory);
    uform_model_t model = texts_load("mean", uform_scalar_derived_k);
    assert_ok(uform_encode_texts(model, NULL, texts, count_k, NULL, expected, 0, NULL));
    void *const pool = make_pool(3, inclusive_k);
    uform_executor_t executor = make_borrowing(pool);
    assert_ok(uform_encode_texts(model, executor, texts, count_k, NULL, rows, 0, NULL));
    assert_memory_equal(rows, expected, sizeof(rows));
    memset(rows, 0, sizeof(rows));
    uform_call_t call;
    assert_ok(uform_defer_texts(model, executor, texts, count_k, NULL, rows, 0, NULL, &call));
    assert_ok(uform_call_await(call, 0));
    assert_memory_equal(rows, expected, sizeof(rows));
    uform_call_free(call);
    uform_executor_free(executor);
    maker.destroy(pool);
    uform_model_free(model);
}

typedef struct note_t {
    size_t *journal, *length, number;
    atomic_bool *held, *let_go; ///< NULL unless the call lasts
} note_t;

static void write_note(void *context, uform_worker_t const *worker) {
    note_t const *const note = context;
    if (worker->index) return;
    if (note->held) {
        atomic_store(note->held, true);
        wait_until(note->let_go);
    }
    note->journal[(*note->length)++] = note->number;
}

static uform_status_t finish_note(void *context) {
    (void)context;
    return uform_status_ok_k;
}

static void release_note(void *context) {
    (void)context;
}

static uform_call_t defer_note(uform_executor_t executor, note_t *note) {
    uform_work_t const work = {write_note, finish_note, release_note, note};
    uform_call_t call;
    assert_ok(uform_executor_defer_(executor, &work, &call));
    return call;
}

enum { await_k, poll_k, drain_k, direct_k, free_k, ways_k };

/// Without a thread of its own, the executor has deferred calls run by whoever comes next, in order.
static void test_deferred(void **state) {
    (void)state;
    void *const pool = make_pool(2, exclusive_k);
    for (size_t way = 0; way < ways_k; way++) {
        size_t journal[8], length = 0;
        note_t notes[4];
        uform_call_t calls[3];
        uform_executor_t executor = make_borrowing(pool);
        size_t const before = own_threads();
        for (size_t i = 0; i < 4; i++) notes[i] = (note_t){journal, &length, i, NULL, NULL};
        for (size_t i = 0; i < 3; i++) calls[i] = defer_note(executor, &notes[i]);
        sleep_ms(3);
        assert_int_equal(length, 0);
        assert_int_equal(own_threads(), before);
        bool finished = false;
        if (way == await_k) assert_ok(uform_call_await(calls[2], 0));
        else if (way == poll_k) assert_ok(uform_call_poll(calls[2], &finished));
        else if (way == drain_k) assert_ok(uform_executor_drain(executor, uform_mood_sleeping_k));
        else if (way == direct_k) assert_ok(uform_executor_run_(executor, write_note, &notes[3]));
        else uform_executor_free(executor);
        assert_int_equal(length, way == direct_k ? 4 : 3);
        for (size_t i = 0; i < length; i++) assert_int_equal(journal[i], i);
        if (way == poll_k) assert_true(finished);
        for (size_t i = 0; i < 3; i++) uform_call_free(calls[i]);
        if (way != free_k) uform_executor_free(executor);
        assert_int_equal(own_threads(), before);
    }
    maker.destroy(pool);
}

typedef struct holder_t {
    uform_executor_t executor;
    note_t *note;
} holder_t;

static void *run_note(void *argument) {
    holder_t *const holder = argument;
    return (void *)(uintptr_t)uform_executor_run_(holder->executor, write_note, holder->note);
}

/// Waiting for a call behind one that lasts: with a limit, and until it is this thread's turn to run it.
static void test_waiting(void **state) {
    (void)state;
    void *const pool = make_pool(2, inclusive_k);
    atomic_bool held, let_go;
    atomic_init(&held, false);
    atomic_init(&let_go, false);
    size_t journal[4], length = 0;
    note_t lasting = {journal, &length, 0, &held, &let_go}, pending = {journal, &length, 1, NULL, NULL};
    holder_t holder = {make_borrowing(pool), &lasting};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, run_note, &holder), 0);
    wait_until(&held);
    uform_call_t call = defer_note(holder.executor, &pending);
    bool finished = true;
    assert_ok(uform_call_poll(call, &finished));
    assert_false(finished);
    assert_int_equal(uform_call_await(call, 0.01), uform_status_timed_out_k);
    atomic_store(&let_go, true);
    assert_ok(uform_call_await(call, -1));
    assert_int_equal(length, 2);
    pthread_join(thread, NULL);
    uform_call_free(call);
    uform_executor_free(holder.executor);
    maker.destroy(pool);
}

static void *await_one(void *argument) {
    return (void *)(uintptr_t)uform_call_await(argument, -1);
}

/// Threads that await while another frees the executor.
static void test_free_while_awaited(void **state) {
    (void)state;
    void *const pool = make_pool(2, exclusive_k);
    for (size_t round = 0; round < (SANITIZED ? 20 : 100); round++) {
        size_t journal[4], length = 0;
        note_t notes[3];
        uform_call_t calls[3];
        pthread_t threads[3];
        uform_executor_t executor = make_borrowing(pool);
        for (size_t i = 0; i < 3; i++) {
            notes[i] = (note_t){journal, &length, i, NULL, NULL};
            calls[i] = defer_note(executor, &notes[i]);
        }
        for (size_t i = 0; i < 3; i++) assert_int_equal(pthread_create(&threads[i], NULL, await_one, calls[i]), 0);
        uform_executor_free(executor);
        for (size_t i = 0; i < 3; i++) {
            void *status;
            pthread_join(threads[i], &status);
            assert_null(status);
            uform_call_free(calls[i]);
        }
        assert_int_equal(length, 3);
    }
    maker.destroy(pool);
}

/// After fork, the child answers at once, and the parent goes on.
static void test_fork(void **state) {
    (void)state;
    void *const pool = make_pool(2, inclusive_k);
    uform_executor_t executor = make_borrowing(pool);
    size_t journal[4], length = 0;
    note_t note = {journal, &length, 0, NULL, NULL};
    uform_call_t call = defer_note(executor, &note);
    pid_t const child = fork();
    if (!child) {
        alarm(20);
        if (uform_executor_run_(executor, do_nothing, NULL) != uform_status_unsupported_k) _exit(1);
        if (uform_call_await(call, -1) != uform_status_unsupported_k) _exit(2);
        uform_call_free(call);
        uform_executor_free(executor);
        if (borrow(pool, &executor) != uform_status_unsupported_k || executor) _exit(3);
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_ok(uform_call_await(call, -1));
    uform_call_free(call);
    uform_executor_free(executor);
    maker.destroy(pool);
}

int run_pool_tests(char const *group) {
    struct CMUnitTest const pool_tests[] = {
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_shares),
        cmocka_unit_test(test_changed_pool),
        cmocka_unit_test(test_shared_pool),
        cmocka_unit_test(test_nested),
        cmocka_unit_test(test_encoding),
        cmocka_unit_test(test_deferred),
        cmocka_unit_test(test_waiting),
        cmocka_unit_test(test_free_while_awaited),
        cmocka_unit_test(test_fork),
    };
    return cmocka_run_group_tests_name(group, pool_tests, NULL, NULL);
}
