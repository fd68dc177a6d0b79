/**
 *  Whose turn it is: tickets for submitters, the chain of calls a thread is inside of, and the fork generation.
 *
 *  A ticket is a number; `serving` is the number whose turn it is. Both wrap. A submitter parks under the bit `ticket
 *  % 32`, so that the end of a turn wakes its successor and not the whole queue.
 */
#include "executor/ram.h"

#include "base/detail.h"
#include "executor/mood.h"
#include "executor/park.h"

static _Thread_local uform_frame_t const *frames;

static atomic_uint fork_generation;
static atomic_bool fork_watched;

/// Runs in the child, whose only thread is the one that forked.
static void count_fork(void) {
    atomic_fetch_add(&fork_generation, 1);
}

uform_status_t uform_fork_watch_(void) {
    if (atomic_load(&fork_watched)) return uform_status_ok_k;
    // Threads that come here at once count a fork several times, which does no harm, while a lock could be held by a
    // thread that a forked child doesn't have.
    if (pthread_atfork(NULL, NULL, count_fork))
        return uform_fail_(uform_status_out_of_memory_k, "executor: the fork handler could not be registered");
    atomic_store(&fork_watched, true);
    return uform_status_ok_k;
}

unsigned uform_fork_generation_(void) {
    return atomic_load_explicit(&fork_generation, memory_order_relaxed);
}

bool uform_frames_hold_(struct uform_executor_s const *executor) {
    for (uform_frame_t const *frame = frames; frame; frame = frame->outer)
        if (frame->executor == executor) return true;
    return false;
}

uform_frame_t const *uform_frames_swap_(uform_frame_t const *frame) {
    uform_frame_t const *const before = frames;
    frames = frame;
    return before;
}

uform_frame_t const *uform_frames_(void) {
    return frames;
}

static uint32_t mask_of(unsigned ticket) {
    return UINT32_C(1) << ticket % 32;
}

unsigned uform_turn_enter_(struct uform_executor_s *executor) {
    atomic_fetch_add(&executor->inside, 1);
    unsigned const ticket = atomic_fetch_add(&executor->next_ticket, 1);
    uint64_t const spin_ns = executor->crowded ? 0 : uform_mood_spin_ns_(uform_crew_mood_(executor));
    for (;;) {
        unsigned const serving = atomic_load(&executor->serving);
        if (serving == ticket) return ticket;
        // Only the next in line has a reason to hope.
        bool const next = serving + 1 == ticket;
        if (next && uform_spin_(&executor->serving, ticket, true, spin_ns)) return ticket;
        uform_park_(&executor->serving, serving, mask_of(ticket));
    }
}

void uform_turn_leave_(struct uform_executor_s *executor, unsigned ticket) {
    unsigned const next = ticket + 1;
    if (atomic_load(&executor->orphaned) && atomic_load(&executor->next_ticket) == next) {
        uform_executor_release_(executor);
        return;
    }
    atomic_store(&executor->serving, next);
    // Either a newcomer's ticket is seen here and it is woken, or it sees the new turn before it parks.
    if (atomic_load(&executor->next_ticket) != next) uform_unpark_(&executor->serving, mask_of(next));
    // The last access: whoever frees the executor waits for it.
    atomic_fetch_sub(&executor->inside, 1);
}
