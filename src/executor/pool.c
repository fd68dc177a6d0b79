/**
 *  Borrowed ForkUnion pools. Only one thread may drive a pool at a time, so every pool that executors run on is listed
 *  once in the process, by its address, with a queue of turns of its own. An executor's turn comes first, then the
 *  pool's: nobody waits for the former while holding the latter.
 *
 *  The list is short and changes only as executors are made and freed.
 */
#include "executor/pool.h"

#include <stdatomic.h>

#include "base/detail.h"
#include "base/memory.h"
#include "executor/forkunion.h"
#include "executor/lock.h"
#include "executor/mood.h"
#include "executor/ram.h"

struct uform_pool_s {
    uform_turns_t turns;
    struct uform_pool_s *next;
    void *pool;
    size_t users;             ///< executors, under the list's lock
    unsigned fork_generation; ///< of the process that listed it
    uform_forkunion_t functions;
};

static uform_lock_t pools_lock;
static struct uform_pool_s *pools; ///< under the lock

/// The pool's entry, a new one if there is none; NULL without memory. The caller holds the lock.
static struct uform_pool_s *find_entry(void *pool) {
    for (struct uform_pool_s *entry = pools; entry; entry = entry->next)
        if (entry->pool == pool) return entry;
    struct uform_pool_s *const entry = uform_allocate_aligned_(sizeof(*entry));
    if (!entry) return NULL;
    *entry = (struct uform_pool_s){.next = pools, .pool = pool, .fork_generation = uform_fork_generation_()};
    // A child forked now finds the list as it was or as it will be.
    atomic_signal_fence(memory_order_release);
    pools = entry;
    return entry;
}

uform_status_t uform_pool_join_(void *pool, struct uform_pool_s **joined, size_t *threads) {
    uform_forkunion_t functions;
    uform_status_t status = uform_forkunion_find_(&functions);
    if (status == uform_status_ok_k) status = uform_forkunion_count_(&functions, pool, threads);
    if (status != uform_status_ok_k) return status;
    if (!*threads)
        return uform_fail_(
            uform_status_invalid_argument_k, "pool: it has no threads; spawn them before it is borrowed");
    uform_lock_(&pools_lock);
    struct uform_pool_s *const entry = find_entry(pool);
    bool const forked = entry && entry->fork_generation != uform_fork_generation_();
    if (entry && !forked && !entry->users++) entry->functions = functions;
    uform_unlock_(&pools_lock);
    if (forked)
        return uform_fail_(uform_status_unsupported_k,
            "pool: its threads stayed in the process that forked; make a new one after fork");
    *joined = entry;
    return entry ? uform_status_ok_k : uform_status_out_of_memory_k;
}

void uform_pool_leave_(struct uform_pool_s *joined) {
    uform_lock_(&pools_lock);
    bool const last = !--joined->users;
    struct uform_pool_s **link = &pools;
    while (last && *link != joined) link = &(*link)->next;
    if (last) *link = joined->next;
    uform_unlock_(&pools_lock);
    if (last) uform_free_(joined);
}

/// One thread's share.
static void run_share(void *argument, size_t thread, size_t colocation) {
    struct uform_executor_s *const executor = argument;
    (void)colocation;
    // There are seats for the threads that the pool said it had.
    if (thread >= executor->threads) return;
    uform_frame_t const *const before = uform_frames_swap_(executor->frame);
    executor->task(executor->context, &executor->seats[thread].worker);
    uform_frames_swap_(before);
}

static uform_status_t drive(struct uform_executor_s *executor) {
    struct uform_pool_s const *const shared = executor->pool;
    size_t threads;
    uform_status_t const status = uform_forkunion_count_(&shared->functions, shared->pool, &threads);
    if (status != uform_status_ok_k) return status;
    if (threads != executor->threads)
        return uform_fail_(uform_status_mismatched_k,
            "pool: it had %zu threads when the executor was made, and has %zu now", executor->threads, threads);
    return uform_forkunion_run_(&shared->functions, shared->pool, run_share, executor);
}

uform_status_t uform_pool_run_(struct uform_executor_s *executor, uform_task_t task, void *context) {
    uform_turns_t *const turns = &executor->pool->turns;
    executor->task = task;
    executor->context = context;
    executor->frame = uform_frames_();
    unsigned const ticket = uform_turns_enter_(turns, 0);
    uform_status_t const status = drive(executor);
    uform_turns_leave_(turns, ticket);
    return status;
}
