/**
 *  Borrowed ForkUnion pools: who drives which, one at a time.
 */
#ifndef UFORM_EXECUTOR_POOL_H
#define UFORM_EXECUTOR_POOL_H

#include <stddef.h>

#include "executor/executor.h"

struct uform_pool_s;

/// Finds ForkUnion's functions and asks the pool how many threads it has. `unsupported` also for a pool that an executor
/// was using when this process was forked from its parent.
/// @param joined   What every executor on this pool shares. Leave it once for every time it was joined.
uform_status_t uform_pool_join_(void *pool, struct uform_pool_s **joined, size_t *threads);
void uform_pool_leave_(struct uform_pool_s *joined);

/// Runs the task once on each of the pool's threads; the caller holds the executor's turn. `mismatched` if the pool has
/// another number of threads than when the executor was made.
uform_status_t uform_pool_run_(struct uform_executor_s *executor, uform_task_t task, void *context);

#endif
