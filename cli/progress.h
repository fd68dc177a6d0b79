/**
 *  What the user reads on standard error: messages, and one line of progress that redraws itself.
 */
#ifndef UFORM_CLI_PROGRESS_H
#define UFORM_CLI_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "uform/uform.h"

typedef struct progress_t {
    bool shown;
    uint64_t started_ns;
    uint64_t drawn_ns; ///< when the line was last drawn; zero before the first time
} progress_t;

/// "uform: " and the sentence, as one line of its own on standard error; a line of progress makes room for it.
void message_(char const *format, ...) __attribute__((format(printf, 1, 2)));

/// The same for a failed call of the library: what it was about, and the library's own words for the failure.
void message_status_(uform_status_t status);

/// The words for what became of an item that was encoded alone: the library's without the item's number in its call, or
/// the status's own if there are none.
char const *problem_of_one_(char const *problem, uform_status_t status);

/// What became of one item, in the order that every command has: where it stands, which picture it is, the status and
/// the words for it, "standard input: item 2: zero.jpg: malformed: ...". NULL for a place or a path that there isn't; the
/// problem may also be empty, which leaves the status's own sentence.
void message_item_(char const *place, char const *path, uform_status_t status, char const *problem);

/// The status for what the system says.
uform_status_t status_of_error_(int error);

/// A monotonic clock.
uint64_t clock_ns_(void);

/// With `when` left to us, progress is shown when standard error is a terminal.
void progress_begin_(progress_t *progress, uform_switch_t when);

/// What has been done.
typedef struct progress_counts_t {
    uint64_t texts, tokens, pictures;
} progress_counts_t;

/// Redraws the line, a few times a second at most. `done` of `total` is what the time left is told from; `total` is zero
/// where it isn't known.
void progress_update_(progress_t *progress, progress_counts_t counts, uint64_t done, uint64_t total);

/// Replaces the line by a summary.
void progress_end_(progress_t *progress, progress_counts_t counts);

#endif
