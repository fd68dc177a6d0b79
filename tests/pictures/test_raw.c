/**
 *  Raw pixels of every layout and stride, what is refused and in which words, and the arithmetic of pixels.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "images/decode.h"
#include "images/decoder.h"

enum { width_k = 5, height_k = 3 };

static uform_decode_options_t const defaults = {0};

/// Rows of `channels` bytes a pixel, `stride` apart, in memory that ends with the last pixel.
static uint8_t *make_rows(size_t channels, size_t stride, size_t *length) {
    *length = stride * (height_k - 1) + width_k * channels;
    uint8_t *const bytes = malloc(*length);
    for (size_t i = 0; i < *length; ++i) bytes[i] = (uint8_t)(i * 37 + 11);
    return bytes;
}

static void rows_become_rgb(void **state) {
    (void)state;
    static size_t const channel_counts[] = {0, 3, 4, 1};
    for (int layout = uform_image_layout_rgb_k; layout <= uform_image_layout_gray_k; ++layout)
        for (size_t padding = 0; padding < 3; ++padding) {
            size_t const channels = channel_counts[layout], stride = width_k * channels + padding;
            size_t length;
            uint8_t *const bytes = make_rows(channels, stride, &length);
            uform_image_t const image = {
                bytes, length, (uform_image_layout_t)layout, width_k, height_k, padding ? stride : 0};
            for (int flatten = 0; flatten < 2; ++flatten) {
                uform_decode_options_t const options = {.flatten = flatten};
                uform_block_t buffer = {NULL, 0};
                uform_bitmap_t bitmap;
                assert_int_equal(uform_decode_(&image, &options, &buffer, &bitmap), uform_status_ok_k);
                assert_int_equal(bitmap.width, width_k);
                assert_int_equal(bitmap.height, height_k);
                if (layout == uform_image_layout_rgb_k && !padding) assert_ptr_equal(bitmap.pixels, bytes);
                for (size_t i = 0; i < width_k * height_k * 3; ++i) {
                    uint8_t const *const pixel = bytes + i / 3 / width_k * stride + i / 3 % width_k * channels;
                    uint8_t expected = pixel[channels == 1 ? 0 : i % 3];
                    if (channels == 4 && flatten) expected = uform_over_white_(expected, pixel[3]);
                    assert_int_equal(bitmap.pixels[i], expected);
                }
                uform_free_(buffer.memory);
            }
            free(bytes);
        }
}

static void refused(uform_image_t image, size_t limit, uform_status_t status, char const *words) {
    uform_decode_options_t const options = {.pixel_limit = limit};
    uform_block_t buffer = {NULL, 0};
    uform_bitmap_t bitmap;
    assert_int_equal(uform_decode_(&image, &options, &buffer, &bitmap), status);
    if (!strstr(uform_last_detail(), words)) fail_msg("expected \"%s\" in \"%s\"", words, uform_last_detail());
    assert_null(bitmap.pixels);
    assert_null(buffer.memory);
}

static void wrong_arguments_are_refused(void **state) {
    (void)state;
    static uint8_t const bytes[24] = {0};
    uform_image_layout_t const rgb = uform_image_layout_rgb_k;
    uform_status_t const wrong = uform_status_invalid_argument_k;
    refused((uform_image_t){NULL, 4, uform_image_layout_file_k, 0, 0, 0}, 0, wrong, "data: null");
    refused((uform_image_t){bytes, 24, (uform_image_layout_t)4, 2, 2, 0}, 0, wrong, "layout: 4");
    refused((uform_image_t){bytes, 24, rgb, 0, 2, 0}, 0, wrong, "0 x 2 pixels");
    refused((uform_image_t){bytes, 24, rgb, 2, 0, 0}, 0, wrong, "2 x 0 pixels");
    refused((uform_image_t){bytes, 24, rgb, 3, 3, 0}, 0, wrong, "more than 24 bytes");
    refused((uform_image_t){bytes, 24, rgb, 2, 2, 5}, 0, wrong, "stride_bytes: rows take 6, found 5");
    refused((uform_image_t){bytes, 24, rgb, 2, 2, SIZE_MAX}, 0, wrong, "more than 24 bytes");
    refused((uform_image_t){bytes, 24, rgb, SIZE_MAX, SIZE_MAX, 0}, 0, uform_status_unsupported_k, "limit");
    refused((uform_image_t){bytes, 24, rgb, SIZE_MAX, 1, 0}, SIZE_MAX, wrong, "width");
    refused((uform_image_t){bytes, 24, rgb, 2, 2, 0}, 3, uform_status_unsupported_k, "limit of 3");
}

static void other_files_are_named(void **state) {
    (void)state;
#define FILE_OF(text) ((uform_image_t){text, sizeof(text) - 1, uform_image_layout_file_k, 0, 0, 0})
    uform_status_t const malformed = uform_status_malformed_k, unsupported = uform_status_unsupported_k;
    refused(FILE_OF(""), 0, malformed, "found no byte");
    refused(FILE_OF("<!DOCTYPE html>"), 0, malformed, "found 15 bytes that begin with \"<!DOCTYPE ht\"");
    refused(FILE_OF("\1\2"), 0, malformed, "\\x01\\x02");
    refused(FILE_OF("%PDF-1.7"), 0, unsupported, "found PDF");
    refused(FILE_OF("version https://git-lfs.github.com/spec/v1"), 0, unsupported, "found a pointer of Git LFS");
    refused(FILE_OF("\0\0\0\x20"
                    "ftypheix"),
        0, unsupported, "found HEIC");
    refused(FILE_OF("\xFF\xD8\xFF"), 0, malformed, "JPEG: ");
    refused(FILE_OF("\x89PNG\r\n\x1A\n"), 0, malformed, "PNG: ");
    refused(FILE_OF("RIFF\4\0\0\0WEBPVP8 "), 0, malformed, "WebP: ");
    refused(FILE_OF("\0\0\0\x20"
                    "ftypavif"),
        0, malformed, "AVIF: ");
    refused(FILE_OF("GIF89a"), 0, malformed, "GIF: ");
    refused(FILE_OF("BM"), 0, malformed, "BMP: ");
    refused(FILE_OF("II*\0"), 0, malformed, "TIFF: ");
#undef FILE_OF
}

static void white_shows_through(void **state) {
    (void)state;
    for (unsigned color = 0; color < 256; ++color)
        for (unsigned alpha = 0; alpha < 256; ++alpha) {
            unsigned const exact = (2 * (color * alpha + 255 * (255 - alpha)) + 255) / 510; // rounded
            assert_int_equal(uform_over_white_(color, alpha), exact);
        }
}

/// Larger than a tile, and no multiple of one.
static void turns_undo_each_other(void **state) {
    (void)state;
    enum { wide_k = 37, high_k = 21, bytes_k = wide_k * high_k * 3 };
    static uint8_t source[bytes_k], turned[bytes_k], back[bytes_k];
    static unsigned const inverses[] = {0, 1, 2, 3, 4, 5, 8, 7, 6};
    for (size_t i = 0; i < bytes_k; ++i) source[i] = (uint8_t)(i * 7 + i / 256);
    for (unsigned orientation = 1; orientation <= 8; ++orientation) {
        bool const sideways = orientation > 4;
        uform_turn_(source, wide_k, high_k, orientation, turned);
        uform_turn_(turned, sideways ? high_k : wide_k, sideways ? wide_k : high_k, inverses[orientation], back);
        assert_memory_equal(source, back, bytes_k);
        if (orientation > 1) assert_memory_not_equal(source, turned, bytes_k);
    }
}

/// A buffer keeps its memory where a later picture fits, and pixels stand at its begin.
static void buffers_are_used_again(void **state) {
    (void)state;
    static uint8_t const bytes[64] = {0};
    uform_image_t image = {bytes, sizeof(bytes), uform_image_layout_gray_k, 8, 8, 0};
    uform_block_t buffer = {NULL, 0};
    uform_bitmap_t bitmap;
    assert_int_equal(uform_decode_(&image, &defaults, &buffer, &bitmap), uform_status_ok_k);
    uint8_t const *const memory = buffer.memory;
    image.height = 4;
    assert_int_equal(uform_decode_(&image, &defaults, &buffer, &bitmap), uform_status_ok_k);
    assert_ptr_equal(buffer.memory, memory);
    assert_ptr_equal(bitmap.pixels, memory);
    uform_free_(buffer.memory);
}

int main(void) {
    struct CMUnitTest const tests[] = {cmocka_unit_test(rows_become_rgb), cmocka_unit_test(wrong_arguments_are_refused),
        cmocka_unit_test(other_files_are_named), cmocka_unit_test(white_shows_through),
        cmocka_unit_test(turns_undo_each_other), cmocka_unit_test(buffers_are_used_again)};
    return cmocka_run_group_tests_name("raw", tests, NULL, NULL);
}
