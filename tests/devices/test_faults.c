/**
 *  Out-of-memory swept over every allocation of listing devices, those of the loader that opens the drivers included. A
 *  list that was made stays for the life of the process, so every allocation has a process of its own.
 *
 *      test_faults FOLDER              the stand-ins
 *      test_faults --child NTH         what the test runs: the NTH allocation fails, or with a minus all from it on
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "child.h"
#include "faults/allocation.h"
#include "uform/uform.h"

/// Prints whether memory ran out, what was answered then, and what is answered afterwards.
static int ask_twice(long nth) {
    size_t counts[2] = {99, 99};
    faults_arm((size_t)labs(nth), nth < 0);
    uform_status_t const first = uform_gpu_devices(NULL, 0, &counts[0]);
    bool const hit = faults_disarm();
    uform_status_t const second = uform_gpu_devices(NULL, 0, &counts[1]);
    printf("%d %s %zu %s %zu\n", hit, uform_status_name(first), counts[0], uform_status_name(second), counts[1]);
    return 0;
}

/// A failure is told as such, and the next call asks again; or it did no harm, and the list is whole.
static void sweep(machine_t const *machine, int sign, size_t expected) {
    size_t refusals = 0;
    for (int nth = 1;; nth++) {
        char mode[16], first[32], second[32];
        int hit;
        size_t counts[2];
        snprintf(mode, sizeof(mode), "%d", sign * nth);
        char const *const printed = run_self_on_machine(machine, mode);
        assert_int_equal(sscanf(printed, "%d %31s %zu %31s %zu", &hit, first, &counts[0], second, &counts[1]), 5);
        assert_string_equal(second, "ok");
        assert_int_equal(counts[1], expected);
        bool const refused = !strcmp(first, "out_of_memory");
        if (!refused) assert_string_equal(first, "ok");
        assert_int_equal(counts[0], refused ? 0 : expected);
        refusals += refused;
        if (!hit) break;
    }
    assert_true(refusals > 0);
}

static void memory_may_run_out(void **state) {
    (void)state;
    static machine_t const both = {"cuda", "count=20;device=a|9.0|1|2", "rocm7", "count=20;device=x|gfx942|3|4"};
    static machine_t const useless = {"cuda_old", "", "rocm_count", ""};
    static machine_t const none = {NULL, "", NULL, ""};
    for (int sign = -1; sign <= 1; sign += 2) {
        sweep(&both, sign, 40);
        sweep(&useless, sign, 0);
        // Real drivers wouldn't survive it.
        if (!dlopen("libcuda.so.1", RTLD_LAZY) && !dlopen("libamdhip64.so", RTLD_LAZY)) sweep(&none, sign, 0);
    }
}

int main(int count, char **words) {
    if (count == 3 && !strcmp(words[1], "--child")) return ask_twice(atol(words[2]));
    if (count < 2) return fprintf(stderr, "test_faults FOLDER\n"), 2;
    standins_folder = words[1];
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
