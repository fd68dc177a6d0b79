/**
 *  What the programs that test borrowed pools share: the same cases over whichever ForkUnion the process finds.
 */
#ifndef UFORM_TESTS_FORKUNION_TEST_H
#define UFORM_TESTS_FORKUNION_TEST_H

#include "executor/executor_test.h"

/// Functions of the ForkUnion that pools are made with.
typedef struct maker_t {
    void *(*make)(char const *name);
    int (*spawn)(void *pool, size_t threads, int exclusivity);
    void (*terminate)(void *pool);
    void (*destroy)(void *pool);
    size_t (*faults)(void *pool);
} maker_t;

extern maker_t maker;

/// Runs all cases over `maker`; the number of those that failed.
int run_pool_tests(char const *group);

static inline uform_status_t borrow(void *pool, uform_executor_t *executor) {
    return uform_executor_on_pool(NULL, 0, uform_cpu_class_derived_k, pool, 0, executor);
}

#endif
