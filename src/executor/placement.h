/**
 *  Where an executor's threads run, and how many there are.
 */
#ifndef UFORM_EXECUTOR_PLACEMENT_H
#define UFORM_EXECUTOR_PLACEMENT_H

#include <stddef.h>
#include <stdint.h>

#include "cpu/domains.h"
#include "cpu/limits.h"
#include "cpu/topology.h"

/// The processors that threads are interleaved over, by compute domain: those local to one memory domain, or to several
/// that share them. Zeroed is a valid empty one, and means that threads run wherever the thread that made the executor
/// may.
typedef struct uform_placement_t {
    uform_domains_t memory_domains; ///< the list that was asked for
    uform_cpu_set_t *domains;       ///< [domain_count], within the affinity mask
    size_t domain_count;
    uint32_t *starts; ///< [start_begins[domain_count]], every domain's processors: one of each physical core, then the
                      ///< second ones of the cores that have them, and so on
    size_t *start_begins; ///< [domain_count + 1]
} uform_placement_t;

/// How many processors a plan has.
typedef struct uform_capacity_t {
    size_t online;  ///< of the domains
    size_t allowed; ///< of these, within the affinity mask
} uform_capacity_t;

/// Looks the domains up. `invalid_argument` for negative or repeated ones, `not_found` for those that don't exist, are
/// offline or have no processor the process may use.
/// @param root             Stands for "/", see cpu/limits.h.
/// @param default_threads  Receives what zero threads means over these domains.
/// @param processors       Receives how many of their processors the process may use.
uform_status_t uform_placement_make_(char const *root, int32_t const *memory_domains, size_t memory_domain_count,
    uform_placement_t *placement, size_t *default_threads, size_t *processors);

/// The same without quotas.
uform_status_t uform_placement_find_(char const *root, int32_t const *memory_domains, size_t memory_domain_count,
    uform_placement_t *placement, uform_capacity_t *capacity);

/// The plan for a given machine and what the process may use of it: every node with processors for an empty list.
uform_status_t uform_placement_plan_(uform_topology_t const *topology, uform_permissions_t const *permissions,
    int32_t const *memory_domains, size_t count, uform_placement_t *placement, uform_capacity_t *capacity);

/// The domain of a thread, and the processor it starts on.
size_t uform_placement_domain_(uform_placement_t const *placement, size_t thread);
size_t uform_placement_start_(uform_placement_t const *placement, size_t thread);

/// Moves the calling thread to where it starts, and confines it to its domain. Placement is for speed alone: where the
/// system refuses, the thread serves from wherever it is.
void uform_placement_enter_(uform_placement_t const *placement, size_t thread);

void uform_placement_free_(uform_placement_t *placement);

#endif
