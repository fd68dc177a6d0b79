/**
 *  Placement of threads: the processors of the memory domains that were asked for, one set a domain. Memory itself
 *  follows by first touch, as every thread allocates and touches its own scratch.
 */
#include "executor/placement.h"

#include "base/detail.h"
#include "base/memory.h"
#include "executor/executor.h"

void uform_placement_free_(uform_placement_t *placement) {
    for (size_t i = 0; i < placement->domain_count; i++) uform_cpu_set_free_(&placement->domains[i]);
    uform_free_(placement->domains);
    *placement = (uform_placement_t){0};
}

static uform_status_t check_list(int32_t const *memory_domains, size_t count) {
    if (count && !memory_domains)
        return uform_fail_(
            uform_status_invalid_argument_k, "memory_domains: expected %zu NUMA nodes, found NULL", count);
    for (size_t i = 0; i < count; i++) {
        if (memory_domains[i] < 0)
            return uform_fail_(uform_status_invalid_argument_k, "memory_domains[%zu]: expected a NUMA node, found %d",
                i, (int)memory_domains[i]);
        for (size_t j = 0; j < i; j++)
            if (memory_domains[i] == memory_domains[j])
                return uform_fail_(uform_status_invalid_argument_k,
                    "memory_domains[%zu]: expected each NUMA node once, found %d again", i, (int)memory_domains[i]);
    }
    return uform_status_ok_k;
}

/// Looks one domain of the list up.
static uform_status_t find_domain(char const *root, int32_t const *memory_domains, size_t i, uform_cpu_set_t *set) {
    uform_status_t const status = uform_cpu_of_memory_domain_(root, memory_domains[i], set);
    return status == uform_status_ok_k ? status : uform_fail_prefixed_(status, "memory_domains[%zu]: ", i);
}

uform_status_t uform_memory_domains_check_(int32_t const *memory_domains, size_t memory_domain_count) {
    uform_status_t status = check_list(memory_domains, memory_domain_count);
    for (size_t i = 0; i < memory_domain_count && status == uform_status_ok_k; i++) {
        uform_cpu_set_t set;
        status = find_domain("", memory_domains, i, &set);
        uform_cpu_set_free_(&set);
    }
    return status;
}

/// Fills the sets one by one and counts the processors online in them.
static uform_status_t find_domains(char const *root, int32_t const *memory_domains, size_t count,
    uform_cpu_set_t const *allowed, uform_placement_t *placement, size_t *online) {
    for (size_t i = 0; i < count; i++) {
        uform_cpu_set_t *const domain = &placement->domains[i];
        uform_status_t const status = find_domain(root, memory_domains, i, domain);
        if (status != uform_status_ok_k) return status;
        placement->domain_count = i + 1;
        *online += uform_cpu_set_count_(domain);
        uform_cpu_set_intersect_(domain, allowed);
        if (uform_cpu_set_count_(domain)) continue;
        return uform_fail_(uform_status_not_found_k,
            "memory_domains[%zu]: NUMA node %d has no processor this process may use", i, (int)memory_domains[i]);
    }
    return uform_status_ok_k;
}

static size_t count_allowed(uform_placement_t const *placement, uform_cpu_set_t const *allowed) {
    if (!placement->domain_count) return uform_cpu_set_count_(allowed);
    size_t count = 0;
    for (size_t i = 0; i < placement->domain_count; i++) count += uform_cpu_set_count_(&placement->domains[i]);
    return count;
}

static uform_status_t place(char const *root, int32_t const *memory_domains, size_t count,
    uform_cpu_set_t const *allowed, uform_placement_t *placement, size_t *default_threads, size_t *processors) {
    size_t online = 0;
    double quota = 0;
    uform_status_t status = uform_status_ok_k;
    if (count) {
        placement->domains = uform_allocate_(count, sizeof(*placement->domains));
        if (!placement->domains) return uform_status_out_of_memory_k;
        status = find_domains(root, memory_domains, count, allowed, placement, &online);
    } else {
        uform_cpu_set_t everywhere;
        status = uform_cpu_online_(root, &everywhere);
        online = uform_cpu_set_count_(&everywhere);
        uform_cpu_set_free_(&everywhere);
    }
    if (status == uform_status_ok_k) status = uform_cpu_quota_(root, &quota);
    *processors = count_allowed(placement, allowed);
    *default_threads = uform_cpu_default_threads_(online, *processors, quota);
    return status;
}

uform_status_t uform_placement_make_(char const *root, int32_t const *memory_domains, size_t memory_domain_count,
    uform_placement_t *placement, size_t *default_threads, size_t *processors) {
    *placement = (uform_placement_t){0};
    *default_threads = *processors = 1;
    uform_status_t status = check_list(memory_domains, memory_domain_count);
    if (status != uform_status_ok_k) return status;
    uform_cpu_set_t allowed;
    status = uform_cpu_allowed_(&allowed);
    if (status == uform_status_ok_k)
        status = place(root, memory_domains, memory_domain_count, &allowed, placement, default_threads, processors);
    uform_cpu_set_free_(&allowed);
    if (status != uform_status_ok_k) uform_placement_free_(placement);
    return status;
}
