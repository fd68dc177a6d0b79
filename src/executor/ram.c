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

/// A new executor without threads yet.
static struct uform_executor_s *new_executor(uform_cpu_class_t cpu_class, size_t threads) {
    size_t const bytes = sizeof(struct uform_executor_s) + threads * sizeof(uform_seat_t);
    struct uform_executor_s *const executor = uform_allocate_aligned_(bytes);
    if (!executor) return NULL;
    memset(executor, 0, bytes);
    executor->threads = threads;
    executor->cpu_class = cpu_class;
    executor->fork_generation = uform_fork_generation_();
    atomic_init(&executor->orphaned, false);
    atomic_init(&executor->next_ticket, 0);
    atomic_init(&executor->serving, 0);
    atomic_init(&executor->inside, 0);
    atomic_init(&executor->signal, uform_mood_chilling_k);
    atomic_init(&executor->parked, 0);
    atomic_init(&executor->remaining, 0);
    atomic_init(&executor->finished, 0);
    atomic_init(&executor->submitter_parked, false);
    for (size_t i = 0; i < threads; i++) {
        uform_seat_t *const seat = &executor->seats[i];
        seat->worker = (uform_worker_t){i, threads, cpu_class, &seat->slot};
        seat->executor = executor;
    }
    return executor;
}

/// Gives the memory back; the threads are gone.
static void delete_executor(struct uform_executor_s *executor) {
    for (size_t i = 0; i < executor->threads; i++) uform_scratch_release_(&executor->seats[i].slot);
    uform_placement_free_(&executor->placement);
    uform_free_(executor);
}

void uform_executor_release_(struct uform_executor_s *executor) {
    // Submitters that passed their turn on may still be on their way out, a few instructions long.
    while (atomic_load(&executor->inside) != 1) sched_yield();
    uform_crew_stop_(executor, executor->threads - 1);
    delete_executor(executor);
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
    struct uform_executor_s *const made = new_executor(cpu_class, threads ? threads : default_threads);
    if (!made) {
        uform_placement_free_(&placement);
        return uform_status_out_of_memory_k;
    }
    made->placement = placement;
    made->crowded = made->threads > processors;
    made->deferred_limit = deferred_limit ? deferred_limit : deferred_limit_default_k;
    status = uform_crew_start_(made);
    if (status == uform_status_ok_k) *executor = made;
    else delete_executor(made);
    return status;
}

/// Whether the executor's threads are in this process.
static bool is_forked(struct uform_executor_s const *executor) {
    return executor->fork_generation != uform_fork_generation_();
}

/// Whether a call may be submitted from here.
static uform_status_t check_submission(struct uform_executor_s const *executor) {
    if (is_forked(executor))
        return uform_fail_(uform_status_unsupported_k,
            "executor: its threads stayed in the process that forked; make a new one after fork");
    if (uform_frames_hold_(executor))
        return uform_fail_(uform_status_contended_k, "executor: called from inside one of its own calls");
    return uform_status_ok_k;
}

uform_status_t uform_executor_run_(uform_executor_t executor, uform_task_t task, void *context) {
    if (!executor) return uform_alone_run_(task, context);
    uform_status_t const status = check_submission(executor);
    if (status != uform_status_ok_k) return status;
    unsigned const ticket = uform_turn_enter_(executor);
    uform_frame_t const frame = {executor, uform_frames_()};
    uform_frames_swap_(&frame);
    uform_crew_run_(executor, task, context);
    uform_frames_swap_(frame.outer);
    // A task that forked returns in the child too, where nobody else can hold the executor.
    if (!is_forked(executor)) uform_turn_leave_(executor, ticket);
    return uform_status_ok_k;
}

uform_status_t uform_executor_drain(uform_executor_t executor, uform_mood_t mood) {
    uform_status_t status = uform_mood_check_(mood);
    // Without an executor there is nothing that could be pending or idle.
    if (status != uform_status_ok_k || !executor) return status;
    status = check_submission(executor);
    if (status != uform_status_ok_k) return status;
    unsigned const ticket = uform_turn_enter_(executor);
    uform_crew_adopt_(executor, mood);
    uform_turn_leave_(executor, ticket);
    return uform_status_ok_k;
}

void uform_executor_free(uform_executor_t executor) {
    if (!executor) return;
    if (is_forked(executor)) delete_executor(executor);
    else if (uform_frames_hold_(executor)) atomic_store(&executor->orphaned, true);
    else {
        (void)uform_turn_enter_(executor);
        uform_executor_release_(executor);
    }
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
