/**
 *  What the executor's tests share: cmocka in the order it wants, and a few ways to run things.
 */
#ifndef UFORM_TESTS_EXECUTOR_TEST_H
#define UFORM_TESTS_EXECUTOR_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "executor/executor.h"
#include "uform/uform.h"

#define assert_ok(call) assert_int_equal((call), uform_status_ok_k)

/// Sanitizers make everything slower and forbid some things. The address sanitizer's allocator, unlike the C library's and the
/// thread sanitizer's, may be locked for ever in a child whose parent was allocating on another thread when it forked.
#if defined(__SANITIZE_THREAD__)
#define THREAD_SANITIZED 1
#elif defined(__SANITIZE_ADDRESS__)
#define ADDRESS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define THREAD_SANITIZED 1
#elif __has_feature(address_sanitizer)
#define ADDRESS_SANITIZED 1
#endif
#endif
#ifndef THREAD_SANITIZED
#define THREAD_SANITIZED 0
#endif
#ifndef ADDRESS_SANITIZED
#define ADDRESS_SANITIZED 0
#endif
#define SANITIZED (THREAD_SANITIZED || ADDRESS_SANITIZED)

static inline uform_executor_t make_executor(size_t threads) {
    uform_executor_t executor;
    assert_ok(uform_executor_for_ram(NULL, 0, uform_cpu_class_derived_k, threads, 0, &executor));
    assert_non_null(executor);
    return executor;
}

static inline void sleep_ms(long milliseconds) {
    struct timespec const time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    nanosleep(&time, NULL);
}

static inline size_t count_threads(void) {
    size_t count = 0;
    DIR *const directory = opendir("/proc/self/task");
    assert_non_null(directory);
    for (struct dirent const *entry; (entry = readdir(directory));) count += entry->d_name[0] != '.';
    closedir(directory);
    return count;
}

/// The threads of this process, once those that were joined are gone for the system, too.
static inline size_t own_threads(void) {
    size_t count = count_threads();
    for (size_t same = 0; same < 3;) {
        sleep_ms(2);
        size_t const again = count_threads();
        same = again == count ? same + 1 : 0;
        count = again;
    }
    return count;
}

static inline void wait_until(atomic_bool const *flag) {
    while (!atomic_load(flag)) sleep_ms(1);
}

/// A task that counts how often each thread ran it.
enum { seats_most_k = 64 };

typedef struct tally_t {
    atomic_size_t runs[seats_most_k];
    size_t threads; ///< what every share must be told
} tally_t;

/// Shares may run on threads that aren't cmocka's, where a failed assertion could not jump: what is wrong is counted
/// instead.
static inline void tally(void *context, uform_worker_t const *worker) {
    tally_t *const counts = context;
    if (worker->count == counts->threads && worker->index < worker->count)
        atomic_fetch_add(&counts->runs[worker->index], 1);
}

#endif
