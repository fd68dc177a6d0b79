/**
 *  Memory domains as the public headers describe them, and whether an executor's are those of a model. No state.
 */
#include <string.h>

#include "base/detail.h"
#include "cpu/domains.h"
#include "executor/ram.h"
#include "uform/capabilities.h"

uform_status_t uform_executor_domains_match_(uform_executor_t executor, uform_domains_t const *domains) {
    if (!executor) return uform_status_ok_k;
    return uform_domains_match_(
        domains, "the model's weights", &executor->placement.memory_domains, "the executor's threads");
}

static uform_status_t describe_node(
    uform_node_t const *node, uform_permissions_t const *permissions, uform_memory_domain_t *domain) {
    uform_cpu_set_t usable;
    uform_status_t const status = uform_cpu_set_copy_(&node->processors, &usable);
    if (status != uform_status_ok_k) return status;
    uform_cpu_set_intersect_(&usable, &permissions->processors);
    *domain = (uform_memory_domain_t){
        .memory_domain = node->number,
        .cores = uform_cpu_set_count_(&node->processors),
        .cores_allowed = uform_cpu_set_count_(&usable),
        .memory_only = node->memory_only,
        .memory_allowed = uform_cpu_set_has_(&permissions->nodes, (size_t)node->number),
        .memory_bytes = node->memory_bytes,
    };
    uform_cpu_set_free_(&usable);
    return uform_status_ok_k;
}

uform_status_t uform_memory_domains(uform_memory_domain_t *domains, size_t capacity, size_t *count) {
    if (!count) return uform_fail_(uform_status_invalid_argument_k, "count: expected a pointer, found NULL");
    *count = 0;
    if (capacity && !domains)
        return uform_fail_(uform_status_invalid_argument_k, "domains: expected room for %zu, found NULL", capacity);
    uform_topology_t const *topology;
    uform_permissions_t permissions;
    uform_status_t status = uform_topology_(&topology);
    if (status == uform_status_ok_k) status = uform_permissions_("", topology, &permissions);
    if (status != uform_status_ok_k) return status;
    for (size_t i = 0; i < topology->node_count && i < capacity && status == uform_status_ok_k; i++)
        status = describe_node(&topology->nodes[i], &permissions, &domains[i]);
    uform_permissions_free_(&permissions);
    if (status == uform_status_ok_k) *count = topology->node_count;
    return status;
}
