/**
 *  Quotas and processors replayed from small trees of files that stand for "/".
 */
#include "machine_test.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cpu/limits.h"
#include "executor/placement.h"
#include "uform/uform.h"

typedef struct recorded_file_t {
    char const *path, *text;
} recorded_file_t;

enum { files_most_k = 12 };

/// Makes a tree of the files; the caller removes it.
static void plant(char *root, recorded_file_t const *files) {
    strcpy(root, "/tmp/uform-machine-XXXXXX");
    assert_non_null(mkdtemp(root));
    for (size_t i = 0; i < files_most_k && files[i].path; i++) {
        char path[512];
        snprintf(path, sizeof(path), "%s%s", root, files[i].path);
        for (char *slash = strchr(path + strlen(root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
            *slash = '\0';
            assert_true(!mkdir(path, 0700) || errno == EEXIST);
            *slash = '/';
        }
        FILE *const file = fopen(path, "w");
        assert_non_null(file);
        fputs(files[i].text, file);
        fclose(file);
    }
}

static void uproot(char const *path) {
    DIR *const directory = opendir(path);
    assert_non_null(directory);
    for (struct dirent const *entry; (entry = readdir(directory));) {
        char child[512];
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
        snprintf(child, sizeof(child), "%s/%s", path, entry->d_name);
        if (unlink(child)) uproot(child);
    }
    closedir(directory);
    rmdir(path);
}

#define UNIFIED "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
#define OTHERS "22 28 0:20 / /sys rw - sysfs sysfs rw\n23 28 0:21 / /proc rw - proc proc rw\n"
#define VERSION_1 "33 24 0:28 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:9 - cgroup cgroup rw,cpu,cpuacct\n"

typedef struct quota_case_t {
    char const *name;
    recorded_file_t files[files_most_k];
    double cores;
} quota_case_t;

#define CGROUP "/proc/self/cgroup"
#define MOUNTS "/proc/self/mountinfo"

static quota_case_t const quota_cases[] = {
    {"nothing recorded", {{NULL, NULL}}, 0},
    {"version 2 without a quota",
        {{CGROUP, "0::/user\n"}, {MOUNTS, OTHERS UNIFIED}, {"/sys/fs/cgroup/user/cpu.max", "max 100000\n"}}, 0},
    {"version 2",
        {{CGROUP, "0::/user\n"}, {MOUNTS, OTHERS UNIFIED}, {"/sys/fs/cgroup/user/cpu.max", "200000 100000\n"}}, 2},
    {"version 2, the period left out",
        {{CGROUP, "0::/user\n"}, {MOUNTS, UNIFIED}, {"/sys/fs/cgroup/user/cpu.max", "300000\n"}}, 3},
    {"version 2, a fraction",
        {{CGROUP, "0::/user\n"}, {MOUNTS, UNIFIED}, {"/sys/fs/cgroup/user/cpu.max", "765000 100000\n"}}, 7.65},
    {"version 2, the parent is tighter",
        {{CGROUP, "0::/a/b/c\n"}, {MOUNTS, OTHERS UNIFIED}, {"/sys/fs/cgroup/a/b/c/cpu.max", "800000 100000\n"},
            {"/sys/fs/cgroup/a/b/cpu.max", "max 100000\n"}, {"/sys/fs/cgroup/a/cpu.max", "150000 100000\n"}},
        1.5},
    {"version 2, the child is tighter",
        {{CGROUP, "0::/a/b\n"}, {MOUNTS, UNIFIED}, {"/sys/fs/cgroup/a/b/cpu.max", "50000 100000\n"},
            {"/sys/fs/cgroup/a/cpu.max", "400000 100000\n"}},
        0.5},
    {"version 2, a sibling's quota is none of ours",
        {{CGROUP, "0::/a\n"}, {MOUNTS, UNIFIED}, {"/sys/fs/cgroup/a/cpu.max", "max 100000\n"},
            {"/sys/fs/cgroup/ab/cpu.max", "100000 100000\n"}},
        0},
    {"version 2 in a namespace, whose root has a quota",
        {{CGROUP, "0::/\n"}, {MOUNTS, UNIFIED}, {"/sys/fs/cgroup/cpu.max", "250000 100000\n"}}, 2.5},
    {"version 2, a process outside of its namespace's root",
        {{CGROUP, "0::/../other\n"}, {MOUNTS, UNIFIED}, {"/sys/fs/cgroup/cpu.max", "600000 100000\n"}}, 6},
    {"version 2, only a part of the hierarchy is mounted",
        {{CGROUP, "0::/docker/1234/inner\n"},
            {MOUNTS, "30 23 0:26 /docker/1234 /sys/fs/cgroup ro - cgroup2 cgroup rw\n"},
            {"/sys/fs/cgroup/inner/cpu.max", "500000 100000\n"}, {"/sys/fs/cgroup/cpu.max", "400000 100000\n"}},
        4},
    {"version 2, mounted at a path with a blank",
        {{CGROUP, "0::/a\n"}, {MOUNTS, "30 23 0:26 / /my\\040groups rw - cgroup2 cgroup rw\n"},
            {"/my groups/a/cpu.max", "300000 100000\n"}},
        3},
    {"version 2, a broken quota", {{CGROUP, "0::/a\n"}, {MOUNTS, UNIFIED}, {"/sys/fs/cgroup/a/cpu.max", "many\n"}}, 0},
    {"version 2, a period of zero",
        {{CGROUP, "0::/a\n"}, {MOUNTS, UNIFIED}, {"/sys/fs/cgroup/a/cpu.max", "100000 0\n"}}, 0},
    {"version 1",
        {{CGROUP, "4:memory:/elsewhere\n3:cpu,cpuacct:/job\n1:name=systemd:/\n"}, {MOUNTS, OTHERS VERSION_1},
            {"/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "400000\n"},
            {"/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n"}},
        4},
    {"version 1 without a quota",
        {{CGROUP, "3:cpu,cpuacct:/job\n"}, {MOUNTS, OTHERS VERSION_1},
            {"/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "-1\n"},
            {"/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n"}},
        0},
    {"version 1, the parent is tighter",
        {{CGROUP, "3:cpuacct,cpu:/job/task\n"}, {MOUNTS, VERSION_1},
            {"/sys/fs/cgroup/cpu,cpuacct/job/task/cpu.cfs_quota_us", "-1\n"},
            {"/sys/fs/cgroup/cpu,cpuacct/job/task/cpu.cfs_period_us", "100000\n"},
            {"/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "25000\n"},
            {"/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "10000\n"}},
        2.5},
    {"version 1, mounted in a container as its own top",
        {{CGROUP, "3:cpu,cpuacct:/docker/12\n"},
            {MOUNTS, "33 24 0:28 /docker/12 /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu,cpuacct\n"},
            {"/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "300000\n"}, {"/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"}},
        3},
    {"version 1, mounted from somewhere else",
        {{CGROUP, "3:cpu,cpuacct:/\n"},
            {MOUNTS, "33 24 0:28 /docker/12 /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu,cpuacct\n"},
            {"/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "300000\n"}, {"/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"}},
        3},
    {"hybrid: the tighter of both",
        {{CGROUP, "3:cpu,cpuacct:/job\n0::/job\n"},
            {MOUNTS, OTHERS VERSION_1 "31 24 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"},
            {"/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "400000\n"},
            {"/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n"},
            {"/sys/fs/cgroup/unified/job/cpu.max", "300000 100000\n"}},
        3},
    {"broken lists",
        {{CGROUP, "nonsense\n:::\n0:\n"}, {MOUNTS, "1 2 3\n\n- - -\n" UNIFIED "30 23 0:26 / /x rw - cgroup2"}}, 0},
    {"a group whose name holds a colon",
        {{CGROUP, "0::/a:b\n"}, {MOUNTS, UNIFIED}, {"/sys/fs/cgroup/a:b/cpu.max", "200000 100000\n"}}, 2},
};

static void test_quota(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof(quota_cases) / sizeof(*quota_cases); i++) {
        char root[64];
        double cores = -1;
        plant(root, quota_cases[i].files);
        assert_ok(uform_cpu_quota_(root, &cores));
        uproot(root);
        if (cores != quota_cases[i].cores)
            fail_msg("%s: expected %g, found %g", quota_cases[i].name, quota_cases[i].cores, cores);
    }
}

/// A path longer than any buffer must neither overflow nor fail.
static void test_quota_of_a_long_path(void **state) {
    (void)state;
    static char group[9000] = "0::/", mounts[200] = UNIFIED;
    memset(group + 4, 'a', sizeof(group) - 5);
    recorded_file_t const files[files_most_k] = {{CGROUP, group}, {MOUNTS, mounts}};
    char root[64];
    double cores = -1;
    plant(root, files);
    assert_ok(uform_cpu_quota_(root, &cores));
    uproot(root);
    assert_true(cores == 0);
}

static void test_default_threads(void **state) {
    (void)state;
    static struct {
        size_t online, allowed;
        double quota;
        size_t threads;
    } const cases[] = {
        {1, 1, 0, 1},
        {2, 2, 0, 1},
        {8, 8, 0, 7},
        {9, 9, 0, 7},
        {16, 16, 0, 14},
        {16, 4, 0, 4},
        {16, 15, 0, 14},
        {16, 16, 2, 2},
        {16, 16, 7.65, 7},
        {16, 16, 0.5, 1},
        {16, 16, 100, 14},
        {16, 3, 7.65, 3},
        {2048, 2048, 0, 1792},
        {0, 0, 0, 1},
        {SIZE_MAX, SIZE_MAX, 0, SIZE_MAX / 8 * 7 + 6},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        assert_int_equal(
            uform_cpu_default_threads_(cases[i].online, cases[i].allowed, cases[i].quota), cases[i].threads);
}

static void test_lists(void **state) {
    (void)state;
    static struct {
        char const *list;
        bool valid;
        size_t count, has, lacks;
    } const cases[] = {
        {"0\n", true, 1, 0, 1},
        {"", true, 0, SIZE_MAX, 0},
        {"\n", true, 0, SIZE_MAX, 0},
        {"0-31,64-95\n", true, 64, 64, 32},
        {"0-2047", true, 2048, 2047, 2048},
        {"5,3,3-4\n", true, 3, 4, 2},
        {"7-3\n", false, 0, 0, 0},
        {"1-\n", false, 0, 0, 0},
        {"-1\n", false, 0, 0, 0},
        {"1 2\n", false, 0, 0, 0},
        {"0x10\n", false, 0, 0, 0},
        {"99999999999999999999\n", false, 0, 0, 0},
        {"0-4294967295\n", false, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        uform_cpu_set_t set;
        uform_status_t const status = uform_cpu_set_parse_(cases[i].list, "list", &set);
        assert_int_equal(status, cases[i].valid ? uform_status_ok_k : uform_status_malformed_k);
        assert_int_equal(uform_cpu_set_count_(&set), cases[i].count);
        if (cases[i].valid && cases[i].has != SIZE_MAX) assert_true(uform_cpu_set_has_(&set, cases[i].has));
        assert_false(cases[i].valid && uform_cpu_set_has_(&set, cases[i].lacks));
        uform_cpu_set_free_(&set);
    }
}

/// Sets grow as they need to, and equal ones may differ in size.
static void test_sets(void **state) {
    (void)state;
    uform_cpu_set_t set = {0}, other = {0}, copy;
    assert_int_equal(uform_cpu_set_limit_(&set), 0);
    assert_true(uform_cpu_set_equal_(&set, &other));
    assert_ok(uform_cpu_set_unite_(&set, &other));
    assert_ok(uform_cpu_set_add_(&set, 5));
    assert_ok(uform_cpu_set_add_(&other, 1500));
    assert_int_equal(uform_cpu_set_limit_(&other), 1501);
    assert_false(uform_cpu_set_equal_(&set, &other));
    assert_ok(uform_cpu_set_unite_(&set, &other));
    assert_int_equal(uform_cpu_set_count_(&set), 2);
    assert_ok(uform_cpu_set_copy_(&set, &copy));
    assert_true(uform_cpu_set_equal_(&set, &copy));
    uform_cpu_set_intersect_(&set, &other);
    assert_true(uform_cpu_set_equal_(&other, &set));
    uform_cpu_set_intersect_(&copy, &(uform_cpu_set_t){0});
    assert_int_equal(uform_cpu_set_limit_(&copy), 0);
    assert_true(uform_cpu_set_equal_(&copy, &(uform_cpu_set_t){0}));
    uform_cpu_set_free_(&set);
    uform_cpu_set_free_(&other);
    uform_cpu_set_free_(&copy);
}

static void test_online(void **state) {
    (void)state;
    static recorded_file_t const files[files_most_k] = {{"/sys/devices/system/cpu/online", "0-5,1024-2047\n"}};
    char root[64];
    uform_cpu_set_t set;
    plant(root, files);
    assert_ok(uform_cpu_online_(root, &set));
    assert_int_equal(uform_cpu_set_count_(&set), 1030);
    uform_cpu_set_free_(&set);
    uproot(root);
}

/// Without a list of memory domains: online, affinity and quota of the whole machine.
static void test_threads_anywhere(void **state) {
    (void)state;
    uform_cpu_set_t allowed;
    assert_ok(uform_cpu_allowed_(&allowed));
    static recorded_file_t const files[files_most_k] = {
        {"/sys/devices/system/cpu/online", "0-4095\n"},
        {CGROUP, "0::/\n"},
        {MOUNTS, UNIFIED},
        {"/sys/fs/cgroup/cpu.max", "100000 100000\n"},
    };
    char root[64];
    plant(root, files);
    uform_placement_t placement;
    size_t threads, processors;
    assert_ok(uform_placement_make_(root, NULL, 0, &placement, &threads, &processors));
    assert_int_equal(placement.domain_count, 0);
    assert_int_equal(processors, uform_cpu_set_count_(&allowed));
    assert_int_equal(threads, 1);
    uform_placement_free_(&placement);
    uform_cpu_set_free_(&allowed);
    uproot(root);
}

static void test_affinity_limits_threads(void **state) {
    (void)state;
#if defined(__linux__)
    cpu_set_t before, one;
    assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
    int first = 0;
    while (!CPU_ISSET(first, &before)) first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    uform_machine_description_t machine;
    assert_ok(uform_machine_describe(&machine));
    assert_int_equal(machine.cores_allowed, 1);
    assert_int_equal(machine.threads_default, 1);
    assert_true(machine.cores_online >= 1);
    assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
#endif
}

int main(void) {
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(test_quota),
        cmocka_unit_test(test_quota_of_a_long_path),
        cmocka_unit_test(test_default_threads),
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_sets),
        cmocka_unit_test(test_online),
        cmocka_unit_test(test_threads_anywhere),
        cmocka_unit_test(test_affinity_limits_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
