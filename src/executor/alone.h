/**
 *  Calls without an executor.
 */
#ifndef UFORM_EXECUTOR_ALONE_H
#define UFORM_EXECUTOR_ALONE_H

#include "executor/executor.h"

/// Runs the task once on the calling thread, with the machine's own class.
uform_status_t uform_alone_run_(uform_task_t task, void *context);

#endif
