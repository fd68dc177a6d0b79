/**
 *  Executors: arguments, shares, order, nesting, moods, many submitters, scratch.
 */
#include "executor_test.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "executor/ram.h"

static void test_arguments(void **state) {
    (void)state;
    uform_executor_t executor = (uform_executor_t)(uintptr_t)1;
    assert_int_equal(uform_executor_for_ram(NULL, 0, 0, 1, 0, NULL), uform_status_invalid_argument_k);
    assert_int_equal(uform_executor_for_ram(NULL, 1, 0, 1, 0, &executor), uform_status_invalid_argument_k);
    assert_null(executor);
    assert_int_equal(uform_executor_for_ram(NULL, 0, 19, 1, 0, &executor), uform_status_invalid_argument_k);
    assert_int_equal(uform_executor_for_ram(NULL, 0, -1, 1, 0, &executor), uform_status_invalid_argument_k);
    assert_int_equal(uform_executor_for_ram(NULL, 0, 0, SIZE_MAX, 0, &executor), uform_status_invalid_argument_k);
    assert_int_equal(
        uform_executor_for_ram(NULL, 0, uform_cpu_class_wasm32_v128_k, 1, 0, &executor), uform_status_unsupported_k);
    assert_non_null(strstr(uform_last_detail(), "wasm32_v128"));
    assert_null(executor);
    uform_executor_free(NULL);
}

static void test_memory_domains(void **state) {
    (void)state;
    static struct {
        int32_t domains[2];
        size_t count;
        uform_status_t status;
        char const *detail;
    } const cases[] = {
        {{0, 0}, 1, uform_status_ok_k, ""},
        {{0, 0}, 2, uform_status_invalid_argument_k, "memory_domains[1]: expected each NUMA node once, found 0 again"},
        {{-1, 0}, 1, uform_status_invalid_argument_k, "memory_domains[0]"},
        {{0, 100000}, 2, uform_status_not_found_k, "memory_domains[1]: no NUMA node 100000"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        uform_executor_t executor;
        assert_int_equal(uform_executor_for_ram(cases[i].domains, cases[i].count, 0, 2, 0, &executor), cases[i].status);
        if (cases[i].status != uform_status_ok_k) {
            assert_null(executor);
            assert_non_null(strstr(uform_last_detail(), cases[i].detail));
            continue;
        }
        tally_t counts = {.threads = 2};
        assert_ok(uform_executor_run_(executor, tally, &counts));
        assert_int_equal(counts.runs[0], 1);
        assert_int_equal(counts.runs[1], 1);
        uform_executor_free(executor);
    }
}

static void test_describe(void **state) {
    (void)state;
    uform_executor_description_t description;
    uform_executor_t executor = make_executor(3);
    assert_ok(uform_executor_describe(executor, &description));
    assert_int_equal(description.threads, 3);
    assert_int_equal(description.mood, uform_mood_chilling_k);
    assert_true(description.cpu_class >= uform_cpu_class_serial_k);
    for (uform_mood_t mood = uform_mood_spinning_k; mood <= uform_mood_sleeping_k; mood++) {
        assert_ok(uform_executor_drain(executor, mood));
        assert_ok(uform_executor_describe(executor, &description));
        assert_int_equal(description.mood, mood);
    }
    assert_int_equal(uform_executor_drain(executor, 0), uform_status_invalid_argument_k);
    assert_int_equal(uform_executor_drain(executor, 4), uform_status_invalid_argument_k);
    assert_int_equal(uform_executor_describe(executor, NULL), uform_status_invalid_argument_k);
    uform_executor_free(executor);

    assert_ok(uform_executor_for_ram(NULL, 0, uform_cpu_class_serial_k, 1, 0, &executor));
    assert_ok(uform_executor_describe(executor, &description));
    assert_int_equal(description.cpu_class, uform_cpu_class_serial_k);
    uform_executor_free(executor);

    assert_ok(uform_executor_describe(NULL, &description));
    assert_int_equal(description.threads, 1);
    assert_ok(uform_executor_drain(NULL, uform_mood_spinning_k));
    assert_int_equal(uform_executor_drain(NULL, 9), uform_status_invalid_argument_k);

    uform_machine_description_t machine;
    assert_ok(uform_machine_describe(&machine));
    executor = make_executor(0);
    assert_ok(uform_executor_describe(executor, &description));
    assert_int_equal(description.threads, machine.threads_default);
    assert_int_equal(description.cpu_class, machine.cpu_class);
    uform_executor_free(executor);
}

static void test_mood_names(void **state) {
    (void)state;
    uform_mood_t mood;
    assert_string_equal(uform_mood_name(uform_mood_spinning_k), "spinning");
    assert_string_equal(uform_mood_name(uform_mood_chilling_k), "chilling");
    assert_string_equal(uform_mood_name(uform_mood_sleeping_k), "sleeping");
    assert_string_equal(uform_mood_name(0), "unknown");
    assert_string_equal(uform_mood_name(4), "unknown");
    assert_ok(uform_mood_parse("sleeping", &mood));
    assert_int_equal(mood, uform_mood_sleeping_k);
    assert_int_equal(uform_mood_parse("sleepy", &mood), uform_status_not_found_k);
    assert_int_equal(mood, 0);
    assert_non_null(strstr(uform_last_detail(), "sleepy"));
    assert_int_equal(uform_mood_parse(NULL, &mood), uform_status_invalid_argument_k);
}

/// Every thread runs every call exactly once, whatever the mood and however many threads there are.
static void test_shares(void **state) {
    (void)state;
    static size_t const sizes[] = {1, 2, 3, 8, 33};
    size_t const calls = SANITIZED ? 200 : 1000;
    for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++) {
        uform_executor_t executor = make_executor(sizes[s]);
        tally_t counts = {.threads = sizes[s]};
        for (size_t call = 0; call < calls; call++) {
            if (call % (calls / 3) == 0)
                assert_ok(uform_executor_drain(executor, (uform_mood_t)(1 + call / (calls / 3) % 3)));
            assert_ok(uform_executor_run_(executor, tally, &counts));
        }
        for (size_t i = 0; i < sizes[s]; i++) assert_int_equal(counts.runs[i], calls);
        uform_executor_free(executor);
    }
    tally_t alone = {.threads = 1};
    assert_ok(uform_executor_run_(NULL, tally, &alone));
    assert_int_equal(alone.runs[0], 1);
}

typedef struct submitting_t {
    pthread_t first;
    atomic_bool same; ///< share 0 ran on the thread that submitted
    atomic_size_t overlaps, running;
} submitting_t;

static void look_who_runs(void *context, uform_worker_t const *worker) {
    submitting_t *const submitting = context;
    if (!worker->index) atomic_store(&submitting->same, pthread_equal(pthread_self(), submitting->first) != 0);
}

static void test_submitter_is_first(void **state) {
    (void)state;
    uform_executor_t executor = make_executor(2);
    submitting_t submitting = {.first = pthread_self()};
    assert_ok(uform_executor_run_(executor, look_who_runs, &submitting));
    assert_true(submitting.same);
    uform_executor_free(executor);
}

enum { line_count_k = 24 };

/// Submitters that line up one after the other behind a call that holds the executor.
typedef struct line_t {
    uform_executor_t executor;
    atomic_bool held, released;
    atomic_size_t served;
    size_t order[line_count_k];
    atomic_size_t running, overlaps;
} line_t;

typedef struct in_line_t {
    line_t *line;
    size_t position;
    pthread_t thread;
} in_line_t;

static void hold(void *context, uform_worker_t const *worker) {
    line_t *const line = context;
    if (worker->index) return;
    atomic_store(&line->held, true);
    wait_until(&line->released);
}

static void note_order(void *context, uform_worker_t const *worker) {
    in_line_t *const self = context;
    if (worker->index) return;
    if (atomic_fetch_add(&self->line->running, 1)) atomic_fetch_add(&self->line->overlaps, 1);
    self->line->order[atomic_fetch_add(&self->line->served, 1)] = self->position;
    atomic_fetch_sub(&self->line->running, 1);
}

static void *submit_holding(void *argument) {
    line_t *const line = argument;
    return (void *)(uintptr_t)uform_executor_run_(line->executor, hold, line);
}

static void *submit_in_line(void *argument) {
    in_line_t *const self = argument;
    return (void *)(uintptr_t)uform_executor_run_(self->line->executor, note_order, self);
}

/// Until so many submitters have lined up in the executor's life.
static void wait_for_tickets(uform_executor_t executor, size_t count) {
    while (atomic_load(&executor->turns.next_ticket) < count) sleep_ms(1);
}

static void test_first_come_first_served(void **state) {
    (void)state;
    line_t line = {.executor = make_executor(2)};
    in_line_t waiting[line_count_k];
    pthread_t holder;
    void *status;
    assert_int_equal(pthread_create(&holder, NULL, submit_holding, &line), 0);
    wait_until(&line.held);
    for (size_t i = 0; i < line_count_k; i++) {
        waiting[i] = (in_line_t){.line = &line, .position = i};
        assert_int_equal(pthread_create(&waiting[i].thread, NULL, submit_in_line, &waiting[i]), 0);
        wait_for_tickets(line.executor, i + 2);
    }
    assert_int_equal(line.served, 0);
    atomic_store(&line.released, true);
    pthread_join(holder, &status);
    assert_null(status);
    for (size_t i = 0; i < line_count_k; i++) {
        pthread_join(waiting[i].thread, &status);
        assert_null(status);
    }
    for (size_t i = 0; i < line_count_k; i++) assert_int_equal(line.order[i], i);
    assert_int_equal(line.overlaps, 0);
    uform_executor_free(line.executor);
}

/// Drain waits for what was submitted before it.
static void test_drain_waits(void **state) {
    (void)state;
    line_t line = {.executor = make_executor(2)};
    in_line_t waiting = {.line = &line};
    pthread_t holder;
    assert_int_equal(pthread_create(&holder, NULL, submit_holding, &line), 0);
    wait_until(&line.held);
    assert_int_equal(pthread_create(&waiting.thread, NULL, submit_in_line, &waiting), 0);
    wait_for_tickets(line.executor, 2);
    atomic_store(&line.released, true);
    assert_ok(uform_executor_drain(line.executor, uform_mood_sleeping_k));
    assert_int_equal(line.served, 1);
    pthread_join(holder, NULL);
    pthread_join(waiting.thread, NULL);
    uform_executor_free(line.executor);
}

/// Freeing waits for what is pending.
static void test_free_drains(void **state) {
    (void)state;
    line_t line = {.executor = make_executor(2)};
    in_line_t waiting = {.line = &line};
    pthread_t holder;
    assert_int_equal(pthread_create(&holder, NULL, submit_holding, &line), 0);
    wait_until(&line.held);
    assert_int_equal(pthread_create(&waiting.thread, NULL, submit_in_line, &waiting), 0);
    wait_for_tickets(line.executor, 2);
    atomic_store(&line.released, true);
    uform_executor_free(line.executor);
    assert_int_equal(line.served, 1);
    pthread_join(holder, NULL);
    pthread_join(waiting.thread, NULL);
}

typedef struct crowd_t {
    uform_executor_t executor;
    tally_t counts;
    size_t calls;
    atomic_size_t failures;
} crowd_t;

static void *submit_many(void *argument) {
    crowd_t *const crowd = argument;
    for (size_t call = 0; call < crowd->calls; call++)
        if (uform_executor_run_(crowd->executor, tally, &crowd->counts) != uform_status_ok_k)
            atomic_fetch_add(&crowd->failures, 1);
    return NULL;
}

static void test_more_submitters_than_cores(void **state) {
    (void)state;
    size_t const submitters = 4 * (size_t)sysconf(_SC_NPROCESSORS_ONLN);
    for (uform_mood_t mood = uform_mood_spinning_k; mood <= uform_mood_sleeping_k; mood++) {
        crowd_t crowd = {.executor = make_executor(4), .counts.threads = 4, .calls = SANITIZED ? 50 : 200};
        assert_ok(uform_executor_drain(crowd.executor, mood));
        pthread_t *const threads = calloc(submitters, sizeof(*threads));
        for (size_t i = 0; i < submitters; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, submit_many, &crowd), 0);
        for (size_t i = 0; i < submitters; i++) pthread_join(threads[i], NULL);
        free(threads);
        assert_int_equal(crowd.failures, 0);
        for (size_t i = 0; i < 4; i++) assert_int_equal(crowd.counts.runs[i], submitters * crowd.calls);
        uform_executor_free(crowd.executor);
    }
}

/// Calls made from inside a call. `inner` is another executor, whose calls lead back.
typedef struct nesting_t {
    uform_executor_t executor, inner;
    atomic_int run_status[4], drain_status[4], inner_status, back_status[4];
    atomic_size_t alone_runs;
} nesting_t;

static void do_nothing(void *context, uform_worker_t const *worker) {
    (void)context, (void)worker;
}

static void run_alone(void *context, uform_worker_t const *worker) {
    (void)worker;
    atomic_fetch_add(&((nesting_t *)context)->alone_runs, 1);
}

static void run_back(void *context, uform_worker_t const *worker) {
    nesting_t *const nesting = context;
    atomic_store(&nesting->back_status[worker->index], (int)uform_executor_run_(nesting->executor, do_nothing, NULL));
}

static void nest(void *context, uform_worker_t const *worker) {
    nesting_t *const nesting = context;
    size_t const i = worker->index;
    atomic_store(&nesting->run_status[i], (int)uform_executor_run_(nesting->executor, do_nothing, NULL));
    atomic_store(&nesting->drain_status[i], (int)uform_executor_drain(nesting->executor, uform_mood_sleeping_k));
    if (uform_executor_run_(NULL, run_alone, nesting) != uform_status_ok_k) atomic_store(&nesting->alone_runs, 1000);
    if (i == worker->count - 1)
        atomic_store(&nesting->inner_status, (int)uform_executor_run_(nesting->inner, run_back, nesting));
}

static void test_nested(void **state) {
    (void)state;
    for (size_t threads = 1; threads <= 4; threads++) {
        nesting_t nesting = {.executor = make_executor(threads), .inner = make_executor(3)};
        assert_ok(uform_executor_run_(nesting.executor, nest, &nesting));
        for (size_t i = 0; i < threads; i++) {
            assert_int_equal(nesting.run_status[i], uform_status_contended_k);
            assert_int_equal(nesting.drain_status[i], uform_status_contended_k);
        }
        assert_int_equal(nesting.alone_runs, threads);
        assert_int_equal(nesting.inner_status, uform_status_ok_k);
        for (size_t i = 0; i < 3; i++) assert_int_equal(nesting.back_status[i], uform_status_contended_k);
        // The refusals left nothing behind.
        assert_ok(uform_executor_run_(nesting.executor, do_nothing, NULL));
        uform_executor_description_t description;
        assert_ok(uform_executor_describe(nesting.executor, &description));
        assert_int_equal(description.mood, uform_mood_chilling_k);
        uform_executor_free(nesting.inner);
        uform_executor_free(nesting.executor);
    }
}

typedef struct ending_t {
    uform_executor_t executor;
    size_t who;
    atomic_size_t shares;
} ending_t;

static void free_inside(void *context, uform_worker_t const *worker) {
    ending_t *const ending = context;
    if (worker->index == ending->who) uform_executor_free(ending->executor);
    sleep_ms(1);
    atomic_fetch_add(&ending->shares, 1);
}

static void test_free_from_inside(void **state) {
    (void)state;
    for (size_t who = 0; who < 3; who++) {
        ending_t ending = {.executor = make_executor(3), .who = who};
        assert_ok(uform_executor_run_(ending.executor, free_inside, &ending));
        assert_int_equal(ending.shares, 3);
    }
}

static void test_make_and_free_many(void **state) {
    (void)state;
    size_t const rounds = SANITIZED ? 300 : 3000;
    for (size_t round = 0; round < rounds; round++) {
        uform_executor_t executor = make_executor(1 + round % 4);
        if (round % 2) assert_ok(uform_executor_run_(executor, do_nothing, NULL));
        uform_executor_free(executor);
    }
}

static double cpu_seconds(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/// Processor time of the whole process over an idle interval of `milliseconds`.
static double idle_cpu_seconds(uform_executor_t executor, uform_mood_t mood, long milliseconds) {
    assert_ok(uform_executor_drain(executor, mood));
    assert_ok(uform_executor_run_(executor, do_nothing, NULL));
    sleep_ms(20); // the short spin is over
    double const before = cpu_seconds();
    sleep_ms(milliseconds);
    return cpu_seconds() - before;
}

/// Whether the process uses the processor, which others may keep busy for a while.
static bool burns(void) {
    double const before = cpu_seconds();
    for (size_t round = 0; round < 100 && cpu_seconds() - before <= 0.05; round++) sleep_ms(100);
    return cpu_seconds() - before > 0.05;
}

static void test_idle_cost(void **state) {
    (void)state;
    uform_executor_t executor = make_executor(4);
    assert_true(idle_cpu_seconds(executor, uform_mood_chilling_k, 500) < 0.02);
    assert_true(idle_cpu_seconds(executor, uform_mood_sleeping_k, 500) < 0.02);
    // Spinning is what it says, and ends when another mood is adopted.
    assert_ok(uform_executor_drain(executor, uform_mood_spinning_k));
    assert_ok(uform_executor_run_(executor, do_nothing, NULL));
    assert_true(burns());
    assert_true(idle_cpu_seconds(executor, uform_mood_chilling_k, 500) < 0.02);
    // A mood adopted while the threads sleep wakes them.
    assert_ok(uform_executor_drain(executor, uform_mood_spinning_k));
    assert_true(burns());
    uform_executor_free(executor);
}

typedef struct growing_t {
    size_t bytes;
    atomic_size_t failures;
    void *memory[2];
} growing_t;

static void use_scratch(void *context, uform_worker_t const *worker) {
    growing_t *const growing = context;
    unsigned char *const memory = uform_scratch_(worker, growing->bytes);
    if (!memory || (uintptr_t)memory % 64) {
        atomic_fetch_add(&growing->failures, 1);
        return;
    }
    if (growing->bytes) memory[0] = memory[growing->bytes - 1] = (unsigned char)worker->index;
    // A smaller request leaves the block alone.
    if (uform_scratch_(worker, growing->bytes / 2) != memory) atomic_fetch_add(&growing->failures, 1);
    if (worker->index < 2) growing->memory[worker->index] = memory;
}

static void overask(void *context, uform_worker_t const *worker) {
    growing_t *const growing = context;
    if (uform_scratch_(worker, SIZE_MAX) || uform_scratch_(worker, SIZE_MAX / 2))
        atomic_fetch_add(&growing->failures, 1);
    if (!strlen(uform_last_detail())) atomic_fetch_add(&growing->failures, 1);
}

static void test_scratch(void **state) {
    (void)state;
    uform_executor_t executors[] = {make_executor(2), NULL};
    for (size_t e = 0; e < 2; e++) {
        growing_t growing = {.bytes = 1};
        for (growing.bytes = 0; growing.bytes < 5000000; growing.bytes = growing.bytes * 3 + 1)
            assert_ok(uform_executor_run_(executors[e], use_scratch, &growing));
        assert_int_equal(growing.failures, 0);
        // The block survives from call to call.
        growing.bytes = 1000;
        assert_ok(uform_executor_run_(executors[e], use_scratch, &growing));
        void *const before = growing.memory[0];
        assert_ok(uform_executor_run_(executors[e], use_scratch, &growing));
        assert_ptr_equal(growing.memory[0], before);
        if (e == 0) assert_ptr_not_equal(growing.memory[0], growing.memory[1]);
#if !SANITIZED // which would end the process at such a request
        assert_ok(uform_executor_run_(executors[e], overask, &growing));
        assert_int_equal(growing.failures, 0);
#else
        (void)overask;
#endif
        assert_ok(uform_executor_run_(executors[e], use_scratch, &growing));
        assert_int_equal(growing.failures, 0);
        uform_executor_free(executors[e]);
    }
}

typedef struct layers_t {
    unsigned char *outer, *inner;
} layers_t;

static void use_inner(void *context, uform_worker_t const *worker) {
    ((layers_t *)context)->inner = uform_scratch_(worker, 100);
}

static void use_outer(void *context, uform_worker_t const *worker) {
    layers_t *const layers = context;
    layers->outer = uform_scratch_(worker, 100);
    assert_ok(uform_executor_run_(NULL, use_inner, layers));
}

static void *run_alone_in_thread(void *argument) {
    growing_t *const growing = argument;
    return (void *)(uintptr_t)uform_executor_run_(NULL, use_scratch, growing);
}

/// Without an executor: nested calls have scratch of their own, and threads that end leave none behind (the leak
/// check's to see).
static void test_alone(void **state) {
    (void)state;
    layers_t layers = {NULL, NULL};
    assert_ok(uform_executor_run_(NULL, use_outer, &layers));
    assert_non_null(layers.outer);
    assert_non_null(layers.inner);
    assert_ptr_not_equal(layers.outer, layers.inner);
    for (size_t i = 0; i < 20; i++) {
        growing_t growing = {.bytes = i % 2 ? 1000 : 70u << 20};
        pthread_t thread;
        void *status;
        assert_int_equal(pthread_create(&thread, NULL, run_alone_in_thread, &growing), 0);
        pthread_join(thread, &status);
        assert_null(status);
        assert_int_equal(growing.failures, 0);
    }
}

static void look_at_signals(void *context, uform_worker_t const *worker) {
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    bool const expected = worker->index > 0;
    if ((sigismember(&mask, SIGTERM) == 1) != expected || (sigismember(&mask, SIGUSR1) == 1) != expected ||
        sigismember(&mask, SIGSEGV) == 1)
        atomic_fetch_add((atomic_size_t *)context, 1);
}

/// Signals stay with the process's own threads, faults excepted.
static void test_signals(void **state) {
    (void)state;
    atomic_size_t wrong;
    atomic_init(&wrong, 0);
    uform_executor_t executor = make_executor(3);
    assert_ok(uform_executor_run_(executor, look_at_signals, &wrong));
    assert_int_equal(wrong, 0);
    uform_executor_free(executor);
}

int main(void) {
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_memory_domains),
        cmocka_unit_test(test_describe),
        cmocka_unit_test(test_mood_names),
        cmocka_unit_test(test_shares),
        cmocka_unit_test(test_submitter_is_first),
        cmocka_unit_test(test_first_come_first_served),
        cmocka_unit_test(test_drain_waits),
        cmocka_unit_test(test_free_drains),
        cmocka_unit_test(test_more_submitters_than_cores),
        cmocka_unit_test(test_nested),
        cmocka_unit_test(test_free_from_inside),
        cmocka_unit_test(test_make_and_free_many),
        cmocka_unit_test(test_idle_cost),
        cmocka_unit_test(test_scratch),
        cmocka_unit_test(test_alone),
        cmocka_unit_test(test_signals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
