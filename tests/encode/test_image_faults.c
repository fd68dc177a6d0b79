/**
 *  Out of memory at every allocation of loading towers for images and of calls on images: each ends in a status, and nothing
 *  is lost or left.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "encode/pictures.h"
#include "encode/texts.h"
#include "faults/allocation.h"

enum { picture_count_k = 12, dimensions_limit_k = 96 };

static unsigned char memory[picture_count_k * pictures_side_k * pictures_side_k * 4];
static uform_image_t pictures[picture_count_k];

static int make_pictures(void **state) {
    (void)state;
    pictures_make(pictures, picture_count_k, memory);
    return 0;
}

static void test_loading(void **state) {
    (void)state;
    static char const *const names[] = {
        "clip", "clip_modules", "siglip", "siglip2", "vit", "dinov2_registers", "dinov3_gated", "uform_bert"};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        char path[1024];
        snprintf(path, sizeof path, "%s/golden/vision/models/%s", UFORM_TESTS_DIRECTORY, names[i]);
        for (size_t nth = 1;; ++nth) {
            uform_model_t model = NULL;
            faults_arm(nth, false);
            uform_status_t const status = uform_model_load_ram(path, NULL, 0, NULL, &model);
            bool const failed = faults_disarm();
            if (status == uform_status_ok_k) uform_model_free(model);
            else if (status != uform_status_out_of_memory_k || model)
                fail_msg("%s, allocation %zu: %s: %s", names[i], nth, uform_status_name(status), uform_last_detail());
            if (!failed) {
                assert_int_equal(status, uform_status_ok_k);
                break;
            }
        }
    }
}

static void sweep(char const *name, size_t threads) {
    static float expected[picture_count_k * dimensions_limit_k], rows[picture_count_k * dimensions_limit_k];
    uform_model_t model = pictures_load(name, uform_scalar_derived_k);
    uform_model_description_t about;
    assert_int_equal(uform_model_describe(model, &about), uform_status_ok_k);
    size_t const bytes = picture_count_k * about.dimensions * sizeof(float);
    assert_int_equal(
        uform_encode_images(model, NULL, pictures, picture_count_k, NULL, expected, 0, NULL), uform_status_ok_k);
    uform_model_free(model);
    for (size_t nth = 1;; ++nth) {
        // Fresh ones each time, so that nothing was grown before.
        model = pictures_load(name, uform_scalar_derived_k);
        uform_executor_t executor = threads ? texts_executor(threads, uform_cpu_class_derived_k) : NULL;
        faults_arm(nth, false);
        uform_status_t const status =
            uform_encode_images(model, executor, pictures, picture_count_k, NULL, rows, 0, NULL);
        bool const failed = faults_disarm();
        if (status != uform_status_ok_k) assert_int_equal(status, uform_status_out_of_memory_k);
        if (status != uform_status_ok_k) assert_true(failed);
        // The call, the executor and the model go on as if nothing had been.
        assert_int_equal(
            uform_encode_images(model, executor, pictures, picture_count_k, NULL, rows, 0, NULL), uform_status_ok_k);
        assert_memory_equal(rows, expected, bytes);
        uform_executor_free(executor);
        uform_model_free(model);
        if (!failed) break;
    }
}

static void test_encoding(void **state) {
    (void)state;
    sweep("clip", 0);
    sweep("clip", 2);
    sweep("siglip2", 0);
    sweep("dinov3", 2);
}

static void test_pixels(void **state) {
    (void)state;
    for (size_t nth = 1;; ++nth) {
        uform_model_t model = pictures_load("siglip2_fast", uform_scalar_derived_k);
        size_t shape[3];
        faults_arm(nth, false);
        uform_status_t const status = uform_image_pixels(model, pictures[4], NULL, NULL, 0, shape);
        bool const failed = faults_disarm();
        uform_model_free(model);
        assert_int_equal(status, failed ? uform_status_out_of_memory_k : uform_status_ok_k);
        if (!failed) break;
    }
}

int main(void) {
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(test_loading),
        cmocka_unit_test(test_encoding),
        cmocka_unit_test(test_pixels),
    };
    return cmocka_run_group_tests_name("image faults", tests, make_pictures, NULL);
}
