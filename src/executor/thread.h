/**
 *  Threads of the library's own: stacks large enough, no signals but faults, and a name that debuggers show.
 */
#ifndef UFORM_EXECUTOR_THREAD_H
#define UFORM_EXECUTOR_THREAD_H

#include <pthread.h>
#include <stddef.h>

/// Starts a thread; zero, or the system's error number.
int uform_thread_start_(pthread_t *thread, void *(*run)(void *argument), void *argument);

/// Names the calling thread "uform-<index>".
void uform_thread_name_(size_t index);

#endif
