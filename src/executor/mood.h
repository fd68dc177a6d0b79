/**
 *  What a mood means for a thread that waits.
 */
#ifndef UFORM_EXECUTOR_MOOD_H
#define UFORM_EXECUTOR_MOOD_H

#include <stdint.h>

#include "uform/executor.h"

/// How long an idle thread busy-waits before it parks; `UFORM_SPIN_ENDLESS` if it never does. The mood must be valid.
uint64_t uform_mood_spin_ns_(uform_mood_t mood);

/// `invalid_argument` for a value that is no mood.
uform_status_t uform_mood_check_(uform_mood_t mood);

#endif
