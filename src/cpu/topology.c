/**
 *  Reading the machine's topology and copying it. The copy is made of flat arrays and sets, so that hwloc's tree can go
 *  at once: what is kept for the process is small, immutable, and needs no lock, also not in a forked child.
 */
#include "cpu/topology.h"

#include <errno.h>
#include <hwloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/detail.h"
#include "base/memory.h"

enum {
    processors_most_k = 1 << 20, ///< far beyond what kernels are built for; a larger number is a broken recording
    nodes_most_k = 1 << 16,
    reserve_bytes_k = 16 << 20, ///< more than hwloc takes for a machine of 4,096 processors
};

#define NODE_FOLDER "/sys/devices/system/node/"

void uform_topology_free_(uform_topology_t *topology) {
    if (!topology) return;
    for (size_t i = 0; i < topology->node_count; i++) uform_cpu_set_free_(&topology->nodes[i].processors);
    uform_free_(topology->nodes);
    uform_free_(topology->cores);
    uform_cpu_set_free_(&topology->allowed_processors);
    uform_cpu_set_free_(&topology->allowed_nodes);
    uform_cpu_set_free_(&topology->possible_nodes);
    uform_free_(topology);
}

uform_node_t const *uform_topology_node_(uform_topology_t const *topology, int32_t number) {
    for (size_t i = 0; i < topology->node_count; i++)
        if (topology->nodes[i].number == number) return &topology->nodes[i];
    return NULL;
}

/// Copies hwloc's set, which must be finite.
static uform_status_t copy_set(hwloc_const_bitmap_t bitmap, uform_cpu_set_t *set) {
    uform_status_t status = uform_status_ok_k;
    for (int i = -1; status == uform_status_ok_k && (i = hwloc_bitmap_next(bitmap, i)) >= 0;)
        status = uform_cpu_set_add_(set, (size_t)i);
    return status;
}

/// The node with processors that is the closest to one without, by the distances the firmware tells; NULL if it tells
/// none.
static hwloc_obj_t closest_node(hwloc_topology_t hwloc, hwloc_obj_t node) {
    struct hwloc_distances_s *distances = NULL;
    unsigned count = 1;
    hwloc_obj_t closest = NULL;
    hwloc_uint64_t least = UINT64_MAX;
    int const failed = hwloc_distances_get_by_type(
        hwloc, HWLOC_OBJ_NUMANODE, &count, &distances, HWLOC_DISTANCES_KIND_MEANS_LATENCY, 0);
    if (failed || !count) return NULL;
    int const row = hwloc_distances_obj_index(distances, node);
    for (unsigned i = 0; row >= 0 && i < distances->nbobjs; i++) {
        hwloc_uint64_t const distance = distances->values[(size_t)row * distances->nbobjs + i];
        if (distance >= least || !distances->objs[i] || hwloc_bitmap_iszero(distances->objs[i]->cpuset)) continue;
        least = distance;
        closest = distances->objs[i];
    }
    hwloc_distances_release(hwloc, distances);
    return closest;
}

static uform_status_t copy_node(hwloc_topology_t hwloc, hwloc_obj_t object, uform_node_t *node) {
    node->number = (int32_t)object->os_index;
    node->memory_bytes = object->attr->numanode.local_memory;
    node->memory_only = hwloc_bitmap_iszero(object->cpuset);
    hwloc_obj_t near = object;
    if (node->memory_only) near = closest_node(hwloc, object);
    // Without distances, whatever the node is attached to.
    if (!near) near = object->parent;
    while (near->parent && hwloc_bitmap_iszero(near->cpuset)) near = near->parent;
    return copy_set(near->cpuset, &node->processors);
}

static int compare_nodes(void const *first, void const *second) {
    int32_t const a = ((uform_node_t const *)first)->number, b = ((uform_node_t const *)second)->number;
    return (a > b) - (a < b);
}

static uform_status_t copy_nodes(hwloc_topology_t hwloc, uform_topology_t *copy) {
    int const count = hwloc_get_nbobjs_by_type(hwloc, HWLOC_OBJ_NUMANODE);
    if (count <= 0 || count > nodes_most_k)
        return uform_fail_(uform_status_malformed_k, "hwloc: expected NUMA nodes, found %d", count);
    copy->nodes = uform_allocate_((size_t)count, sizeof(*copy->nodes));
    if (!copy->nodes) return uform_status_out_of_memory_k;
    for (hwloc_obj_t node = NULL; (node = hwloc_get_next_obj_by_type(hwloc, HWLOC_OBJ_NUMANODE, node));) {
        if (node->os_index > INT32_MAX)
            return uform_fail_(uform_status_malformed_k, "hwloc: NUMA node %u is beyond any machine", node->os_index);
        uform_status_t const status = copy_node(hwloc, node, &copy->nodes[copy->node_count++]);
        if (status != uform_status_ok_k) return status;
    }
    qsort(copy->nodes, copy->node_count, sizeof(*copy->nodes), compare_nodes);
    return uform_status_ok_k;
}

/// Numbers the physical cores; a processor that hwloc knows no core of is one by itself.
static uform_status_t copy_cores(hwloc_topology_t hwloc, uform_topology_t *copy) {
    copy->cores = uform_allocate_(copy->processor_limit, sizeof(*copy->cores));
    if (!copy->cores) return uform_status_out_of_memory_k;
    for (size_t i = 0; i < copy->processor_limit; i++) copy->cores[i] = (uint32_t)(copy->processor_limit + i);
    uint32_t core = 0;
    for (hwloc_obj_t object = NULL; (object = hwloc_get_next_obj_by_type(hwloc, HWLOC_OBJ_CORE, object)); core++)
        for (int i = -1; (i = hwloc_bitmap_next(object->cpuset, i)) >= 0;) copy->cores[i] = core;
    return uform_status_ok_k;
}

static uform_status_t copy_all(hwloc_topology_t hwloc, uform_topology_t *copy) {
    hwloc_const_bitmap_t const complete = hwloc_topology_get_complete_cpuset(hwloc);
    int const last = hwloc_bitmap_last(complete),
              last_node = hwloc_bitmap_last(hwloc_topology_get_complete_nodeset(hwloc));
    if (last < 0 || last >= processors_most_k || last_node < 0)
        return uform_fail_(uform_status_malformed_k,
            "hwloc: expected processors and NUMA nodes below %d, found %d and %d", (int)processors_most_k, last,
            last_node);
    copy->processor_limit = (size_t)last + 1;
    copy->recorded = !hwloc_topology_is_thissystem(hwloc);
    uform_status_t status = copy_nodes(hwloc, copy);
    if (status == uform_status_ok_k) status = copy_cores(hwloc, copy);
    if (status == uform_status_ok_k)
        status = copy_set(hwloc_topology_get_allowed_cpuset(hwloc), &copy->allowed_processors);
    if (status == uform_status_ok_k) status = copy_set(hwloc_topology_get_allowed_nodeset(hwloc), &copy->allowed_nodes);
    return status;
}

uform_status_t uform_topology_copy_(void *hwloc, uform_topology_t **topology) {
    *topology = uform_allocate_(1, sizeof(**topology));
    if (!*topology) return uform_status_out_of_memory_k;
    uform_status_t const status = copy_all(hwloc, *topology);
    if (status == uform_status_ok_k) return status;
    uform_topology_free_(*topology);
    *topology = NULL;
    return status;
}

/// A machine of one node: all processors and all memory are there.
static uform_status_t make_flat(int32_t number, uform_topology_t **topology) {
    *topology = uform_allocate_(1, sizeof(**topology));
    if (!*topology) return uform_status_out_of_memory_k;
    uform_status_t status = uform_status_out_of_memory_k;
    uform_node_t *const node = (*topology)->nodes = uform_allocate_(1, sizeof(*node));
    if (node) {
        (*topology)->node_count = 1;
        node->number = number;
        node->memory_bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
        status = uform_cpu_online_("", &node->processors);
    }
    if (status == uform_status_ok_k) return status;
    uform_topology_free_(*topology);
    *topology = NULL;
    return status;
}

/// hwloc leaves a quarter of its allocations unchecked, so there must be plenty of memory before it is asked.
static uform_status_t reserve(void) {
    void *const memory = uform_allocate_aligned_(reserve_bytes_k);
    uform_free_(memory);
    return memory ? uform_status_ok_k : uform_status_out_of_memory_k;
}

static uform_status_t ask_hwloc(uform_topology_t **topology) {
    *topology = NULL;
    uform_status_t status = reserve();
    hwloc_topology_t hwloc;
    if (status != uform_status_ok_k) return status;
    if (hwloc_topology_init(&hwloc))
        return uform_fail_(uform_status_out_of_memory_k, "hwloc: no memory for a topology");
    // What the process may not use at the moment is part of the machine. The calling thread stays where it is.
    if (hwloc_topology_set_flags(
            hwloc, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED | HWLOC_TOPOLOGY_FLAG_DONT_CHANGE_BINDING) ||
        hwloc_topology_load(hwloc))
        status = uform_fail_(
            uform_status_malformed_k, "hwloc: the machine's topology could not be read: %s", strerror(errno));
    if (status == uform_status_ok_k) status = uform_topology_copy_(hwloc, topology);
    hwloc_topology_destroy(hwloc);
    return status;
}

/// Threads that are asking hwloc, which has a lock of its own: a child that is forked meanwhile must not wait for it.
static atomic_int askers;
static atomic_int asking_process;

static uform_status_t ask_hwloc_unless_forked(uform_topology_t **topology) {
    if (atomic_load(&askers) && atomic_load(&asking_process) != (int)getpid())
        return uform_fail_(uform_status_unsupported_k,
            "memory_domains: the process was forked while another thread read the machine's topology");
    atomic_store(&asking_process, (int)getpid());
    atomic_fetch_add(&askers, 1);
    uform_status_t const status = ask_hwloc(topology);
    atomic_fetch_sub(&askers, 1);
    return status;
}

bool uform_topology_is_replayed_(void) {
    return getenv("HWLOC_XMLFILE") || getenv("HWLOC_SYNTHETIC");
}

static uform_status_t discover(uform_topology_t **topology) {
    *topology = NULL;
    uform_cpu_set_t online;
    uform_status_t status = uform_cpu_set_read_("", NODE_FOLDER "online", &online);
    // A kernel without NUMA has no such list and calls its only node 0.
    if (status == uform_status_not_found_k || status == uform_status_io_failed_k)
        status = uform_cpu_set_add_(&online, 0);
    if (status != uform_status_ok_k) return status;
    bool const single = uform_cpu_set_count_(&online) == 1;
    int32_t const number = (int32_t)uform_cpu_set_limit_(&online) - 1;
    uform_cpu_set_free_(&online);
    status = single && !uform_topology_is_replayed_() ? make_flat(number, topology) : ask_hwloc_unless_forked(topology);
    if (status != uform_status_ok_k || (*topology)->recorded) return status;
    status = uform_cpu_set_read_("", NODE_FOLDER "possible", &(*topology)->possible_nodes);
    if (status != uform_status_out_of_memory_k) return uform_status_ok_k;
    uform_topology_free_(*topology);
    *topology = NULL;
    return status;
}

static _Atomic(uform_topology_t *) kept;

uform_status_t uform_topology_(uform_topology_t const **topology) {
    uform_topology_t *found = atomic_load(&kept);
    if (!found) {
        uform_topology_t *made;
        uform_status_t const status = discover(&made);
        if (status != uform_status_ok_k) return status;
        // Threads that came here at once have read the same; one copy is enough.
        if (atomic_compare_exchange_strong(&kept, &found, made)) found = made;
        else uform_topology_free_(made);
    }
    *topology = found;
    return uform_status_ok_k;
}

/// The nodes that /proc/self/status lists; empty where it lists none.
static uform_status_t read_allowed_nodes(char const *root, uform_cpu_set_t *nodes) {
    static char const path[] = "/proc/self/status", key[] = "\nMems_allowed_list:";
    char *text;
    uform_status_t status = uform_kernel_file_read_(root, path, &text);
    if (status != uform_status_ok_k) return status == uform_status_out_of_memory_k ? status : uform_status_ok_k;
    char const *list = strstr(text, key);
    if (list) {
        list += sizeof(key) - 1;
        status = uform_cpu_set_parse_(list + strspn(list, " \t"), path, nodes);
    }
    uform_free_(text);
    return status;
}

static uform_status_t allow_every_node(uform_topology_t const *topology, uform_cpu_set_t *nodes) {
    uform_status_t status = uform_status_ok_k;
    for (size_t i = 0; i < topology->node_count && status == uform_status_ok_k; i++)
        status = uform_cpu_set_add_(nodes, (size_t)topology->nodes[i].number);
    return status;
}

uform_status_t uform_permissions_(
    char const *root, uform_topology_t const *topology, uform_permissions_t *permissions) {
    *permissions = (uform_permissions_t){0};
    uform_status_t status = uform_status_ok_k;
    if (topology->recorded) {
        status = uform_cpu_set_copy_(&topology->allowed_processors, &permissions->processors);
        if (status == uform_status_ok_k) status = uform_cpu_set_copy_(&topology->allowed_nodes, &permissions->nodes);
    } else {
        status = uform_cpu_allowed_(&permissions->processors);
        if (status == uform_status_ok_k) status = read_allowed_nodes(root, &permissions->nodes);
        if (status == uform_status_ok_k && !uform_cpu_set_count_(&permissions->nodes))
            status = allow_every_node(topology, &permissions->nodes);
    }
    if (status != uform_status_ok_k) uform_permissions_free_(permissions);
    return status;
}

void uform_permissions_free_(uform_permissions_t *permissions) {
    uform_cpu_set_free_(&permissions->processors);
    uform_cpu_set_free_(&permissions->nodes);
}
