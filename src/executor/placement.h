/**
 *  Where an executor's threads run, and how many there are.
 */
#ifndef UFORM_EXECUTOR_PLACEMENT_H
#define UFORM_EXECUTOR_PLACEMENT_H

#include <stddef.h>
#include <stdint.h>

#include "cpu/limits.h"

/// The processors of each memory domain that was asked for, which threads are interleaved over. Zeroed is a valid empty
/// one, and means that threads run wherever the thread that made the executor may.
typedef struct uform_placement_t {
    uform_cpu_set_t *domains; ///< [domain_count], within the affinity mask
    size_t domain_count;
} uform_placement_t;

/// Looks the domains up. `invalid_argument` for negative or repeated ones, `not_found` for those that don't exist, are
/// offline or have no processor the process may use.
/// @param root             Stands for "/", see cpu/limits.h.
/// @param default_threads  Receives what zero threads means over these domains.
/// @param processors       Receives how many of their processors the process may use.
uform_status_t uform_placement_make_(char const *root, int32_t const *memory_domains, size_t memory_domain_count,
    uform_placement_t *placement, size_t *default_threads, size_t *processors);

void uform_placement_free_(uform_placement_t *placement);

#endif
