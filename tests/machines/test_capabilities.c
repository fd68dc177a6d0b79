/**
 *  What the library says about this build and this machine: lists, reasons, forcing a class, tile permission, the
 *  limit.
 */
#include "machine_test.h"

#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kernels/kernels.h"
#include "uform/uform.h"

static char const *own_path;

/// Whether a comma-separated list has the token.
static bool lists(char const *list, char const *token) {
    size_t const length = strlen(token);
    for (char const *item = list; *item; item += strcspn(item, ","), item += *item == ',')
        if (strcspn(item, ",") == length && !strncmp(item, token, length)) return true;
    return false;
}

static void test_version(void **state) {
    (void)state;
    assert_string_equal(uform_version(), UFORM_VERSION);
}

static void test_descriptions_agree(void **state) {
    (void)state;
    uform_machine_description_t machine;
    assert_ok(uform_machine_describe(&machine));
    assert_true(machine.cores_online >= 1 && machine.cores_allowed >= 1 && machine.threads_default >= 1);
    assert_true(machine.threads_default <= machine.cores_allowed);
    size_t chosen = 0;
    for (int value = uform_cpu_class_serial_k; value <= uform_cpu_class_monoversioned_k; value++) {
        uform_cpu_class_description_t description;
        uform_cpu_class_t const cpu_class = (uform_cpu_class_t)value;
        char const *const token = uform_cpu_class_name(cpu_class);
        assert_ok(uform_cpu_class_describe(cpu_class, &description));
        assert_int_equal(description.cpu_class, cpu_class);
        assert_int_equal(description.compiled, lists(uform_capabilities_compiled(), token));
        assert_int_equal(description.available, lists(uform_capabilities_available(), token));
        assert_true(description.compiled || !description.available);
        assert_int_equal(description.available, !*description.reason);
        assert_int_equal(description.compiled, uform_kernels_(cpu_class) != NULL);
        chosen += description.chosen;
        if (description.chosen) assert_int_equal(machine.cpu_class, cpu_class);
        uform_executor_t executor;
        uform_status_t const status = uform_executor_for_ram(NULL, 0, cpu_class, 1, 0, &executor);
        assert_int_equal(status, description.available ? uform_status_ok_k : uform_status_unsupported_k);
        if (!description.available) {
            assert_non_null(strstr(uform_last_detail(), token));
            assert_non_null(strstr(uform_last_detail(), description.reason));
        }
        uform_executor_free(executor);
    }
    assert_int_equal(chosen, 1);
    assert_true(lists(uform_capabilities_available(), "serial"));
    uform_cpu_class_description_t description;
    assert_int_equal(uform_cpu_class_describe(0, &description), uform_status_invalid_argument_k);
    assert_int_equal(uform_cpu_class_describe(19, &description), uform_status_invalid_argument_k);
    assert_int_equal(uform_cpu_class_describe(1, NULL), uform_status_invalid_argument_k);
    assert_int_equal(uform_machine_describe(NULL), uform_status_invalid_argument_k);
    assert_ok(uform_cpu_class_describe(uform_cpu_class_wasm32_v128_k, &description));
    assert_string_equal(description.reason, "not of this architecture: it is for WebAssembly");
}

/// Every class that can be pinned has every group, its own or inherited.
static void test_inheritance(void **state) {
    (void)state;
    for (int value = uform_cpu_class_serial_k; value <= uform_cpu_class_monoversioned_k; value++) {
        uform_kernels_t const *const kernels = uform_kernels_((uform_cpu_class_t)value);
        if (!kernels) continue;
        assert_non_null(kernels->gemm_f32);
        assert_non_null(kernels->gemm_bf16);
        assert_non_null(kernels->attention_f32);
        assert_non_null(kernels->attention_bf16);
        assert_non_null(kernels->rows_f32);
        assert_non_null(kernels->rows_bf16);
    }
    assert_null(uform_kernels_(uform_cpu_class_wasm32_v128_k));
    assert_null(uform_kernels_((uform_cpu_class_t)99));
    assert_false(uform_kernels_prefer_bf16_(uform_cpu_class_serial_k));
    assert_true(uform_kernels_prefer_bf16_(uform_cpu_class_amd_genoa_k));
}

static void test_forced_class(void **state) {
    (void)state;
    uform_cpu_class_t cpu_class;
    uform_cpu_class_description_t description;
    uform_executor_t executor;
    setenv("UFORM_CPU_CLASS", "serial", 1);
    assert_ok(uform_cpu_class_derive_(&cpu_class));
    assert_int_equal(cpu_class, uform_cpu_class_serial_k);
    assert_ok(uform_cpu_class_describe(uform_cpu_class_serial_k, &description));
    assert_true(description.chosen);

    setenv("UFORM_CPU_CLASS", "intel_pentium", 1);
    assert_int_equal(uform_executor_for_ram(NULL, 0, 0, 1, 0, &executor), uform_status_invalid_argument_k);
    assert_non_null(strstr(uform_last_detail(), "UFORM_CPU_CLASS"));
    assert_non_null(strstr(uform_last_detail(), "intel_pentium"));
    assert_null(executor);
    uform_machine_description_t machine;
    assert_int_equal(uform_machine_describe(&machine), uform_status_invalid_argument_k);
    // A class that is pinned doesn't care.
    assert_ok(uform_executor_for_ram(NULL, 0, uform_cpu_class_serial_k, 1, 0, &executor));
    uform_executor_free(executor);

    setenv("UFORM_CPU_CLASS", "wasm32_v128", 1);
    assert_int_equal(uform_cpu_class_derive_(&cpu_class), uform_status_unsupported_k);
    assert_non_null(strstr(uform_last_detail(), "UFORM_CPU_CLASS: wasm32_v128: "));
    assert_ok(uform_cpu_class_describe(uform_cpu_class_serial_k, &description));
    assert_false(description.chosen);

    setenv("UFORM_CPU_CLASS", "", 1);
    assert_ok(uform_cpu_class_derive_(&cpu_class));
    unsetenv("UFORM_CPU_CLASS");
}

static double now_seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void test_limit(void **state) {
    (void)state;
    double mean, best;
    uform_executor_t executor;
    assert_ok(uform_executor_for_ram(NULL, 0, uform_cpu_class_serial_k, 2, 0, &executor));
    uform_executor_t const executors[] = {executor, NULL};
    uform_scalar_t const precisions[] = {
        uform_scalar_f32_k, uform_scalar_bf16_k, uform_scalar_i8_k, uform_scalar_derived_k};
    for (size_t e = 0; e < 2; e++)
        for (size_t p = 0; p < 4; p++) {
            double const begin = now_seconds();
            assert_ok(uform_limit_measure(executors[e], precisions[p], 0.03, &mean, &best));
            assert_true(now_seconds() - begin >= 0.03);
            assert_true(mean > 0 && best >= mean && isfinite(best));
        }
    assert_ok(uform_limit_measure(executor, uform_scalar_f32_k, 1e-9, &mean, NULL));
    assert_true(mean > 0);
    assert_int_equal(uform_limit_measure(executor, uform_scalar_f16_k, 0.01, &mean, &best), uform_status_unsupported_k);
    assert_non_null(strstr(uform_last_detail(), "f16"));
    static double const senseless[] = {0, -1, INFINITY, NAN};
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(uform_limit_measure(executor, uform_scalar_f32_k, senseless[i], &mean, &best),
            uform_status_invalid_argument_k);
    assert_int_equal(
        uform_limit_measure(executor, uform_scalar_f32_k, 0.01, NULL, &best), uform_status_invalid_argument_k);
    uform_executor_free(executor);
}

/// In a fresh process, as the permission is asked for once: with a small alternate signal stack the kernel refuses
/// tiles, and the next class serves.
static int derive_with_small_stack(void) {
    static char stack[4096];
    stack_t const small = {.ss_sp = stack, .ss_size = sizeof(stack)};
    if (sigaltstack(&small, NULL)) return 77;
    uform_cpu_class_description_t description;
    if (uform_cpu_class_describe(uform_cpu_class_intel_sapphire_k, &description) != uform_status_ok_k) return 1;
    if (description.available) return 2;
    if (!strstr(description.reason, "alternate signal stack")) return 3;
    uform_machine_description_t machine;
    if (uform_machine_describe(&machine) != uform_status_ok_k) return 4;
    return machine.cpu_class == uform_cpu_class_amd_genoa_k ? 0 : 5;
}

static void test_tiles_refused(void **state) {
    (void)state;
    if (!lists(uform_capabilities_available(), "intel_sapphire")) skip();
    pid_t const child = fork();
    if (!child) {
        unsetenv("UFORM_CPU_CLASS");
        execl(own_path, own_path, "small-stack", (char *)NULL);
        _exit(127);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(int count, char **arguments) {
    own_path = arguments[0];
    if (count > 1) return derive_with_small_stack();
    unsetenv("UFORM_CPU_CLASS");
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(test_version),
        cmocka_unit_test(test_descriptions_agree),
        cmocka_unit_test(test_inheritance),
        cmocka_unit_test(test_forced_class),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_tiles_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
