/**
 *  A lock that a forked child is never kept out of: what a thread of the parent held counts as free there.
 *
 *  What it guards must be sound after every single store, because a fork may come between any two.
 */
#ifndef UFORM_EXECUTOR_LOCK_H
#define UFORM_EXECUTOR_LOCK_H

#include <stdatomic.h>

#include "uform/status.h"

/// Zeroed is a free one, once forks are watched.
typedef struct uform_lock_t {
    atomic_uint word; ///< zero, or the holder's fork generation above two bits: held, waited for
} uform_lock_t;

/// Has forks watched from now on.
uform_status_t uform_lock_init_(uform_lock_t *lock);

void uform_lock_(uform_lock_t *lock);
void uform_unlock_(uform_lock_t *lock);

#endif
