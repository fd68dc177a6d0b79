/**
 *  ForkUnion's C interface, found at run time: nothing of it is linked, and none of its headers is needed.
 */
#ifndef UFORM_EXECUTOR_FORKUNION_H
#define UFORM_EXECUTOR_FORKUNION_H

#include <stddef.h>

#include "uform/status.h"

/// What every thread of a pool is given: the caller's context, its number below the pool's count, and where it is.
typedef void (*uform_forkunion_share_t)(void *context, size_t thread, size_t colocation);

/// Either the functions of version 2, which can't fail, or those of later ones, which answer a status.
typedef struct uform_forkunion_t {
    size_t (*count)(void *pool);
    void (*run)(void *pool, uform_forkunion_share_t share, void *context);
    int (*count_or_fail)(void *pool, size_t *threads);
    int (*run_or_fail)(void *pool, uform_forkunion_share_t share, void *context);
} uform_forkunion_t;

/// Looks in the library that $UFORM_FORKUNION_LIBRARY names, if it does, else in the program and what it has loaded, then
/// in the libraries that releases of ForkUnion install. `unsupported` names what was not found.
uform_status_t uform_forkunion_find_(uform_forkunion_t *functions);

/// How many threads the pool has; zero before it was spawned.
uform_status_t uform_forkunion_count_(uform_forkunion_t const *functions, void *pool, size_t *threads);

/// Has every thread of the pool run the share once, and returns when all have. One caller a pool at a time.
uform_status_t uform_forkunion_run_(
    uform_forkunion_t const *functions, void *pool, uform_forkunion_share_t share, void *context);

#endif
