/**
 *  A stand-in for ForkUnion: what its C interface promises, on plain POSIX threads, and what tests want to know besides.
 *
 *  Compiled as it is, it counts threads and drives pools as version 2 does. With STANDIN_STATUS those two functions answer
 *  statuses under the names of later versions; making pools stays as it was. With STANDIN_CUT one function is missing.
 */
#ifndef UFORM_TESTS_FORKUNION_STANDIN_H
#define UFORM_TESTS_FORKUNION_STANDIN_H

#include <stddef.h>

#define STANDIN_EXPORT __attribute__((visibility("default")))

typedef void (*standin_share_t)(void *context, size_t thread, size_t colocation);

STANDIN_EXPORT void *fu_pool_new(char const *name);
STANDIN_EXPORT int fu_pool_spawn(void *pool, size_t threads, int exclusivity);
STANDIN_EXPORT void fu_pool_sleep(void *pool, size_t micros);
STANDIN_EXPORT void fu_pool_terminate(void *pool);
STANDIN_EXPORT void fu_pool_delete(void *pool);

/// How often two threads drove the pool at once, or it was put to sleep, ended or spawned: nothing a borrower may do.
STANDIN_EXPORT size_t standin_faults(void *pool);

#endif
