/**
 *  Placement of threads. Thread i belongs to domain i modulo their number. Within its domain it starts on a processor
 *  of its own, one of each physical core first, and then may move within the domain: were it pinned to that processor,
 *  the threads of two executors or of two processes would share some cores while others idle. Memory follows by first
 *  touch, as every thread allocates and touches its own scratch.
 */
#include "executor/placement.h"

#include <stdlib.h>
#include <string.h>

#include "base/detail.h"
#include "base/memory.h"
#include "executor/executor.h"

void uform_placement_free_(uform_placement_t *placement) {
    uform_domains_close_(&placement->memory_domains);
    for (size_t i = 0; i < placement->domain_count; i++) uform_cpu_set_free_(&placement->domains[i]);
    uform_free_(placement->domains);
    uform_free_(placement->starts);
    uform_free_(placement->start_begins);
    *placement = (uform_placement_t){0};
}

uform_status_t uform_memory_domains_check_(int32_t const *memory_domains, size_t memory_domain_count) {
    uform_domains_t domains;
    uform_status_t const status = uform_domains_open_(memory_domains, memory_domain_count, &domains);
    uform_domains_close_(&domains);
    return status;
}

/// Adds a node's processors as a domain, unless another node brought the same ones.
static uform_status_t add_domain(uform_node_t const *node, uform_cpu_set_t const *allowed, uform_cpu_set_t *everywhere,
    uform_placement_t *placement) {
    uform_cpu_set_t *const domain = &placement->domains[placement->domain_count];
    uform_status_t status = uform_cpu_set_unite_(everywhere, &node->processors);
    if (status == uform_status_ok_k) status = uform_cpu_set_copy_(&node->processors, domain);
    if (status != uform_status_ok_k) return status;
    uform_cpu_set_intersect_(domain, allowed);
    size_t same = 0;
    while (same < placement->domain_count && !uform_cpu_set_equal_(&placement->domains[same], domain)) same++;
    if (same == placement->domain_count && uform_cpu_set_count_(domain)) placement->domain_count++;
    else uform_cpu_set_free_(domain);
    return status;
}

/// Whether the node has processors that the process may use.
static bool serves(uform_node_t const *node, uform_cpu_set_t const *allowed) {
    for (size_t i = 0; i < node->processors.word_count && i < allowed->word_count; i++)
        if (node->processors.words[i] & allowed->words[i]) return true;
    return false;
}

static uform_status_t add_listed(uform_topology_t const *topology, uform_cpu_set_t const *allowed,
    int32_t const *memory_domains, size_t count, uform_cpu_set_t *everywhere, uform_placement_t *placement) {
    uform_status_t status = uform_status_ok_k;
    for (size_t i = 0; i < count && status == uform_status_ok_k; i++) {
        uform_node_t const *const node = uform_topology_node_(topology, memory_domains[i]);
        if (serves(node, allowed)) status = add_domain(node, allowed, everywhere, placement);
        else
            status = uform_fail_(uform_status_not_found_k,
                "memory_domains[%zu]: NUMA node %d has no processor this process may use", i, (int)memory_domains[i]);
    }
    return status;
}

/// Every node that brings processors of its own and that the process may use.
static uform_status_t add_every(uform_topology_t const *topology, uform_permissions_t const *permissions,
    uform_cpu_set_t *everywhere, uform_placement_t *placement) {
    uform_status_t status = uform_status_ok_k;
    for (size_t i = 0; i < topology->node_count && status == uform_status_ok_k; i++) {
        uform_node_t const *const node = &topology->nodes[i];
        bool const permitted = uform_cpu_set_has_(&permissions->nodes, (size_t)node->number);
        if (permitted && !node->memory_only) status = add_domain(node, &permissions->processors, everywhere, placement);
    }
    return status;
}

/// A processor, and how it ranks in its domain.
typedef struct candidate_t {
    uint32_t round; ///< how many processors of its core come before it
    uint32_t core, processor;
} candidate_t;

static int compare_by_core(void const *first, void const *second) {
    candidate_t const *const a = first, *const b = second;
    if (a->core != b->core) return a->core < b->core ? -1 : 1;
    return a->processor < b->processor ? -1 : a->processor > b->processor;
}

static int compare_by_round(void const *first, void const *second) {
    candidate_t const *const a = first, *const b = second;
    if (a->round != b->round) return a->round < b->round ? -1 : 1;
    return compare_by_core(first, second);
}

/// Writes the processors of a domain in the order in which threads start on them.
static uform_status_t order_domain(uform_topology_t const *topology, uform_cpu_set_t const *domain, uint32_t *starts) {
    size_t const count = uform_cpu_set_count_(domain);
    candidate_t *const candidates = uform_allocate_(count, sizeof(*candidates));
    if (!candidates) return uform_status_out_of_memory_k;
    size_t found = 0;
    for (size_t i = 0; found < count; i++)
        if (uform_cpu_set_has_(domain, i))
            candidates[found++] = (candidate_t){0, topology->cores ? topology->cores[i] : (uint32_t)i, (uint32_t)i};
    qsort(candidates, count, sizeof(*candidates), compare_by_core);
    for (size_t i = 1; i < count; i++)
        if (candidates[i].core == candidates[i - 1].core) candidates[i].round = candidates[i - 1].round + 1;
    qsort(candidates, count, sizeof(*candidates), compare_by_round);
    for (size_t i = 0; i < count; i++) starts[i] = candidates[i].processor;
    uform_free_(candidates);
    return uform_status_ok_k;
}

static uform_status_t order_all(uform_topology_t const *topology, uform_placement_t *placement) {
    placement->start_begins = uform_allocate_(placement->domain_count + 1, sizeof(*placement->start_begins));
    if (!placement->start_begins) return uform_status_out_of_memory_k;
    for (size_t i = 0; i < placement->domain_count; i++)
        placement->start_begins[i + 1] = placement->start_begins[i] + uform_cpu_set_count_(&placement->domains[i]);
    placement->starts = uform_allocate_(placement->start_begins[placement->domain_count], sizeof(*placement->starts));
    if (!placement->starts) return uform_status_out_of_memory_k;
    uform_status_t status = uform_status_ok_k;
    for (size_t i = 0; i < placement->domain_count && status == uform_status_ok_k; i++)
        status = order_domain(topology, &placement->domains[i], placement->starts + placement->start_begins[i]);
    return status;
}

/// Domains may overlap, as that of a node without processors with those it is close to, so they are counted as one set.
static uform_status_t plan_domains(uform_topology_t const *topology, uform_permissions_t const *permissions,
    int32_t const *memory_domains, size_t count, uform_cpu_set_t *everywhere, uform_placement_t *placement) {
    uform_status_t status =
        uform_domains_check_(topology, permissions, memory_domains, count, &placement->memory_domains);
    if (status != uform_status_ok_k) return status;
    placement->domains = uform_allocate_(count ? count : topology->node_count, sizeof(*placement->domains));
    if (!placement->domains) return uform_status_out_of_memory_k;
    status = count ? add_listed(topology, &permissions->processors, memory_domains, count, everywhere, placement)
                   : add_every(topology, permissions, everywhere, placement);
    return status == uform_status_ok_k ? order_all(topology, placement) : status;
}

uform_status_t uform_placement_plan_(uform_topology_t const *topology, uform_permissions_t const *permissions,
    int32_t const *memory_domains, size_t count, uform_placement_t *placement, uform_capacity_t *capacity) {
    *placement = (uform_placement_t){0};
    uform_cpu_set_t everywhere = {0};
    uform_status_t const status = plan_domains(topology, permissions, memory_domains, count, &everywhere, placement);
    capacity->online = uform_cpu_set_count_(&everywhere);
    uform_cpu_set_intersect_(&everywhere, &permissions->processors);
    capacity->allowed = uform_cpu_set_count_(&everywhere);
    uform_cpu_set_free_(&everywhere);
    if (status != uform_status_ok_k) uform_placement_free_(placement);
    return status;
}

/// Without a list, the system moves threads as it likes, and neither nodes nor cores need be known.
static uform_status_t count_anywhere(char const *root, uform_capacity_t *capacity) {
    uform_cpu_set_t set;
    uform_status_t status = uform_cpu_online_(root, &set);
    if (status != uform_status_ok_k) return status;
    capacity->online = uform_cpu_set_count_(&set);
    uform_cpu_set_free_(&set);
    status = uform_cpu_allowed_(&set);
    capacity->allowed = uform_cpu_set_count_(&set);
    uform_cpu_set_free_(&set);
    return status;
}

static uform_status_t plan_this(char const *root, int32_t const *memory_domains, size_t count,
    uform_placement_t *placement, uform_capacity_t *capacity) {
    uform_topology_t const *topology;
    uform_permissions_t permissions;
    uform_status_t status = uform_topology_(&topology);
    if (status == uform_status_ok_k) status = uform_permissions_(root, topology, &permissions);
    if (status != uform_status_ok_k) return status;
    status = uform_placement_plan_(topology, &permissions, memory_domains, count, placement, capacity);
    uform_permissions_free_(&permissions);
    return status;
}

uform_status_t uform_placement_find_(char const *root, int32_t const *memory_domains, size_t memory_domain_count,
    uform_placement_t *placement, uform_capacity_t *capacity) {
    *placement = (uform_placement_t){0};
    *capacity = (uform_capacity_t){0};
    return memory_domain_count || uform_topology_is_replayed_()
               ? plan_this(root, memory_domains, memory_domain_count, placement, capacity)
               : count_anywhere(root, capacity);
}

uform_status_t uform_placement_make_(char const *root, int32_t const *memory_domains, size_t memory_domain_count,
    uform_placement_t *placement, size_t *default_threads, size_t *processors) {
    *default_threads = *processors = 1;
    uform_capacity_t capacity;
    double quota = 0;
    uform_status_t status = uform_placement_find_(root, memory_domains, memory_domain_count, placement, &capacity);
    if (status == uform_status_ok_k) status = uform_cpu_quota_(root, &quota);
    *processors = capacity.allowed;
    *default_threads = uform_cpu_default_threads_(capacity.online, capacity.allowed, quota);
    if (status != uform_status_ok_k) uform_placement_free_(placement);
    return status;
}

size_t uform_placement_domain_(uform_placement_t const *placement, size_t thread) {
    return thread % placement->domain_count;
}

size_t uform_placement_start_(uform_placement_t const *placement, size_t thread) {
    size_t const domain = uform_placement_domain_(placement, thread), begin = placement->start_begins[domain];
    return placement->starts[begin + thread / placement->domain_count % (placement->start_begins[domain + 1] - begin)];
}

void uform_placement_enter_(uform_placement_t const *placement, size_t thread) {
    if (!placement->memory_domains.bound) return;
    uform_cpu_set_t start = {0};
    if (uform_cpu_set_add_(&start, uform_placement_start_(placement, thread)) == uform_status_ok_k)
        (void)uform_cpu_confine_(&start);
    uform_cpu_set_free_(&start);
    (void)uform_cpu_confine_(&placement->domains[uform_placement_domain_(placement, thread)]);
}
