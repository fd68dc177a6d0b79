/**
 *  Reading the machine's topology and copying it. The copy is made of flat arrays and sets, so that hwloc's tree can
 *  go at once: what is kept for the process is small, immutable, and needs no lock, also not in a forked child.
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
    reserve_bytes_k = 16 << 20,  ///< more than hwloc takes for a machine of 4,096 processors
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

static int compare_nodes(void const *first, void const *second) {
    int32_t const a = ((uform_node_t const *)first)->number, b = ((uform_node_t const *)second)->number;
    return (a > b) - (a < b);
}

/// Whether every processor of the set is in the other one.
static bool is_within(uform_cpu_set_t const *set, uform_cpu_set_t const *other) {
    for (size_t i = 0; i < set->word_count; i++)
        if (set->words[i] & ~(i < other->word_count ? other->words[i] : 0)) return false;
    return true;
}

/// hwloc gives a node without processors those of whatever it is attached to: the very ones of a node with processors,
/// which the kernel numbers before it, or those of several such nodes.
static bool has_memory_only(uform_topology_t const *copy, size_t i) {
    uform_node_t const *const node = &copy->nodes[i];
    for (size_t j = 0; j < copy->node_count; j++) {
        uform_node_t const *const other = &copy->nodes[j];
        if (j == i || !uform_cpu_set_count_(&other->processors) || !is_within(&other->processors, &node->processors))
            continue;
        if (j < i || !uform_cpu_set_equal_(&other->processors, &node->processors)) return true;
    }
    return !uform_cpu_set_count_(&node->processors);
}

/// How far memory is from the processors of a node as the firmware tells it; the same for all without distances.
static uint64_t distance(struct hwloc_distances_s const *distances, int32_t node, int32_t memory) {
    unsigned const count = distances ? distances->nbobjs : 0;
    unsigned row = 0, column = 0;
    while (row < count && distances->objs[row]->os_index != (unsigned)node) row++;
    while (column < count && distances->objs[column]->os_index != (unsigned)memory) column++;
    return row < count && column < count ? distances->values[(size_t)row * count + column] : UINT64_MAX;
}

/// Narrows what a node without processors is local to down to the closest nodes with processors.
static uform_status_t find_closest(
    struct hwloc_distances_s const *distances, uform_topology_t const *copy, uform_node_t *node) {
    uint64_t least = UINT64_MAX;
    uform_cpu_set_t closest = {0};
    uform_status_t status = uform_status_ok_k;
    for (size_t i = 0; i < copy->node_count && status == uform_status_ok_k; i++) {
        uform_node_t const *const other = &copy->nodes[i];
        bool const local = !uform_cpu_set_count_(&node->processors) || is_within(&other->processors, &node->processors);
        uint64_t const away = distance(distances, other->number, node->number);
        if (other->memory_only || !local || away > least) continue;
        if (away < least) uform_cpu_set_free_(&closest);
        least = away;
        status = uform_cpu_set_unite_(&closest, &other->processors);
    }
    if (status == uform_status_ok_k && uform_cpu_set_count_(&closest)) {
        uform_cpu_set_t const wide = node->processors;
        node->processors = closest;
        closest = wide;
    }
    uform_cpu_set_free_(&closest);
    return status;
}

/// Tells nodes without processors from the others, and finds the processors that are close to them.
static uform_status_t place_memory(hwloc_topology_t hwloc, uform_topology_t *copy) {
    struct hwloc_distances_s *found = NULL;
    unsigned count = 1;
    for (size_t i = 0; i < copy->node_count; i++) copy->nodes[i].memory_only = has_memory_only(copy, i);
    // Without distances all that the node is attached to is as close.
    if (hwloc_distances_get_by_type(hwloc, HWLOC_OBJ_NUMANODE, &count, &found, HWLOC_DISTANCES_KIND_MEANS_LATENCY, 0) ||
        !count)
        found = NULL;
    uform_status_t status = uform_status_ok_k;
    for (size_t i = 0; i < copy->node_count && status == uform_status_ok_k; i++)
        if (copy->nodes[i].memory_only) status = find_closest(found, copy, &copy->nodes[i]);
    if (found) hwloc_distances_release(hwloc, found);
    return status;
}

static uform_status_t copy_nodes(hwloc_topology_t hwloc, uform_topology_t *copy) {
    int const count = hwloc_get_nbobjs_by_type(hwloc, HWLOC_OBJ_NUMANODE);
    if (count <= 0 || count > uform_nodes_most_k)
        return uform_fail_(uform_status_malformed_k, "hwloc: expected NUMA nodes, found %d", count);
    copy->nodes = uform_allocate_((size_t)count, sizeof(*copy->nodes));
    if (!copy->nodes) return uform_status_out_of_memory_k;
    for (hwloc_obj_t object = NULL; (object = hwloc_get_next_obj_by_type(hwloc, HWLOC_OBJ_NUMANODE, object));) {
        uform_node_t *const node = &copy->nodes[copy->node_count++];
        node->number = (int32_t)object->os_index;
        node->memory_bytes = object->attr->numanode.local_memory;
        uform_status_t const status = copy_set(object->cpuset, &node->processors);
        if (status != uform_status_ok_k) return status;
    }
    qsort(copy->nodes, copy->node_count, sizeof(*copy->nodes), compare_nodes);
    return place_memory(hwloc, copy);
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
    if (last < 0 || last >= processors_most_k || last_node < 0 || last_node >= uform_nodes_most_k)
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
