/**
 *  Several threads, executors and models, a few seconds of whatever a seed says, and embeddings that are bit for bit those
 *  of a quiet run. $UFORM_STRESS_SEED chooses the seed, which is printed, and $UFORM_STRESS_SECONDS the time.
 *
 *      test_stress
 *      test_stress exit SEED     acts for a moment and leaves the process without freeing anything
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "executor/executor_test.h"
#include "stress/actor.h"

enum { actor_count_k = 4, exit_count_k = SANITIZED ? 5 : 20, patience_seconds_k = 30, default_seconds_k = 2 };

static char const *own_path;
static uint64_t seed;

static uint64_t number_from(char const *variable, uint64_t otherwise) {
    char const *const text = getenv(variable);
    return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

static void start_actors(pthread_t *threads, random_t *numbers) {
    for (size_t i = 0; i < actor_count_k; i++) {
        numbers[i].state = (seed + i) * 0x9E3779B97F4A7C15u;
        if (pthread_create(&threads[i], NULL, actor_run, &numbers[i])) world_fail("a thread could not be started");
    }
}

static void test_storm(void **state) {
    (void)state;
    pthread_t threads[actor_count_k];
    random_t numbers[actor_count_k], own = {seed};
    if (!world_make(&own)) fail_msg("%s", world.failure);
    start_actors(threads, numbers);
    long const milliseconds = 1000 * (long)number_from("UFORM_STRESS_SECONDS", default_seconds_k);
    for (long waited = 0; waited < milliseconds && !atomic_load(&world.ended); waited += 10) sleep_ms(10);
    atomic_store(&world.ended, true);
    for (size_t i = 0; i < actor_count_k; i++) pthread_join(threads[i], NULL);
    world_free();
    printf("%zu direct calls, %zu deferred, %zu refused, %zu timeouts, %zu executors replaced, %zu forks\n",
        (size_t)world.calls, (size_t)world.deferred, (size_t)world.refused, (size_t)world.timeouts,
        (size_t)world.replaced, (size_t)world.forks);
    if (world.failure[0]) fail_msg("seed %llu: %s", (unsigned long long)seed, world.failure);
    assert_true(world.calls && world.deferred && world.replaced);
}

/// Waits until everybody who has the other end of a pipe is gone. Whether that is so in time.
static bool await_end(int pipe_end) {
    struct pollfd descriptor = {.fd = pipe_end, .events = POLLIN};
    return poll(&descriptor, 1, 500 * patience_seconds_k) == 1;
}

/// Processes that end in the middle of it, and those that were forked from them.
static void test_exits(void **state) {
    (void)state;
    for (size_t i = 0; i < exit_count_k; i++) {
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        pid_t const child = fork();
        if (!child) {
            close(ends[0]);
            char text[32];
            snprintf(text, sizeof(text), "%llu", (unsigned long long)(seed + i));
            alarm(patience_seconds_k);
            // A thread that has ended and isn't joined yet is nothing unusual there, and nothing to wait a second for.
            setenv("TSAN_OPTIONS", "halt_on_error=1:report_thread_leaks=0:atexit_sleep_ms=0", 1);
            execl(own_path, own_path, "exit", text, (char *)NULL);
            _exit(127);
        }
        int status = -1;
        close(ends[1]);
        assert_int_equal(waitpid(child, &status, 0), child);
        if (!await_end(ends[0]))
            fail_msg("seed %llu: a child of a process that ended hangs", (unsigned long long)(seed + i));
        close(ends[0]);
        if (status) fail_msg("seed %llu: a process ended with %d", (unsigned long long)(seed + i), status);
    }
}

static int act_and_exit(void) {
    static pthread_t threads[actor_count_k];
    static random_t numbers[actor_count_k];
    random_t own = {seed};
    if (!world_make(&own)) return 2;
    start_actors(threads, numbers);
    sleep_ms((long)random_below(&own, 30));
    if (world.failure[0]) return 3;
    exit(0);
}

#if THREAD_SANITIZED
/// By default it has every process sleep for a second before it ends, forked ones included.
__attribute__((visibility("default"))) char const *__tsan_default_options(void);
char const *__tsan_default_options(void) {
    return "atexit_sleep_ms=0";
}
#endif

int main(int count, char **arguments) {
    own_path = arguments[0];
    seed = number_from("UFORM_STRESS_SEED", (uint64_t)time(NULL));
    if (count == 3) {
        seed = strtoull(arguments[2], NULL, 10);
        return act_and_exit();
    }
    printf("seed %llu\n", (unsigned long long)seed);
    fflush(stdout);
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(test_storm),
        cmocka_unit_test(test_exits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
