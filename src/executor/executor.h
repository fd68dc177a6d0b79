/**
 *  What calls need of an executor: one fork-join, who they are, and scratch that grows to a high-water mark.
 */
#ifndef UFORM_EXECUTOR_INTERNAL_H
#define UFORM_EXECUTOR_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

#include "cpu/domains.h"
#include "uform/executor.h"

/// One thread's share of a call. `scratch` is that thread's own slot, see `uform_scratch_`.
typedef struct uform_worker_t {
    size_t index; ///< below `count`
    size_t count; ///< threads this call is divided over
    uform_cpu_class_t cpu_class;
    struct uform_scratch_slot_t *scratch;
} uform_worker_t;

/// The thread's share of the work. It must not fail by jumping or exiting; failures go through the context.
typedef void (*uform_task_t)(void *context, uform_worker_t const *worker);

/// Runs `task` once on every thread of the executor, the calling one among them, and returns when all are done. Waits
/// its turn behind calls submitted earlier. From inside a call on the same executor: `contended`. NULL runs on the
/// calling thread alone, with the machine's own class and scratch of that thread's own.
uform_status_t uform_executor_run_(uform_executor_t executor, uform_task_t task, void *context);

/// What a deferred call does. `finish` runs once the task has been run by every thread, and answers what became of the
/// call, with the reason as the detail of the thread it runs on; `release` gives the context back when the call is freed.
typedef struct uform_work_t {
    uform_task_t task;
    uform_status_t (*finish)(void *context);
    void (*release)(void *context);
    void *context;
} uform_work_t;

/// Submits the work as a call that is run in its turn, with nobody waiting for it. On failure the context stays the
/// caller's and `call` is NULL: `contended` when as many calls as the executor takes are unfinished, or from inside a
/// call on it. NULL defers it until it is awaited.
uform_status_t uform_executor_defer_(uform_executor_t executor, uform_work_t const *work, uform_call_t *call);

/// At least `bytes` of the worker's scratch, aligned to 64 bytes, contents undefined; grows to a high-water mark and is
/// kept by the executor. A second call for the same worker invalidates the first's memory if it grows. NULL and a
/// detail without memory.
void *uform_scratch_(uform_worker_t const *worker, size_t bytes);

/// Whether a list of NUMA nodes can be served: `invalid_argument` for NULL with a count, negative or repeated nodes,
/// `not_found` for nodes this machine doesn't have or that are offline.
uform_status_t uform_memory_domains_check_(int32_t const *memory_domains, size_t memory_domain_count);

/// `mismatched` if weights lie on other nodes than the executor's threads are spread over, see `uform_domains_match_`.
uform_status_t uform_executor_domains_match_(uform_executor_t executor, uform_domains_t const *domains);

/// Whether the executor has more threads than there are processors for them, so that they had better not wait for each
/// other within a call.
bool uform_executor_crowded_(uform_executor_t executor);

/// The class the executor's calls dispatch as; for NULL the machine's own.
uform_status_t uform_executor_class_(uform_executor_t executor, uform_cpu_class_t *cpu_class);

#endif
