/**
 *  Whose turn it is: tickets for submitters, the chain of calls a thread is inside of, and the fork generation.
 *
 *  A ticket is a number; `serving` is the number whose turn it is. Both wrap. A submitter parks under the bit `ticket
 *  % 32`, so that the end of a turn wakes its successor and not the whole queue. Watchers park under every bit: they
 *  want a turn only if nobody else does.
 */
#include "executor/ram.h"

#include <unistd.h>

#include "base/detail.h"
#include "executor/mood.h"
#include "executor/park.h"

static _Thread_local uform_frame_t const *frames;

static atomic_uint fork_generation;
static atomic_bool fork_watched;
static atomic_int leaving_process; ///< its number, once handlers may have been forgotten; zero before

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

/// A process that ends forgets its handlers, while threads of it may go on forking. From then on its number tells.
__attribute__((destructor)) static void leave(void) {
    atomic_store(&leaving_process, (int)getpid());
}

unsigned uform_fork_generation_(void) {
    int left = atomic_load_explicit(&leaving_process, memory_order_relaxed);
    if (left && left != (int)getpid() && atomic_compare_exchange_strong(&leaving_process, &left, (int)getpid()))
        count_fork();
    return atomic_load_explicit(&fork_generation, memory_order_relaxed);
}

bool uform_frames_hold_(struct uform_executor_s const *executor) {
    for (uform_frame_t const *frame = frames; frame; frame = frame->outer)
        if (frame->executor == executor) return true;
    return false;
}

bool uform_frames_occupy_(struct uform_executor_s const *executor) {
    for (uform_frame_t const *frame = frames; frame; frame = frame->outer)
        if (frame->executor == executor || (executor->pool && frame->executor->pool == executor->pool)) return true;
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

unsigned uform_turns_enter_(uform_turns_t *turns, uint64_t spin_ns) {
    unsigned const ticket = atomic_fetch_add(&turns->next_ticket, 1);
    for (;;) {
        unsigned const serving = atomic_load(&turns->serving);
        if (serving == ticket) return ticket;
        // Only the next in line has a reason to hope.
        bool const next = serving + 1 == ticket;
        if (next && uform_spin_(&turns->serving, ticket, true, spin_ns)) return ticket;
        uform_park_(&turns->serving, serving, mask_of(ticket));
    }
}

void uform_turns_leave_(uform_turns_t *turns, unsigned ticket) {
    unsigned const next = ticket + 1;
    atomic_store(&turns->serving, next);
    // Either a newcomer's ticket is seen here and it is woken, or it sees the new turn before it parks. The same holds
    // for watchers, who are woken with any successor, too.
    if (atomic_load(&turns->next_ticket) != next) uform_unpark_(&turns->serving, mask_of(next));
    else if (atomic_load(&turns->watchers)) uform_unpark_(&turns->serving, UFORM_EVERYBODY);
}

void uform_turns_watch_(uform_turns_t *turns, unsigned serving, uint64_t deadline_ns) {
    atomic_fetch_add(&turns->watchers, 1);
    uform_park_until_(&turns->serving, serving, UFORM_EVERYBODY, deadline_ns);
    atomic_fetch_sub(&turns->watchers, 1);
}

unsigned uform_turn_enter_(struct uform_executor_s *executor) {
    atomic_fetch_add(&executor->inside, 1);
    uint64_t const spin_ns = executor->crowded ? 0 : uform_mood_spin_ns_(uform_crew_mood_(executor));
    unsigned const ticket = uform_turns_enter_(&executor->turns, spin_ns);
    uform_deferred_run_(executor, ticket);
    return ticket;
}

bool uform_turn_try_(struct uform_executor_s *executor, unsigned serving) {
    atomic_fetch_add(&executor->inside, 1);
    unsigned expected = serving;
    if (atomic_compare_exchange_strong(&executor->turns.next_ticket, &expected, serving + 1)) {
        uform_deferred_run_(executor, serving);
        return true;
    }
    atomic_fetch_sub(&executor->inside, 1);
    return false;
}

void uform_turn_leave_(struct uform_executor_s *executor, unsigned ticket) {
    if (atomic_load(&executor->orphaned) && atomic_load(&executor->turns.next_ticket) == ticket + 1) {
        // Whatever was deferred before the executor was freed comes before its end.
        uform_deferred_run_(executor, ticket + 1);
        uform_executor_release_(executor, ticket);
        return;
    }
    uform_turns_leave_(&executor->turns, ticket);
    // The last access: whoever frees the executor waits for it.
    atomic_fetch_sub(&executor->inside, 1);
}
