/**
 *  WebP through libwebp: a picture, or the first frame of an animation on its canvas, which is black around it as the
 *  canvas of a file with alpha is transparent black.
 */
#include <string.h>
#include <webp/decode.h>
#include <webp/demux.h>

#include "images/decoder.h"

/// Decodes the frame to its place on the canvas.
static uform_status_t decode_frame(uform_decoding_t *decoding, WebPIterator const *frame) {
    size_t const width = (size_t)frame->width, height = (size_t)frame->height, left = (size_t)frame->x_offset;
    size_t const top = (size_t)frame->y_offset;
    if (left + width > decoding->width || top + height > decoding->height)
        return uform_fail_(uform_status_malformed_k, "the first frame reaches over its canvas");
    bool const covers = width == decoding->width && height == decoding->height;
    // An alpha of zero on black, over white, is white.
    if (!covers) memset(decoding->pixels, decoding->flatten ? 255 : 0, decoding->width * decoding->height * 3);
    size_t const stride = decoding->width * 3, offset = top * stride + left * 3;
    if (!decoding->flatten) {
        uint8_t *const done = WebPDecodeRGBInto(frame->fragment.bytes, frame->fragment.size, decoding->pixels + offset,
            decoding->width * decoding->height * 3 - offset, (int)stride);
        return done ? uform_status_ok_k : uform_fail_(uform_status_malformed_k, "the pixels can't be decoded");
    }
    if (!WebPDecodeRGBAInto(
            frame->fragment.bytes, frame->fragment.size, decoding->scratch, width * height * 4, (int)width * 4))
        return uform_fail_(uform_status_malformed_k, "the pixels can't be decoded");
    for (size_t y = 0; y < height; ++y)
        uform_drop_alpha_(decoding->scratch + y * width * 4, width, true, decoding->pixels + offset + y * stride);
    return uform_status_ok_k;
}

static unsigned read_orientation(WebPDemuxer const *demuxer) {
    WebPChunkIterator exif, xmp;
    bool const has_exif = WebPDemuxGetChunk(demuxer, "EXIF", 1, &exif);
    bool const has_xmp = WebPDemuxGetChunk(demuxer, "XMP ", 1, &xmp);
    unsigned const orientation = uform_orientation_(has_exif ? exif.chunk.bytes : NULL, has_exif ? exif.chunk.size : 0,
        has_xmp ? xmp.chunk.bytes : NULL, has_xmp ? xmp.chunk.size : 0);
    if (has_exif) WebPDemuxReleaseChunkIterator(&exif);
    if (has_xmp) WebPDemuxReleaseChunkIterator(&xmp);
    return orientation;
}

static uform_status_t decode_first(uform_decoding_t *decoding, WebPDemuxer const *demuxer) {
    uint64_t const width = WebPDemuxGetI(demuxer, WEBP_FF_CANVAS_WIDTH);
    uint64_t const height = WebPDemuxGetI(demuxer, WEBP_FF_CANVAS_HEIGHT);
    unsigned const orientation = decoding->ignore_orientation ? 1 : read_orientation(demuxer);
    uform_status_t status = uform_decode_begin_(decoding, width, height, orientation, 0);
    if (!status) status = uform_decode_ensure_memory_(width * height);
    if (!status && decoding->flatten)
        status = uform_decode_begin_(decoding, width, height, orientation, decoding->width * decoding->height * 4);
    if (status) return status;
    WebPIterator frame;
    if (!WebPDemuxGetFrame(demuxer, 1, &frame))
        return uform_fail_(uform_status_malformed_k, "expected a frame, found none");
    status = decode_frame(decoding, &frame);
    WebPDemuxReleaseIterator(&frame);
    return status;
}

/// Checks the canvas that an extended header tells. The demuxer would call one too large a broken file.
static uform_status_t check_canvas(uform_decoding_t const *decoding) {
    enum { width_offset_k = 24, height_offset_k = 27, end_k = 30 };
    uint8_t const *const bytes = decoding->bytes;
    if (decoding->length < end_k || bytes[15] != 'X') return uform_status_ok_k;
    // 24 bits each, one less than what is meant.
    uint64_t const width = (uform_read_u32_(bytes + width_offset_k - 1, false) >> 8) + 1;
    uint64_t const height = (uform_read_u32_(bytes + height_offset_k - 1, false) >> 8) + 1;
    return uform_decode_check_(width, height, decoding->pixel_limit);
}

uform_status_t uform_decode_webp_(uform_decoding_t *decoding) {
    uform_status_t status = check_canvas(decoding);
    if (status) return status;
    WebPData const file = {decoding->bytes, decoding->length};
    WebPDemuxer *const demuxer = WebPDemux(&file);
    if (!demuxer) return uform_fail_(uform_status_malformed_k, "the file is truncated or its chunks are broken");
    status = decode_first(decoding, demuxer);
    WebPDemuxDelete(demuxer);
    return status;
}
