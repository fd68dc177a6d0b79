/**
 *  Comparing embeddings with what sentence-transformers gives.
 */
#ifndef UFORM_TESTS_GOLDEN_GOLDEN_H
#define UFORM_TESTS_GOLDEN_GOLDEN_H

#include <stddef.h>

#include "uform/uform.h"

/// How far vectors may be from the expected ones.
typedef struct golden_tolerance_t {
    double cosine;     ///< at least
    double difference; ///< at most, of any two numbers, relative to the larger of one and the expected vector's largest
                       ///< number
} golden_tolerance_t;

/// Fails the running test and names `what` when [count] numbers are not close enough to the expected ones.
void golden_compare(
    char const *what, float const *found, float const *expected, size_t count, golden_tolerance_t tolerance);

/// Loads a model, failing the running test with the detail. `precision` zero derives it.
uform_model_t golden_load(char const *directory, uform_scalar_t precision);

#endif
