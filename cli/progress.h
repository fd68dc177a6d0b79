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

/// A monotonic clock.
uint64_t clock_ns_(void);

/// With `when` left to us, progress is shown when standard error is a terminal.
void progress_begin_(progress_t *progress, uform_switch_t when);

/// Redraws the line, a few times a second at most. `bytes_total` is zero where the input's size isn't known.
void progress_update_(progress_t *progress, uint64_t texts, uint64_t tokens, uint64_t bytes, uint64_t bytes_total);

/// Replaces the line by a summary.
void progress_end_(progress_t *progress, uint64_t texts, uint64_t tokens);

#endif
