/**
 *  Waiting for a 32-bit word to change: first busily and bounded, then in the kernel.
 *
 *  All ordering comes from the atomic accesses to the word itself; parking only saves the processor's time. Wakes can
 *  be spurious, so every caller loops around its own condition.
 */
#ifndef UFORM_EXECUTOR_PARK_H
#define UFORM_EXECUTOR_PARK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/// Busy-waits without end.
#define UFORM_SPIN_ENDLESS UINT64_MAX

/// Busy-waits up to `nanoseconds` until the word equals `value`, or with `until_equal` false, until it differs. Whether
/// it came so. Every few microseconds it offers the processor to others, so that more threads than cores make progress.
bool uform_spin_(atomic_uint const *word, unsigned value, bool until_equal, uint64_t nanoseconds);

/// Names every bit there is.
#define UFORM_EVERYBODY UINT32_MAX

/// A deadline that never comes.
#define UFORM_NO_DEADLINE UINT64_MAX

/// The clock deadlines are on, in nanoseconds; it never goes back.
uint64_t uform_now_ns_(void);

/// Sleeps in the kernel while the word equals `value`, until `uform_unpark_` names one of the bits of `mask`.
void uform_park_(atomic_uint *word, unsigned value, uint32_t mask);

/// The same, but not beyond the deadline.
void uform_park_until_(atomic_uint *word, unsigned value, uint32_t mask, uint64_t deadline_ns);

/// Wakes every thread parked on the word with one of the bits of `mask`.
void uform_unpark_(atomic_uint *word, uint32_t mask);

#endif
