/**
 *  How many processors the process may use: online, allowed by affinity, paid for by cgroup quotas.
 *
 *  A core here is a logical processor, the unit in which the kernel counts masks and quotas. Whatever is read from a
 *  file is read under `root`, a directory that stands for "/": "" is the machine itself, tests give a tree of
 *  recorded files.
 */
#ifndef UFORM_CPU_LIMITS_H
#define UFORM_CPU_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "uform/status.h"

/// A set of processors, or of NUMA nodes, by number, as large as it needs to be. Zeroed is a valid empty one.
typedef struct uform_cpu_set_t {
    unsigned long *words; ///< [word_count], processor n is bit n % word bits of word n / word bits
    size_t word_count;
} uform_cpu_set_t;

void uform_cpu_set_free_(uform_cpu_set_t *set);
bool uform_cpu_set_has_(uform_cpu_set_t const *set, size_t processor);
size_t uform_cpu_set_count_(uform_cpu_set_t const *set);

/// One more than the largest number in it; zero for an empty set.
size_t uform_cpu_set_limit_(uform_cpu_set_t const *set);
bool uform_cpu_set_equal_(uform_cpu_set_t const *set, uform_cpu_set_t const *other);

/// Adds one, or another set's; `out_of_memory` leaves the set as it was.
uform_status_t uform_cpu_set_add_(uform_cpu_set_t *set, size_t processor);
uform_status_t uform_cpu_set_unite_(uform_cpu_set_t *set, uform_cpu_set_t const *other);
uform_status_t uform_cpu_set_copy_(uform_cpu_set_t const *set, uform_cpu_set_t *copy);

/// Removes from the set whatever isn't in the other.
void uform_cpu_set_intersect_(uform_cpu_set_t *set, uform_cpu_set_t const *other);

/// Reads a list as the kernel writes it, e.g. "0-31,64-95"; `malformed` if it isn't one. `what` names it in details.
uform_status_t uform_cpu_set_parse_(char const *list, char const *what, uform_cpu_set_t *set);

/// Reads such a list from a file of the kernel's.
uform_status_t uform_cpu_set_read_(char const *root, char const *path, uform_cpu_set_t *set);

/// The calling thread's affinity mask.
uform_status_t uform_cpu_allowed_(uform_cpu_set_t *set);

/// Confines the calling thread to the set. Whether the system did so.
bool uform_cpu_confine_(uform_cpu_set_t const *set);

/// The processors online.
uform_status_t uform_cpu_online_(char const *root, uform_cpu_set_t *set);

/// The tightest CPU quota of the process's cgroups, all ancestors included, in cores; zero without one.
uform_status_t uform_cpu_quota_(char const *root, double *cores);

/// What zero threads means: 7/8 of the cores online, rounded down, within the allowed ones and the quota (zero for
/// none, rounded down), at least one.
size_t uform_cpu_default_threads_(size_t online, size_t allowed, double quota);

/// Reads a file of the kernel's, whose length isn't known before; a NUL follows. The caller frees the text with
/// `uform_free_`. `not_found` without the file, `io_failed`, `malformed` beyond 16 MiB, `out_of_memory`.
uform_status_t uform_kernel_file_read_(char const *root, char const *path, char **text);

#endif
