/**
 *  The inside of an executor in RAM: threads of its own or a borrowed pool's, a queue of turns, a list of deferred
 *  calls, and one seat a thread.
 *
 *  Memory layout: the executor and its seats are one block, which lives until the last reference to it is dropped. Each
 *  group of words that different threads write lives in its own cache line: turns (submitters), deferred calls
 *  (submitters and the driver), signal (submitter to workers), finish (workers to submitter), then the seats, one or
 *  more lines each.
 */
#ifndef UFORM_EXECUTOR_RAM_H
#define UFORM_EXECUTOR_RAM_H

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "executor/executor.h"
#include "executor/placement.h"
#include "executor/scratch.h"

enum { uform_cache_line_k = 64 };

/// A call in progress that the current thread takes part in. Calls made from inside calls form a chain, and a worker's
/// chain is that of the thread that submitted its call, so a call that would wait for itself is found on whichever
/// thread it is made.
typedef struct uform_frame_t {
    struct uform_executor_s *executor;
    struct uform_frame_t const *outer;
} uform_frame_t;

/// One thread of the executor; the first one belongs to whoever submits.
typedef struct uform_seat_t {
    alignas(uform_cache_line_k) uform_worker_t worker;
    uform_scratch_slot_t slot;
    struct uform_executor_s *executor;
    pthread_t thread;
} uform_seat_t;

/// A queue of turns: whoever wants one draws a ticket and waits until it is served. Zeroed is a valid one that nobody
/// waits in. Tickets wrap.
typedef struct uform_turns_t {
    alignas(uform_cache_line_k) atomic_uint next_ticket;
    atomic_uint serving;
    atomic_uint watchers; ///< threads without a ticket that sleep, or are about to, until `serving` changes
} uform_turns_t;

/// Calls that were deferred and not begun, in order. They draw no tickets: whoever gets a turn first runs those that
/// were deferred before it drew its own.
typedef struct uform_deferred_t {
    alignas(uform_cache_line_k) pthread_mutex_t lock; ///< of the list and of `unfinished`
    struct uform_call_s *first, *last;
    size_t unfinished, limit; ///< calls in the list or running, and how many there may be
    atomic_size_t queued;     ///< calls in the list
    atomic_uint work;         ///< changes with every deferred call, and at the end
    atomic_uint parked;       ///< whether the driver sleeps, or is about to, until `work` changes
    atomic_bool ended;        ///< nothing will be deferred any more
    bool driven;              ///< there is a driver: a thread that runs what no submitter takes along
    pthread_t driver;
} uform_deferred_t;

struct uform_executor_s {
    atomic_size_t references; ///< the owner's, the driver's, one a deferred call and one an arena
    size_t threads;
    uform_cpu_class_t cpu_class;
    struct uform_pool_s *pool; ///< the borrowed pool that calls run on; NULL when the threads are the executor's own
    uform_placement_t placement;
    unsigned fork_generation; ///< of the process that started the threads: a forked child has none of them
    bool crowded;             ///< more threads than processors: busy-waiting would only keep the others from running
    atomic_bool orphaned;     ///< freed from inside a call: the last call to end releases it

    uform_turns_t turns;
    atomic_size_t inside; ///< submitters between entering and their last access to the executor
    uform_deferred_t deferred;

    /// Signal: the number of the current call above the mood's two bits. Written by the turn's holder alone.
    alignas(uform_cache_line_k) atomic_uint signal;
    atomic_uint parked; ///< workers that sleep, or are about to, until the signal changes
    uform_task_t task;  ///< the current call's; NULL asks the workers to end
    void *context;
    uform_frame_t const *frame; ///< the submitter's chain, the current call first

    /// Finish: the last worker to end its share stores the call's number.
    alignas(uform_cache_line_k) atomic_size_t remaining;
    atomic_uint finished;
    atomic_bool submitter_parked;

    uform_seat_t seats[]; ///< [threads]
};

/// How many forks lie between this process and the one that first watched them, see queue.c.
unsigned uform_fork_generation_(void);

/// Has `uform_fork_generation_` count from now on.
uform_status_t uform_fork_watch_(void);

/// Whether the current thread takes part in a call on the executor.
bool uform_frames_hold_(struct uform_executor_s const *executor);

/// Whether it takes part in a call that has the executor's threads: one on the executor or on another of the same pool.
bool uform_frames_occupy_(struct uform_executor_s const *executor);

/// Makes `frame` the current thread's innermost call, and returns what was.
uform_frame_t const *uform_frames_swap_(uform_frame_t const *frame);
uform_frame_t const *uform_frames_(void);

/// Draws a ticket and waits for its turn: first come, first served. The next in line busy-waits so long.
unsigned uform_turns_enter_(uform_turns_t *turns, uint64_t spin_ns);
void uform_turns_leave_(uform_turns_t *turns, unsigned ticket);

/// Sleeps until `serving`, read before, has changed, or the deadline.
void uform_turns_watch_(uform_turns_t *turns, unsigned serving, uint64_t deadline_ns);

/// Waits for a turn on the executor and runs the deferred calls before it.
unsigned uform_turn_enter_(struct uform_executor_s *executor);

/// Takes the turn `serving`, read before, and runs all deferred calls, if nobody has it or waits for it. Whether so.
bool uform_turn_try_(struct uform_executor_s *executor, unsigned serving);

/// Ends the turn; afterwards the executor may be gone.
void uform_turn_leave_(struct uform_executor_s *executor, unsigned ticket);

/// Whether the executor's threads stayed in a process that forked.
bool uform_executor_forked_(struct uform_executor_s const *executor);

/// Whether a call may be submitted from here: `unsupported` after a fork, `contended` from inside a call.
uform_status_t uform_submission_check_(struct uform_executor_s const *executor);

/// Has every thread run its share of the task; the caller holds the turn.
uform_status_t uform_executor_perform_(struct uform_executor_s *executor, uform_task_t task, void *context);

/// Runs the deferred calls that come before the ticket; the caller holds its turn.
void uform_deferred_run_(struct uform_executor_s *executor, unsigned ticket);

/// Ends the driver, and wakes whoever watches the executor; the caller holds the last turn.
void uform_deferred_end_(struct uform_executor_s *executor, unsigned ticket);

/// Starts `threads - 1` workers; on failure none is left.
uform_status_t uform_crew_start_(struct uform_executor_s *executor);

/// Confines the calling thread to where the seat's thread belongs.
void uform_crew_confine_(struct uform_executor_s const *executor, size_t seat);

/// Runs the task on every thread, the calling one first; the caller holds the turn.
void uform_crew_run_(struct uform_executor_s *executor, uform_task_t task, void *context);

/// Ends and joins the first `count` workers; the caller holds the turn or is the only one who knows the executor.
void uform_crew_stop_(struct uform_executor_s *executor, size_t count);

/// Adopts the mood; the caller holds the turn.
void uform_crew_adopt_(struct uform_executor_s *executor, uform_mood_t mood);

uform_mood_t uform_crew_mood_(struct uform_executor_s const *executor);

/// A new executor without threads and with the owner's reference; it takes the placement over, on failure too.
struct uform_executor_s *uform_executor_new_(
    uform_cpu_class_t cpu_class, size_t threads, size_t deferred_limit, uform_placement_t const *placement);

/// Ends the threads and gives scratch and the owner's reference back; the caller holds the last turn.
void uform_executor_release_(struct uform_executor_s *executor, unsigned ticket);

/// Keeps the block of memory, and no more than that, from going.
void uform_executor_retain_(struct uform_executor_s *executor);
void uform_executor_drop_(struct uform_executor_s *executor);

#endif
