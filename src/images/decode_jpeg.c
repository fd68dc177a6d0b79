/**
 *  JPEG through libjpeg-turbo, with the settings Pillow leaves it: accurate DCT, smooth upsampling, block smoothing.
 *
 *  RGB rows are decoded straight into the picture. Four colours are taken for inverted ink whether an Adobe marker says so
 *  or not, as Pillow does. The source never refills: where libjpeg asks for more than the file holds, the file is cut.
 */
#include <stdio.h> // jpeglib.h needs it

#include <jpeglib.h>
#include <jerror.h>
#include <setjmp.h>
#include <string.h>

#include "images/decoder.h"

enum {
    rows_at_once_k = 16,
    scan_limit_k = 100, ///< a scan costs as much as a picture and may take a few bytes
};

typedef struct jpeg_t {
    struct jpeg_decompress_struct codec;
    struct jpeg_error_mgr errors;
    struct jpeg_source_mgr source;
    struct jpeg_progress_mgr progress;
    jmp_buf escape;
    uform_decoding_t *decoding;
    uint8_t const *exif, *xmp;
    size_t exif_bytes, xmp_bytes;
    uform_status_t status; ///< behind an escape
} jpeg_t;

/// Errors of libjpeg that mean a kind of JPEG, or a size, rather than a broken one.
static int const unsupported_codes[] = {JERR_SOF_UNSUPPORTED, JERR_BAD_PRECISION, JERR_ARITH_NOTIMPL, JERR_NOT_COMPILED,
    JERR_CONVERSION_NOTIMPL, JERR_CCIR601_NOTIMPL, JERR_FRACT_SAMPLE_NOTIMPL, JERR_NOTIMPL, JERR_IMAGE_TOO_BIG};

static uform_status_t status_of(int code) {
    if (code == JERR_OUT_OF_MEMORY) return uform_status_out_of_memory_k;
    for (size_t i = 0; i < sizeof(unsupported_codes) / sizeof(unsupported_codes[0]); ++i)
        if (code == unsupported_codes[i]) return uform_status_unsupported_k;
    return uform_status_malformed_k;
}

__attribute__((noreturn)) static void escape_error(j_common_ptr codec) {
    jpeg_t *const jpeg = codec->client_data;
    char message[JMSG_LENGTH_MAX];
    codec->err->format_message(codec, message);
    jpeg->status = uform_fail_(status_of(codec->err->msg_code), "%s", message);
    longjmp(jpeg->escape, 1);
}

static void stay_silent(j_common_ptr codec) {
    (void)codec;
}

static void pass_source(j_decompress_ptr codec) {
    (void)codec;
}

static boolean refuse_more(j_decompress_ptr codec) {
    (void)codec;
    return FALSE;
}

static void skip_bytes(j_decompress_ptr codec, long count) {
    if (count <= 0) return;
    size_t const step = (size_t)count < codec->src->bytes_in_buffer ? (size_t)count : codec->src->bytes_in_buffer;
    codec->src->next_input_byte += step;
    codec->src->bytes_in_buffer -= step;
}

static void count_scans(j_common_ptr codec) {
    jpeg_t *const jpeg = codec->client_data;
    if (jpeg->codec.input_scan_number <= scan_limit_k) return;
    jpeg->status = uform_fail_(uform_status_malformed_k, "more than %d scans", scan_limit_k);
    longjmp(jpeg->escape, 1);
}

/// Notes where EXIF and XMP lie instead of copying them.
static boolean note_segment(j_decompress_ptr codec) {
    static char const exif_name[] = "Exif\0", xmp_name[] = "http://ns.adobe.com/xap/1.0/";
    jpeg_t *const jpeg = codec->client_data;
    size_t const left = codec->src->bytes_in_buffer;
    uint8_t const *const segment = codec->src->next_input_byte;
    if (left < 2) return FALSE;
    size_t const bytes = uform_read_u16_(segment, true);
    if (bytes < 2) ERREXIT(codec, JERR_BAD_LENGTH);
    if (bytes > left) return FALSE;
    uint8_t const *const content = segment + 2;
    size_t const content_bytes = bytes - 2;
    if (!jpeg->exif && content_bytes >= sizeof(exif_name) && !memcmp(content, exif_name, sizeof(exif_name)))
        jpeg->exif = content, jpeg->exif_bytes = content_bytes;
    if (content_bytes >= sizeof(xmp_name) && !memcmp(content, xmp_name, sizeof(xmp_name)))
        jpeg->xmp = content + sizeof(xmp_name), jpeg->xmp_bytes = content_bytes - sizeof(xmp_name);
    skip_bytes(codec, (long)bytes);
    return TRUE;
}

static uform_status_t refuse_cut(void) {
    return uform_fail_(uform_status_malformed_k, "the file is truncated");
}

static uform_status_t read_header(jpeg_t *jpeg) {
    struct jpeg_decompress_struct *const codec = &jpeg->codec;
    int found;
    do found = jpeg_read_header(codec, FALSE);
    while (found == JPEG_HEADER_TABLES_ONLY);
    if (found == JPEG_SUSPENDED) return refuse_cut();
    int const channels = codec->num_components;
    if (channels != 1 && channels != 3 && channels != 4)
        return uform_fail_(uform_status_unsupported_k, "expected 1, 3 or 4 components, found %d", channels);
    if (codec->data_precision != 8)
        return uform_fail_(uform_status_unsupported_k, "expected samples of 8 bits, found %d", codec->data_precision);
    codec->out_color_space = channels == 4 ? JCS_CMYK : JCS_RGB;
    unsigned const orientation = jpeg->decoding->ignore_orientation
                                     ? 1
                                     : uform_orientation_(jpeg->exif, jpeg->exif_bytes, jpeg->xmp, jpeg->xmp_bytes);
    size_t const row_bytes = channels == 4 ? (size_t)codec->image_width * 4 : 0;
    return uform_decode_begin_(jpeg->decoding, codec->image_width, codec->image_height, orientation, row_bytes);
}

static uform_status_t read_light(jpeg_t *jpeg) {
    uform_decoding_t const *const decoding = jpeg->decoding;
    while (jpeg->codec.output_scanline < jpeg->codec.output_height) {
        JSAMPROW rows[rows_at_once_k];
        size_t const first = jpeg->codec.output_scanline, left = decoding->height - first;
        size_t const count = left < rows_at_once_k ? left : rows_at_once_k;
        for (size_t i = 0; i < count; ++i) rows[i] = decoding->pixels + (first + i) * decoding->width * 3;
        if (!jpeg_read_scanlines(&jpeg->codec, rows, (JDIMENSION)count)) return refuse_cut();
    }
    return uform_status_ok_k;
}

static uform_status_t read_ink(jpeg_t *jpeg) {
    uform_decoding_t const *const decoding = jpeg->decoding;
    while (jpeg->codec.output_scanline < jpeg->codec.output_height) {
        JSAMPROW row = decoding->scratch;
        size_t const y = jpeg->codec.output_scanline;
        if (!jpeg_read_scanlines(&jpeg->codec, &row, 1)) return refuse_cut();
        for (size_t i = 0; i < 4 * decoding->width; ++i) row[i] = (JSAMPLE)~row[i];
        uform_ink_to_light_(row, decoding->width, decoding->pixels + y * decoding->width * 3);
    }
    return uform_status_ok_k;
}

/// Everything that may escape.
static uform_status_t decode(jpeg_t *jpeg) {
    if (setjmp(jpeg->escape)) return jpeg->status;
    jpeg_create_decompress(&jpeg->codec);
    jpeg->codec.src = &jpeg->source;
    jpeg->codec.progress = &jpeg->progress;
    jpeg_set_marker_processor(&jpeg->codec, JPEG_APP0 + 1, note_segment);
    uform_status_t const status = read_header(jpeg);
    if (status) return status;
    if (!jpeg_start_decompress(&jpeg->codec)) return refuse_cut();
    uform_status_t const done = jpeg->codec.num_components == 4 ? read_ink(jpeg) : read_light(jpeg);
    // What follows the pixels may be broken, but not missing.
    if (!done) (void)jpeg_finish_decompress(&jpeg->codec);
    return done;
}

uform_status_t uform_decode_jpeg_(uform_decoding_t *decoding) {
    jpeg_t jpeg = {.decoding = decoding};
    jpeg.codec.client_data = &jpeg;
    jpeg.codec.err = jpeg_std_error(&jpeg.errors);
    jpeg.errors.error_exit = escape_error;
    jpeg.errors.output_message = stay_silent;
    jpeg.source = (struct jpeg_source_mgr){.next_input_byte = decoding->bytes,
        .bytes_in_buffer = decoding->length,
        .init_source = pass_source,
        .fill_input_buffer = refuse_more,
        .skip_input_data = skip_bytes,
        .resync_to_restart = jpeg_resync_to_restart,
        .term_source = pass_source};
    jpeg.progress.progress_monitor = count_scans;
    uform_status_t const status = decode(&jpeg);
    jpeg_destroy_decompress(&jpeg.codec);
    return status;
}
