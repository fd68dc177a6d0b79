/**
 *  What a model keeps between calls: memory for usual pictures, and not what a giant took.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "encode/pictures.h"
#include "models/model.h"

enum { side_k = 48 };

static unsigned char pixels[side_k * side_k];

static void encode(uform_model_t model) {
    uform_image_t const picture = {pixels, sizeof pixels, uform_image_layout_gray_k, side_k, side_k, 0};
    float row[96];
    assert_int_equal(uform_encode_images(model, NULL, &picture, 1, NULL, row, 0, NULL), uform_status_ok_k);
}

/// What the model's only buffer holds: it is taken, grown by `more` bytes, never touched, and given back.
static size_t grow(uform_model_t model, size_t more) {
    uform_model_buffer_t *const buffer = uform_model_take_buffer_(model);
    assert_non_null(buffer);
    if (more) assert_int_equal(uform_block_reserve_(&buffer->decoded, more), uform_status_ok_k);
    size_t const bytes = buffer->decoded.bytes + uform_preprocess_buffer_bytes_(&buffer->preprocessed);
    uform_model_return_buffer_(model, buffer);
    return bytes;
}

static void test_giants_leave(void **state) {
    (void)state;
    uform_model_t model = pictures_load("dinov3", uform_scalar_f32_k);
    encode(model);
    size_t const usual = grow(model, 0);
    assert_true(usual > sizeof pixels);
    // What is not too much stays, and serves the next picture.
    assert_true(grow(model, 100 << 20) > 100 << 20);
    encode(model);
    assert_true(grow(model, 0) > 100 << 20);
    // More goes, all of it, and the next picture has its own again.
    assert_true(grow(model, uform_buffer_kept_bytes_k) > uform_buffer_kept_bytes_k);
    assert_int_equal(grow(model, 0), 0);
    encode(model);
    assert_int_equal(grow(model, 0), usual);
    uform_model_free(model);
}

int main(void) {
    struct CMUnitTest const tests[] = {cmocka_unit_test(test_giants_leave)};
    return cmocka_run_group_tests_name("buffers", tests, NULL, NULL);
}
