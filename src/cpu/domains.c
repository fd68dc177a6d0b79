/**
 *  Checking lists of memory domains against the machine, and mapping memory that is spread over them.
 */
#include "cpu/domains.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__linux__)
#include <limits.h>
#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "base/detail.h"
#include "base/memory.h"
#include "cpu/topology.h"

static uform_status_t check_list(int32_t const *memory_domains, size_t count) {
    if (count && !memory_domains)
        return uform_fail_(
            uform_status_invalid_argument_k, "memory_domains: expected %zu NUMA nodes, found NULL", count);
    // Larger numbers than nodes have are found out later, and a list of any length takes one pass.
    uform_cpu_set_t seen = {0};
    uform_status_t status = uform_status_ok_k;
    for (size_t i = 0; i < count && status == uform_status_ok_k; i++) {
        int32_t const number = memory_domains[i];
        if (number < 0)
            status = uform_fail_(
                uform_status_invalid_argument_k, "memory_domains[%zu]: expected a NUMA node, found %d", i, (int)number);
        else if (uform_cpu_set_has_(&seen, (size_t)number))
            status = uform_fail_(uform_status_invalid_argument_k,
                "memory_domains[%zu]: expected each NUMA node once, found %d again", i, (int)number);
        else if (number < uform_nodes_most_k) status = uform_cpu_set_add_(&seen, (size_t)number);
    }
    uform_cpu_set_free_(&seen);
    return status;
}

static uform_status_t check_node(
    uform_topology_t const *topology, uform_permissions_t const *permissions, size_t i, int32_t number) {
    if (!uform_topology_node_(topology, number)) {
        if (uform_cpu_set_has_(&topology->possible_nodes, (size_t)number))
            return uform_fail_(
                uform_status_not_found_k, "memory_domains[%zu]: NUMA node %d is offline", i, (int)number);
        return uform_fail_(
            uform_status_not_found_k, "memory_domains[%zu]: no NUMA node %d on this machine", i, (int)number);
    }
    if (uform_cpu_set_has_(&permissions->nodes, (size_t)number)) return uform_status_ok_k;
    return uform_fail_(uform_status_not_found_k,
        "memory_domains[%zu]: NUMA node %d has no memory that this process may use", i, (int)number);
}

static int compare_numbers(void const *first, void const *second) {
    int32_t const a = *(int32_t const *)first, b = *(int32_t const *)second;
    return (a > b) - (a < b);
}

uform_status_t uform_domains_check_(uform_topology_t const *topology, uform_permissions_t const *permissions,
    int32_t const *memory_domains, size_t count, uform_domains_t *domains) {
    *domains = (uform_domains_t){0};
    uform_status_t status = check_list(memory_domains, count);
    for (size_t i = 0; i < count && status == uform_status_ok_k; i++)
        status = check_node(topology, permissions, i, memory_domains[i]);
    if (status != uform_status_ok_k || !count) return status;
    int32_t *const nodes = uform_allocate_(count, sizeof(*nodes));
    if (!nodes) return uform_status_out_of_memory_k;
    memcpy(nodes, memory_domains, count * sizeof(*nodes));
    qsort(nodes, count, sizeof(*nodes), compare_numbers);
    *domains = (uform_domains_t){nodes, count, !topology->recorded, topology->node_count == 1};
    return status;
}

uform_status_t uform_domains_open_(
    int32_t const *memory_domains, size_t memory_domain_count, uform_domains_t *domains) {
    *domains = (uform_domains_t){0};
    uform_status_t status = check_list(memory_domains, memory_domain_count);
    if (status != uform_status_ok_k || !memory_domain_count) return status;
    uform_topology_t const *topology;
    uform_permissions_t permissions;
    status = uform_topology_(&topology);
    if (status == uform_status_ok_k) status = uform_permissions_("", topology, &permissions);
    if (status != uform_status_ok_k) return status;
    status = uform_domains_check_(topology, &permissions, memory_domains, memory_domain_count, domains);
    uform_permissions_free_(&permissions);
    return status;
}

void uform_domains_close_(uform_domains_t *domains) {
    uform_free_(domains->nodes);
    *domains = (uform_domains_t){0};
}

/// The numbers as text, cut when there are many.
static char const *list_nodes(uform_domains_t const *domains, char text[64]) {
    size_t length = 0;
    for (size_t i = 0; i < domains->count && length < 48; i++)
        length += (size_t)snprintf(text + length, 64 - length, "%s%d", i ? ", " : "", (int)domains->nodes[i]);
    return text;
}

uform_status_t uform_domains_match_(
    uform_domains_t const *domains, char const *what, uform_domains_t const *others, char const *other) {
    if (!domains->count || !others->count) return uform_status_ok_k;
    bool const equal = domains->count == others->count &&
                       !memcmp(domains->nodes, others->nodes, domains->count * sizeof(*domains->nodes));
    if (equal) return uform_status_ok_k;
    char first[64], second[64];
    return uform_fail_(uform_status_mismatched_k,
        "memory_domains: expected the same NUMA nodes, found %s on %s, %s on %s", what, list_nodes(domains, first),
        other, list_nodes(others, second));
}

#if defined(__linux__)
/// Asks the kernel to spread pages that aren't touched yet; zero or an errno.
static int interleave(uform_cpu_set_t const *nodes, void *memory, size_t bytes) {
    size_t const page = (size_t)sysconf(_SC_PAGESIZE);
    // The kernel takes the number of bits to be one more than what it reads.
    unsigned long const bits = nodes->word_count * sizeof(*nodes->words) * CHAR_BIT + 1;
    long const failed =
        syscall(SYS_mbind, memory, (bytes + page - 1) / page * page, MPOL_INTERLEAVE, nodes->words, bits, 0);
    return failed ? errno : 0;
}
#else
static int interleave(uform_cpu_set_t const *nodes, void *memory, size_t bytes) {
    (void)nodes, (void)memory, (void)bytes;
    return ENOSYS;
}
#endif

static uform_status_t bind(uform_domains_t const *domains, void *memory, size_t bytes) {
    if (!domains->bound || !bytes) return uform_status_ok_k;
    uform_cpu_set_t nodes = {0};
    uform_status_t status = uform_status_ok_k;
    for (size_t i = 0; i < domains->count && status == uform_status_ok_k; i++)
        status = uform_cpu_set_add_(&nodes, (size_t)domains->nodes[i]);
    int const failure = status == uform_status_ok_k ? interleave(&nodes, memory, bytes) : 0;
    uform_cpu_set_free_(&nodes);
    if (!failure || (domains->single && failure != ENOMEM)) return status;
    char list[64];
    return uform_fail_(failure == ENOMEM ? uform_status_out_of_memory_k : uform_status_unsupported_k,
        "memory_domains: the system does not place memory on NUMA nodes %s: %s", list_nodes(domains, list),
        strerror(failure));
}

uform_status_t uform_domains_map_(uform_domains_t const *domains, size_t bytes, void **memory) {
    *memory = uform_map_(bytes);
    if (!*memory) return uform_status_out_of_memory_k;
    uform_status_t const status = bind(domains, *memory, bytes);
    if (status == uform_status_ok_k) return status;
    uform_unmap_(*memory, bytes);
    *memory = NULL;
    return status;
}

void uform_domains_unmap_(void *memory, size_t bytes) {
    uform_unmap_(memory, bytes);
}
