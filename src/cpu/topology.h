/**
 *  NUMA nodes and physical cores: which processors are where. hwloc reads them, from this machine or from a recorded
 *  one that HWLOC_XMLFILE or HWLOC_SYNTHETIC names, and what UForm needs of its answer is copied into flat arrays.
 */
#ifndef UFORM_CPU_TOPOLOGY_H
#define UFORM_CPU_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cpu/limits.h"

/// Node numbers are smaller, by far; a larger one is a broken recording.
enum { uform_nodes_most_k = 1 << 16 };

/// One NUMA node.
typedef struct uform_node_t {
    int32_t number;             ///< the operating system's, which lists of memory domains name
    uint64_t memory_bytes;      ///< zero if it has none, or if that isn't known of a recorded machine
    bool memory_only;           ///< it has no processors of its own; `processors` are the closest ones
    uform_cpu_set_t processors; ///< online
} uform_node_t;

/// A machine. Immutable once made.
typedef struct uform_topology_t {
    uform_node_t *nodes; ///< [node_count], ascending by number
    size_t node_count;
    uint32_t *cores; ///< [processor_limit], the physical core of each processor; NULL if each is one by itself
    size_t processor_limit;
    bool recorded;                      ///< another machine than this one: nothing can be bound to it
    uform_cpu_set_t allowed_processors; ///< recorded: what the process may use there
    uform_cpu_set_t allowed_nodes;
    uform_cpu_set_t possible_nodes; ///< numbers that nodes offline may have
} uform_topology_t;

/// This machine, or the one that is replayed instead. It is read once in a process, then kept; freeing isn't the
/// caller's business. A machine of a single node has nothing to find out, and hwloc isn't asked. Thread-safe. `unsupported`
/// in a child that was forked while another thread read it, `malformed` if hwloc can't make sense of it.
uform_status_t uform_topology_(uform_topology_t const **topology);

/// Whether HWLOC_XMLFILE or HWLOC_SYNTHETIC asks for another machine than this one.
bool uform_topology_is_replayed_(void);

/// Copies a topology that hwloc has loaded. `hwloc` is its `hwloc_topology_t`.
uform_status_t uform_topology_copy_(void *hwloc, uform_topology_t **topology);
void uform_topology_free_(uform_topology_t *topology);

/// The node of that number, or NULL.
uform_node_t const *uform_topology_node_(uform_topology_t const *topology, int32_t number);

/// What the process may use of a machine at the moment. Zeroed is a valid empty one.
typedef struct uform_permissions_t {
    uform_cpu_set_t processors; ///< the calling thread's affinity mask
    uform_cpu_set_t nodes;      ///< nodes it may allocate on
} uform_permissions_t;

/// @param root Stands for "/", see cpu/limits.h.
uform_status_t uform_permissions_(char const *root, uform_topology_t const *topology, uform_permissions_t *permissions);
void uform_permissions_free_(uform_permissions_t *permissions);

#endif
