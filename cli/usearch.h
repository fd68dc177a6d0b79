/**
 *  USearch, the library of approximate search, where it is installed: opened at run time, never linked. It keeps a
 *  graph of an index's vectors in a file beside the index.
 */
#ifndef UFORM_CLI_USEARCH_H
#define UFORM_CLI_USEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "index_file.h"
#include "matches.h"

typedef struct usearch_s *usearch_t;

/// What came of asking for USearch.
typedef enum usearch_outcome_t {
    usearch_ready_k,
    usearch_absent_k, ///< no library is installed, or the index has no graph; `reason` tells
    usearch_failed_k, ///< there is one that can't be used; `reason` tells
} usearch_outcome_t;

enum { usearch_reason_bytes_k = 512 };

/// The path of an index's graph, in memory of its own: the index's with ".usearch" behind it. NULL without memory.
char *usearch_path_(char const *index_path);

/// Builds the graph of vectors, [count, dimensions], and writes it to a file beside the index, replacing one that was
/// there. `shown` is called with the vectors added so far.
usearch_outcome_t usearch_build_(char const *index_path, float const *vectors, size_t count, size_t dimensions,
    void (*shown)(void *context, size_t added), void *context, index_graph_t *graph, char *reason);

/// Opens the graph of an index, if it is the one that was made with it. Close it with `usearch_close_`.
usearch_outcome_t usearch_open_(index_t const *index, usearch_t *usearch, char *reason);

/// The version the library tells, e.g. "2.26.0".
char const *usearch_version_words_(usearch_t usearch);

/// The best rows for one query, scored and sorted as `matches_find_` does it; `matches` is [top]. False, with a
/// reason, if USearch can't say.
bool usearch_find_(usearch_t usearch, index_t const *index, float const *query, size_t top, match_t *matches,
    size_t *found, char *reason);

void usearch_close_(usearch_t usearch);

#endif
