/**
 *  Memory domains on the machine the test runs on: masks of threads, where pages of weights and scratch lie. Then the
 *  public functions over a machine that is replayed by the environment, in a process of its own as it is read once.
 */
#include "machine_test.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__linux__)
#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/syscall.h>
#endif

#include "base/memory.h"
#include "cpu/domains.h"
#include "encode/texts.h"
#include "executor/executor.h"
#include "executor/placement.h"
#include "models/model.h"
#include "uform/uform.h"

static char *own_path;

enum { seats_most_k = 8, text_count_k = 6, dimensions_k = 32, untested_k = 77 };

/// The first memory domain that this process may use, as every machine has one.
static int32_t first_domain(void) {
    uform_memory_domain_t domains[64];
    size_t count;
    assert_ok(uform_memory_domains(domains, 64, &count));
    assert_true(count > 0);
    for (size_t i = 0; i < count && i < 64; i++)
        if (domains[i].memory_allowed && domains[i].cores_allowed && !domains[i].memory_only)
            return domains[i].memory_domain;
    skip();
    return 0;
}

static void test_listing(void **state) {
    (void)state;
    size_t count = 99, again;
    uform_memory_domain_t one, all[64];
    uform_machine_description_t machine;
    assert_int_equal(uform_memory_domains(NULL, 0, NULL), uform_status_invalid_argument_k);
    assert_int_equal(uform_memory_domains(NULL, 1, &count), uform_status_invalid_argument_k);
    assert_int_equal(count, 0);
    assert_ok(uform_memory_domains(NULL, 0, &count));
    assert_true(count > 0);
    assert_ok(uform_memory_domains(&one, 1, &again));
    assert_int_equal(count, again);
    if (count > 64) skip();
    assert_ok(uform_memory_domains(all, 64, &again));
    assert_memory_equal(&one, &all[0], sizeof(one.memory_domain));
    assert_ok(uform_machine_describe(&machine));
    size_t cores = 0;
    for (size_t i = 0; i < count; i++) {
        assert_true(all[i].cores_allowed <= all[i].cores);
        if (i) assert_true(all[i].memory_domain > all[i - 1].memory_domain);
        if (!all[i].memory_only) cores += all[i].cores;
    }
    assert_int_equal(cores, machine.cores_online);
    assert_true(all[0].memory_bytes > 0);
}

#if defined(__linux__)

/// The node a page lies on, or a negative error number.
static int node_of(void *page) {
    int status = -1;
    void *pages[1] = {page};
    return syscall(SYS_move_pages, 0, 1ul, pages, NULL, &status, 0) ? -errno : status;
}

/// The policy of an address, and whether its nodes are just this one; negative where asking is forbidden.
static int policy_of(void *address, int32_t node, bool *only) {
    int mode = -1;
    unsigned long nodes[64] = {0};
    if (syscall(SYS_get_mempolicy, &mode, nodes, sizeof(nodes) * 8, address, (unsigned long)MPOL_F_ADDR)) return -errno;
    *only = true;
    for (size_t i = 0; i < sizeof(nodes) * 8; i++)
        if ((nodes[i / 64] >> i % 64 & 1) != (i == (size_t)node)) *only = false;
    return mode;
}

typedef struct look_t {
    uform_cpu_set_t masks[seats_most_k];
    int scratch_nodes[seats_most_k];
} look_t;

static void look(void *context, uform_worker_t const *worker) {
    look_t *const seen = context;
    if (uform_cpu_allowed_(&seen->masks[worker->index])) return;
    char *const scratch = uform_scratch_(worker, 1 << 20);
    if (!scratch) return;
    scratch[1 << 19] = 1;
    seen->scratch_nodes[worker->index] = node_of((void *)((uintptr_t)(scratch + (1 << 19)) & ~(uintptr_t)4095));
}

static void test_threads_are_confined(void **state) {
    (void)state;
    int32_t const node = first_domain();
    uform_placement_t placement;
    size_t threads, processors;
    assert_ok(uform_placement_make_("", &node, 1, &placement, &threads, &processors));
    assert_int_equal(placement.domain_count, 1);
    assert_true(placement.memory_domains.bound);
    assert_true(threads >= 1 && threads <= processors);
    uform_cpu_set_t own;
    assert_ok(uform_cpu_allowed_(&own));
    uform_executor_t executor;
    assert_ok(uform_executor_for_ram(&node, 1, 0, 4, 0, &executor));
    look_t seen = {0};
    assert_ok(uform_executor_run_(executor, look, &seen));
    for (size_t i = 0; i < 4; i++) {
        assert_true(uform_cpu_set_equal_(&seen.masks[i], i ? &placement.domains[0] : &own));
        if (i && seen.scratch_nodes[i] >= 0) assert_int_equal(seen.scratch_nodes[i], node);
        uform_cpu_set_free_(&seen.masks[i]);
    }
    uform_executor_free(executor);
    uform_placement_free_(&placement);
    uform_cpu_set_free_(&own);
}

/// A thread may move within its domain once it has started.
static void test_entering(void **state) {
    (void)state;
    int32_t const node = first_domain();
    uform_placement_t placement;
    size_t threads, processors;
    assert_ok(uform_placement_make_("", &node, 1, &placement, &threads, &processors));
    uform_cpu_set_t before, after, narrow = {0};
    assert_ok(uform_cpu_allowed_(&before));
    assert_ok(uform_cpu_set_add_(&narrow, uform_placement_start_(&placement, 0)));
    for (size_t i = 0; i < processors && i < 4; i++) {
        assert_true(uform_cpu_confine_(&narrow));
        uform_placement_enter_(&placement, i);
        assert_ok(uform_cpu_allowed_(&after));
        assert_true(uform_cpu_set_equal_(&after, &placement.domains[0]));
        uform_cpu_set_free_(&after);
        assert_true(uform_cpu_set_has_(&placement.domains[0], uform_placement_start_(&placement, i)));
    }
    assert_true(uform_cpu_confine_(&before));
    uform_cpu_set_free_(&before);
    uform_cpu_set_free_(&narrow);
    uform_placement_free_(&placement);
}

static void test_mapping(void **state) {
    (void)state;
    int32_t const node = first_domain();
    uform_domains_t domains, none = {0};
    assert_ok(uform_domains_open_(&node, 1, &domains));
    static size_t const sizes[] = {0, 1, 64, 4096, 4097, 1 << 20, (4 << 20) - 1, 4 << 20, (6 << 20) + 5};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        void *memory, *unbound;
        assert_ok(uform_domains_map_(&domains, sizes[i], &memory));
        assert_ok(uform_domains_map_(&none, sizes[i], &unbound));
        size_t const alignment = sizes[i] >= 4 << 20 ? 2 << 20 : 4096;
        assert_int_equal((uintptr_t)memory % alignment, 0);
        assert_int_equal((uintptr_t)unbound % alignment, 0);
        for (size_t at = 0; at < sizes[i]; at += 1021) assert_int_equal(((char *)memory)[at], 0);
        memset(memory, 1, sizes[i]);
        memset(unbound, 1, sizes[i]);
        bool only = true;
        int const policy = sizes[i] ? policy_of(memory, node, &only) : -EPERM;
        if (policy >= 0) assert_int_equal(policy, MPOL_INTERLEAVE);
        assert_true(only);
        if (sizes[i] && policy_of(unbound, node, &only) >= 0)
            assert_int_not_equal(policy_of(unbound, node, &only), MPOL_INTERLEAVE);
        if (sizes[i] && node_of(memory) >= 0) assert_int_equal(node_of(memory), node);
        uform_domains_unmap_(memory, sizes[i]);
        uform_domains_unmap_(unbound, sizes[i]);
    }
    void *memory = own_path;
    assert_int_equal(uform_domains_map_(&domains, SIZE_MAX / 4, &memory), uform_status_out_of_memory_k);
    assert_null(memory);
    assert_int_equal(uform_domains_map_(&domains, SIZE_MAX, &memory), uform_status_out_of_memory_k);
    uform_domains_unmap_(NULL, 5);
    uform_domains_close_(&domains);
}

/// Whole pages are fresh afterwards, and what lies beside them is as before.
static void test_untouching(void **state) {
    (void)state;
    size_t const page = (size_t)sysconf(_SC_PAGESIZE);
    char *const memory = uform_map_(6 * page);
    assert_non_null(memory);
    memset(memory, 1, 6 * page);
    uform_untouch_(memory + page + 1, page);
    for (size_t i = 0; i < 6 * page; i++) assert_int_equal(memory[i], 1);
    uform_untouch_(memory + page - 1, 3 * page + 2);
    for (size_t i = 0; i < 6 * page; i++) assert_int_equal(memory[i], i < page || i >= 4 * page);
    uform_untouch_(memory, 0);
    uform_unmap_(memory, 6 * page);
}

/// Whatever a machine's nodes: those that the kernel refuses are an error, unless there is no other place.
static void test_mapping_refused(void **state) {
    (void)state;
    static int32_t far[] = {1000};
    uform_domains_t const alone = {far, 1, true, true}, several = {far, 1, true, false};
    void *memory;
    assert_ok(uform_domains_map_(&alone, 100, &memory));
    uform_domains_unmap_(memory, 100);
    assert_int_equal(uform_domains_map_(&several, 100, &memory), uform_status_unsupported_k);
    assert_non_null(
        strstr(uform_last_detail(), "memory_domains: the system does not place memory on NUMA nodes 1000: "));
    assert_null(memory);
}

static void check_weights(void *weights, int32_t node, bool interleaved) {
    bool only = true;
    int const policy = policy_of(weights, node, &only);
    if (policy < 0) return;
    assert_int_equal(policy == MPOL_INTERLEAVE, interleaved);
    if (interleaved) assert_true(only);
}

static void test_weights(void **state) {
    (void)state;
    int32_t const node = first_domain();
    char path[1024], memory[text_count_k * 30 * 8];
    uform_text_t texts[text_count_k];
    snprintf(path, sizeof(path), "%s/golden/models/mean", UFORM_TESTS_DIRECTORY);
    texts_make(texts, text_count_k, 30, memory);
    float rows[2][text_count_k][dimensions_k];
    uform_model_description_t descriptions[2];
    for (size_t listed = 0; listed < 2; listed++) {
        uform_model_t model;
        uform_executor_t executor;
        assert_ok(uform_model_load_ram(path, &node, listed, NULL, &model));
        assert_ok(uform_executor_for_ram(&node, listed, 0, 2, 0, &executor));
        assert_ok(uform_model_describe(model, &descriptions[listed]));
        uform_encoder_t const *const encoder = &model->packings->text.encoder;
        check_weights(encoder->words, node, listed);
        check_weights(encoder->layers[0].projections.weights, node, listed);
        check_weights(encoder->layers[0].projections.bias, node, listed);
        check_weights(encoder->layers[encoder->sizes.layers - 1].feed_forward_norm.gain, node, listed);
        assert_ok(uform_encode_texts(model, executor, texts, text_count_k, NULL, rows[listed], 0, NULL));
        uform_executor_free(executor);
        uform_model_free(model);
    }
    assert_memory_equal(rows[0], rows[1], sizeof(rows[0]));
    assert_int_equal(descriptions[0].weights_bytes, descriptions[1].weights_bytes);
}

/// Runs where hwloc is told that this very machine has two nodes, the first of which has processor 1 alone: whatever the
/// machine really is, threads of that node must be there and only there.
static int act_on_split(void) {
    static int32_t const node = 0;
    uform_cpu_set_t own;
    if (uform_cpu_allowed_(&own)) return 1;
    bool const possible = uform_cpu_set_has_(&own, 0) && uform_cpu_set_has_(&own, 1);
    uform_cpu_set_free_(&own);
    if (!possible) return untested_k;
    uform_executor_t executor;
    if (uform_executor_for_ram(&node, 1, 0, 4, 0, &executor)) return 2;
    look_t seen = {0};
    if (uform_executor_run_(executor, look, &seen)) return 3;
    for (size_t i = 1; i < 4; i++)
        if (uform_cpu_set_count_(&seen.masks[i]) != 1 || !uform_cpu_set_has_(&seen.masks[i], 1)) return 4;
    if (uform_cpu_set_count_(&seen.masks[0]) < 2) return 5;
    for (size_t i = 0; i < 4; i++) uform_cpu_set_free_(&seen.masks[i]);
    uform_executor_free(executor);
    return 0;
}

#else
static int act_on_split(void) {
    return untested_k;
}
#endif

typedef struct pairing_t {
    int32_t model[2];
    size_t model_count;
    int32_t executor[2];
    size_t executor_count;
    uform_status_t status;
} pairing_t;

static pairing_t const pairings[] = {
    {{0, 1}, 2, {1, 0}, 2, uform_status_ok_k},
    {{0}, 1, {0}, 1, uform_status_ok_k},
    {{0}, 1, {1}, 1, uform_status_mismatched_k},
    {{0}, 1, {0, 1}, 2, uform_status_mismatched_k},
    {{0}, 1, {0}, 0, uform_status_ok_k},
    {{0}, 0, {1}, 1, uform_status_ok_k},
};

static int pair(char const *path, pairing_t const *given) {
    static char memory[text_count_k * 30 * 8];
    uform_text_t texts[text_count_k];
    float rows[text_count_k][dimensions_k];
    uform_model_t model;
    uform_executor_t executor;
    texts_make(texts, text_count_k, 30, memory);
    if (uform_model_load_ram(path, given->model, given->model_count, NULL, &model)) return 1;
    if (uform_executor_for_ram(given->executor, given->executor_count, 0, 2, 0, &executor)) return 2;
    if (uform_encode_texts(model, executor, texts, text_count_k, NULL, rows, 0, NULL) != given->status) return 3;
    bool const told = strstr(uform_last_detail(), "the model's weights on 0, the executor's threads on ") != NULL;
    if (given->status && !told) return 4;
    // Calls without an executor go together with every model.
    if (uform_encode_texts(model, NULL, texts, text_count_k, NULL, rows, 0, NULL)) return 5;
    uform_executor_free(executor);
    uform_model_free(model);
    return 0;
}

static int count_threads(int32_t const *nodes, size_t count, size_t *threads) {
    uform_executor_t executor;
    uform_executor_description_t description;
    if (uform_executor_for_ram(nodes, count, 0, 0, 0, &executor)) return 1;
    if (uform_executor_describe(executor, &description)) return 2;
    uform_executor_free(executor);
    *threads = description.threads;
    return 0;
}

/// Runs where HWLOC_SYNTHETIC is "package:2 [numa(memory=1000000)] core:4 pu:2".
static int act_on_sockets(char const *path) {
    uform_memory_domain_t domains[4];
    uform_machine_description_t machine;
    uform_executor_t executor;
    size_t count, quota, threads;
    static int32_t const both[] = {0, 1}, absent[] = {0, 2};
    if (uform_memory_domains(domains, 4, &count) || count != 2) return 10;
    if (domains[1].memory_domain != 1 || domains[1].cores != 8 || domains[1].cores_allowed != 8) return 11;
    if (domains[1].memory_bytes != 1000000 || domains[1].memory_only || !domains[1].memory_allowed) return 12;
    if (uform_machine_describe(&machine) || machine.cores_online != 16 || machine.cores_allowed != 16) return 13;
    quota = machine.cores_quota > 0 ? (size_t)machine.cores_quota + (machine.cores_quota < 1) : SIZE_MAX;
    if (count_threads(both, 2, &threads) || threads != (quota < 14 ? quota : 14)) return 14;
    if (count_threads(both + 1, 1, &threads) || threads != (quota < 7 ? quota : 7)) return 15;
    if (count_threads(NULL, 0, &threads) || threads != (quota < 14 ? quota : 14)) return 16;
    if (uform_executor_for_ram(absent, 2, 0, 1, 0, &executor) != uform_status_not_found_k) return 17;
    if (strcmp(uform_last_detail(), "memory_domains[1]: no NUMA node 2 on this machine")) return 18;
    for (size_t i = 0; i < sizeof(pairings) / sizeof(*pairings); i++) {
        int const failure = pair(path, &pairings[i]);
        if (failure) return (int)(20 + 10 * i) + failure;
    }
    return 0;
}

static void *list_domains(void *context) {
    size_t count;
    atomic_store((atomic_bool *)context, uform_memory_domains(NULL, 0, &count) == uform_status_ok_k);
    return NULL;
}

/// Runs where HWLOC_XMLFILE names memory_only.xml.
static int act_on_memory_only(void) {
    uform_memory_domain_t domains[4];
    size_t count;
    pthread_t threads[4];
    atomic_bool done[4] = {false};
    // Whoever comes first reads the machine, and several may come first.
    for (size_t i = 0; i < 4; i++)
        if (pthread_create(&threads[i], NULL, list_domains, &done[i])) return 3;
    for (size_t i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    for (size_t i = 0; i < 4; i++)
        if (!atomic_load(&done[i])) return 4;
    if (uform_memory_domains(domains, 4, &count) || count != 3) return 1;
    if (domains[2].memory_domain != 5 || !domains[2].memory_only || domains[2].cores != 7) return 2;
    return 0;
}

/// What a child forked at any moment of another thread's reading gets: a list that works, or an answer that says why not;
/// never a wait for a lock that nobody in it holds.
static int act_in_child(void) {
    static int32_t const node = 0;
    uform_executor_t executor;
    alarm(60);
    uform_status_t const status = uform_executor_for_ram(&node, 1, 0, 1, 0, &executor);
    uform_executor_free(executor);
    if (status == uform_status_ok_k) return 0;
    return status == uform_status_unsupported_k && strstr(uform_last_detail(), "was forked") ? 0 : 1;
}

/// Runs where HWLOC_SYNTHETIC is a machine that takes long to read.
static int act_while_forking(void) {
    atomic_bool done = false;
    pthread_t thread;
    if (pthread_create(&thread, NULL, list_domains, &done)) return 1;
    for (int i = 0; i < 20 && !atomic_load(&done); i++) {
        pid_t const child = fork();
        if (!child) _exit(act_in_child());
        int status;
        if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) return 2;
        if (WEXITSTATUS(status)) return 3;
    }
    pthread_join(thread, NULL);
    return atomic_load(&done) ? 0 : 4;
}

static int run_replay(char const *variable, char const *machine, char const *role) {
    bool const split = !strcmp(role, "split");
    pid_t const child = fork();
    if (!child) {
        unsetenv("HWLOC_XMLFILE");
        unsetenv("HWLOC_SYNTHETIC");
        unsetenv("HWLOC_THISSYSTEM");
        if (split) setenv("HWLOC_THISSYSTEM", "1", 1);
        setenv("HWLOC_LIBXML", "0", 1); // where hwloc's plugins are installed, the one of libxml2 leaks
        setenv(variable, machine, 1);
        execl(own_path, own_path, role, (char *)NULL);
        _exit(127);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_replayed_sockets(void **state) {
    (void)state;
    assert_int_equal(run_replay("HWLOC_SYNTHETIC", "package:2 [numa(memory=1000000)] core:4 pu:2", "sockets"), 0);
}

static void test_replayed_memory_only(void **state) {
    (void)state;
    assert_int_equal(
        run_replay("HWLOC_XMLFILE", UFORM_TESTS_DIRECTORY "/machines/topologies/memory_only.xml", "memory"), 0);
}

static void test_forking_while_reading(void **state) {
    (void)state;
    assert_int_equal(run_replay("HWLOC_SYNTHETIC", "package:2 [numa(memory=1000000)] core:256 pu:1", "forking"), 0);
}

static void test_split_machine(void **state) {
    (void)state;
    int const result =
        run_replay("HWLOC_SYNTHETIC", "package:2 [numa(memory=1000000)] core:1 pu:1(indexes=1,0)", "split");
    if (result == untested_k) skip();
    assert_int_equal(result, 0);
}

int main(int count, char **arguments) {
    own_path = arguments[0];
    if (count > 1 && !strcmp(arguments[1], "sockets"))
        return act_on_sockets(UFORM_TESTS_DIRECTORY "/golden/models/mean");
    if (count > 1 && !strcmp(arguments[1], "split")) return act_on_split();
    if (count > 1 && !strcmp(arguments[1], "forking")) return act_while_forking();
    if (count > 1) return act_on_memory_only();
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(test_listing),
#if defined(__linux__)
        cmocka_unit_test(test_threads_are_confined),
        cmocka_unit_test(test_entering),
        cmocka_unit_test(test_mapping),
        cmocka_unit_test(test_untouching),
        cmocka_unit_test(test_mapping_refused),
        cmocka_unit_test(test_weights),
#endif
        cmocka_unit_test(test_replayed_sockets),
        cmocka_unit_test(test_replayed_memory_only),
        cmocka_unit_test(test_split_machine),
        cmocka_unit_test(test_forking_while_reading),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
