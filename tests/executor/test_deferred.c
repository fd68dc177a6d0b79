/**
 *  Deferred calls: order, waiting, the table's size, nesting, and the ends of calls and executors in any order.
 */
#include "executor_test.h"

#include <math.h>
#include <pthread.h>
#include <sys/resource.h>

#include "base/detail.h"

enum { most_calls_k = 200 };

/// What many deferred calls leave behind.
typedef struct journal_t {
    atomic_size_t ended;
    atomic_size_t order[most_calls_k]; ///< [ended]
    atomic_size_t running, overlaps, released;
    atomic_bool held, let_go;
} journal_t;

typedef struct entry_t {
    journal_t *journal;
    size_t number;
    size_t threads;
    atomic_size_t shares;
    bool holds; ///< until the journal lets go
    uform_status_t status;
} entry_t;

static void run_entry(void *context, uform_worker_t const *worker) {
    entry_t *const entry = context;
    journal_t *const journal = entry->journal;
    if (worker->count == entry->threads) atomic_fetch_add(&entry->shares, 1);
    if (worker->index) return;
    if (atomic_fetch_add(&journal->running, 1)) atomic_fetch_add(&journal->overlaps, 1);
    if (entry->holds) {
        atomic_store(&journal->held, true);
        wait_until(&journal->let_go);
    }
    journal->order[atomic_fetch_add(&journal->ended, 1)] = entry->number;
    atomic_fetch_sub(&journal->running, 1);
}

static uform_status_t finish_entry(void *context) {
    entry_t const *const entry = context;
    if (entry->status == uform_status_ok_k) return entry->status;
    return uform_fail_(entry->status, "entry %zu failed", entry->number);
}

static void release_entry(void *context) {
    atomic_fetch_add(&((entry_t *)context)->journal->released, 1);
}

static uform_status_t defer(uform_executor_t executor, entry_t *entry, uform_call_t *call) {
    uform_work_t const work = {run_entry, finish_entry, release_entry, entry};
    return uform_executor_defer_(executor, &work, call);
}

static uform_executor_t make_limited(size_t threads, size_t limit) {
    uform_executor_t executor;
    assert_ok(uform_executor_for_ram(NULL, 0, 0, threads, limit, &executor));
    return executor;
}

/// With nobody waiting, calls run, in order, on every thread. One thread more than an executor starts with drives them.
static void test_order(void **state) {
    (void)state;
    for (size_t threads = 1; threads <= 3; threads++) {
        journal_t journal = {.ended = 0};
        static entry_t entries[60];
        uform_call_t calls[60];
        size_t const before = own_threads();
        uform_executor_t executor = make_executor(threads);
        assert_int_equal(own_threads(), before + threads - 1);
        for (size_t i = 0; i < 60; i++) {
            entries[i] = (entry_t){.journal = &journal, .number = i, .threads = threads};
            assert_ok(defer(executor, &entries[i], &calls[i]));
        }
        assert_int_equal(own_threads(), before + threads);
        for (size_t waited = 0; atomic_load(&journal.ended) < 60 && waited < 10000; waited++) sleep_ms(1);
        assert_int_equal(journal.ended, 60);
        for (size_t i = 0; i < 60; i++) {
            assert_ok(uform_call_await(calls[i], -1));
            assert_ok(uform_call_await(calls[i], 0));
            assert_int_equal(journal.order[i], i);
            assert_int_equal(entries[i].shares, threads);
            uform_call_free(calls[i]);
        }
        assert_int_equal(journal.overlaps, 0);
        assert_int_equal(journal.released, 60);
        uform_executor_free(executor);
        for (size_t waited = 0; own_threads() > before && waited < 1000; waited++) sleep_ms(1);
        assert_int_equal(own_threads(), before);
    }
}

/// Direct calls come after what was deferred before them.
static void test_order_with_direct_calls(void **state) {
    (void)state;
    journal_t journal = {.ended = 0};
    static entry_t entries[most_calls_k];
    static uform_call_t calls[most_calls_k];
    uform_executor_t executor = make_limited(2, most_calls_k);
    for (size_t i = 0; i < most_calls_k; i++) {
        entries[i] = (entry_t){.journal = &journal, .number = i, .threads = 2};
        calls[i] = NULL;
        if (i % 3 == 2) assert_ok(uform_executor_run_(executor, run_entry, &entries[i]));
        else assert_ok(defer(executor, &entries[i], &calls[i]));
        if (i % 50 == 49) {
            assert_ok(uform_executor_drain(executor, uform_mood_sleeping_k));
            assert_int_equal(journal.ended, i + 1);
        }
    }
    assert_int_equal(journal.ended, most_calls_k);
    assert_int_equal(journal.overlaps, 0);
    for (size_t i = 0; i < most_calls_k; i++) {
        assert_int_equal(journal.order[i], i);
        assert_int_equal(entries[i].shares, 2);
        uform_call_free(calls[i]);
    }
    uform_executor_free(executor);
}

static void test_waiting(void **state) {
    (void)state;
    journal_t journal = {.ended = 0};
    entry_t held = {.journal = &journal, .threads = 2, .holds = true};
    entry_t failing = {.journal = &journal, .number = 7, .threads = 2, .status = uform_status_not_finite_k};
    uform_executor_t executor = make_executor(2);
    uform_call_t first, second;
    bool finished = true;
    assert_ok(defer(executor, &held, &first));
    assert_ok(defer(executor, &failing, &second));
    wait_until(&journal.held);
    assert_int_equal(uform_call_await(first, 0), uform_status_timed_out_k);
    assert_non_null(strstr(uform_last_detail(), "0 seconds"));
    assert_int_equal(uform_call_await(second, 0.02), uform_status_timed_out_k);
    assert_int_equal(uform_call_await(second, NAN), uform_status_invalid_argument_k);
    assert_ok(uform_call_poll(second, &finished));
    assert_false(finished);
    atomic_store(&journal.let_go, true);
    assert_int_equal(uform_call_await(second, INFINITY), uform_status_not_finite_k);
    assert_string_equal(uform_last_detail(), "entry 7 failed");
    assert_ok(uform_call_await(first, 1e300));
    assert_int_equal(uform_executor_drain(executor, 9), uform_status_invalid_argument_k);
    assert_int_equal(uform_call_await(second, 0), uform_status_not_finite_k); // every time
    assert_string_equal(uform_last_detail(), "entry 7 failed");
    assert_ok(uform_call_poll(second, &finished));
    assert_true(finished);
    uform_executor_free(executor);
    // Handles outlive their executor.
    assert_int_equal(uform_call_await(second, -1), uform_status_not_finite_k);
    uform_call_free(first);
    uform_call_free(second);
    assert_int_equal(journal.released, 2);
}

static void test_arguments(void **state) {
    (void)state;
    bool finished = true;
    assert_int_equal(uform_call_await(NULL, 0), uform_status_invalid_argument_k);
    assert_int_equal(uform_call_poll(NULL, &finished), uform_status_invalid_argument_k);
    assert_false(finished);
    uform_call_free(NULL);
    journal_t journal = {.ended = 0};
    entry_t entry = {.journal = &journal, .threads = 1};
    uform_call_t call;
    assert_ok(defer(NULL, &entry, &call));
    assert_int_equal(uform_call_poll(call, NULL), uform_status_invalid_argument_k);
    uform_call_free(call);
}

/// A failure that a submitter's thread met while it ran somebody else's call isn't its own.
static void test_own_details(void **state) {
    (void)state;
    journal_t journal = {.ended = 0};
    entry_t failing = {.journal = &journal, .threads = 1, .status = uform_status_malformed_k};
    for (size_t i = 0; i < 20; i++) {
        uform_executor_t executor = make_executor(1);
        uform_call_t call;
        assert_int_equal(uform_executor_drain(executor, 9), uform_status_invalid_argument_k);
        assert_ok(defer(executor, &failing, &call));
        assert_ok(uform_executor_drain(executor, uform_mood_chilling_k));
        assert_non_null(strstr(uform_last_detail(), "mood"));
        uform_call_free(call);
        uform_executor_free(executor);
    }
}

static void test_full_table(void **state) {
    (void)state;
    journal_t journal = {.ended = 0};
    static entry_t entries[66];
    uform_call_t calls[66], refused = (uform_call_t)(uintptr_t)1;
    static size_t const limits[] = {1, 5, 0};
    for (size_t l = 0; l < 3; l++) {
        size_t const limit = limits[l], room = limit ? limit : 64;
        uform_executor_t executor = make_limited(2, limit);
        atomic_store(&journal.ended, 0);
        atomic_store(&journal.held, false);
        atomic_store(&journal.let_go, false);
        for (size_t i = 0; i < room; i++) {
            entries[i] = (entry_t){.journal = &journal, .number = i, .threads = 2, .holds = true};
            assert_ok(defer(executor, &entries[i], &calls[i]));
        }
        wait_until(&journal.held); // a call that runs has its place in the table still
        assert_int_equal(defer(executor, &entries[room], &refused), uform_status_contended_k);
        assert_null(refused);
        assert_non_null(strstr(uform_last_detail(), "table of deferred calls is full"));
        atomic_store(&journal.let_go, true);
        assert_ok(uform_call_await(calls[0], -1));
        entries[room] = (entry_t){.journal = &journal, .number = room, .threads = 2};
        assert_ok(defer(executor, &entries[room], &calls[room]));
        for (size_t i = 0; i <= room; i++) uform_call_free(calls[i]);
        assert_int_equal(journal.ended, room + 1);
        uform_executor_free(executor);
    }
}

/// Without an executor, calls run when somebody wants them to have run.
static void test_alone(void **state) {
    (void)state;
    journal_t journal = {.ended = 0};
    entry_t entries[4];
    uform_call_t calls[4];
    bool finished = false;
    for (size_t i = 0; i < 4; i++) {
        entries[i] = (entry_t){.journal = &journal, .number = i, .threads = 1};
        if (i == 1) entries[i].status = uform_status_malformed_k;
        assert_ok(defer(NULL, &entries[i], &calls[i]));
    }
    sleep_ms(5);
    assert_int_equal(journal.ended, 0);
    assert_int_equal(uform_call_await(calls[1], 0), uform_status_malformed_k);
    assert_string_equal(uform_last_detail(), "entry 1 failed");
    assert_int_equal(journal.ended, 1);
    assert_ok(uform_call_poll(calls[2], &finished));
    assert_true(finished);
    assert_int_equal(journal.ended, 2);
    for (size_t i = 0; i < 4; i++) uform_call_free(calls[i]);
    assert_int_equal(journal.ended, 4);
    assert_int_equal(journal.released, 4);
}

static void *await_call(void *argument) {
    return (void *)(uintptr_t)uform_call_await(argument, -1);
}

/// Any number of threads may wait for one call.
static void test_many_waiters(void **state) {
    (void)state;
    for (size_t own = 0; own < 2; own++) {
        journal_t journal = {.ended = 0};
        entry_t entry = {.journal = &journal, .threads = 1, .holds = true, .status = uform_status_malformed_k};
        uform_executor_t executor = own ? make_executor(1) : NULL;
        uform_call_t call;
        pthread_t threads[8];
        assert_ok(defer(executor, &entry, &call));
        for (size_t i = 0; i < 8; i++) assert_int_equal(pthread_create(&threads[i], NULL, await_call, call), 0);
        wait_until(&journal.held);
        sleep_ms(2);
        atomic_store(&journal.let_go, true);
        for (size_t i = 0; i < 8; i++) {
            void *status;
            pthread_join(threads[i], &status);
            assert_int_equal((uintptr_t)status, uform_status_malformed_k);
        }
        assert_int_equal(journal.ended, 1);
        uform_call_free(call);
        uform_executor_free(executor);
    }
}

/// What a call may not do with its own executor's calls, and what it may.
typedef struct inside_t {
    uform_executor_t executor;
    journal_t *journal;
    entry_t *pending;
    uform_call_t call; ///< behind this one
    atomic_int await_status, poll_status, defer_status;
    atomic_bool finished;
    bool frees_call, frees_executor;
} inside_t;

static void act_inside(void *context, uform_worker_t const *worker) {
    inside_t *const inside = context;
    if (worker->index != worker->count - 1) return;
    bool finished = true;
    uform_call_t refused;
    inside->await_status = (int)uform_call_await(inside->call, -1);
    inside->poll_status = (int)uform_call_poll(inside->call, &finished);
    inside->finished = finished;
    inside->defer_status = (int)defer(inside->executor, inside->pending, &refused);
    if (inside->frees_call) uform_call_free(inside->call);
    if (inside->frees_executor) uform_executor_free(inside->executor);
}

static uform_status_t finish_inside(void *context) {
    (void)context;
    return uform_status_ok_k;
}

static void release_inside(void *context) {
    (void)context;
}

/// Defers a call that holds, one that acts from inside, and one that's pending meanwhile.
static void play_inside(size_t threads, bool frees_call, bool frees_executor) {
    journal_t journal = {.ended = 0};
    entry_t holding = {.journal = &journal, .threads = threads, .holds = true};
    entry_t pending = {.journal = &journal, .threads = threads};
    inside_t inside = {.executor = make_executor(threads),
        .journal = &journal,
        .pending = &pending,
        .frees_call = frees_call,
        .frees_executor = frees_executor};
    uform_work_t const work = {act_inside, finish_inside, release_inside, &inside};
    uform_call_t first, second;
    assert_ok(defer(inside.executor, &holding, &first));
    assert_ok(uform_executor_defer_(inside.executor, &work, &second));
    assert_ok(defer(inside.executor, &pending, &inside.call));
    atomic_store(&journal.let_go, true);
    assert_ok(uform_call_await(second, -1));
    assert_int_equal(inside.await_status, uform_status_contended_k);
    assert_int_equal(inside.poll_status, uform_status_ok_k);
    assert_false(inside.finished);
    assert_int_equal(inside.defer_status, uform_status_contended_k);
    uform_call_free(first);
    uform_call_free(second);
    if (!frees_call) {
        assert_ok(uform_call_await(inside.call, -1));
        uform_call_free(inside.call);
    }
    if (!frees_executor) uform_executor_free(inside.executor);
    for (size_t waited = 0; atomic_load(&journal.released) < 2 && waited < 10000; waited++) sleep_ms(1);
    assert_int_equal(journal.released, 2);
    assert_int_equal(journal.ended, 2);
}

static void test_from_inside(void **state) {
    (void)state;
    size_t const before = own_threads();
    for (size_t threads = 1; threads <= 3; threads++)
        for (size_t what = 0; what < 4; what++) play_inside(threads, what & 1, what & 2);
    for (size_t waited = 0; own_threads() > before && waited < 10000; waited++) sleep_ms(1);
    assert_int_equal(own_threads(), before);
}

/// A direct call that frees its executor with calls pending behind it.
static void test_free_with_pending(void **state) {
    (void)state;
    for (size_t round = 0; round < 30; round++) {
        journal_t journal = {.let_go = true};
        entry_t entries[10];
        uform_call_t calls[10];
        uform_executor_t executor = make_executor(1 + round % 3);
        for (size_t i = 0; i < 10; i++) {
            entries[i] = (entry_t){.journal = &journal, .number = i, .threads = 1 + round % 3};
            assert_ok(defer(executor, &entries[i], &calls[i]));
        }
        uform_executor_free(executor);
        assert_int_equal(journal.ended, 10);
        for (size_t i = 0; i < 10; i++) {
            bool finished = false;
            assert_ok(uform_call_poll(calls[i], &finished));
            assert_true(finished);
            assert_int_equal(journal.order[i], i);
            uform_call_free(calls[i]);
        }
    }
}

typedef struct crowd_t {
    uform_executor_t executor;
    atomic_size_t failures;
    size_t rounds;
} crowd_t;

static void *defer_many(void *argument) {
    crowd_t *const crowd = argument;
    for (size_t round = 0; round < crowd->rounds; round++) {
        journal_t journal = {.let_go = true};
        entry_t entries[3];
        uform_call_t calls[3];
        for (size_t i = 0; i < 3; i++) {
            entries[i] = (entry_t){.journal = &journal, .number = i, .threads = 2};
            if (defer(crowd->executor, &entries[i], &calls[i])) atomic_fetch_add(&crowd->failures, 1);
        }
        if (round % 3 == 0 && uform_executor_run_(crowd->executor, run_entry, &entries[0]))
            atomic_fetch_add(&crowd->failures, 1);
        if (round % 2 && uform_call_await(calls[2], -1)) atomic_fetch_add(&crowd->failures, 1);
        for (size_t i = 0; i < 3; i++) uform_call_free(calls[i]);
        if (journal.order[0] != 0 || entries[2].shares != 2) atomic_fetch_add(&crowd->failures, 1);
    }
    return NULL;
}

static void test_many_threads_defer(void **state) {
    (void)state;
    for (uform_mood_t mood = uform_mood_spinning_k; mood <= uform_mood_sleeping_k; mood++) {
        crowd_t crowd = {.executor = make_executor(2), .rounds = SANITIZED ? 30 : 200};
        pthread_t threads[8];
        assert_ok(uform_executor_drain(crowd.executor, mood));
        for (size_t i = 0; i < 8; i++) assert_int_equal(pthread_create(&threads[i], NULL, defer_many, &crowd), 0);
        for (size_t i = 0; i < 8; i++) pthread_join(threads[i], NULL);
        assert_int_equal(crowd.failures, 0);
        uform_executor_free(crowd.executor);
    }
}

static double processor_seconds(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

/// A driver that has nothing to do costs nothing, however the executor waits.
static void test_idle_cost(void **state) {
    (void)state;
    journal_t journal = {.ended = 0};
    entry_t entry = {.journal = &journal, .threads = 1};
    uform_executor_t executor = make_executor(1);
    uform_call_t call;
    assert_ok(uform_executor_drain(executor, uform_mood_spinning_k));
    assert_ok(defer(executor, &entry, &call));
    assert_ok(uform_call_await(call, -1));
    double const before = processor_seconds();
    sleep_ms(300);
    assert_true(processor_seconds() - before < 0.015);
    uform_call_free(call);
    uform_executor_free(executor);
}

int main(void) {
    // The first thread of a process may bring a sanitizer's own along, which mustn't be counted.
    uform_executor_free(make_executor(2));
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_order_with_direct_calls),
        cmocka_unit_test(test_waiting),
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_own_details),
        cmocka_unit_test(test_full_table),
        cmocka_unit_test(test_alone),
        cmocka_unit_test(test_many_waiters),
        cmocka_unit_test(test_from_inside),
        cmocka_unit_test(test_free_with_pending),
        cmocka_unit_test(test_many_threads_defer),
        cmocka_unit_test(test_idle_cost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
