/**
 *  Executors, locks and the life of a process: fork before, between and during calls, exit with everything alive, threads
 *  that can't be started. Each case runs in a child with an alarm, so that a hang fails the case and not the run.
 */
#include "executor_test.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "executor/lock.h"

enum { patience_seconds_k = 20 };

static char const *own_path;

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

static uform_work_t const nothing = {do_nothing, finish_nothing, release_nothing, NULL};

/// Waits for the child, which must have exited with zero.
static void expect_success(pid_t child) {
    int status = 0;
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status)) fail_msg("the child died of signal %d", WTERMSIG(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/// In the child: everything about the parent's executor answers at once. Zero if all is well.
static int use_parents_executor(uform_executor_t executor) {
    uform_executor_description_t description;
    uform_cpu_class_t cpu_class;
    if (uform_executor_run_(executor, do_nothing, NULL) != uform_status_unsupported_k) return 1;
    if (!strstr(uform_last_detail(), "fork")) return 2;
    if (uform_executor_drain(executor, uform_mood_sleeping_k) != uform_status_unsupported_k) return 3;
    if (uform_executor_describe(executor, &description) != uform_status_ok_k) return 4;
    if (uform_executor_class_(executor, &cpu_class) != uform_status_ok_k) return 5;
    if (uform_executor_run_(NULL, do_nothing, NULL) != uform_status_ok_k) return 6;
    uform_executor_free(executor);
    return 0;
}

/// In the child: a new executor works. The sanitizers can't have threads, or allocations, there.
static int use_own_executor(void) {
#if !SANITIZED
    uform_executor_t executor;
    tally_t counts = {.threads = 2};
    if (uform_executor_for_ram(NULL, 0, 0, 2, 0, &executor) != uform_status_ok_k) return 11;
    if (uform_executor_run_(executor, tally, &counts) != uform_status_ok_k) return 12;
    if (counts.runs[0] != 1 || counts.runs[1] != 1) return 13;
    uform_executor_free(executor);
#endif
    return 0;
}

static pid_t fork_and_use(uform_executor_t executor) {
    pid_t const child = fork();
    if (child) return child;
    alarm(patience_seconds_k);
    int const failure = use_parents_executor(executor);
    _exit(failure ? failure : use_own_executor());
}

static void test_fork_between_calls(void **state) {
    (void)state;
    for (uform_mood_t mood = uform_mood_spinning_k; mood <= uform_mood_sleeping_k; mood++) {
        uform_executor_t executor = make_executor(3);
        expect_success(fork_and_use(executor)); // before the first call
        assert_ok(uform_executor_drain(executor, mood));
        assert_ok(uform_executor_run_(executor, do_nothing, NULL));
        expect_success(fork_and_use(executor));
        // The parent goes on as if nothing had happened.
        tally_t counts = {.threads = 3};
        assert_ok(uform_executor_run_(executor, tally, &counts));
        for (size_t i = 0; i < 3; i++) assert_int_equal(counts.runs[i], 1);
        uform_executor_free(executor);
    }
}

typedef struct busy_t {
    uform_executor_t executor;
    atomic_bool ended;
    atomic_size_t calls;
    atomic_size_t bytes;
} busy_t;

static void work_a_little(void *context, uform_worker_t const *worker) {
    busy_t *const busy = context;
    // Ever growing, so that forks meet scratch that is being replaced.
    if (uform_scratch_(worker, atomic_fetch_add(&busy->bytes, 5000) % (8 << 20))) atomic_fetch_add(&busy->calls, 1);
}

static void *keep_busy(void *argument) {
    busy_t *const busy = argument;
    while (!atomic_load(&busy->ended))
        if (uform_executor_run_(busy->executor, work_a_little, busy) != uform_status_ok_k) break;
    return NULL;
}

static void test_fork_during_calls(void **state) {
    (void)state;
    static busy_t busy; // outlives a failed assertion's jump, as its threads do
    busy.executor = make_executor(3);
    pthread_t threads[3];
    for (size_t i = 0; i < 3; i++) assert_int_equal(pthread_create(&threads[i], NULL, keep_busy, &busy), 0);
    for (size_t i = 0; i < (SANITIZED ? 10 : 50); i++) expect_success(fork_and_use(busy.executor));
    atomic_store(&busy.ended, true);
    for (size_t i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    assert_true(busy.calls > 0);
    uform_executor_free(busy.executor);
}

static void doze(void *context, uform_worker_t const *worker) {
    (void)context, (void)worker;
    sleep_ms(20);
}

/// In the child: a call of the parent's answers at once, with its status if it had finished. Zero if all is well.
static int use_parents_call(uform_call_t call, bool finished) {
    bool found = !finished;
    uform_status_t const expected = finished ? uform_status_ok_k : uform_status_unsupported_k;
    if (uform_call_await(call, -1) != expected) return 7;
    if (uform_call_poll(call, &found) != expected || found != finished) return 8;
    uform_call_free(call);
    return 0;
}

/// Forks while some calls have finished, one runs and others wait.
static void test_fork_with_deferred_calls(void **state) {
    (void)state;
    uform_work_t const dozing = {doze, finish_nothing, release_nothing, NULL};
    for (size_t threads = 1; threads <= 2; threads++) {
        uform_executor_t executor = make_executor(threads), alone = NULL;
        uform_call_t calls[4], waiting;
        for (size_t i = 0; i < 4; i++) assert_ok(uform_executor_defer_(executor, i ? &dozing : &nothing, &calls[i]));
        assert_ok(uform_executor_defer_(alone, &nothing, &waiting));
        assert_ok(uform_call_await(calls[0], -1));
        pid_t const child = fork();
        if (!child) {
            alarm(patience_seconds_k);
            int failure = use_parents_call(calls[0], true);
            if (!failure) failure = use_parents_call(calls[3], false);
            if (!failure) failure = use_parents_call(waiting, false);
            if (!failure && uform_executor_defer_(executor, &nothing, &waiting) != uform_status_unsupported_k)
                failure = 9;
            if (!failure) failure = use_parents_executor(executor);
            uform_call_free(calls[2]);
            _exit(failure);
        }
        expect_success(child);
        for (size_t i = 0; i < 4; i++) {
            assert_ok(uform_call_await(calls[i], -1));
            uform_call_free(calls[i]);
        }
        uform_call_free(waiting);
        uform_executor_free(executor);
    }
}

typedef struct guarded_t {
    uform_lock_t lock;
    size_t count; ///< under the lock
    atomic_bool held, let_go;
} guarded_t;

static void *hold_lock(void *argument) {
    guarded_t *const guarded = argument;
    uform_lock_(&guarded->lock);
    atomic_store(&guarded->held, true);
    wait_until(&guarded->let_go);
    uform_unlock_(&guarded->lock);
    return NULL;
}

/// What a thread of the parent held is free in the child, and in the parent it isn't.
static void test_fork_with_held_lock(void **state) {
    (void)state;
    static guarded_t guarded;
    pthread_t thread, other;
    assert_ok(uform_lock_init_(&guarded.lock));
    assert_int_equal(pthread_create(&thread, NULL, hold_lock, &guarded), 0);
    wait_until(&guarded.held);
    pid_t const child = fork();
    if (!child) {
        alarm(patience_seconds_k);
        for (size_t i = 0; i < 3; i++) {
            uform_lock_(&guarded.lock);
            uform_unlock_(&guarded.lock);
        }
        _exit(0);
    }
    expect_success(child);
    atomic_store(&guarded.held, false);
    assert_int_equal(pthread_create(&other, NULL, hold_lock, &guarded), 0);
    sleep_ms(5);
    assert_false(guarded.held);
    atomic_store(&guarded.let_go, true);
    pthread_join(thread, NULL);
    pthread_join(other, NULL);
    assert_true(guarded.held);
}

static void *count_up(void *argument) {
    guarded_t *const guarded = argument;
    for (size_t i = 0; i < 20000; i++) {
        uform_lock_(&guarded->lock);
        guarded->count++;
        uform_unlock_(&guarded->lock);
    }
    return NULL;
}

static void test_lock(void **state) {
    (void)state;
    static guarded_t guarded;
    pthread_t threads[5];
    assert_ok(uform_lock_init_(&guarded.lock));
    for (size_t i = 0; i < 5; i++) assert_int_equal(pthread_create(&threads[i], NULL, count_up, &guarded), 0);
    for (size_t i = 0; i < 5; i++) pthread_join(threads[i], NULL);
    assert_int_equal(guarded.count, 100000);
}

/// A task that forks, which returns in the child too.
static void fork_inside(void *context, uform_worker_t const *worker) {
    if (!worker->index) *(pid_t *)context = fork();
}

static void test_fork_inside_a_call(void **state) {
    (void)state;
    uform_executor_t executor = make_executor(3);
    pid_t child = -1;
    assert_ok(uform_executor_run_(executor, fork_inside, &child));
    if (!child) {
        alarm(patience_seconds_k);
        _exit(use_parents_executor(executor));
    }
    expect_success(child);
    assert_ok(uform_executor_run_(executor, do_nothing, NULL));
    uform_executor_free(executor);
}

/// Runs this program again in the given role, `times` times.
static void run_role(char const *role, size_t times) {
    for (size_t i = 0; i < times; i++) {
        pid_t const child = fork();
        if (!child) {
            alarm(patience_seconds_k);
            execl(own_path, own_path, role, (char *)NULL);
            _exit(127);
        }
        expect_success(child);
    }
}

static void test_exit_without_free(void **state) {
    (void)state;
    size_t const times = SANITIZED ? 5 : 30;
    run_role("return-idle", times);
    run_role("return-spinning", times);
    run_role("exit-busy", times);
    run_role("exit-from-thread", times);
    run_role("return-deferred", times);
    run_role("exit-deferred", times);
}

static void test_thread_limit(void **state) {
    (void)state;
#if !SANITIZED // which map far more memory than the limit of this case
    run_role("few-threads", 1);
#endif
}

static busy_t role_busy;

static void start_busy(void) {
    static pthread_t threads[2];
    role_busy.executor = make_executor(4);
    for (size_t i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, keep_busy, &role_busy)) _exit(21);
    while (atomic_load(&role_busy.calls) < 20) sleep_ms(1);
}

static void *exit_process(void *argument) {
    (void)argument;
    exit(0);
}

/// Leaves calls behind that have finished, run and wait.
static void leave_deferred(void) {
    static uform_executor_t executor;
    static uform_call_t calls[30];
    uform_work_t const dozing = {doze, finish_nothing, release_nothing, NULL};
    executor = make_executor(2);
    for (size_t i = 0; i < 30; i++) assert_ok(uform_executor_defer_(executor, i < 5 ? &nothing : &dozing, &calls[i]));
    assert_ok(uform_call_await(calls[4], -1));
}

/// Address space for a few stacks only: the executor can't be made, says so, and leaves nothing behind.
static int make_too_many_threads(void) {
    struct rlimit const limit = {64u << 20, 64u << 20};
    uform_executor_t executor;
    if (setrlimit(RLIMIT_AS, &limit)) return 31;
    for (size_t i = 0; i < 5; i++) {
        if (uform_executor_for_ram(NULL, 0, 0, 500, 0, &executor) != uform_status_out_of_memory_k) return 32;
        if (executor || !strstr(uform_last_detail(), "of 500 could not be started")) return 33;
    }
    return use_own_executor();
}

static int play(char const *role) {
    if (!strcmp(role, "few-threads")) return make_too_many_threads();
    if (strstr(role, "-deferred")) {
        leave_deferred();
        if (!strcmp(role, "exit-deferred")) exit(0);
        return 0;
    }
    if (!strncmp(role, "return", 6)) {
        uform_executor_t executor = make_executor(4);
        assert_ok(uform_executor_run_(executor, do_nothing, NULL));
        if (!strcmp(role, "return-spinning")) assert_ok(uform_executor_drain(executor, uform_mood_spinning_k));
        return 0;
    }
    start_busy();
    if (!strcmp(role, "exit-busy")) exit(0);
    pthread_t thread;
    if (pthread_create(&thread, NULL, exit_process, NULL)) return 22;
    pthread_join(thread, NULL);
    return 23;
}

#if THREAD_SANITIZED
/// By default it has every process sleep for a second before it ends.
__attribute__((visibility("default"))) char const *__tsan_default_options(void);
char const *__tsan_default_options(void) {
    return "atexit_sleep_ms=0";
}
#endif

int main(int count, char **arguments) {
    own_path = arguments[0];
    if (count > 1) return play(arguments[1]);
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(test_fork_between_calls),
        cmocka_unit_test(test_fork_during_calls),
        cmocka_unit_test(test_fork_with_deferred_calls),
        cmocka_unit_test(test_lock),
        cmocka_unit_test(test_fork_with_held_lock),
        cmocka_unit_test(test_fork_inside_a_call),
        cmocka_unit_test(test_exit_without_free),
        cmocka_unit_test(test_thread_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
