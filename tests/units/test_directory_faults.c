/**
 *  Opening a directory while the first, the second, the third ... allocation fails: every one must end in
 *  `out_of_memory`, and leave nothing behind.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "faults/allocation.h"
#include "models/directory.h"

static void sweep(char const *model, bool persistent) {
    char path[512];
    snprintf(path, sizeof(path), "%s/golden/models/%s", UFORM_TESTS_DIRECTORY, model);
    for (size_t nth = 1;; ++nth) {
        uform_directory_t directory;
        faults_arm(nth, persistent);
        uform_status_t const status = uform_directory_open_(path, &directory);
        bool const failed = faults_disarm();
        if (status == uform_status_ok_k) uform_directory_close_(&directory);
        if (!failed) {
            assert_int_equal(status, uform_status_ok_k);
            assert_true(nth > 20);
            return;
        }
        if (status != uform_status_out_of_memory_k)
            fail_msg("%s, allocation %zu: found %s: %s", model, nth, uform_status_name(status), uform_last_detail());
        assert_null(directory.path);
    }
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    static char const *const models[] = {"mean", "dense_stack", "sharded", "prompts", "layout_old", "layout_new",
        "lower_case", "tokens_decoder", "tokens_older_files", "vocabulary_file_cased", "arguments_tokens",
        "../vision/models/clip", "../vision/models/clip_old_tokenizer", "../vision/models/siglip",
        "../vision/models/siglip_renamed", "../vision/models/uform_roberta"};
    for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); ++i) {
        sweep(models[i], false);
        sweep(models[i], true);
    }
}

int main(void) {
    struct CMUnitTest const tests[] = {cmocka_unit_test(every_allocation_may_fail)};
    return cmocka_run_group_tests_name("directory faults", tests, NULL, NULL);
}
