/**
 *  The fork-join: one submitter, `threads - 1` workers, each of which has a share of every call.
 *
 *  A call is published by raising the number in `signal`; workers that sleep are woken, the others see it. The last
 *  worker to end its share stores that number in `finished`. Between calls workers busy-wait as long as the mood says
 *  and then park on `signal`; the mood is part of that word, so adopting another one is seen by everybody who waits.
 */
#include "executor/ram.h"

#include <string.h>

#include "base/detail.h"
#include "executor/mood.h"
#include "executor/park.h"
#include "executor/thread.h"

enum {
    mood_bits_k = 2,
    mood_mask_k = (1 << mood_bits_k) - 1,
    call_step_k = 1 << mood_bits_k,
};

uform_mood_t uform_crew_mood_(struct uform_executor_s const *executor) {
    return (uform_mood_t)(atomic_load_explicit(&executor->signal, memory_order_relaxed) & mood_mask_k);
}

/// Stores a new signal and wakes whoever sleeps for it.
static void raise_signal(struct uform_executor_s *executor, unsigned signal) {
    atomic_store(&executor->signal, signal);
    // Either the sleeper's count is seen here, or it sees the new signal before it parks.
    if (atomic_load(&executor->parked)) uform_unpark_(&executor->signal, UFORM_EVERYBODY);
}

void uform_crew_adopt_(struct uform_executor_s *executor, uform_mood_t mood) {
    unsigned const signal = atomic_load_explicit(&executor->signal, memory_order_relaxed);
    raise_signal(executor, (signal & ~(unsigned)mood_mask_k) | (unsigned)mood);
}

/// Waits for a call after the one numbered `seen`, and returns its number.
static unsigned await_call(struct uform_executor_s *executor, unsigned seen) {
    for (;;) {
        unsigned const signal = atomic_load(&executor->signal);
        if (signal >> mood_bits_k != seen) return signal >> mood_bits_k;
        uform_mood_t const mood = (uform_mood_t)(signal & mood_mask_k);
        bool const hopeless = executor->crowded && mood != uform_mood_spinning_k;
        if (!hopeless && uform_spin_(&executor->signal, signal, false, uform_mood_spin_ns_(mood))) continue;
        atomic_fetch_add(&executor->parked, 1);
        uform_park_(&executor->signal, signal, UFORM_EVERYBODY);
        atomic_fetch_sub(&executor->parked, 1);
    }
}

static void finish_share(struct uform_executor_s *executor, unsigned call) {
    if (atomic_fetch_sub(&executor->remaining, 1) != 1) return;
    atomic_store(&executor->finished, call);
    if (atomic_load(&executor->submitter_parked)) uform_unpark_(&executor->finished, UFORM_EVERYBODY);
}

void uform_crew_confine_(struct uform_executor_s const *executor, size_t seat) {
    uform_placement_enter_(&executor->placement, seat);
}

static void *work(void *argument) {
    uform_seat_t *const seat = argument;
    struct uform_executor_s *const executor = seat->executor;
    uform_thread_name_(seat->worker.index);
    uform_crew_confine_(executor, seat->worker.index);
    for (unsigned call = 0;;) {
        call = await_call(executor, call);
        if (!executor->task) return NULL;
        uform_frames_swap_(executor->frame);
        executor->task(executor->context, &seat->worker);
        uform_frames_swap_(NULL);
        finish_share(executor, call);
    }
}

uform_status_t uform_crew_start_(struct uform_executor_s *executor) {
    int failure = 0;
    size_t started = 0;
    for (; started + 1 < executor->threads; ++started) {
        uform_seat_t *const seat = &executor->seats[started + 1];
        failure = uform_thread_start_(&seat->thread, work, seat);
        if (failure) break;
    }
    if (!failure) return uform_status_ok_k;
    uform_crew_stop_(executor, started);
    return uform_fail_(uform_status_out_of_memory_k, "threads: thread %zu of %zu could not be started: %s", started + 2,
        executor->threads, strerror(failure));
}

/// Makes the task the workers' next call, and returns the call's number.
static unsigned publish(struct uform_executor_s *executor, uform_task_t task, void *context) {
    executor->task = task;
    executor->context = context;
    executor->frame = uform_frames_();
    atomic_store_explicit(&executor->remaining, executor->threads - 1, memory_order_relaxed);
    unsigned const signal = atomic_load_explicit(&executor->signal, memory_order_relaxed) + call_step_k;
    raise_signal(executor, signal);
    return signal >> mood_bits_k;
}

/// Waits until the workers have ended their shares of the call.
static void await_finish(struct uform_executor_s *executor, unsigned call) {
    uform_mood_t mood = uform_crew_mood_(executor);
    // The caller isn't idle, so even a sleepy executor affords the short spin.
    if (mood == uform_mood_sleeping_k) mood = uform_mood_chilling_k;
    uint64_t const spin_ns = executor->crowded && mood != uform_mood_spinning_k ? 0 : uform_mood_spin_ns_(mood);
    if (uform_spin_(&executor->finished, call, true, spin_ns)) return;
    atomic_store(&executor->submitter_parked, true);
    for (unsigned finished; (finished = atomic_load(&executor->finished)) != call;)
        uform_park_(&executor->finished, finished, UFORM_EVERYBODY);
    atomic_store(&executor->submitter_parked, false);
}

void uform_crew_run_(struct uform_executor_s *executor, uform_task_t task, void *context) {
    if (executor->threads == 1) {
        task(context, &executor->seats[0].worker);
        return;
    }
    unsigned const call = publish(executor, task, context);
    task(context, &executor->seats[0].worker);
    // A task that forked left the workers in the parent.
    if (executor->fork_generation == uform_fork_generation_()) await_finish(executor, call);
}

void uform_crew_stop_(struct uform_executor_s *executor, size_t count) {
    publish(executor, NULL, NULL);
    for (size_t i = 1; i <= count; i++) pthread_join(executor->seats[i].thread, NULL);
}
