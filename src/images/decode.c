/**
 *  Which decoder a file goes to, and what is the same for all of them: limits, memory, turning upright, raw pixels.
 *
 *  The buffer holds [height, width, 3] pixels and, behind them, what a decoder asked for besides. Where a picture has to
 *  be turned, the decoder's pixels come second and the turned ones first.
 */
#include "images/decode.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "images/decoder.h"

enum {
    default_pixel_limit_k = 178956970, ///< twice 2^30 / 12, as Pillow's
    alignment_k = 64,
    shown_bytes_k = 12, ///< of a file that nothing reads
    ensured_bytes_k = 16 << 20,
    ensured_bytes_a_pixel_k = 16, ///< several frames of AV1, the most that a library takes
};

/// How a format's files begin: `bytes` at `offset`, where `?` stands for any byte.
typedef struct signature_t {
    char const *name;
    size_t offset, length;
    char const *bytes;
    uform_status_t (*decode)(uform_decoding_t *decoding); ///< none for what is known and not read
} signature_t;

/// The first that fits counts.
static signature_t const signatures[] = {
    {"JPEG", 0, 3, "\xFF\xD8\xFF", uform_decode_jpeg_},
    {"PNG", 0, 8, "\x89PNG\r\n\x1A\n", uform_decode_png_},
    {"WebP", 0, 15, "RIFF????WEBPVP8", uform_decode_webp_},
    {"AVIF", 4, 8, "ftypavif", uform_decode_avif_},
    {"AVIF", 4, 8, "ftypavis", uform_decode_avif_},
    {"AVIF", 4, 8, "ftypmif1", uform_decode_avif_},
    {"AVIF", 4, 8, "ftypmsf1", uform_decode_avif_},
    {"GIF", 0, 6, "GIF87a", uform_decode_gif_},
    {"GIF", 0, 6, "GIF89a", uform_decode_gif_},
    {"BMP", 0, 2, "BM", uform_decode_bmp_},
    {"TIFF", 0, 4, "II*\0", uform_decode_tiff_},
    {"TIFF", 0, 4, "MM\0*", uform_decode_tiff_},
    {"TIFF", 0, 4, "II+\0", uform_decode_tiff_},
    {"TIFF", 0, 4, "MM\0+", uform_decode_tiff_},
    {"HEIC", 4, 7, "ftyphei", NULL},
    {"HEIC", 4, 7, "ftyphev", NULL},
    {"JPEG 2000", 4, 8, "jP  \r\n\x87\n", NULL},
    {"JPEG 2000", 0, 4, "\xFF\x4F\xFF\x51", NULL},
    {"JPEG XL", 4, 8, "JXL \r\n\x87\n", NULL},
    {"JPEG XL", 0, 2, "\xFF\x0A", NULL},
    {"Photoshop", 0, 4, "8BPS", NULL},
    {"icon", 0, 4, "\0\0\1\0", NULL},
    {"OpenEXR", 0, 4, "v/1\1", NULL},
    {"PDF", 0, 5, "%PDF-", NULL},
    {"SVG", 0, 4, "<svg", NULL},
    {"a pointer of Git LFS", 0, 24, "version https://git-lfs.", NULL},
};

static bool fits(signature_t const *signature, uint8_t const *bytes, size_t length) {
    if (length < signature->offset + signature->length) return false;
    for (size_t i = 0; i < signature->length; ++i)
        if (signature->bytes[i] != '?' && (uint8_t)signature->bytes[i] != bytes[signature->offset + i]) return false;
    return true;
}

uform_status_t uform_decode_check_(uint64_t width, uint64_t height, size_t limit) {
    if (!width || !height)
        return uform_fail_(uform_status_malformed_k, "%llu x %llu pixels: expected at least one",
            (unsigned long long)width, (unsigned long long)height);
    if (width > limit / height)
        return uform_fail_(uform_status_unsupported_k, "%llu x %llu pixels are more than the limit of %zu",
            (unsigned long long)width, (unsigned long long)height, limit);
    return uform_status_ok_k;
}

uform_status_t uform_decode_begin_(
    uform_decoding_t *decoding, uint64_t width, uint64_t height, unsigned orientation, size_t scratch_bytes) {
    uform_status_t status = uform_decode_check_(width, height, decoding->pixel_limit);
    if (status) return status;
    bool const turned = orientation >= 2 && orientation <= 8;
    size_t picture_bytes, bytes;
    if (__builtin_mul_overflow(width * height, (uint64_t)3, &picture_bytes) ||
        __builtin_add_overflow(picture_bytes, (size_t)alignment_k, &picture_bytes) ||
        __builtin_mul_overflow(picture_bytes, (size_t)(turned ? 2 : 1), &bytes) ||
        __builtin_add_overflow(bytes, scratch_bytes, &bytes))
        return uform_fail_(uform_status_out_of_memory_k, "more bytes than can be counted");
    picture_bytes -= picture_bytes % alignment_k;
    status = uform_block_reserve_(decoding->buffer, bytes);
    if (status) return status;
    decoding->width = (size_t)width;
    decoding->height = (size_t)height;
    decoding->orientation = turned ? orientation : 1;
    decoding->pixels = (uint8_t *)decoding->buffer->memory + (turned ? picture_bytes : 0);
    decoding->scratch = decoding->pixels + picture_bytes;
    return uform_status_ok_k;
}

uform_status_t uform_decode_ensure_memory_(uint64_t pixels) {
    uint64_t bytes;
    if (__builtin_mul_overflow(pixels, (uint64_t)ensured_bytes_a_pixel_k, &bytes) ||
        __builtin_add_overflow(bytes, (uint64_t)ensured_bytes_k, &bytes))
        bytes = SIZE_MAX;
    void *const memory = uform_map_(bytes); // and not from the heap, which would remember
    uform_unmap_(memory, bytes);
    return memory ? uform_status_ok_k : uform_status_out_of_memory_k;
}

/// Says what the file looks like instead of a picture.
static uform_status_t refuse(uint8_t const *bytes, size_t length) {
    char shown[shown_bytes_k * 5];
    size_t used = 0;
    for (size_t i = 0; i < length && i < shown_bytes_k; ++i)
        used += (size_t)snprintf(
            shown + used, sizeof(shown) - used, bytes[i] >= 0x20 && bytes[i] < 0x7F ? "%c" : "\\x%02X", bytes[i]);
    return uform_fail_(uform_status_malformed_k,
        "expected JPEG, PNG, WebP, AVIF, GIF, BMP or TIFF, found %zu bytes that begin with \"%.*s\"", length, (int)used,
        shown);
}

static uform_status_t decode_file(uform_decoding_t *decoding, uform_bitmap_t *bitmap) {
    if (!decoding->length)
        return uform_fail_(uform_status_malformed_k, "expected JPEG, PNG, WebP, AVIF, GIF, BMP or TIFF, found no byte");
    signature_t const *signature = signatures, *const end = signatures + sizeof(signatures) / sizeof(signatures[0]);
    while (signature < end && !fits(signature, decoding->bytes, decoding->length)) ++signature;
    if (signature == end) return refuse(decoding->bytes, decoding->length);
    if (!signature->decode)
        return uform_fail_(uform_status_unsupported_k,
            "expected JPEG, PNG, WebP, AVIF, GIF, BMP or TIFF, found %s, which is not read", signature->name);
    uform_status_t const status = signature->decode(decoding);
    if (status) return uform_fail_prefixed_(status, "%s: ", signature->name);

    bool const sideways = decoding->orientation > 4;
    if (decoding->orientation != 1)
        uform_turn_(
            decoding->pixels, decoding->width, decoding->height, decoding->orientation, decoding->buffer->memory);
    bitmap->pixels = decoding->buffer->memory;
    bitmap->width = sideways ? decoding->height : decoding->width;
    bitmap->height = sideways ? decoding->width : decoding->height;
    return uform_status_ok_k;
}

/// One row of raw pixels to RGB.
static void copy_row(uform_image_layout_t layout, uint8_t const *source, size_t width, bool flatten, uint8_t *target) {
    if (layout == uform_image_layout_rgb_k) memcpy(target, source, width * 3);
    else if (layout == uform_image_layout_rgba_k) uform_drop_alpha_(source, width, flatten, target);
    else
        for (size_t x = 0; x < width; ++x) memset(target + 3 * x, source[x], 3);
}

static uform_status_t decode_raw(uform_image_t const *image, uform_decoding_t *decoding, uform_bitmap_t *bitmap) {
    static size_t const channel_counts[] = {
        [uform_image_layout_rgb_k] = 3, [uform_image_layout_rgba_k] = 4, [uform_image_layout_gray_k] = 1};
    if (image->layout < 0 || (size_t)image->layout >= sizeof(channel_counts) / sizeof(channel_counts[0]))
        return uform_fail_(uform_status_invalid_argument_k, "layout: %d is none", (int)image->layout);
    uform_status_t status = uform_decode_check_(image->width, image->height, decoding->pixel_limit);
    if (status) return status == uform_status_malformed_k ? uform_status_invalid_argument_k : status;
    size_t row_bytes, needed;
    if (__builtin_mul_overflow(image->width, channel_counts[image->layout], &row_bytes))
        return uform_fail_(uform_status_invalid_argument_k, "width: %zu is more than memory holds", image->width);
    size_t const stride = image->stride_bytes ? image->stride_bytes : row_bytes;
    if (stride < row_bytes)
        return uform_fail_(
            uform_status_invalid_argument_k, "stride_bytes: rows take %zu, found %zu", row_bytes, stride);
    if (__builtin_mul_overflow(stride, image->height - 1, &needed) ||
        __builtin_add_overflow(needed, row_bytes, &needed) || needed > image->length)
        return uform_fail_(uform_status_invalid_argument_k, "length: %zu x %zu raw pixels take more than %zu bytes",
            image->width, image->height, image->length);

    *bitmap = (uform_bitmap_t){image->data, image->width, image->height};
    if (image->layout == uform_image_layout_rgb_k && stride == row_bytes) return uform_status_ok_k;
    status = uform_decode_begin_(decoding, image->width, image->height, 1, 0);
    if (status) return status;
    for (size_t y = 0; y < image->height; ++y)
        copy_row(image->layout, decoding->bytes + y * stride, image->width, decoding->flatten,
            decoding->pixels + y * image->width * 3);
    bitmap->pixels = decoding->pixels;
    return uform_status_ok_k;
}

uform_status_t uform_decode_(
    uform_image_t const *image, uform_decode_options_t const *options, uform_block_t *buffer, uform_bitmap_t *bitmap) {
    *bitmap = (uform_bitmap_t){NULL, 0, 0};
    if (!image->data && image->length)
        return uform_fail_(uform_status_invalid_argument_k, "data: null with a length of %zu", image->length);
    uform_decoding_t decoding = {.bytes = image->data, .length = image->length, .buffer = buffer};
    decoding.pixel_limit = options->pixel_limit ? options->pixel_limit : default_pixel_limit_k;
    decoding.ignore_orientation = options->ignore_orientation;
    decoding.flatten = options->flatten;
    uform_status_t const status = image->layout == uform_image_layout_file_k ? decode_file(&decoding, bitmap)
                                                                             : decode_raw(image, &decoding, bitmap);
    if (status) *bitmap = (uform_bitmap_t){NULL, 0, 0};
    return status;
}
