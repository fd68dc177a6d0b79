/**
 *  Lists of memory domains: NUMA nodes that memory is spread over and whose processors compute.
 */
#ifndef UFORM_CPU_DOMAINS_H
#define UFORM_CPU_DOMAINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cpu/topology.h"
#include "uform/status.h"

/// A list that was checked. Zeroed is a valid empty one, which leaves everything to the system.
typedef struct uform_domains_t {
    int32_t *nodes; ///< [count], ascending
    size_t count;
    bool bound;  ///< memory must lie on them; false for an empty list and on a machine that is only replayed
    bool single; ///< the machine has one node alone, so memory lies there whether or not the system can bind it
} uform_domains_t;

/// `invalid_argument` for NULL with a count, negative or repeated nodes, `not_found` for those this machine doesn't
/// have, that are offline or that the process must not use.
uform_status_t uform_domains_open_(int32_t const *memory_domains, size_t memory_domain_count, uform_domains_t *domains);

/// The same for a given machine and what the process may use of it.
uform_status_t uform_domains_check_(uform_topology_t const *topology, uform_permissions_t const *permissions,
    int32_t const *memory_domains, size_t count, uform_domains_t *domains);
void uform_domains_close_(uform_domains_t *domains);

/// Whether objects of these two lists go together: the same nodes in any order, or one list is empty. If not, they are
/// `mismatched`; `what` and `other` say in the detail whose they are.
uform_status_t uform_domains_match_(
    uform_domains_t const *domains, char const *what, uform_domains_t const *others, char const *other);

/// Fresh zeroed pages spread page by page over the domains, aligned to 64 bytes (2 MiB from 4 MiB on). For an empty list they
/// are placed by first touch. NULL and a detail: `out_of_memory`, or `unsupported` if the system doesn't let the process
/// place memory.
uform_status_t uform_domains_map_(uform_domains_t const *domains, size_t bytes, void **memory);

/// Gives back what was mapped with the same number of bytes; NULL is legal.
void uform_domains_unmap_(void *memory, size_t bytes);

#endif
