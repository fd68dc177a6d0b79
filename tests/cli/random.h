/**
 *  Numbers from a seed that is printed, and that UFORM_TEST_SEED sets.
 */
#ifndef UFORM_TESTS_CLI_RANDOM_H
#define UFORM_TESTS_CLI_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/// Draws the seed and prints it. Call it first, in a test.
void random_seed(void);

/// A number below a limit.
size_t random_below(size_t limit);

/// A number between -1 and 1.
float random_unit(void);

/// Rows of length one, [count, dimensions].
void random_rows(float *rows, size_t count, size_t dimensions);

#endif
