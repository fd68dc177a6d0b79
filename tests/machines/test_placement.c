/**
 *  Plans for machines that aren't here: two sockets, clusters, memory-only nodes, scattered numbers, thousands of
 *  processors. Nothing is bound; the plan says where it would be.
 */
#include "machine_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "executor/placement.h"
#include "machines/replay.h"
#include "uform/uform.h"

enum { domains_most_k = 8 };

/// A domain's processors, and all of them in the order in which threads start on them.
typedef struct planned_t {
    char const *processors, *starts;
} planned_t;

typedef struct plan_case_t {
    char const *name, *machine;
    char const *affinity; ///< NULL for everything
    int32_t nodes[domains_most_k];
    size_t count;
    size_t default_threads, processors;
    planned_t domains[domains_most_k];
} plan_case_t;

#define SOCKETS "package:2 [numa(memory=64000000000)] core:4 pu:2(indexes=2*8:1*2)"
#define CLUSTERS "package:2 group:2 [numa(memory=32000000000)] core:3 pu:1"
#define HIGH_BANDWIDTH "package:2 [numa(memory=64000000000)] [numa(memory=16000000000)] core:4 pu:1"

static plan_case_t const plan_cases[] = {
    {"one socket of two", SOCKETS, NULL, {1}, 1, 7, 8, {{"4-7,12-15", "4,5,6,7,12,13,14,15"}}},
    {"two sockets", SOCKETS, NULL, {0, 1}, 2, 14, 16,
        {{"0-3,8-11", "0,1,2,3,8,9,10,11"}, {"4-7,12-15", "4,5,6,7,12,13,14,15"}}},
    {"two sockets, the other one first", SOCKETS, NULL, {1, 0}, 2, 14, 16,
        {{"4-7,12-15", "4,5,6,7,12,13,14,15"}, {"0-3,8-11", "0,1,2,3,8,9,10,11"}}},
    {"an empty list is every node", SOCKETS, NULL, {0}, 0, 14, 16,
        {{"0-3,8-11", "0,1,2,3,8,9,10,11"}, {"4-7,12-15", "4,5,6,7,12,13,14,15"}}},
    {"affinity leaves one of a core's two", SOCKETS, "0-1,9-10,12", {0, 1}, 2, 5, 5,
        {{"0-1,9-10", "0,1,10,9"}, {"12", "12"}}},
    {"affinity leaves nothing of a node that nobody named", SOCKETS, "0-3", {0}, 0, 4, 4, {{"0-3", "0,1,2,3"}}},
    {"hyperthreads side by side", "package:2 [numa] core:2 pu:3", NULL, {0}, 1, 5, 6, {{"0-5", "0,3,1,4,2,5"}}},
    {"clusters", CLUSTERS, NULL, {0, 1, 2, 3}, 4, 10, 12,
        {{"0-2", "0,1,2"}, {"3-5", "3,4,5"}, {"6-8", "6,7,8"}, {"9-11", "9,10,11"}}},
    {"some of the clusters", CLUSTERS, NULL, {3, 1}, 2, 5, 6, {{"9-11", "9,10,11"}, {"3-5", "3,4,5"}}},
    {"memory beside memory is local to the same processors", HIGH_BANDWIDTH, NULL, {1}, 1, 3, 4, {{"0-3", "0,1,2,3"}}},
    {"both memories of a package are one domain", HIGH_BANDWIDTH, NULL, {0, 1}, 2, 3, 4, {{"0-3", "0,1,2,3"}}},
    {"all memories of both packages are two domains", HIGH_BANDWIDTH, NULL, {0, 1, 2, 3}, 4, 7, 8,
        {{"0-3", "0,1,2,3"}, {"4-7", "4,5,6,7"}}},
    {"an empty list where some nodes have memory only", HIGH_BANDWIDTH, NULL, {0}, 0, 7, 8,
        {{"0-3", "0,1,2,3"}, {"4-7", "4,5,6,7"}}},
    {"numbers scattered over nodes", "memory_only.xml", NULL, {0, 2}, 2, 10, 12,
        {{"0,2,4,8,10", "0,2,4,8,10"}, {"1,3,5-7,9,11", "1,3,5,6,9,11,7"}}},
    {"the closest node computes for memory alone", "memory_only.xml", NULL, {5}, 1, 6, 7,
        {{"1,3,5-7,9,11", "1,3,5,6,9,11,7"}}},
    {"memory alone beside its closest node", "memory_only.xml", NULL, {2, 5}, 2, 6, 7,
        {{"1,3,5-7,9,11", "1,3,5,6,9,11,7"}}},
    {"memory alone without distances is as close to all", "memory_only_nowhere.xml", NULL, {5}, 1, 10, 12,
        {{"0-11", "0,2,4,1,3,5,6,8,10,9,11,7"}}},
};

static void write_set(uform_cpu_set_t const *set, char *text, size_t capacity) {
    size_t length = 0;
    text[0] = '\0';
    for (size_t i = 0; i < uform_cpu_set_limit_(set); i++) {
        size_t last = i;
        if (!uform_cpu_set_has_(set, i)) continue;
        while (uform_cpu_set_has_(set, last + 1)) last++;
        length += (size_t)snprintf(text + length, capacity - length, "%s%zu", length ? "," : "", i);
        if (last > i) length += (size_t)snprintf(text + length, capacity - length, "-%zu", last);
        i = last;
    }
}

/// Follows the threads of a domain one after another, until the order would begin anew.
static void write_starts(uform_placement_t const *placement, size_t domain, char *text, size_t capacity) {
    size_t length = 0;
    text[0] = '\0';
    for (size_t i = 0; i < uform_cpu_set_count_(&placement->domains[domain]); i++) {
        size_t const thread = i * placement->domain_count + domain;
        assert_int_equal(uform_placement_domain_(placement, thread), domain);
        length += (size_t)snprintf(
            text + length, capacity - length, "%s%zu", length ? "," : "", uform_placement_start_(placement, thread));
    }
}

static void check_plan(plan_case_t const *expected, uform_placement_t const *placement, uform_capacity_t capacity) {
    char text[256];
    size_t domains = 0;
    while (domains < domains_most_k && expected->domains[domains].processors) domains++;
    assert_int_equal(placement->domain_count, domains);
    for (size_t i = 0; i < domains; i++) {
        write_set(&placement->domains[i], text, sizeof(text));
        assert_string_equal(text, expected->domains[i].processors);
        write_starts(placement, i, text, sizeof(text));
        assert_string_equal(text, expected->domains[i].starts);
    }
    // More threads than processors begin anew.
    size_t const first = uform_placement_start_(placement, 0);
    size_t const round = domains * uform_cpu_set_count_(&placement->domains[0]);
    assert_int_equal(uform_placement_start_(placement, round), first);
    assert_int_equal(capacity.allowed, expected->processors);
    assert_int_equal(uform_cpu_default_threads_(capacity.online, capacity.allowed, 0), expected->default_threads);
    assert_int_equal(placement->memory_domains.count, expected->count);
    assert_false(placement->memory_domains.bound);
}

static void test_plans(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof(plan_cases) / sizeof(*plan_cases); i++) {
        plan_case_t const *const expected = &plan_cases[i];
        print_message("%s\n", expected->name);
        uform_topology_t *const topology = replay(expected->machine);
        uform_permissions_t permissions;
        assert_ok(uform_permissions_("", topology, &permissions));
        if (expected->affinity) {
            uform_cpu_set_free_(&permissions.processors);
            assert_ok(uform_cpu_set_parse_(expected->affinity, "affinity", &permissions.processors));
        }
        uform_placement_t placement;
        uform_capacity_t capacity;
        assert_ok(
            uform_placement_plan_(topology, &permissions, expected->nodes, expected->count, &placement, &capacity));
        check_plan(expected, &placement, capacity);
        uform_placement_free_(&placement);
        uform_permissions_free_(&permissions);
        uform_topology_free_(topology);
    }
}

typedef struct refusal_t {
    char const *affinity, *allowed_nodes, *possible_nodes;
    int32_t nodes[3];
    size_t count;
    uform_status_t status;
    char const *detail;
} refusal_t;

static refusal_t const refusals[] = {
    {NULL, NULL, NULL, {0, 1, 0}, 3, uform_status_invalid_argument_k,
        "memory_domains[2]: expected each NUMA node once, found 0 again"},
    {NULL, NULL, NULL, {0, -3}, 2, uform_status_invalid_argument_k,
        "memory_domains[1]: expected a NUMA node, found -3"},
    {NULL, NULL, NULL, {0, 7}, 2, uform_status_not_found_k, "memory_domains[1]: no NUMA node 7 on this machine"},
    {NULL, NULL, NULL, {INT32_MAX}, 1, uform_status_not_found_k,
        "memory_domains[0]: no NUMA node 2147483647 on this machine"},
    {NULL, NULL, "0-7", {7}, 1, uform_status_not_found_k, "memory_domains[0]: NUMA node 7 is offline"},
    {NULL, "0", NULL, {1}, 1, uform_status_not_found_k,
        "memory_domains[0]: NUMA node 1 has no memory that this process may use"},
    {"0-3", NULL, NULL, {0, 1}, 2, uform_status_not_found_k,
        "memory_domains[1]: NUMA node 1 has no processor this process may use"},
};

/// A list of any length is looked through once.
static void test_endless_list(void **state) {
    (void)state;
    enum { count_k = 4 << 20 };
    int32_t *const nodes = malloc(count_k * sizeof(*nodes));
    assert_non_null(nodes);
    for (int32_t i = 0; i < count_k; i++) nodes[i] = i;
    uform_domains_t domains;
    assert_int_equal(uform_domains_open_(nodes, count_k, &domains), uform_status_not_found_k);
    nodes[60001] = 60000;
    assert_int_equal(uform_domains_open_(nodes, count_k, &domains), uform_status_invalid_argument_k);
    assert_string_equal(uform_last_detail(), "memory_domains[60001]: expected each NUMA node once, found 60000 again");
    free(nodes);
}

static void replace_set(char const *list, uform_cpu_set_t *set) {
    if (!list) return;
    uform_cpu_set_free_(set);
    assert_ok(uform_cpu_set_parse_(list, "list", set));
}

static void test_refusals(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof(refusals) / sizeof(*refusals); i++) {
        refusal_t const *const given = &refusals[i];
        uform_topology_t *const topology = replay(SOCKETS);
        uform_permissions_t permissions;
        assert_ok(uform_permissions_("", topology, &permissions));
        replace_set(given->affinity, &permissions.processors);
        replace_set(given->allowed_nodes, &permissions.nodes);
        replace_set(given->possible_nodes, &topology->possible_nodes);
        uform_placement_t placement;
        uform_capacity_t capacity;
        assert_int_equal(
            uform_placement_plan_(topology, &permissions, given->nodes, given->count, &placement, &capacity),
            given->status);
        assert_string_equal(uform_last_detail(), given->detail);
        assert_null(placement.domains);
        uform_permissions_free_(&permissions);
        uform_topology_free_(topology);
    }
}

/// Processors that memory alone isn't close to don't compute for it.
static void test_out_of_reach(void **state) {
    (void)state;
    uform_topology_t *const topology = replay("memory_only.xml");
    uform_permissions_t permissions;
    assert_ok(uform_permissions_("", topology, &permissions));
    replace_set("0,2,4", &permissions.processors);
    static int32_t const nodes[] = {0, 5};
    uform_placement_t placement;
    uform_capacity_t capacity;
    assert_int_equal(
        uform_placement_plan_(topology, &permissions, nodes, 2, &placement, &capacity), uform_status_not_found_k);
    assert_string_equal(uform_last_detail(), "memory_domains[1]: NUMA node 5 has no processor this process may use");
    assert_ok(uform_placement_plan_(topology, &permissions, nodes, 1, &placement, &capacity));
    assert_int_equal(capacity.online, 5);
    assert_int_equal(capacity.allowed, 3);
    uform_placement_free_(&placement);
    uform_permissions_free_(&permissions);
    uform_topology_free_(topology);
}

/// An empty list leaves out nodes that the process may not use.
static void test_forbidden_nodes(void **state) {
    (void)state;
    uform_topology_t *const topology = replay(SOCKETS);
    uform_permissions_t permissions;
    assert_ok(uform_permissions_("", topology, &permissions));
    replace_set("1", &permissions.nodes);
    uform_placement_t placement;
    uform_capacity_t capacity;
    assert_ok(uform_placement_plan_(topology, &permissions, NULL, 0, &placement, &capacity));
    assert_int_equal(placement.domain_count, 1);
    assert_true(uform_cpu_set_has_(&placement.domains[0], 4));
    assert_int_equal(capacity.online, 8);
    uform_placement_free_(&placement);
    uform_permissions_free_(&permissions);
    uform_topology_free_(topology);
}

/// Every thread of a machine beyond the 1,024 processors of a fixed mask starts on a processor of its own.
static void test_many_processors(void **state) {
    (void)state;
    uform_topology_t *const topology = replay("package:4 [numa(memory=1000000)] core:192 pu:2(indexes=2*768:1*2)");
    uform_permissions_t permissions;
    assert_ok(uform_permissions_("", topology, &permissions));
    static int32_t const nodes[] = {0, 1, 2, 3};
    uform_placement_t placement;
    uform_capacity_t capacity;
    assert_ok(uform_placement_plan_(topology, &permissions, nodes, 4, &placement, &capacity));
    assert_int_equal(capacity.allowed, 1536);
    assert_int_equal(uform_cpu_default_threads_(capacity.online, capacity.allowed, 0), 1344);
    static bool taken[1536];
    for (size_t i = 0; i < 1536; i++) {
        size_t const start = uform_placement_start_(&placement, i);
        assert_false(taken[start]);
        taken[start] = true;
        // Processors 768 and beyond are the second ones of their cores.
        assert_int_equal(start >= 768, i >= 768);
        assert_int_equal(start % 768 / 192, i % 4);
        assert_true(uform_cpu_set_has_(&placement.domains[i % 4], start));
    }
    uform_placement_free_(&placement);
    uform_permissions_free_(&permissions);
    uform_topology_free_(topology);
}

static void test_copies(void **state) {
    (void)state;
    uform_topology_t *const topology = replay("memory_only.xml");
    assert_true(topology->recorded);
    assert_int_equal(topology->node_count, 3);
    static int32_t const numbers[] = {0, 2, 5};
    static bool const memory_only[] = {false, false, true};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(topology->nodes[i].number, numbers[i]);
        assert_int_equal(topology->nodes[i].memory_only, memory_only[i]);
        assert_ptr_equal(uform_topology_node_(topology, numbers[i]), &topology->nodes[i]);
    }
    assert_int_equal(topology->nodes[2].memory_bytes, 128000000000);
    assert_null(uform_topology_node_(topology, 1));
    assert_int_equal(topology->cores[1], topology->cores[9]);
    assert_int_not_equal(topology->cores[1], topology->cores[3]);
    uform_topology_free_(topology);
    uform_topology_free_(NULL);
}

static void test_matching(void **state) {
    (void)state;
    uform_topology_t *const topology = replay(CLUSTERS);
    uform_permissions_t permissions;
    assert_ok(uform_permissions_("", topology, &permissions));
    static int32_t const lists[][3] = {{0, 3}, {3, 0}, {0, 1}, {0}, {0}};
    static size_t const counts[] = {2, 2, 2, 1, 0};
    static bool const match[5][5] = {
        {1, 1, 0, 0, 1}, {1, 1, 0, 0, 1}, {0, 0, 1, 0, 1}, {0, 0, 0, 1, 1}, {1, 1, 1, 1, 1}};
    uform_domains_t domains[5];
    for (size_t i = 0; i < 5; i++)
        assert_ok(uform_domains_check_(topology, &permissions, lists[i], counts[i], &domains[i]));
    for (size_t i = 0; i < 5; i++)
        for (size_t j = 0; j < 5; j++)
            assert_int_equal(uform_domains_match_(&domains[i], "weights", &domains[j], "threads"),
                match[i][j] ? uform_status_ok_k : uform_status_mismatched_k);
    (void)uform_domains_match_(&domains[1], "weights", &domains[2], "threads");
    assert_string_equal(
        uform_last_detail(), "memory_domains: expected the same NUMA nodes, found weights on 0, 3, threads on 0, 1");
    for (size_t i = 0; i < 5; i++) uform_domains_close_(&domains[i]);
    uform_permissions_free_(&permissions);
    uform_topology_free_(topology);
}

int main(void) {
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(test_plans),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_endless_list),
        cmocka_unit_test(test_out_of_reach),
        cmocka_unit_test(test_forbidden_nodes),
        cmocka_unit_test(test_many_processors),
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_matching),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
