/**
 *  Attempts: abort is the answer to what must not be.
 */
#include <stdlib.h>
#include <string.h>

#include "attempt.h"
#include "base/detail.h"
#include "images/preprocess.h"

enum { pixels_limit_k = 1 << 18, edge_limit_k = 300 };

static void require(bool truth) {
    if (!truth) abort();
}

static uform_kernels_t const *best_kernels(void) {
    uform_cpu_class_t best;
    require(uform_cpu_class_derive_(&best) == uform_status_ok_k);
    return uform_kernels_(best);
}

static void preprocess(uform_preprocessor_t const *preprocessor, size_t width, size_t height) {
    size_t resized_width, resized_height;
    uform_status_t status = uform_preprocess_size_(preprocessor, width, height, &resized_width, &resized_height);
    require(status == uform_status_ok_k ? resized_width && resized_height : *uform_last_detail() != '\0');
    size_t const most = pixels_limit_k;
    if (status != uform_status_ok_k || resized_width > most / resized_height) return;
    if (preprocessor->crop_height * preprocessor->crop_width > most) return;
    if (preprocessor->pad_height * preprocessor->pad_width > most) return;
    uint8_t *const pixels = malloc(width * height * 3);
    require(pixels != NULL);
    memset(pixels, 200, width * height * 3);
    uform_bitmap_t const source = {pixels, width, height};
    uform_preprocess_buffer_t buffer = {.bytes = {0}};
    uform_picture_t picture;
    status = uform_preprocess_(preprocessor, best_kernels(), &source, &buffer, &picture);
    if (status == uform_status_ok_k) {
        float *const tensor = malloc(picture.width * picture.height * 3 * sizeof(float));
        require(tensor && picture.width && picture.height && !picture.pixels == !!picture.planes);
        uform_picture_tensor_(preprocessor, &picture, tensor);
        if (preprocessor->output_width)
            require(picture.width == preprocessor->output_width && picture.height == preprocessor->output_height);
        free(tensor);
    } else require(*uform_last_detail() != '\0');
    uform_preprocess_buffer_free_(&buffer);
    free(pixels);
}

int attempt_config(uint8_t const *bytes, size_t length) {
    uform_json_document_t document;
    if (uform_json_parse_((char const *)bytes, length, "config", &document) != uform_status_ok_k) return 0;
    static size_t const shapes[][2] = {{5, 7}, {1, 1}, {33, 2}, {3, 90}};
    uform_preprocessor_t preprocessor;
    uform_json_t const *const encoder = uform_json_find_(document.root, "image_encoder");
    uform_status_t const status = encoder ? uform_preprocessor_parse_encoder_(encoder, "config", &preprocessor)
                                          : uform_preprocessor_parse_(document.root, "config", "clip", &preprocessor);
    uform_json_close_(&document);
    if (status != uform_status_ok_k) {
        require(*uform_last_detail() != '\0');
        return 0;
    }
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); ++i)
        preprocess(&preprocessor, shapes[i][0], shapes[i][1]);
    return 1;
}

/// Numbers from bytes, from 1 to a limit.
typedef struct numbers_t {
    uint8_t const *bytes;
    size_t length;
} numbers_t;

static size_t take(numbers_t *numbers, size_t limit) {
    if (numbers->length < 2) return 1;
    size_t const number = numbers->bytes[0] | (size_t)numbers->bytes[1] << 8;
    numbers->bytes += 2, numbers->length -= 2;
    return 1 + number % limit;
}

int attempt_resize(uint8_t const *bytes, size_t length) {
    if (length < 20) return 0;
    numbers_t numbers = {bytes, length};
    uform_resize_t resize = {.arithmetic = (uform_arithmetic_t)(take(&numbers, 3) - 1),
        .filter = (uform_filter_t)(take(&numbers, uform_filter_count_k) - 1)};
    bool const tensor = resize.arithmetic == uform_arithmetic_tensor_k;
    if (tensor && (resize.filter < uform_filter_lanczos_k || resize.filter > uform_filter_bicubic_k)) return 0;
    size_t const width = take(&numbers, edge_limit_k), height = take(&numbers, edge_limit_k);
    resize.width = take(&numbers, edge_limit_k), resize.height = take(&numbers, edge_limit_k);
    resize.left = take(&numbers, resize.width) - 1, resize.top = take(&numbers, resize.height) - 1;
    resize.columns = take(&numbers, resize.width - resize.left),
    resize.rows = take(&numbers, resize.height - resize.top);
    uint8_t *const pixels = malloc(width * height * 3);
    require(pixels != NULL);
    for (size_t i = 0; i < width * height * 3; ++i)
        pixels[i] = (uint8_t)(numbers.length ? numbers.bytes[i % numbers.length] + i / numbers.length : i * 77);
    uform_bitmap_t const source = {pixels, width, height};
    size_t const count = resize.columns * resize.rows * 3, item = tensor ? sizeof(float) : 1;
    uform_kernels_t const *const kernels[2] = {best_kernels(), uform_kernels_(uform_cpu_class_serial_k)};
    void *results[2];
    for (size_t i = 0; i < 2; ++i) {
        uform_resizer_t resizer = {.horizontal = {0}};
        results[i] = malloc(count * item);
        require(results[i] != NULL);
        uform_status_t const status =
            tensor ? uform_resize_tensor_(&resize, kernels[i]->resample, &source, 0.5f, &resizer, results[i])
                   : uform_resize_(&resize, kernels[i]->resample, &source, &resizer, results[i], resize.columns * 3);
        require(status == uform_status_ok_k);
        uform_resizer_free_(&resizer);
    }
    require(!memcmp(results[0], results[1], count * item));
    free(results[0]);
    free(results[1]);
    free(pixels);
    return 1;
}
