/**
 *  Parking on Linux is a futex. Elsewhere one mutex and one condition variable serve every word of the process:
 *  rarely contended, as threads spin first, and correct because callers loop. No memory of its own beyond those two.
 */
#include "executor/park.h"

#include <sched.h>
#include <time.h>

#if defined(__linux__) && !defined(UFORM_PARK_PORTABLE)
#define UFORM_PARK_FUTEX 1
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#else
#include <pthread.h>
#endif

/// Looks at the word between two readings of the clock.
enum { looks_per_round_k = 32 };

enum { second_ns_k = 1000000000 };

static inline void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

uint64_t uform_now_ns_(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * second_ns_k + (uint64_t)time.tv_nsec;
}

bool uform_spin_(atomic_uint const *word, unsigned value, bool until_equal, uint64_t nanoseconds) {
    uint64_t const begin = nanoseconds && nanoseconds != UFORM_SPIN_ENDLESS ? uform_now_ns_() : 0;
    for (;;) {
        for (size_t look = 0; look < looks_per_round_k; look++) {
            if ((atomic_load_explicit(word, memory_order_acquire) == value) == until_equal) return true;
            if (!nanoseconds) return false;
            relax();
        }
        if (nanoseconds != UFORM_SPIN_ENDLESS && uform_now_ns_() - begin >= nanoseconds) return false;
        // Whoever is waited for may be queued behind this very thread: on a busy machine, spinning on made forks and
        // joins some twenty times slower.
        sched_yield();
    }
}

#if defined(UFORM_PARK_FUTEX)

void uform_park_until_(atomic_uint *word, unsigned value, uint32_t mask, uint64_t deadline_ns) {
    // With a mask, the kernel takes the time as a moment of CLOCK_MONOTONIC.
    struct timespec const deadline = {(time_t)(deadline_ns / second_ns_k), (long)(deadline_ns % second_ns_k)};
    syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, value, deadline_ns == UFORM_NO_DEADLINE ? NULL : &deadline,
        NULL, mask);
}

void uform_unpark_(atomic_uint *word, uint32_t mask) {
    syscall(SYS_futex, word, FUTEX_WAKE_BITSET_PRIVATE, INT_MAX, NULL, NULL, mask);
}

#else

static pthread_mutex_t park_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t park_condition = PTHREAD_COND_INITIALIZER;

/// The deadline on the clock that condition variables wait by. Should that clock be set meanwhile, callers wait again.
static struct timespec wall_deadline(uint64_t deadline_ns) {
    struct timespec time;
    uint64_t const now = uform_now_ns_();
    clock_gettime(CLOCK_REALTIME, &time);
    uint64_t const left = deadline_ns > now ? deadline_ns - now : 0;
    uint64_t const part = (uint64_t)time.tv_nsec + left % second_ns_k;
    return (struct timespec){
        time.tv_sec + (time_t)(left / second_ns_k + part / second_ns_k), (long)(part % second_ns_k)};
}

void uform_park_until_(atomic_uint *word, unsigned value, uint32_t mask, uint64_t deadline_ns) {
    (void)mask;
    pthread_mutex_lock(&park_mutex);
    if (atomic_load(word) == value) {
        struct timespec const deadline = wall_deadline(deadline_ns);
        if (deadline_ns == UFORM_NO_DEADLINE) pthread_cond_wait(&park_condition, &park_mutex);
        else pthread_cond_timedwait(&park_condition, &park_mutex, &deadline);
    }
    pthread_mutex_unlock(&park_mutex);
}

void uform_unpark_(atomic_uint *word, uint32_t mask) {
    (void)word, (void)mask;
    pthread_mutex_lock(&park_mutex);
    pthread_cond_broadcast(&park_condition);
    pthread_mutex_unlock(&park_mutex);
}

#endif

void uform_park_(atomic_uint *word, unsigned value, uint32_t mask) {
    uform_park_until_(word, value, mask, UFORM_NO_DEADLINE);
}
