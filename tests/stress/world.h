/**
 *  What the actors of the stress test share: models, texts with the rows a quiet run gave them, executors that come and
 *  go, and the first thing that went wrong.
 */
#ifndef UFORM_TESTS_STRESS_WORLD_H
#define UFORM_TESTS_STRESS_WORLD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "uform/uform.h"

enum {
    model_count_k = 2,
    slot_count_k = 3,
    text_count_k = 24,
    words_k = 12,
    dimensions_most_k = 64,
};

/// Numbers from a seed.
typedef struct random_t {
    uint64_t state;
} random_t;

/// A number below `limit`, which is at least one.
size_t random_below(random_t *numbers, size_t limit);

typedef struct subject_t {
    uform_model_t model;
    size_t dimensions;
    float expected[text_count_k][dimensions_most_k]; ///< [text_count_k, dimensions] a row each
} subject_t;

/// Where an executor is. Users hold the lock to read while they submit; whoever replaces it holds it to write.
typedef struct slot_t {
    pthread_rwlock_t lock;
    uform_executor_t executor;
} slot_t;

typedef struct world_t {
    subject_t subjects[model_count_k];
    uform_text_t texts[text_count_k];
    slot_t slots[slot_count_k];
    void *pool;
    atomic_bool ended;
    atomic_size_t calls, deferred, refused, timeouts, replaced, forks; ///< what actors did
    pthread_mutex_t failure_lock;
    char failure[512]; ///< the first; empty without one
} world_t;

extern world_t world;

/// Makes everything, `numbers` deciding what executors are like; false and a failure if something can't be had.
bool world_make(random_t *numbers);
void world_free(void);

/// A new executor of some kind; NULL and a failure.
uform_executor_t world_executor(random_t *numbers);

/// Keeps the first failure, and ends the test.
void world_fail(char const *format, ...) __attribute__((format(printf, 1, 2)));

/// Whether rows of consecutive texts have the bits of the quiet run.
bool world_compare(subject_t const *subject, size_t first, size_t count, float const *rows);

#endif
