/**
 *  The inside of an executor in RAM: a crew of threads, a queue of turns, and one seat a thread.
 *
 *  Memory layout: the executor and its seats are one block. Each group of words that different threads write lives in
 *  its own cache line: turns (submitters), signal (submitter to workers), finish (workers to submitter), then the
 *  seats, one or more lines each.
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

struct uform_executor_s {
    size_t threads;
    uform_cpu_class_t cpu_class;
    size_t deferred_limit; ///< size of the table of deferred calls
    uform_placement_t placement;
    unsigned fork_generation; ///< of the process that started the threads: a forked child has none of them
    bool crowded;             ///< more threads than processors: busy-waiting would only keep the others from running
    atomic_bool orphaned;     ///< freed from inside a call: the last call to end releases it

    /// Turns: a submitter draws a ticket and waits until it is served.
    alignas(uform_cache_line_k) atomic_uint next_ticket;
    atomic_uint serving;
    atomic_size_t inside; ///< submitters between entering and their last access to the executor

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

/// Fork generation of this process, see queue.c.
unsigned uform_fork_generation_(void);

/// Has `uform_fork_generation_` count from now on.
uform_status_t uform_fork_watch_(void);

/// Whether the current thread takes part in a call on the executor.
bool uform_frames_hold_(struct uform_executor_s const *executor);

/// Makes `frame` the current thread's innermost call, and returns what was.
uform_frame_t const *uform_frames_swap_(uform_frame_t const *frame);
uform_frame_t const *uform_frames_(void);

/// Draws a ticket and waits for its turn: first come, first served. `leave` ends the turn; afterwards the executor may
/// be gone.
unsigned uform_turn_enter_(struct uform_executor_s *executor);
void uform_turn_leave_(struct uform_executor_s *executor, unsigned ticket);

/// Starts `threads - 1` workers; on failure none is left.
uform_status_t uform_crew_start_(struct uform_executor_s *executor);

/// Runs the task on every thread, the calling one first; the caller holds the turn.
void uform_crew_run_(struct uform_executor_s *executor, uform_task_t task, void *context);

/// Ends and joins the first `count` workers; the caller holds the turn or is the only one who knows the executor.
void uform_crew_stop_(struct uform_executor_s *executor, size_t count);

/// Adopts the mood; the caller holds the turn.
void uform_crew_adopt_(struct uform_executor_s *executor, uform_mood_t mood);

uform_mood_t uform_crew_mood_(struct uform_executor_s const *executor);

/// Joins the threads and releases the memory; the caller holds the last turn.
void uform_executor_release_(struct uform_executor_s *executor);

#endif
