/**
 *  Every allocation of reading a configuration and of preprocessing fails once: the status says so, nothing is lost, and the
 *  buffer serves afterwards.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "faults/allocation.h"
#include "malformed/workspace.h"
#include "pictures.h"

static char const *const configs[] = {
    "{\"image_processor_type\": \"CLIPImageProcessor\", \"size\": 20, \"crop_size\": 24}",
    "{\"image_processor_type\": \"CLIPImageProcessorFast\", \"size\": 20, \"crop_size\": 12, \"do_pad\": true, \"pad_size\": 30}",
    "{\"image_processor_type\": \"DINOv3ViTImageProcessorFast\", \"size\": 20}",
    "{\"image_processor_type\": \"ViTImageProcessor\", \"size\": 20, \"resample\": 0}",
    "{\"image_processor_type\": \"ViTImageProcessor\", \"size\": [15, 40]}",
};

static void reading_fails_cleanly(void **state) {
    workspace_t const *const workspace = *state;
    workspace_write_text(workspace, "config.json", "{\"model_type\": \"clip\"}");
    for (size_t i = 0; i < sizeof(configs) / sizeof(configs[0]); ++i) {
        workspace_write_text(workspace, "preprocessor_config.json", configs[i]);
        size_t failed = 0;
        for (size_t nth = 1;; ++nth, ++failed) {
            uform_preprocessor_t preprocessor;
            faults_arm(nth, false);
            uform_status_t const status = uform_preprocessor_read_(workspace->path, &preprocessor);
            if (!faults_disarm()) {
                assert_int_equal(status, uform_status_ok_k);
                break;
            }
            assert_int_equal(status, uform_status_out_of_memory_k);
        }
        assert_true(failed > 3);
    }
}

static void preprocessing_fails_cleanly(void **state) {
    workspace_t const *const workspace = *state;
    uint8_t *const pixels = picture_new("noise", 32, 31, 1);
    uform_bitmap_t const source = {pixels, 32, 31};
    for (size_t i = 0; i < sizeof(configs) / sizeof(configs[0]); ++i) {
        workspace_write_text(workspace, "preprocessor_config.json", configs[i]);
        uform_preprocessor_t preprocessor;
        assert_int_equal(uform_preprocessor_read_(workspace->path, &preprocessor), uform_status_ok_k);
        size_t failed = 0;
        for (size_t nth = 1;; ++nth, ++failed) {
            uform_preprocess_buffer_t buffer = {.bytes = {0}};
            uform_picture_t picture;
            faults_arm(nth, false);
            uform_status_t status =
                uform_preprocess_(&preprocessor, uform_kernels_(uform_cpu_class_serial_k), &source, &buffer, &picture);
            bool const faulted = faults_disarm();
            assert_int_equal(status, faulted ? uform_status_out_of_memory_k : uform_status_ok_k);
            if (faulted) assert_true(!picture.pixels && !picture.planes);
            // The same buffer serves once there is memory, and without any the second time.
            uform_kernels_t const *const kernels = uform_kernels_(uform_cpu_class_serial_k);
            assert_int_equal(uform_preprocess_(&preprocessor, kernels, &source, &buffer, &picture), uform_status_ok_k);
            faults_arm(1, true);
            status = uform_preprocess_(&preprocessor, kernels, &source, &buffer, &picture);
            assert_false(faults_disarm());
            assert_int_equal(status, uform_status_ok_k);
            uform_preprocess_buffer_free_(&buffer);
            if (!faulted) break;
        }
        assert_true(failed > 0);
    }
    free(pixels);
}

int main(void) {
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(reading_fails_cleanly),
        cmocka_unit_test(preprocessing_fails_cleanly),
    };
    return cmocka_run_group_tests_name("faults", tests, workspace_setup, workspace_teardown);
}
