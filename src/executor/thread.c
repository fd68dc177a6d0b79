/**
 *  Starting threads. No state.
 */
#include "executor/thread.h"

#include <signal.h>
#include <stdio.h>

enum { stack_bytes_k = 2 << 20 }; ///< at least; some systems give threads very little

/// The library's threads leave the process's signals to its own, but a fault of theirs must reach its handler.
static void block_signals(sigset_t *before) {
    static int const faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
    sigset_t blocked;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++) sigdelset(&blocked, faults[i]);
    pthread_sigmask(SIG_SETMASK, &blocked, before);
}

int uform_thread_start_(pthread_t *thread, void *(*run)(void *argument), void *argument) {
    pthread_attr_t attributes;
    int failure = pthread_attr_init(&attributes);
    if (failure) return failure;
    size_t bytes = 0;
    pthread_attr_getstacksize(&attributes, &bytes);
    if (bytes < stack_bytes_k) pthread_attr_setstacksize(&attributes, stack_bytes_k);
    sigset_t before;
    block_signals(&before); // inherited by the new thread
    failure = pthread_create(thread, &attributes, run, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return failure;
}

void uform_thread_name_(size_t index) {
    char name[16];
    snprintf(name, sizeof(name), "uform-%zu", index);
#if defined(__linux__)
    pthread_setname_np(pthread_self(), name);
#elif defined(__APPLE__)
    pthread_setname_np(name);
#endif
}
