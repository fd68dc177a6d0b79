/**
 *  Executors in RAM: the public calls, and the entry through which every other module runs its work.
 *
 *  An executor and its seats are one block of memory, see ram.h. What runs without an executor is in alone.c.
 */
#include "executor/ram.h"

#include <sched.h>
#include <string.h>

#include "base/detail.h"
#include "base/memory.h"
#include "executor/alone.h"
#include "executor/mood.h"
#include "executor/pool.h"
#include "kernels/kernels.h"

enum {
    threads_limit_k = 8192, ///< beyond any machine; more is a mistake in the caller's arithmetic
    deferred_limit_default_k = 64,
};

static uform_status_t check_arguments(uform_cpu_class_t *cpu_class, size_t threads) {
    if (threads > threads_limit_k)
        return uform_fail_(
            uform_status_invalid_argument_k, "threads: expected at most %d, found %zu", (int)threads_limit_k, threads);
    if (*cpu_class == uform_cpu_class_derived_k) return uform_cpu_class_derive_(cpu_class);
    uform_status_t const status = uform_cpu_class_require_(*cpu_class);
    return status == uform_status_ok_k ? status : uform_fail_prefixed_(status, "cpu_class: ");
}

struct uform_executor_s *uform_executor_new_(
    uform_cpu_class_t cpu_class, size_t threads, size_t deferred_limit, uform_placement_t const *placement) {
    size_t const bytes = sizeof(struct uform_executor_s) + threads * sizeof(uform_seat_t);
    struct uform_executor_s *const executor = uform_allocate_aligned_(bytes);
    uform_placement_t taken = *placement;
    if (!executor) {
        uform_placement_free_(&taken);
        return NULL;
    }
    // Atomics of this kind are plain words that zero is a value of.
    memset(executor, 0, bytes);
    atomic_init(&executor->references, 1);
    executor->threads = threads;
    executor->cpu_class = cpu_class;
    executor->placement = taken;
    executor->fork_generation = uform_fork_generation_();
    executor->deferred.limit = deferred_limit ? deferred_limit : deferred_limit_default_k;
    pthread_mutex_init(&executor->deferred.lock, NULL);
    atomic_init(&executor->signal, uform_mood_chilling_k);
    for (size_t i = 0; i < threads; i++) {
        uform_seat_t *const seat = &executor->seats[i];
        seat->worker = (uform_worker_t){i, threads, cpu_class, &seat->slot};
        seat->executor = executor;
    }
    return executor;
}

void uform_executor_retain_(struct uform_executor_s *executor) {
    atomic_fetch_add(&executor->references, 1);
}

void uform_executor_drop_(struct uform_executor_s *executor) {
    if (atomic_fetch_sub(&executor->references, 1) != 1) return;
    pthread_mutex_destroy(&executor->deferred.lock);
    uform_placement_free_(&executor->placement);
    uform_free_(executor);
}

/// Gives back what only the owner has; the threads are gone.
static void disown(struct uform_executor_s *executor) {
    for (size_t i = 0; i < executor->threads; i++) uform_scratch_release_(&executor->seats[i].slot);
    uform_executor_drop_(executor);
}

void uform_executor_release_(struct uform_executor_s *executor, unsigned ticket) {
    // Submitters that passed their turn on may still be on their way out, a few instructions long.
    while (atomic_load(&executor->inside) != 1) sched_yield();
    if (executor->pool) uform_pool_leave_(executor->pool);
    else uform_crew_stop_(executor, executor->threads - 1);
    uform_deferred_end_(executor, ticket);
    disown(executor);
}

uform_status_t uform_executor_for_ram(int32_t const *memory_domains, size_t memory_domain_count,
    uform_cpu_class_t cpu_class, size_t threads, size_t deferred_limit, uform_executor_t *executor) {
    if (!executor) return uform_fail_(uform_status_invalid_argument_k, "executor: expected a pointer, found NULL");
    *executor = NULL;
    uform_status_t status = check_arguments(&cpu_class, threads);
    if (status == uform_status_ok_k) status = uform_fork_watch_();
    if (status != uform_status_ok_k) return status;
    uform_placement_t placement;
    size_t default_threads, processors;
    status = uform_placement_make_("", memory_domains, memory_domain_count, &placement, &default_threads, &processors);
    if (status != uform_status_ok_k) return status;
    struct uform_executor_s *const made =
        uform_executor_new_(cpu_class, threads ? threads : default_threads, deferred_limit, &placement);
    if (!made) return uform_status_out_of_memory_k;
    made->crowded = made->threads > processors;
    status = uform_crew_start_(made);
    if (status == uform_status_ok_k) *executor = made;
    else disown(made);
    return status;
}

uform_status_t uform_executor_on_pool(int32_t const *memory_domains, size_t memory_domain_count,
    uform_cpu_class_t cpu_class, void *pool, size_t deferred_limit, uform_executor_t *executor) {
    if (!executor) return uform_fail_(uform_status_invalid_argument_k, "executor: expected a pointer, found NULL");
    *executor = NULL;
    if (!pool) return uform_fail_(uform_status_invalid_argument_k, "pool: expected a ForkUnion pool, found NULL");
    uform_status_t status = check_arguments(&cpu_class, 0);
    if (status == uform_status_ok_k) status = uform_fork_watch_();
    if (status != uform_status_ok_k) return status;
    uform_placement_t placement;
    size_t default_threads, processors, threads;
    status = uform_placement_make_("", memory_domains, memory_domain_count, &placement, &default_threads, &processors);
    if (status != uform_status_ok_k) return status;
    struct uform_pool_s *joined;
    status = uform_pool_join_(pool, &joined, &threads);
    if (status != uform_status_ok_k) {
        uform_placement_free_(&placement);
        return status;
    }
    struct uform_executor_s *const made = uform_executor_new_(cpu_class, threads, deferred_limit, &placement);
    if (!made) {
        uform_pool_leave_(joined);
        return uform_status_out_of_memory_k;
    }
    made->pool = joined;
    made->crowded = threads > processors;
    *executor = made;
    return uform_status_ok_k;
}

bool uform_executor_forked_(struct uform_executor_s const *executor) {
    return executor->fork_generation != uform_fork_generation_();
}

uform_status_t uform_submission_check_(struct uform_executor_s const *executor) {
    if (uform_executor_forked_(executor))
        return uform_fail_(uform_status_unsupported_k,
            "executor: its threads stayed in the process that forked; make a new one after fork");
    if (uform_frames_occupy_(executor))
        return uform_fail_(uform_status_contended_k, "executor: called from inside a call on its own threads");
    return uform_status_ok_k;
}

uform_status_t uform_executor_perform_(struct uform_executor_s *executor, uform_task_t task, void *context) {
    uform_status_t status = uform_status_ok_k;
    uform_frame_t const frame = {executor, uform_frames_()};
    uform_frames_swap_(&frame);
    if (executor->pool) status = uform_pool_run_(executor, task, context);
    else uform_crew_run_(executor, task, context);
    uform_frames_swap_(frame.outer);
    return status;
}

uform_status_t uform_executor_run_(uform_executor_t executor, uform_task_t task, void *context) {
    if (!executor) return uform_alone_run_(task, context);
    uform_status_t status = uform_submission_check_(executor);
    if (status != uform_status_ok_k) return status;
    unsigned const ticket = uform_turn_enter_(executor);
    status = uform_executor_perform_(executor, task, context);
    // A task that forked returns in the child too, where nobody else can hold the executor.
    if (!uform_executor_forked_(executor)) uform_turn_leave_(executor, ticket);
    return status;
}

uform_status_t uform_executor_drain(uform_executor_t executor, uform_mood_t mood) {
    uform_status_t status = uform_mood_check_(mood);
    // Without an executor there is nothing that could be pending or idle.
    if (status != uform_status_ok_k || !executor) return status;
    status = uform_submission_check_(executor);
    if (status != uform_status_ok_k) return status;
    unsigned const ticket = uform_turn_enter_(executor);
    uform_crew_adopt_(executor, mood);
    uform_turn_leave_(executor, ticket);
    return uform_status_ok_k;
}

void uform_executor_free(uform_executor_t executor) {
    if (!executor) return;
    if (uform_executor_forked_(executor)) {
        // The driver's reference stayed with the driver.
        if (executor->deferred.driven) uform_executor_drop_(executor);
        disown(executor);
    } else if (uform_frames_hold_(executor)) atomic_store(&executor->orphaned, true);
    else uform_executor_release_(executor, uform_turn_enter_(executor));
}

uform_status_t uform_executor_describe(uform_executor_t executor, uform_executor_description_t *description) {
    if (!description)
        return uform_fail_(uform_status_invalid_argument_k, "description: expected a pointer, found NULL");
    memset(description, 0, sizeof(*description));
    uform_cpu_class_t cpu_class;
    uform_status_t const status = uform_executor_class_(executor, &cpu_class);
    if (status != uform_status_ok_k) return status;
    // A lone thread that isn't calling costs nothing, like one that sleeps.
    *description = (uform_executor_description_t){1, cpu_class, uform_mood_sleeping_k};
    if (!executor) return uform_status_ok_k;
    description->threads = executor->threads;
    description->mood = uform_crew_mood_(executor);
    return uform_status_ok_k;
}

uform_status_t uform_executor_class_(uform_executor_t executor, uform_cpu_class_t *cpu_class) {
    if (!executor) return uform_cpu_class_derive_(cpu_class);
    *cpu_class = executor->cpu_class;
    return uform_status_ok_k;
}

bool uform_executor_crowded_(uform_executor_t executor) {
    return executor && executor->crowded;
}
