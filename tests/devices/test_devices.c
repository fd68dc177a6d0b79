/**
 *  Listing GPUs on machines made of stand-in drivers: what is listed and as what, drivers that are absent, broken, old or
 *  mad, threads and forks, what placements in VRAM answer, and what the command line shows.
 *
 *      test_devices FOLDER [TOOL]      the stand-ins, and the command-line tool
 *      test_devices --child MODE       what the tests run in a process of its own
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "child.h"
#include "uform/uform.h"

#define H100 "device=NVIDIA H100 80GB HBM3|9.0|132|85017493504"
#define NO_CUDA .cuda_folder = "cuda_empty"
#define NO_HIP .hip_folder = "rocm_count"

static char const *tool;

/// In a child: what failed, as the exit status and on standard output.
#define EXPECT(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition)) return printf("line %d: %s: %s\n", __LINE__, #condition, uform_last_detail()), 1;            \
    } while (0)

enum { room_k = 4096 };

static int print_devices(void) {
    static uform_gpu_device_t devices[room_k];
    size_t count = 99;
    EXPECT(uform_gpu_devices(devices, room_k, &count) == uform_status_ok_k);
    for (size_t i = 0; i < count; i++)
        printf("%s %u %s %u %llu %s\n", uform_gpu_vendor_name(devices[i].vendor), devices[i].vendor_ordinal,
            uform_gpu_class_name(devices[i].gpu_class), devices[i].compute_units,
            (unsigned long long)devices[i].memory_bytes, devices[i].name);
    return 0;
}

/// Each vendor's number of devices and the reason for none.
static int print_vendors(void) {
    for (int vendor = 1; vendor <= 3; vendor++) {
        uform_gpu_vendor_description_t facts;
        EXPECT(uform_gpu_vendor_describe((uform_gpu_vendor_t)vendor, &facts) == uform_status_ok_k);
        EXPECT(facts.vendor == (uform_gpu_vendor_t)vendor && !facts.device_count == !!facts.reason[0]);
        printf("%s %zu %s\n", uform_gpu_vendor_name(facts.vendor), facts.device_count, facts.reason);
    }
    return 0;
}

/// The driver hides its devices, if its user asks it to.
static int print_hidden(void) {
    setenv("CUDA_VISIBLE_DEVICES", "", 1);
    return print_vendors();
}

/// On eight devices: capacities below, at and above the count, and arguments that are wrong.
static int use_capacities(void) {
    uform_gpu_device_t devices[10];
    size_t count;
    for (size_t capacity = 0; capacity <= 10; capacity++) {
        memset(devices, 0x55, sizeof(devices));
        count = 0;
        EXPECT(uform_gpu_devices(capacity ? devices : NULL, capacity, &count) == uform_status_ok_k);
        EXPECT(count == 8);
        for (size_t i = 0; i < 10; i++) {
            if (i < capacity && i < 8) EXPECT(devices[i].vendor_ordinal == i && devices[i].name[127] == '\0');
            else EXPECT(devices[i].vendor_ordinal == 0x55555555 && devices[i].name[127] == 0x55);
        }
    }
    EXPECT(uform_gpu_devices(devices, 0, &count) == uform_status_ok_k && count == 8);
    EXPECT(uform_gpu_devices(NULL, 1, &count) == uform_status_invalid_argument_k && count == 0);
    EXPECT(uform_gpu_devices(devices, 10, NULL) == uform_status_invalid_argument_k);
    uform_gpu_vendor_description_t facts;
    EXPECT(uform_gpu_vendor_describe((uform_gpu_vendor_t)0, &facts) == uform_status_invalid_argument_k);
    EXPECT(uform_gpu_vendor_describe((uform_gpu_vendor_t)4, &facts) == uform_status_invalid_argument_k);
    EXPECT(uform_gpu_vendor_describe((uform_gpu_vendor_t)-1, &facts) == uform_status_invalid_argument_k);
    EXPECT(uform_gpu_vendor_describe(uform_gpu_vendor_amd_k, NULL) == uform_status_invalid_argument_k);
    return 0;
}

static int initializations(void) {
    void *const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (!library) return 0;
    atomic_int *const inits = dlsym(library, "standin_cuda_inits");
    int const count = inits ? atomic_load(inits) : -1;
    dlclose(library);
    return count;
}

static void *count_devices(void *count) {
    if (uform_gpu_devices(NULL, 0, count) != uform_status_ok_k) *(size_t *)count = 0;
    return NULL;
}

/// Many threads at once: each gets the list, the driver is initialised once; and nothing else initialises it.
static int use_threads(void) {
    enum { threads_k = 16 };
    pthread_t threads[threads_k];
    size_t counts[threads_k];
    uform_machine_description_t machine;
    EXPECT(uform_machine_describe(&machine) == uform_status_ok_k);
    EXPECT(uform_capabilities_available()[0] && initializations() == 0);
    for (size_t i = 0; i < threads_k; i++) EXPECT(!pthread_create(&threads[i], NULL, count_devices, &counts[i]));
    for (size_t i = 0; i < threads_k; i++) pthread_join(threads[i], NULL);
    for (size_t i = 0; i < threads_k; i++) EXPECT(counts[i] == 8);
    EXPECT(initializations() == 1);
    return 0;
}

/// In a forked child: exits with the number of devices, or with a hundred if they can't be listed.
static void exit_with_count(void) {
    size_t count;
    alarm(20);
    _exit(uform_gpu_devices(NULL, 0, &count) == uform_status_ok_k ? (int)count : 100);
}

static int count_in_child(void) {
    pid_t const child = fork();
    if (!child) exit_with_count();
    int status = 0;
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
    return WEXITSTATUS(status);
}

/// Forks before the drivers are asked, after that, and while another thread asks them.
static int use_forks(void) {
    size_t count = 0;
    EXPECT(count_in_child() == 8);
    pthread_t thread;
    EXPECT(!pthread_create(&thread, NULL, count_devices, &count));
    while (initializations() == 0) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    EXPECT(count_in_child() == 0);
    pthread_join(thread, NULL);
    EXPECT(count == 8);
    EXPECT(count_in_child() == 8);
    EXPECT(initializations() == 1);
    return 0;
}

static uform_status_t for_vram(int32_t const *devices, size_t count) {
    uform_executor_t executor = (uform_executor_t)(uintptr_t)1;
    uform_status_t const status = uform_executor_for_vram(
        devices, count, uform_gpu_class_derived_k, NULL, 0, uform_cpu_class_derived_k, NULL, 0, 0, 0, &executor);
    return executor ? uform_status_ok_k : status;
}

static uform_status_t load_vram(int32_t const *devices, size_t count) {
    uform_model_t model = (uform_model_t)(uintptr_t)1;
    uform_status_t const status = uform_model_load_vram("nowhere", devices, count, NULL, &model);
    return model ? uform_status_ok_k : status;
}

static bool detail_has(char const *words) {
    return strstr(uform_last_detail(), words) != NULL;
}

/// Lists of devices that are wrong whatever the machine has.
static int use_bad_lists(void) {
    static int32_t const twice[] = {0, 1, 0}, negative[] = {0, -1};
    uform_status_t (*const calls[])(int32_t const *, size_t) = {for_vram, load_vram};
    for (size_t i = 0; i < 2; i++) {
        EXPECT(calls[i](NULL, 0) == uform_status_invalid_argument_k && detail_has("found 0"));
        EXPECT(calls[i](NULL, 2) == uform_status_invalid_argument_k && detail_has("NULL"));
        EXPECT(calls[i](twice, SIZE_MAX) == uform_status_invalid_argument_k && detail_has("positions"));
        EXPECT(calls[i](twice, 3) == uform_status_invalid_argument_k && detail_has("devices[2]"));
        EXPECT(calls[i](negative, 2) == uform_status_invalid_argument_k && detail_has("devices[1]"));
    }
    return 0;
}

/// Two H100 and a device no class has kernels for.
static int use_vram(void) {
    static int32_t const all[] = {1, 0}, beyond[] = {0, 3}, strange[] = {2}, nodes[] = {0, 0}, absent[] = {9999};
    static void *const streams[] = {NULL, NULL};
    uform_gpu_class_t const hopper = uform_gpu_class_nvidia_hopper_k;
    uform_cpu_class_t const serial = uform_cpu_class_serial_k;
    uform_executor_t made;
    EXPECT(!use_bad_lists());
    EXPECT(for_vram(all, 2) == uform_status_unsupported_k && detail_has("no kernels for nvidia_hopper"));
    EXPECT(load_vram(all, 2) == uform_status_unsupported_k && detail_has("no kernels for nvidia_hopper"));
    EXPECT(for_vram(strange, 1) == uform_status_unsupported_k && detail_has("no class has kernels for Radeon"));
    EXPECT(for_vram(beyond, 2) == uform_status_unsupported_k && detail_has("below 3") && detail_has("found 3"));
#define FOR_VRAM(...) uform_executor_for_vram(all, 2, __VA_ARGS__, 0, 0, &made)
    EXPECT(FOR_VRAM(hopper, NULL, 0, serial, streams, 2) == uform_status_unsupported_k);
    EXPECT(!made && detail_has("gpu_class: this build has no kernels for nvidia_hopper"));
    EXPECT(FOR_VRAM(13, NULL, 0, 0, NULL, 0) == uform_status_invalid_argument_k && detail_has("gpu_class"));
    EXPECT(FOR_VRAM((uform_gpu_class_t)-1, NULL, 0, 0, NULL, 0) == uform_status_invalid_argument_k);
    EXPECT(FOR_VRAM(0, NULL, 0, 19, NULL, 0) == uform_status_invalid_argument_k && detail_has("cpu_class"));
    EXPECT(FOR_VRAM(0, NULL, 0, uform_cpu_class_aws_g2_k, NULL, 0) == uform_status_unsupported_k);
    EXPECT(detail_has("cpu_class: aws_g2") || detail_has("nvidia_hopper"));
    EXPECT(FOR_VRAM(0, NULL, 0, 0, streams, 1) == uform_status_invalid_argument_k && detail_has("streams"));
    EXPECT(FOR_VRAM(0, NULL, 0, 0, NULL, 2) == uform_status_invalid_argument_k && detail_has("streams"));
    EXPECT(FOR_VRAM(0, nodes, 2, 0, NULL, 0) == uform_status_invalid_argument_k && detail_has("memory_domains"));
    EXPECT(FOR_VRAM(0, absent, 1, 0, NULL, 0) == uform_status_not_found_k && detail_has("memory_domains"));
    EXPECT(FOR_VRAM(0, NULL, 1, 0, NULL, 0) == uform_status_invalid_argument_k && detail_has("memory_domains"));
#undef FOR_VRAM
    EXPECT(uform_executor_for_vram(all, 2, 0, NULL, 0, 0, NULL, 0, 0, 0, NULL) == uform_status_invalid_argument_k);
    uform_model_t model;
    uform_model_options_t const options = {.size = 3};
    EXPECT(uform_model_load_vram("x", all, 2, &options, &model) == uform_status_invalid_argument_k && !model);
    EXPECT(uform_model_load_vram(NULL, all, 2, NULL, &model) == uform_status_invalid_argument_k && !model);
    EXPECT(uform_model_load_vram("x", all, 2, NULL, NULL) == uform_status_invalid_argument_k);
    return 0;
}

/// A machine without GPUs.
static int use_vram_without(void) {
    static int32_t const devices[] = {0, 1};
    EXPECT(!use_bad_lists());
    EXPECT(for_vram(devices, 2) == uform_status_unsupported_k && detail_has("libcuda.so.1"));
    EXPECT(load_vram(devices, 2) == uform_status_unsupported_k && detail_has("no kernels"));
    return 0;
}

static struct {
    char const *name;
    int (*run)(void);
} const modes[] = {
    {"devices", print_devices},
    {"vendors", print_vendors},
    {"hidden", print_hidden},
    {"capacities", use_capacities},
    {"threads", use_threads},
    {"forks", use_forks},
    {"vram", use_vram},
    {"vram_without", use_vram_without},
};

static int run_child(char const *mode) {
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
        if (!strcmp(modes[i].name, mode)) return modes[i].run();
    return 2;
}

/// Machines with what they list.
static struct {
    machine_t machine;
    char const *listed;
} const machines[] = {
    {{"cuda", "count=2;" H100, NO_HIP}, "nvidia 0 nvidia_hopper 132 85017493504 NVIDIA H100 80GB HBM3\n"
                                        "nvidia 1 nvidia_hopper 132 85017493504 NVIDIA H100 80GB HBM3\n"},
    // Every age, the ones without a class of their own among them.
    {{"cuda",
         "count=17;device=a|3.5|1|1;device=a|7.5|1|1;device=a|8.0|1|1;device=a|8.6|1|1;device=a|8.7|1|1;"
         "device=a|8.9|1|1;device=a|9.0|1|1;device=a|10.0|1|1;device=a|10.1|1|1;device=a|10.3|1|1;device=a|10.7|1|1;"
         "device=a|11.0|1|1;device=a|12.0|1|1;device=a|12.1|1|1;device=a|12.2|1|1;device=a|99.0|1|1;device=a|-1.-1|1|1",
         NO_HIP},
        "nvidia 0 nvidia_ampere 1 1 a\nnvidia 1 nvidia_ampere 1 1 a\nnvidia 2 nvidia_ampere 1 1 a\n"
        "nvidia 3 nvidia_ampere 1 1 a\nnvidia 4 nvidia_ampere 1 1 a\nnvidia 5 nvidia_ada 1 1 a\n"
        "nvidia 6 nvidia_hopper 1 1 a\nnvidia 7 nvidia_blackwell 1 1 a\nnvidia 8 nvidia_ampere 1 1 a\n"
        "nvidia 9 nvidia_blackwell 1 1 a\nnvidia 10 nvidia_rubin 1 1 a\nnvidia 11 nvidia_ampere 1 1 a\n"
        "nvidia 12 nvidia_blackwell_rtx 1 1 a\nnvidia 13 nvidia_blackwell_rtx 1 1 a\nnvidia 14 nvidia_ampere 1 1 a\n"
        "nvidia 15 nvidia_ampere 1 1 a\nnvidia 16 nvidia_ampere 1 1 a\n"},
    // Every generation of AMD's runtime and of its devices; one without a class is listed without one.
    {{NO_CUDA, "", "rocm7",
         "count=5;device=AMD Instinct MI300X|gfx942:sramecc+:xnack-|304|206141652992;"
         "device=AMD Instinct MI355X|gfx950|256|309220868096;device=MI400|gfx1250|8|9;"
         "device=AMD Radeon RX 7900 XTX|gfx1100|48|25753026560;device=gfx900|gfx90a:sramecc+:xnack-|104|68702699520"},
        "amd 0 amd_cdna3 304 206141652992 AMD Instinct MI300X\namd 1 amd_cdna4 256 309220868096 AMD Instinct MI355X\n"
        "amd 2 amd_cdna5 8 9 MI400\namd 3 derived 48 25753026560 AMD Radeon RX 7900 XTX\n"
        "amd 4 derived 104 68702699520 gfx900\n"},
    {{NO_CUDA, "", "rocm6", "count=1;device=x|gfx942|3|4"}, "amd 0 amd_cdna3 3 4 x\n"},
    {{NO_CUDA, "", "rocm5", "count=1;device=x|gfx942|3|4"}, "amd 0 amd_cdna3 3 4 x\n"},
    {{NO_CUDA, "", "rocm_cut", "count=1;device=x|gfx950:|3|4"}, "amd 0 amd_cdna4 3 4 x\n"},
    {{NO_CUDA, "", "rocm5_cut", "count=1;device=x|gfx942:xnack+|-3|4"}, "amd 0 amd_cdna3 0 4 x\n"},
    {{NO_CUDA, "", "rocm7", "count=3;device=x|gfx9420|3|4;device=y|gfx|3|4;device=z|Gfx942|3|4"},
        "amd 0 derived 3 4 x\namd 1 derived 3 4 y\namd 2 derived 3 4 z\n"},
    {{NO_CUDA, "", "rocm7", "count=3;broken=1;device=x|gfx942|3|4"}, "amd 0 amd_cdna3 3 4 x\namd 2 amd_cdna3 3 4 x\n"},
    // Both vendors: NVIDIA first.
    {{"cuda", "count=1;" H100, "rocm7", "count=1;device=MI300X|gfx942|304|7"},
        "nvidia 0 nvidia_hopper 132 85017493504 NVIDIA H100 80GB HBM3\namd 0 amd_cdna3 304 7 MI300X\n"},
    // Devices that don't answer.
    {{"cuda", "count=3;broken=1;device=a|9.0|1|2", NO_HIP},
        "nvidia 0 nvidia_hopper 1 2 a\nnvidia 2 nvidia_hopper 1 2 a\n"},
    {{"cuda", "count=2;mute=0;device=a|9.0|1|2", NO_HIP},
        "nvidia 0 nvidia_hopper 0 0 \nnvidia 1 nvidia_hopper 1 2 a\n"},
    // Names: broken UTF-8 and control characters replaced; see also names_are_cut.
    {{"cuda", "count=1;device=\xC3\xA9\xFF\x1B[1m\xE2\x82|9.0|-5|2", NO_HIP},
        "nvidia 0 nvidia_hopper 0 2 \xC3\xA9\xEF\xBF\xBD\xEF\xBF\xBD[1m\xEF\xBF\xBD\xEF\xBF\xBD\n"},
    {{"cuda", "count=1;device=|9.0|1|2", NO_HIP}, "nvidia 0 nvidia_hopper 1 2 \n"},
};

static void machines_are_listed(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++)
        assert_string_equal(run_self_on_machine(&machines[i].machine, "devices"), machines[i].listed);
}

static void names_are_cut(void **state) {
    (void)state;
    // 126 letters and then a character of two, three or four bytes, none of which fits into 127.
    static char const *const characters[] = {"\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80", "\xFF"};
    for (size_t i = 0; i < 4; i++)
        for (size_t letters = 122; letters <= 127; letters++) {
            char machine[512], expected[512], name[256];
            snprintf(name, sizeof(name), "%.*s", (int)letters,
                "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
            snprintf(machine, sizeof(machine), "count=1;bare=1;device=%s%sxxxxxx|8.9|1|2", name, characters[i]);
            // The stand-in goes on with x's and without a NUL.
            char whole[512];
            snprintf(whole, sizeof(whole), "%s%sxxxxxx", name, i == 3 ? "\xEF\xBF\xBD" : characters[i]);
            size_t const character = i == 3 ? 3 : strlen(characters[i]);
            size_t const length = letters + character <= 127 ? 127 : letters;
            snprintf(expected, sizeof(expected), "nvidia 0 nvidia_ada 1 2 %.*s\n", (int)length, whole);
            assert_int_equal(strlen(whole) >= length, true);
            char const *const printed = run_self_on_machine(&(machine_t){"cuda", machine, NO_HIP}, "devices");
            assert_string_equal(printed, expected);
        }
}

/// Drivers that are of no use, and what is said of them.
static struct {
    machine_t machine;
    char const *vendor, *reason;
} const useless[] = {
    {{"cuda", "init=100;count=1;" H100, NO_HIP}, "nvidia 0 ", "libcuda.so.1: cuInit answered 100"},
    {{"cuda", "init=803;count=1;" H100, NO_HIP}, "nvidia 0 ", "cuInit answered 803"},
    {{"cuda", "init=-1;count=1;" H100, NO_HIP}, "nvidia 0 ", "cuInit answered -1"},
    {{"cuda", "counting=999;count=1;" H100, NO_HIP}, "nvidia 0 ", "cuDeviceGetCount answered 999"},
    {{"cuda", "count=0", NO_HIP}, "nvidia 0 ", "counts 0 devices"},
    {{"cuda", "count=-1;" H100, NO_HIP}, "nvidia 0 ", "counts -1 devices"},
    {{"cuda", "count=-2147483648;" H100, NO_HIP}, "nvidia 0 ", "counts -2147483648 devices"},
    {{"cuda", "count=2147483647;" H100, NO_HIP}, "nvidia 0 ", "counts 2147483647 devices"},
    {{"cuda", "count=1025;" H100, NO_HIP}, "nvidia 0 ", "counts 1025 devices"},
    {{"cuda", "count=1;broken=0;" H100, NO_HIP}, "nvidia 0 ", "none of which can be used"},
    {{"cuda_old", "count=1;" H100, NO_HIP}, "nvidia 0 ", "too old or broken: it has no cuDeviceTotalMem_v2"},
    {{"cuda_empty", "", NO_HIP}, "nvidia 0 ", "too old or broken: it has no cuInit"},
    {{NO_CUDA, "", "rocm7", "counting=100;count=1;device=x|gfx942|3|4"}, "amd 0 ", "hipGetDeviceCount answered 100"},
    {{NO_CUDA, "", "rocm7", "count=-1;device=x|gfx942|3|4"}, "amd 0 ", "counts -1 devices"},
    {{NO_CUDA, "", "rocm7", "count=2147483647;device=x|gfx942|3|4"}, "amd 0 ", "counts 2147483647 devices"},
    {{NO_CUDA, "", "rocm7", "count=1;broken=0;device=x|gfx942|3|4"}, "amd 0 ", "none of which can be used"},
    {{NO_CUDA, "", "rocm_count", "count=1"}, "amd 0 ", "it has no hipGetDeviceProperties"},
    {{NO_CUDA, "", "rocm_count", "count=1"}, "apple 0 ", "this build can't drive its devices"},
};

static void assert_contains(char const *text, char const *words) {
    if (!strstr(text, words)) fail_msg("expected \"%s\" in:\n%s", words, text);
}

static void useless_drivers_list_nothing(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof(useless) / sizeof(useless[0]); i++) {
        assert_string_equal(run_self_on_machine(&useless[i].machine, "devices"), "");
        char const *const line = strstr(run_self_on_machine(&useless[i].machine, "vendors"), useless[i].vendor);
        assert_non_null(line);
        assert_contains(line, useless[i].reason);
    }
}

/// The most devices a vendor may have: memory for them grows.
static void many_devices_are_listed(void **state) {
    (void)state;
    machine_t const machine = {"cuda", "count=1024;" H100, "rocm7", "count=1024;device=x|gfx942|3|4"};
    char const *const printed = run_self_on_machine(&machine, "devices");
    assert_contains(printed, "nvidia 1023 nvidia_hopper");
    assert_contains(printed, "HBM3\namd 0 amd_cdna3");
    assert_contains(printed, "amd 1023 amd_cdna3 3 4 x\n");
}

/// Files that are no libraries.
static void garbage_lists_nothing(void **state) {
    (void)state;
    static struct {
        char const *bytes;
        size_t length;
    } const files[] = {{"", 0}, {"#!/bin/sh\n", 10},
        {"\x7F"
         "ELF\2\1\1",
            7},
        {"\x7F"
         "ELF\2\1\1\0\0\0\0\0\0\0\0\0\3\0\x3E\0\1",
            64}};
    static char const *const names[] = {"libcuda.so.1", "libamdhip64.so.6"};
    char folder[] = "/tmp/uform-devices-XXXXXX";
    assert_non_null(mkdtemp(folder));
    machine_t const machine = {folder, "", NULL, ""};
    char paths[2][64];
    for (size_t i = 0; i <= 4; i++) {
        for (size_t file = 0; file < 2; file++) {
            snprintf(paths[file], sizeof(paths[file]), "%s/%s", folder, names[file]);
            if (i == 4) {
                assert_int_equal(mkdir(paths[file], 0700), 0);
                continue;
            }
            char bytes[64] = {0};
            memcpy(bytes, files[i].bytes, files[i].length < 24 ? files[i].length : 21);
            FILE *const written = fopen(paths[file], "wb");
            assert_non_null(written);
            assert_int_equal(fwrite(bytes, 1, files[i].length, written), files[i].length);
            assert_int_equal(fclose(written), 0);
        }
        char const *const printed = run_self_on_machine(&machine, "vendors");
        assert_contains(printed, "nvidia 0 /tmp/uform-devices-");
        assert_contains(printed, "amd 0 /tmp/uform-devices-");
        for (size_t file = 0; file < 2; file++) assert_int_equal(remove(paths[file]), 0);
    }
    assert_int_equal(rmdir(folder), 0);
}

/// The machine this runs on, whatever it has: without drivers, no devices.
static void this_machine_is_listed(void **state) {
    (void)state;
    machine_t const machine = {NULL, "", NULL, ""};
    char const *const printed = run_self_on_machine(&machine, "vendors");
    void *const driver = dlopen("libcuda.so.1", RTLD_LAZY);
    if (!driver) assert_contains(printed, "nvidia 0 libcuda.so.1: ");
    assert_contains(printed, "apple 0 ");
}

static void modes_succeed(void **state) {
    (void)state;
    machine_t const eight = {"cuda", "count=8;delay=300;" H100, NO_HIP};
    static char const *const names[] = {"capacities", "threads", "forks"};
    for (size_t i = 0; i < 3; i++) assert_string_equal(run_self_on_machine(&eight, names[i]), "");
    assert_contains(run_self_on_machine(&eight, "hidden"), "nvidia 0 libcuda.so.1: cuInit answered 100\n");
    machine_t const mixed = {"cuda", "count=2;" H100, "rocm7", "count=1;device=Radeon|gfx1100|3|4"};
    assert_string_equal(run_self_on_machine(&mixed, "vram"), "");
    assert_string_equal(run_self_on_machine(&(machine_t){NO_CUDA, "", NO_HIP}, "vram_without"), "");
}

static void the_tool_shows_devices(void **state) {
    (void)state;
    if (!tool) skip();
    char const *const brief[] = {tool, "info", NULL}, *const verbose[] = {tool, "info", "--verbose", NULL};
    char const *const json[] = {tool, "info", "--json", NULL};
    machine_t const mixed = {"cuda", "count=1;" H100, "rocm7", "count=1;device=Radeon|gfx1100|48|4000000000"};
    assert_contains(run_on_machine(&mixed, brief),
        "gpus             2 found, but this build computes on the CPU only\n"
        "  0                 nvidia_hopper, 132 units, 85.0 GB, NVIDIA H100 80GB HBM3\n"
        "  1                 no class, 48 units, 4.0 GB, Radeon\n");
    char const *printed = run_on_machine(&mixed, json);
    assert_contains(printed, "\"class\": \"nvidia_hopper\"");
    assert_contains(printed, "\"memory_bytes\": 85017493504");
    assert_contains(printed, "\"class\": null");
    machine_t const none = {"cuda", "init=803", NO_HIP};
    printed = run_on_machine(&none, brief);
    assert_contains(printed, "gpus             none\n");
    assert_null(strstr(printed, "803"));
    printed = run_on_machine(&none, verbose);
    assert_contains(printed, "  nvidia            none: libcuda.so.1: cuInit answered 803\n");
    assert_contains(run_on_machine(&none, json), "\"reason\": \"libcuda.so.1: cuInit answered 803\"");
}

int main(int count, char **words) {
    if (count == 3 && !strcmp(words[1], "--child")) return run_child(words[2]);
    if (count < 2) return fprintf(stderr, "test_devices FOLDER [TOOL]\n"), 2;
    standins_folder = words[1];
    tool = count > 2 ? words[2] : NULL;
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(machines_are_listed),
        cmocka_unit_test(names_are_cut),
        cmocka_unit_test(useless_drivers_list_nothing),
        cmocka_unit_test(many_devices_are_listed),
        cmocka_unit_test(garbage_lists_nothing),
        cmocka_unit_test(this_machine_is_listed),
        cmocka_unit_test(modes_succeed),
        cmocka_unit_test(the_tool_shows_devices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
