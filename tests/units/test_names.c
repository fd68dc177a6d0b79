/**
 *  Statuses, enumerations and details: names from tables, parsing back, and the words of the last failure per thread.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/detail.h"
#include "uform/uform.h"

static void statuses_have_names_and_texts(void **state) {
    (void)state;
    assert_string_equal(uform_status_name(uform_status_ok_k), "ok");
    assert_string_equal(uform_status_name(uform_status_not_finite_k), "not_finite");
    assert_string_equal(uform_status_name((uform_status_t)12), "unknown");
    assert_string_equal(uform_status_name((uform_status_t)-1), "unknown");
    for (int status = 0; status < 12; ++status) assert_true(strlen(uform_status_text((uform_status_t)status)) > 5);
    assert_non_null(uform_status_text((uform_status_t)1000));
}

static void classes_parse_back(void **state) {
    (void)state;
    for (int value = 1; value <= 18; ++value) {
        uform_cpu_class_t parsed;
        assert_int_equal(
            uform_cpu_class_parse(uform_cpu_class_name((uform_cpu_class_t)value), &parsed), uform_status_ok_k);
        assert_int_equal(parsed, value);
    }
    for (int value = 1; value <= 12; ++value) {
        uform_gpu_class_t parsed;
        assert_int_equal(
            uform_gpu_class_parse(uform_gpu_class_name((uform_gpu_class_t)value), &parsed), uform_status_ok_k);
        assert_int_equal(parsed, value);
    }
    for (int value = 1; value <= 5; ++value) {
        uform_scalar_t parsed;
        assert_int_equal(uform_scalar_parse(uform_scalar_name((uform_scalar_t)value), &parsed), uform_status_ok_k);
        assert_int_equal(parsed, value);
    }
    assert_string_equal(uform_cpu_class_name(uform_cpu_class_intel_sapphire_k), "intel_sapphire");
    assert_string_equal(uform_cpu_class_name(uform_cpu_class_derived_k), "derived");
    assert_string_equal(uform_cpu_class_name((uform_cpu_class_t)19), "unknown");
    assert_string_equal(uform_gpu_class_name((uform_gpu_class_t)-1), "unknown");
    assert_string_equal(uform_scalar_name((uform_scalar_t)6), "unknown");
}

static void vendors_and_tiers_parse_back(void **state) {
    (void)state;
    static char const *const vendors[] = {"unknown", "nvidia", "amd", "apple", "unknown"};
    for (int value = 0; value <= 4; ++value) {
        bool const known = value >= 1 && value <= 3;
        uform_gpu_vendor_t parsed = uform_gpu_vendor_amd_k;
        assert_string_equal(uform_gpu_vendor_name((uform_gpu_vendor_t)value), vendors[value]);
        assert_int_equal(
            uform_gpu_vendor_parse(vendors[value], &parsed), known ? uform_status_ok_k : uform_status_not_found_k);
        assert_int_equal(parsed, known ? value : 0);
    }
    // The one enumeration whose zero is a value of its own.
    static char const *const tiers[] = {"switch_reduced", "peer_read", "unknown"};
    for (int value = 0; value <= 2; ++value) {
        uform_multimem_tier_t parsed = uform_multimem_tier_peer_read_k;
        assert_string_equal(uform_multimem_tier_name((uform_multimem_tier_t)value), tiers[value]);
        assert_int_equal(
            uform_multimem_tier_parse(tiers[value], &parsed), value < 2 ? uform_status_ok_k : uform_status_not_found_k);
        assert_int_equal(parsed, value < 2 ? value : 0);
    }
    assert_non_null(strstr(uform_last_detail(), "switch_reduced, peer_read"));
    uform_multimem_tier_t tier = uform_multimem_tier_peer_read_k;
    assert_int_equal(uform_multimem_tier_parse(NULL, &tier), uform_status_invalid_argument_k);
    assert_int_equal(tier, 0);
}

static void unknown_tokens_are_named(void **state) {
    (void)state;
    uform_scalar_t scalar = uform_scalar_bf16_k;
    assert_int_equal(uform_scalar_parse("f33", &scalar), uform_status_not_found_k);
    assert_int_equal(scalar, 0);
    assert_non_null(strstr(uform_last_detail(), "\"f33\""));
    assert_non_null(strstr(uform_last_detail(), "f32, f16, bf16, i8, b1"));
    static char const *const wrong[] = {"derived", "", "F32", "f32 ", " f32", "unknown", "f3", "f321"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); ++i)
        assert_int_equal(uform_scalar_parse(wrong[i], &scalar), uform_status_not_found_k);
    assert_int_equal(uform_scalar_parse(NULL, &scalar), uform_status_invalid_argument_k);
}

static void poolings_combine(void **state) {
    (void)state;
    uint32_t bits;
    assert_int_equal(uform_pooling_parse("mean", &bits), uform_status_ok_k);
    assert_int_equal(bits, uform_pooling_mean_k);
    assert_int_equal(uform_pooling_parse("mean+cls+lasttoken", &bits), uform_status_ok_k);
    assert_int_equal(bits, uform_pooling_mean_k | uform_pooling_cls_k | uform_pooling_lasttoken_k);
    assert_string_equal(uform_pooling_name(bits), "combined");
    assert_string_equal(uform_pooling_name(uform_pooling_mean_sqrt_len_k), "mean_sqrt_len");
    assert_string_equal(uform_pooling_name(0), "derived");
    assert_string_equal(uform_pooling_name(64), "unknown");
    static char const *const wrong[] = {"", "+", "mean+", "+mean", "mean++cls", "derived", "mean,cls", "mean +cls"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); ++i) {
        assert_int_equal(uform_pooling_parse(wrong[i], &bits), uform_status_not_found_k);
        assert_int_equal(bits, 0);
    }
}

static void details_are_one_clean_line(void **state) {
    (void)state;
    assert_int_equal(uform_fail_(uform_status_malformed_k, "a\nb\x01%s",
                         "\xff"
                         "c\xc3\xa9"),
        uform_status_malformed_k);
    assert_string_equal(uform_last_detail(), "a?b??c\xc3\xa9");
    assert_int_equal(uform_fail_prefixed_(uform_status_io_failed_k, "%s: ", "file"), uform_status_io_failed_k);
    assert_string_equal(uform_last_detail(), "file: a?b??c\xc3\xa9");
    assert_int_equal(uform_fail_(uform_status_malformed_k, "%s!", uform_last_detail()), uform_status_malformed_k);
    assert_string_equal(uform_last_detail(), "file: a?b??c\xc3\xa9!");
}

/// A buffer's worth of two-byte characters behind one or two single bytes: one of them cuts a character in two.
static void long_details_end_with_a_whole_character(void **state) {
    (void)state;
    char text[3000];
    for (size_t single = 1; single <= 2; ++single) {
        memset(text, 'x', single);
        for (size_t i = single; i + 2 < sizeof(text); i += 2) memcpy(text + i, "\xc3\xa9", 3);
        assert_int_equal(uform_fail_(uform_status_malformed_k, "%s", text), uform_status_malformed_k);
        size_t const length = strlen(uform_last_detail());
        assert_true(length > 1000 && length < 1024);
        assert_memory_equal(uform_last_detail() + length - 2, "\xc3\xa9", 2);
    }
}

static void *fail_elsewhere(void *unused) {
    (void)unused;
    if (*uform_last_detail()) return "a new thread has no failure yet";
    (void)uform_fail_(uform_status_malformed_k, "elsewhere");
    return strcmp(uform_last_detail(), "elsewhere") ? "the thread's own failure" : NULL;
}

static void threads_have_their_own_details(void **state) {
    (void)state;
    (void)uform_fail_(uform_status_malformed_k, "here");
    pthread_t thread;
    void *complaint;
    assert_int_equal(pthread_create(&thread, NULL, fail_elsewhere, NULL), 0);
    assert_int_equal(pthread_join(thread, &complaint), 0);
    if (complaint) fail_msg("%s", (char const *)complaint);
    assert_string_equal(uform_last_detail(), "here");
}

int main(void) {
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(statuses_have_names_and_texts),
        cmocka_unit_test(classes_parse_back),
        cmocka_unit_test(vendors_and_tiers_parse_back),
        cmocka_unit_test(unknown_tokens_are_named),
        cmocka_unit_test(poolings_combine),
        cmocka_unit_test(details_are_one_clean_line),
        cmocka_unit_test(long_details_end_with_a_whole_character),
        cmocka_unit_test(threads_have_their_own_details),
    };
    return cmocka_run_group_tests_name("names", tests, NULL, NULL);
}
