/**
 *  Every group of every class this machine offers, against `serial`. `--bench [CLASS [PART]]` times the
 *  same calls instead, those whose name contains PART.
 *
 *  Classes whose instructions few processors have are checked a second time with those replaced, wherever the rest of them can run:
 *  `intel_sapphire` with its tiles in software, where `amd_genoa` can, `intel_sierra` with the instruction of AVX-512 that does the
 *  same as its own, where `intel_icelake` can, and the classes for Arm with all of them in software, where `intel_haswell` can.
 *
 *  The seed is printed; UFORM_TEST_SEED=N repeats a run.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "harness.h"
#include "uform/types.h"

typedef void (*check_t)(subject_t const *subject, precision_t precision);

/// The checks of one family, and which group they exercise: the offset of its pointer in `uform_kernels_t`.
static struct {
    char const *name;
    check_t check;
    precision_t precision;
    size_t group;
} const families[] = {
    {"gemm_f32", check_gemm, precision_f32_k, offsetof(uform_kernels_t, gemm_f32)},
    {"gemm_bf16", check_gemm, precision_bf16_k, offsetof(uform_kernels_t, gemm_bf16)},
    {"gemm_i8", check_gemm, precision_i8_k, offsetof(uform_kernels_t, gemm_i8)},
    {"quantize_i8", check_quantize, precision_i8_k, offsetof(uform_kernels_t, gemm_i8)},
    {"activations_f32", check_activations, precision_f32_k, offsetof(uform_kernels_t, gemm_f32)},
    {"activations_bf16", check_activations, precision_bf16_k, offsetof(uform_kernels_t, gemm_bf16)},
    {"activations_i8", check_activations, precision_i8_k, offsetof(uform_kernels_t, gemm_i8)},
    {"attention_f32", check_attention, precision_f32_k, offsetof(uform_kernels_t, attention_f32)},
    {"attention_bf16", check_attention, precision_bf16_k, offsetof(uform_kernels_t, attention_bf16)},
    {"rows_f32", check_rows, precision_f32_k, offsetof(uform_kernels_t, rows_f32)},
    {"rows_bf16", check_rows, precision_bf16_k, offsetof(uform_kernels_t, rows_bf16)},
    {"resample", check_resample, precision_f32_k, offsetof(uform_kernels_t, resample)},
};

#define UFORM_CLASS(token, ...) uform_cpu_class_##token##_k,
static uform_cpu_class_t const classes[] = {
#include "kernels/classes.inc"
};
#undef UFORM_CLASS

extern uform_kernels_t const emulated_sapphire_table, emulated_sierra_table, emulated_aws_g2_table,
    emulated_apple_m2_table;

/// A class compiled once more with some of its instructions replaced.
static struct {
    char const *name;
    uform_cpu_class_t cpu_class;
    uform_cpu_class_t needed;   ///< it runs where this class does
    uform_cpu_class_t fallback; ///< and has the groups that this one dispatches to under its own
    uform_kernels_t const *table;
} const emulated[] = {
    {"intel_sapphire, tiles emulated", uform_cpu_class_intel_sapphire_k, uform_cpu_class_amd_genoa_k,
        uform_cpu_class_amd_genoa_k, &emulated_sapphire_table},
    {"intel_sierra, emulated", uform_cpu_class_intel_sierra_k, uform_cpu_class_intel_icelake_k,
        uform_cpu_class_intel_haswell_k, &emulated_sierra_table},
    {"aws_g2, emulated", uform_cpu_class_aws_g2_k, uform_cpu_class_intel_haswell_k, uform_cpu_class_serial_k,
        &emulated_aws_g2_table},
    {"apple_m2, emulated", uform_cpu_class_apple_m2_k, uform_cpu_class_intel_haswell_k, uform_cpu_class_serial_k,
        &emulated_apple_m2_table},
};

enum {
    family_count_k = sizeof(families) / sizeof(families[0]),
    class_count_k = sizeof(classes) / sizeof(classes[0]),
    emulated_count_k = sizeof(emulated) / sizeof(emulated[0]),
    subject_count_k = class_count_k + emulated_count_k, ///< the classes, then those with instructions replaced
    case_count_k = subject_count_k * family_count_k,
};

static subject_t subjects[subject_count_k];
static uform_kernels_t emulated_kernels[emulated_count_k];
static uint64_t seed;

/// One family of one class, and the class before that already showed the same group.
typedef struct case_t {
    size_t family;
    subject_t const *subject;
    subject_t const *same;
    char name[64];
} case_t;

static void const *group_of(subject_t const *subject, size_t family) {
    return *(void const *const *)((char const *)subject->kernels + families[family].group);
}

static void run_case(void **state) {
    case_t const *const one = *state;
    if (!one->subject->kernels) {
        print_message("%s: skipped, this machine or this build does not offer the class\n", one->name);
        skip();
    }
    if (one->same) {
        print_message("%s: the group of %s, checked there\n", one->name, one->same->name);
        return;
    }
    // Each case has its own sequence, so that it repeats when run alone.
    random_seed(seed + (uint64_t)(one->family * subject_count_k) + (uint64_t)(one->subject - subjects));
    families[one->family].check(one->subject, families[one->family].precision);
}

static void find_subjects(void) {
    for (size_t i = 0; i < class_count_k; ++i) {
        subjects[i].cpu_class = classes[i];
        subjects[i].name = uform_cpu_class_name(classes[i]);
        subjects[i].serial = uform_kernels_(uform_cpu_class_serial_k);
        if (uform_cpu_class_require_(classes[i]) == uform_status_ok_k) subjects[i].kernels = uform_kernels_(classes[i]);
        if (classes[i] == uform_cpu_class_intel_sapphire_k)
            subjects[i].equal = uform_kernels_(uform_cpu_class_amd_genoa_k);
    }
}

/// A class with instructions replaced: its own groups over those of its fallback.
static void find_emulated(size_t i) {
    subject_t *const subject = &subjects[class_count_k + i];
    subject->cpu_class = emulated[i].cpu_class;
    subject->name = emulated[i].name;
    subject->serial = uform_kernels_(uform_cpu_class_serial_k);
    if (!emulated[i].table->compiled || uform_cpu_class_require_(emulated[i].needed) != uform_status_ok_k) return;
    uform_kernels_t *const kernels = &emulated_kernels[i];
    *kernels = *uform_kernels_(emulated[i].fallback);
    if (emulated[i].cpu_class == uform_cpu_class_intel_sapphire_k)
        subject->equal = uform_kernels_(emulated[i].fallback);
    for (size_t family = 0; family < family_count_k; ++family) {
        char const *const own = (char const *)emulated[i].table + families[family].group;
        if (*(void const *const *)own) memcpy((char *)kernels + families[family].group, own, sizeof(void *));
    }
    subject->kernels = kernels;
}

/// The first class before `subject` that dispatches this family to the same group.
static subject_t const *find_same(subject_t const *subject, size_t family) {
    for (subject_t const *other = subjects; subject->kernels && other < subject; ++other)
        if (other->kernels && group_of(other, family) == group_of(subject, family)) return other;
    return NULL;
}

int main(int count, char **arguments) {
    find_subjects();
    for (size_t i = 0; i < emulated_count_k; ++i) find_emulated(i);
    if (count > 1 && !strcmp(arguments[1], "--bench"))
        return bench_classes(subjects, class_count_k, count > 2 ? arguments[2] : NULL, count > 3 ? arguments[3] : NULL);
    char const *const chosen = getenv("UFORM_TEST_SEED");
    seed = chosen ? strtoull(chosen, NULL, 10) : (uint64_t)time(NULL);
    printf("seed %llu\n", (unsigned long long)seed);
    static case_t cases[case_count_k];
    static struct CMUnitTest tests[case_count_k];
    for (size_t i = 0; i < case_count_k; ++i) {
        case_t *const one = &cases[i];
        one->family = i % family_count_k;
        one->subject = &subjects[i / family_count_k];
        one->same = find_same(one->subject, one->family);
        snprintf(one->name, sizeof(one->name), "%s of %s", families[one->family].name, one->subject->name);
        tests[i] = (struct CMUnitTest){.name = one->name, .test_func = run_case, .initial_state = one};
    }
    return cmocka_run_group_tests_name("kernels", tests, NULL, NULL);
}
