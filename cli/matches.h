/**
 *  The best rows of a matrix for a query, by their products.
 */
#ifndef UFORM_CLI_MATCHES_H
#define UFORM_CLI_MATCHES_H

#include <stdbool.h>
#include <stddef.h>

typedef struct match_t {
    float score;
    size_t position; ///< of the row
} match_t;

/// The product of two rows, [dimensions], summed up in the same order whoever asks.
float match_score_(float const *left, float const *right, size_t dimensions);

/// Sorts matches: the highest score first, and of equal ones the one that stands first in the matrix.
void matches_sort_(match_t *matches, size_t count);

/// Compares every row with every query. `matches` is [query_count, top], sorted; `found` is [query_count] and receives
/// how many there are: all of them unless there are fewer rows. Rows with a NaN match nothing. False, with a message,
/// without memory.
bool matches_find_(float const *rows, size_t row_count, size_t dimensions, float const *queries, size_t query_count,
    size_t threads, size_t top, match_t *matches, size_t *found);

#endif
