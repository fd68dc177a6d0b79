/**
 *  Detection replayed on recorded processors, and on the same ones under systems that enable less than they have.
 */
#include "machine_test.h"

#include <errno.h>
#include <string.h>

#include "cpu/cpu.h"
#include "uform/uform.h"

typedef struct processor_t {
    char const *name;
    uform_cpu_identity_t identity;
    uform_cpu_class_t best;
} processor_t;

static processor_t const processors[] = {
#define PROCESSOR(name, xcr0, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, best)                                    \
    {#name, {{{a, b, c, d}, {e, f, g, h}, {i, j, k, l}, {m, n, o, p}}, xcr0}, uform_cpu_class_##best##_k},
#define PROCESSOR_ARM(name, hwcap, hwcap2, best)                                                                       \
    {#name, {{[uform_leaf_arm_k] = {hwcap, hwcap2}}, 0}, uform_cpu_class_##best##_k},
#include "processors.inc"
#undef PROCESSOR
#undef PROCESSOR_ARM
};

typedef struct class_row_t {
    uform_cpu_class_t cpu_class, fallback;
    uint64_t required;
} class_row_t;

static class_row_t const rows[] = {
#define UFORM_CLASS(token, fallback, prefers_bf16, features)                                                           \
    {uform_cpu_class_##token##_k, uform_cpu_class_##fallback##_k, features},
#include "kernels/classes.inc"
#undef UFORM_CLASS
};

enum { row_count_k = sizeof(rows) / sizeof(*rows) };

static int permission; ///< what asking for tiles answers
static size_t times_asked;

static int permit(void) {
    times_asked++;
    return permission;
}

static processor_t const *find(char const *name) {
    for (size_t i = 0; i < sizeof(processors) / sizeof(*processors); i++)
        if (!strcmp(processors[i].name, name)) return &processors[i];
    fail_msg("no processor %s", name);
    return NULL;
}

static uform_cpu_class_t best_of(uform_cpu_identity_t const *identity) {
    uform_cpu_features_t const features = uform_cpu_features_(identity);
    uform_cpu_class_t best = uform_cpu_class_derived_k;
    char reason[256];
    for (size_t i = 0; i < row_count_k; i++)
        if (uform_cpu_offers_(features, rows[i].required, permit, reason, sizeof(reason))) best = rows[i].cpu_class;
    return best;
}

/// Why a machine doesn't offer a class; static storage.
static char const *reason_of(uform_cpu_identity_t const *identity, uint64_t required) {
    static char reason[256];
    assert_false(uform_cpu_offers_(uform_cpu_features_(identity), required, permit, reason, sizeof(reason)));
    return reason;
}

static void test_best_class(void **state) {
    (void)state;
    permission = 0;
    for (size_t i = 0; i < sizeof(processors) / sizeof(*processors); i++) {
        times_asked = 0;
        assert_int_equal(best_of(&processors[i].identity), processors[i].best);
        // Whoever has no tiles isn't asked for them.
        assert_int_equal(times_asked > 0, processors[i].best == uform_cpu_class_intel_sapphire_k);
    }
}

static void test_rows_are_consistent(void **state) {
    (void)state;
    for (size_t i = 0; i < row_count_k; i++) {
        if (i) assert_true(rows[i].cpu_class > rows[i - 1].cpu_class);
        size_t fallback = 0;
        while (rows[fallback].cpu_class != rows[i].fallback) assert_true(++fallback <= i);
        assert_true(fallback < i || !i);
        // A class inherits code, so it needs all that the code needs.
        assert_int_equal(rows[fallback].required & ~rows[i].required, 0);
    }
}

static void test_granite_features(void **state) {
    (void)state;
    uform_cpu_features_t const features = uform_cpu_features_(&find("granite_rapids")->identity);
    assert_int_equal(UFORM_FEATURES_GRANITE & ~features.enabled, 0);
    assert_int_equal(features.processor & UFORM_FEATURE(avx10_2), 0);
}

static void test_avx10_version(void **state) {
    (void)state;
    uform_cpu_identity_t identity = find("granite_rapids")->identity;
    identity.leaves[uform_leaf_avx10_k][1] = 0x70002;
    assert_int_not_equal(uform_cpu_features_(&identity).enabled & UFORM_FEATURE(avx10_2), 0);
    identity.leaves[uform_leaf_avx10_k][1] = 0x70003;
    assert_int_not_equal(uform_cpu_features_(&identity).enabled & UFORM_FEATURE(avx10_2), 0);
    identity.leaves[uform_leaf_extended_1_k][3] &= ~(UINT32_C(1) << 19); // not announced: the leaf says nothing
    assert_int_equal(uform_cpu_features_(&identity).processor & UFORM_FEATURE(avx10_2), 0);
}

static void test_arm_features(void **state) {
    (void)state;
    uform_cpu_identity_t identity = find("neoverse_n2")->identity;
    assert_int_equal(uform_cpu_features_(&identity).enabled, UFORM_FEATURES_M2);
    assert_string_equal(reason_of(&identity, UFORM_FEATURES_HASWELL), "the processor lacks avx2, fma, f16c, bmi2");
    assert_string_equal(reason_of(&find("graviton_2")->identity, UFORM_FEATURES_M2), "the processor lacks i8mm, bf16");
    identity.leaves[uform_leaf_arm_k][0] &= ~(UINT32_C(1) << 20); // products of bf16 without those of integers
    assert_int_equal(best_of(&identity), uform_cpu_class_aws_g2_k);
    assert_string_equal(reason_of(&identity, UFORM_FEATURES_M2), "the processor lacks asimddp");
    identity.leaves[uform_leaf_arm_k][0] = 0;
    assert_int_equal(best_of(&identity), uform_cpu_class_serial_k);
}

static void test_processor_lacks(void **state) {
    (void)state;
    assert_string_equal(reason_of(&find("epyc_genoa")->identity, UFORM_FEATURES_SAPPHIRE),
        "the processor lacks avx512_fp16, amx_tile, amx_bf16, amx_int8");
    assert_string_equal(
        reason_of(&find("core_i7_1065g7")->identity, UFORM_FEATURES_GENOA), "the processor lacks avx512_bf16");
    assert_string_equal(
        reason_of(&find("core_i7_4770")->identity, UFORM_FEATURES_SIERRA), "the processor lacks avx_vnni");
    uform_cpu_identity_t const nothing = {0};
    assert_string_equal(reason_of(&nothing, UFORM_FEATURES_HASWELL), "the processor lacks avx2, fma, f16c, bmi2");
    assert_int_equal(best_of(&nothing), uform_cpu_class_serial_k);
    // As much as fits is said, and that there is more.
    char const *const long_reason = reason_of(&nothing, UFORM_FEATURES_DIAMOND);
    assert_true(strlen(long_reason) < 256);
    assert_string_equal(long_reason + strlen(long_reason) - 5, ", ...");
}

static void test_system_enables_less(void **state) {
    (void)state;
    permission = 0;
    uform_cpu_identity_t identity = find("skylake_x")->identity;
    identity.xcr0 = 0x7; // no opmask and zmm state
    assert_int_equal(best_of(&identity), uform_cpu_class_intel_haswell_k);
    assert_string_equal(reason_of(&identity, UFORM_FEATURES_SKYLAKE),
        "the operating system does not enable zmm registers, needed for avx512f, avx512cd, avx512vl, avx512dq, "
        "avx512bw");
    identity.xcr0 = 0x27; // opmask alone isn't enough
    assert_int_equal(best_of(&identity), uform_cpu_class_intel_haswell_k);
    identity.xcr0 = 0x3; // no ymm state
    assert_int_equal(best_of(&identity), uform_cpu_class_serial_k);
    assert_string_equal(reason_of(&identity, UFORM_FEATURES_HASWELL),
        "the operating system does not enable ymm registers, needed for avx2, fma, f16c");

    identity = find("sapphire_rapids")->identity;
    identity.xcr0 = 0x2E7; // no tiles
    times_asked = 0;
    assert_int_equal(best_of(&identity), uform_cpu_class_amd_genoa_k);
    assert_int_equal(times_asked, 0);
    assert_string_equal(reason_of(&identity, UFORM_FEATURES_SAPPHIRE),
        "the operating system does not enable tile registers, needed for amx_tile, amx_bf16, amx_int8");
    identity.xcr0 = 0x202E7; // configuration without data
    assert_int_equal(best_of(&identity), uform_cpu_class_amd_genoa_k);
    identity.xcr0 = 0x7; // no zmm state: what is left is as on processors without AVX-512
    assert_int_equal(best_of(&identity), uform_cpu_class_intel_sierra_k);
    identity.xcr0 = 0; // no XSAVE at all
    assert_int_equal(best_of(&identity), uform_cpu_class_serial_k);
}

static void test_system_refuses_tiles(void **state) {
    (void)state;
    uform_cpu_identity_t const *const identity = &find("sapphire_rapids")->identity;
    permission = ENOSPC;
    assert_int_equal(best_of(identity), uform_cpu_class_amd_genoa_k);
    assert_string_equal(reason_of(identity, UFORM_FEATURES_SAPPHIRE),
        "the operating system refused tile state: a thread's alternate signal stack is too small for it");
    permission = EOPNOTSUPP;
    assert_int_equal(best_of(identity), uform_cpu_class_amd_genoa_k);
    assert_non_null(strstr(reason_of(identity, UFORM_FEATURES_SAPPHIRE), "the operating system refused tile state: "));
    permission = 0;
}

static void test_own_processor(void **state) {
    (void)state;
    uform_cpu_identity_t identity;
    uform_cpu_identify_(&identity);
    uform_cpu_features_t const features = uform_cpu_features_(&identity);
    assert_int_equal(features.enabled & ~features.processor, 0);
#if defined(__x86_64__)
    // The compiler's runtime asks the same questions in its own way.
    __builtin_cpu_init();
    assert_int_equal((features.enabled & UFORM_FEATURE(avx2)) != 0, __builtin_cpu_supports("avx2") != 0);
    assert_int_equal((features.enabled & UFORM_FEATURE(fma)) != 0, __builtin_cpu_supports("fma") != 0);
    assert_int_equal((features.enabled & UFORM_FEATURE(avx512f)) != 0, __builtin_cpu_supports("avx512f") != 0);
    assert_int_equal((features.enabled & UFORM_FEATURE(avx512_vnni)) != 0, __builtin_cpu_supports("avx512vnni") != 0);
#endif
    char name[128];
    uform_cpu_name_(name, sizeof(name));
    assert_true(strlen(name) < sizeof(name));
    if (*name) assert_true(name[0] != ' ' && name[strlen(name) - 1] != ' ');
}

int main(void) {
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(test_best_class),
        cmocka_unit_test(test_rows_are_consistent),
        cmocka_unit_test(test_granite_features),
        cmocka_unit_test(test_avx10_version),
        cmocka_unit_test(test_arm_features),
        cmocka_unit_test(test_processor_lacks),
        cmocka_unit_test(test_system_enables_less),
        cmocka_unit_test(test_system_refuses_tiles),
        cmocka_unit_test(test_own_processor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
