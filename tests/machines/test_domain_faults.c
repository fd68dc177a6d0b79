/**
 *  Out of memory at every allocation of reading, planning and listing memory domains. hwloc's own allocations are left
 *  out: it doesn't check all of them, which is why memory is reserved before it is asked. Its topologies are loaded
 *  before memory runs out.
 */
#include "machine_test.h"

#include <stdio.h>

#include "executor/placement.h"
#include "faults/allocation.h"
#include "machines/replay.h"
#include "uform/uform.h"

/// Runs the function with each of its allocations failing in turn, until none fails any more.
static void sweep(uform_status_t (*run)(void *context), void *context, size_t least) {
    for (int persistent = 0; persistent < 2; persistent++) {
        size_t nth = 1;
        for (;; nth++) {
            faults_arm(nth, persistent);
            uform_status_t const status = run(context);
            if (!faults_disarm()) {
                assert_int_equal(status, uform_status_ok_k);
                break;
            }
            // What memory is missing for may be something the call can do without.
            if (status != uform_status_ok_k) assert_int_equal(status, uform_status_out_of_memory_k);
        }
        assert_true(nth > least);
    }
}

static uform_status_t copy(void *context) {
    uform_topology_t *topology;
    uform_status_t const status = uform_topology_copy_(context, &topology);
    uform_topology_free_(topology);
    return status;
}

static void test_copying(void **state) {
    (void)state;
    static char const *const machines[] = {"package:2 [numa] core:4 pu:2", "memory_only.xml"};
    for (size_t i = 0; i < 2; i++) {
        void *const hwloc = replay_load(machines[i]);
        sweep(copy, hwloc, 5);
        replay_unload(hwloc);
    }
}

static uform_status_t plan(void *context) {
    static int32_t const nodes[] = {0, 2, 5};
    uform_permissions_t permissions;
    uform_placement_t placement;
    uform_capacity_t capacity;
    uform_status_t status = uform_permissions_("", context, &permissions);
    if (status) return status;
    status = uform_placement_plan_(context, &permissions, nodes, 3, &placement, &capacity);
    uform_permissions_free_(&permissions);
    uform_placement_free_(&placement);
    return status;
}

static void test_planning(void **state) {
    (void)state;
    uform_topology_t *const topology = replay("memory_only.xml");
    sweep(plan, topology, 8);
    uform_topology_free_(topology);
}

/// Only a machine of one node is read without hwloc.
static bool is_single(void) {
    uform_cpu_set_t nodes;
    bool const listed = uform_cpu_set_read_("", "/sys/devices/system/node/online", &nodes) == uform_status_ok_k;
    bool const single = !listed || uform_cpu_set_count_(&nodes) == 1;
    uform_cpu_set_free_(&nodes);
    return single && !uform_topology_is_replayed_();
}

static uform_status_t list(void *context) {
    uform_memory_domain_t domains[64];
    return uform_memory_domains(domains, 64, context);
}

static void test_listing(void **state) {
    (void)state;
    size_t count;
    if (!is_single()) assert_ok(list(&count));
    sweep(list, &count, 2);
    assert_true(count > 0);
}

static uform_status_t load(void *context) {
    uform_memory_domain_t domain;
    uform_model_t model;
    size_t count;
    uform_status_t status = uform_memory_domains(&domain, 1, &count);
    if (status) return status;
    status = uform_model_load_ram(context, &domain.memory_domain, 1, NULL, &model);
    uform_model_free(model);
    return status;
}

static void test_loading(void **state) {
    (void)state;
    char path[1024];
    size_t count;
    assert_ok(list(&count));
    snprintf(path, sizeof(path), "%s/golden/models/mean", UFORM_TESTS_DIRECTORY);
    sweep(load, path, 40);
}

int main(void) {
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(test_copying),
        cmocka_unit_test(test_planning),
        cmocka_unit_test(test_listing),
        cmocka_unit_test(test_loading),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
