/**
 *  Deferred calls: a list in order of submission, and whoever runs what is in it.
 *
 *  A deferred call draws no ticket. It notes the next ticket to be drawn at the moment it is listed: it comes after all
 *  tickets before that one and before that one itself. Whoever gets a turn first runs the listed calls that come
 *  before its ticket; so order holds, and no thread is needed where others submit. When nobody does, the driver runs
 *  them: one more thread, started with the first deferred call and asleep whenever there is none. A borrowed pool has
 *  no driver, and the null executor has no list; there the threads that await run the calls.
 *
 *  Memory layout: a call is one block that holds a reference to its executor's block. Its `state` is the only word that
 *  threads wait on; setting `finished` in it is the runner's last access, after which the call may be gone.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/detail.h"
#include "base/memory.h"
#include "executor/alone.h"
#include "executor/park.h"
#include "executor/ram.h"
#include "executor/thread.h"

enum { detail_bytes_k = 1024 }; ///< as many as a thread's detail has

/// Bits of a call's state.
enum {
    finished_k = 1,  ///< status and detail are there
    waited_k = 2,    ///< somebody sleeps, or is about to, until it finishes
    abandoned_k = 4, ///< freed before it finished, by somebody who could not wait: whoever finishes it releases it
    claimed_k = 8,   ///< without an executor: a thread runs it
};

struct uform_call_s {
    atomic_uint state;
    unsigned fork_generation;          ///< of the process that submitted it
    unsigned limit;                    ///< the first ticket that comes after it
    struct uform_call_s *next;         ///< in the list
    struct uform_executor_s *executor; ///< a reference, or NULL
    uform_work_t work;
    uform_status_t status;
    char detail[detail_bytes_k];
};

static void release_call(struct uform_call_s *call) {
    call->work.release(call->work.context);
    if (call->executor) uform_executor_drop_(call->executor);
    uform_free_(call);
}

/// Makes the call's end known.
static void settle(struct uform_call_s *call) {
    unsigned const before = atomic_fetch_or(&call->state, finished_k);
    if (before & abandoned_k) release_call(call);
    // The word is only named to the kernel here, not touched, so it doesn't matter if it has gone.
    else if (before & waited_k) uform_unpark_(&call->state, UFORM_EVERYBODY);
}

/// Keeps what became of the call, and gives the thread back the detail it had: this failure isn't its own.
static void conclude(struct uform_call_s *call, uform_status_t status, char const *own_detail) {
    if (status == uform_status_ok_k) status = call->work.finish(call->work.context);
    call->status = status;
    if (status != uform_status_ok_k) snprintf(call->detail, sizeof(call->detail), "%s", uform_last_detail());
    (void)uform_fail_(status, "%s", own_detail);
}

static void run_call(struct uform_executor_s *executor, struct uform_call_s *call) {
    uform_deferred_t *const deferred = &executor->deferred;
    char own_detail[detail_bytes_k];
    snprintf(own_detail, sizeof(own_detail), "%s", uform_last_detail());
    conclude(call, uform_executor_perform_(executor, call->work.task, call->work.context), own_detail);
    pthread_mutex_lock(&deferred->lock);
    deferred->unfinished--;
    pthread_mutex_unlock(&deferred->lock);
    settle(call);
}

/// Takes the first call off the list if it comes before the ticket.
static struct uform_call_s *take_call(uform_deferred_t *deferred, unsigned ticket) {
    pthread_mutex_lock(&deferred->lock);
    struct uform_call_s *const call = deferred->first;
    bool const due = call && (int)(ticket - call->limit) >= 0;
    if (due) {
        deferred->first = call->next;
        atomic_fetch_sub(&deferred->queued, 1);
    }
    pthread_mutex_unlock(&deferred->lock);
    return due ? call : NULL;
}

void uform_deferred_run_(struct uform_executor_s *executor, unsigned ticket) {
    uform_deferred_t *const deferred = &executor->deferred;
    while (atomic_load(&deferred->queued)) {
        struct uform_call_s *const call = take_call(deferred, ticket);
        if (!call) return;
        run_call(executor, call);
    }
}

/// The driver: takes a turn whenever calls are listed and nobody else does.
static void *drive(void *argument) {
    struct uform_executor_s *const executor = argument;
    uform_deferred_t *const deferred = &executor->deferred;
    uform_thread_name_(0);
    uform_crew_confine_(executor, 0);
    for (;;) {
        // In this order: a turn that nobody has after the end isn't taken, because the end was seen then.
        unsigned const serving = atomic_load(&executor->turns.serving);
        unsigned const work = atomic_load(&deferred->work);
        if (atomic_load(&deferred->ended)) break;
        if (!atomic_load(&deferred->queued)) {
            atomic_fetch_add(&deferred->parked, 1);
            uform_park_(&deferred->work, work, UFORM_EVERYBODY);
            atomic_fetch_sub(&deferred->parked, 1);
        } else if (uform_turn_try_(executor, serving)) uform_turn_leave_(executor, serving);
        else uform_turns_watch_(&executor->turns, serving, UFORM_NO_DEADLINE);
    }
    uform_executor_drop_(executor);
    return NULL;
}

static void raise_work(uform_deferred_t *deferred) {
    atomic_fetch_add(&deferred->work, 1);
    if (atomic_load(&deferred->parked)) uform_unpark_(&deferred->work, UFORM_EVERYBODY);
}

void uform_deferred_end_(struct uform_executor_s *executor, unsigned ticket) {
    uform_deferred_t *const deferred = &executor->deferred;
    atomic_store(&deferred->ended, true);
    uform_turns_leave_(&executor->turns, ticket);
    raise_work(deferred);
    if (!deferred->driven) return;
    // Freed from inside a call that the driver ran, the executor ends on the driver itself.
    if (pthread_equal(pthread_self(), deferred->driver)) pthread_detach(deferred->driver);
    else pthread_join(deferred->driver, NULL);
}

/// Starts the driver unless there is one or none is wanted; the caller holds the lock.
static uform_status_t ensure_driver(struct uform_executor_s *executor) {
    if (executor->deferred.driven || executor->pool) return uform_status_ok_k;
    uform_executor_retain_(executor);
    int const failure = uform_thread_start_(&executor->deferred.driver, drive, executor);
    executor->deferred.driven = !failure;
    if (!failure) return uform_status_ok_k;
    uform_executor_drop_(executor);
    return uform_fail_(uform_status_out_of_memory_k, "executor: the thread for deferred calls could not be started: %s",
        strerror(failure));
}

static uform_status_t enqueue(struct uform_executor_s *executor, struct uform_call_s *call) {
    uform_deferred_t *const deferred = &executor->deferred;
    uform_status_t status = uform_status_ok_k;
    pthread_mutex_lock(&deferred->lock);
    if (deferred->unfinished >= deferred->limit)
        status = uform_fail_(uform_status_contended_k,
            "executor: its table of deferred calls is full with %zu; await one of them first", deferred->limit);
    if (status == uform_status_ok_k) status = ensure_driver(executor);
    if (status == uform_status_ok_k) {
        uform_executor_retain_(executor);
        call->executor = executor;
        deferred->unfinished++;
        // Counted before the ticket is looked at, so that whoever draws that one or a later one looks into the list.
        atomic_fetch_add(&deferred->queued, 1);
        call->limit = atomic_load(&executor->turns.next_ticket);
        if (deferred->first) deferred->last->next = call;
        else deferred->first = call;
        deferred->last = call;
    }
    pthread_mutex_unlock(&deferred->lock);
    if (status == uform_status_ok_k) raise_work(deferred);
    return status;
}

uform_status_t uform_executor_defer_(uform_executor_t executor, uform_work_t const *work, uform_call_t *call) {
    *call = NULL;
    uform_status_t status = executor ? uform_submission_check_(executor) : uform_fork_watch_();
    if (status != uform_status_ok_k) return status;
    struct uform_call_s *const made = uform_allocate_(1, sizeof(*made));
    if (!made) return uform_status_out_of_memory_k;
    made->fork_generation = uform_fork_generation_();
    made->work = *work;
    *call = made;
    if (executor) status = enqueue(executor, made);
    if (status == uform_status_ok_k) return status;
    *call = NULL;
    uform_free_(made);
    return status;
}

static bool is_finished(struct uform_call_s *call) {
    return atomic_load(&call->state) & finished_k;
}

/// Sleeps until the call has finished. Whether it has before the deadline.
static bool watch(struct uform_call_s *call, uint64_t deadline_ns) {
    for (;;) {
        unsigned const state = atomic_fetch_or(&call->state, waited_k) | waited_k;
        if (state & finished_k) return true;
        if (uform_now_ns_() >= deadline_ns) return false;
        uform_park_until_(&call->state, state, UFORM_EVERYBODY, deadline_ns);
    }
}

/// Takes turns until the call has been run. Whether it has before the deadline.
static bool help(struct uform_call_s *call, uint64_t deadline_ns) {
    struct uform_executor_s *const executor = call->executor;
    for (;;) {
        // In this order: a turn that nobody has after the executor's end isn't taken, because all calls finished before.
        unsigned const serving = atomic_load(&executor->turns.serving);
        if (is_finished(call)) return true;
        if (uform_turn_try_(executor, serving)) uform_turn_leave_(executor, serving);
        else if (uform_now_ns_() >= deadline_ns) return false;
        else uform_turns_watch_(&executor->turns, serving, deadline_ns);
    }
}

/// Runs a call without an executor, or waits for the thread that does.
static bool run_alone(struct uform_call_s *call, uint64_t deadline_ns) {
    if (atomic_fetch_or(&call->state, claimed_k) & claimed_k) return watch(call, deadline_ns);
    char own_detail[detail_bytes_k];
    snprintf(own_detail, sizeof(own_detail), "%s", uform_last_detail());
    conclude(call, uform_alone_run_(call->work.task, call->work.context), own_detail);
    settle(call);
    return true;
}

/// Whether the call has finished before the deadline. Calls that nobody else would run are run here.
static bool finish_by(struct uform_call_s *call, uint64_t deadline_ns) {
    if (!call->executor) return run_alone(call, deadline_ns);
    return call->executor->pool ? help(call, deadline_ns) : watch(call, deadline_ns);
}

static bool is_forked(struct uform_call_s const *call) {
    return call->fork_generation != uform_fork_generation_();
}

/// Whether an unfinished call can be waited for from here.
static uform_status_t check_waiting(struct uform_call_s const *call) {
    if (is_forked(call))
        return uform_fail_(uform_status_unsupported_k, "call: what it was to run on stayed in the process that forked");
    if (call->executor && uform_frames_occupy_(call->executor))
        return uform_fail_(uform_status_contended_k, "call: awaited from inside a call on the same executor");
    return uform_status_ok_k;
}

/// The moment so many seconds from now, NaN excluded.
static uint64_t deadline_after(double seconds) {
    // Three centuries, as much as the clock can count from any moment on.
    if (seconds < 0 || seconds > 9e9) return UFORM_NO_DEADLINE;
    return uform_now_ns_() + (uint64_t)(seconds * 1e9);
}

uform_status_t uform_call_await(uform_call_t call, double timeout_seconds) {
    if (!call) return uform_fail_(uform_status_invalid_argument_k, "call: expected one, found NULL");
    if (isnan(timeout_seconds))
        return uform_fail_(uform_status_invalid_argument_k, "timeout_seconds: expected a number, found NaN");
    if (!is_finished(call)) {
        uform_status_t const status = check_waiting(call);
        if (status != uform_status_ok_k) return status;
        if (!finish_by(call, deadline_after(timeout_seconds)))
            return uform_fail_(
                uform_status_timed_out_k, "call: it has not finished within %g seconds", timeout_seconds);
    }
    if (call->status == uform_status_ok_k) return call->status;
    return uform_fail_(call->status, "%s", call->detail);
}

uform_status_t uform_call_poll(uform_call_t call, bool *finished) {
    if (!finished) return uform_fail_(uform_status_invalid_argument_k, "finished: expected a pointer, found NULL");
    *finished = false;
    if (!call) return uform_fail_(uform_status_invalid_argument_k, "call: expected one, found NULL");
    if (!is_finished(call)) {
        if (is_forked(call)) return check_waiting(call);
        bool const inside = call->executor && uform_frames_occupy_(call->executor);
        if (inside || !finish_by(call, 0)) return uform_status_ok_k;
    }
    *finished = true;
    return uform_status_ok_k;
}

void uform_call_free(uform_call_t call) {
    if (!call) return;
    if (!is_finished(call) && !is_forked(call)) {
        if (call->executor && uform_frames_occupy_(call->executor)) {
            if (!(atomic_fetch_or(&call->state, abandoned_k) & finished_k)) return;
        } else (void)finish_by(call, UFORM_NO_DEADLINE);
    }
    release_call(call);
}
