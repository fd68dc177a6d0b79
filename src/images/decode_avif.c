/**
 *  AVIF through libavif: a picture, or the first of a sequence. Which way up it is, the container's rotation and mirror tell;
 *  EXIF does not, as the format wants it. The clean aperture is passed over, as by Pillow.
 *
 *  Of the AV1 decoders that libavif may have been built with, dav1d is the fastest, but writes to standard error what is wrong
 *  with a file, and libavif keeps its logger out of reach. So others come first. They have no limit to a frame's size, which is why
 *  the data is looked at when libavif fetches it.
 */
#include <avif/avif.h>
#include <string.h>

#include "images/av1.h"
#include "images/decoder.h"

enum { channels_k = 4 };

/// Rotation in quarters to the left, then a mirror: EXIF's orientation by [quarters][none, top to bottom, left to right].
static uint8_t const orientations[4][3] = {{1, 4, 2}, {8, 5, 7}, {3, 2, 4}, {6, 7, 5}};

/// The file, as libavif reads it.
typedef struct source_t {
    avifIO io;
    uform_decoding_t *decoding;
    bool only_pictures;    ///< whatever is read has to be AV1 data
    uform_status_t status; ///< why a read was refused
} source_t;

static avifResult read_source(avifIO *io, uint32_t flags, uint64_t offset, size_t size, avifROData *out) {
    (void)flags;
    source_t *const source = io->data;
    size_t const length = source->decoding->length;
    if (offset > length) return AVIF_RESULT_IO_ERROR;
    size_t const left = length - (size_t)offset;
    *out = (avifROData){source->decoding->bytes + offset, size < left ? size : left};
    // Before, too, data may be read and kept; what isn't AV1 does not look like it.
    uint64_t width, height;
    if (!uform_av1_size_(out->data, out->size, &width, &height)) {
        if (!source->only_pictures || out->size < size) return AVIF_RESULT_OK;
        source->status = uform_fail_(uform_status_malformed_k, "expected AV1 data with a sequence header, found none");
        return AVIF_RESULT_IO_ERROR;
    }
    source->status = uform_decode_check_(width, height, source->decoding->pixel_limit);
    return source->status ? AVIF_RESULT_IO_ERROR : AVIF_RESULT_OK;
}

static avifCodecChoice choose_codec(void) {
    static avifCodecChoice const choices[] = {AVIF_CODEC_CHOICE_AOM, AVIF_CODEC_CHOICE_LIBGAV1};
    for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); ++i)
        if (avifCodecName(choices[i], AVIF_CODEC_FLAG_CAN_DECODE)) return choices[i];
    return AVIF_CODEC_CHOICE_AUTO;
}

static uform_status_t fail(avifDecoder const *decoder, avifResult result) {
    source_t const *const source = decoder->io->data;
    if (source->status) return source->status;
    static struct {
        avifResult result;
        uform_status_t status;
    } const statuses[] = {{AVIF_RESULT_OUT_OF_MEMORY, uform_status_out_of_memory_k},
        {AVIF_RESULT_NO_CODEC_AVAILABLE, uform_status_unsupported_k},
        {AVIF_RESULT_NOT_IMPLEMENTED, uform_status_unsupported_k},
        {AVIF_RESULT_UNSUPPORTED_DEPTH, uform_status_unsupported_k}};
    uform_status_t status = uform_status_malformed_k;
    for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); ++i)
        if (result == statuses[i].result) status = statuses[i].status;
    bool const detailed = decoder->diag.error[0];
    return uform_fail_(
        status, "%s%s%s", avifResultToString(result), detailed ? ": " : "", detailed ? decoder->diag.error : "");
}

/// 1 where left and right are exchanged, 0 where top and bottom are.
static unsigned mirror_of(avifImage const *image) {
#if AVIF_VERSION >= 1000000
    return image->imir.axis & 1;
#else
    return image->imir.mode & 1;
#endif
}

static unsigned read_orientation(avifImage const *image) {
    unsigned const quarters = image->transformFlags & AVIF_TRANSFORM_IROT ? image->irot.angle & 3 : 0;
    unsigned const mirror = image->transformFlags & AVIF_TRANSFORM_IMIR ? 1 + mirror_of(image) : 0;
    unsigned const orientation = orientations[quarters][mirror];
    if (orientation != 1 || uform_exif_orientation_(image->exif.data, image->exif.size)) return orientation;
    return uform_orientation_(NULL, 0, image->xmp.data, image->xmp.size);
}

/// Cuts a plane's samples to their upper eight bits where they lie.
static void lower_plane(uint8_t *plane, size_t width, size_t height, size_t row_bytes, unsigned shift) {
    for (size_t y = 0; y < height; ++y, plane += row_bytes)
        for (size_t x = 0; x < width; ++x) {
            uint16_t sample;
            memcpy(&sample, plane + 2 * x, sizeof(sample));
            plane[x] = (uint8_t)(sample >> shift);
        }
}

/// Whether libavif 1.4, which Pillow has, makes colours of more than eight bits a sample with all of them. It leaves the rest to
/// libyuv, which has conversions for some layouts alone and of others looks at the upper eight bits only.
static bool keeps_depth(avifImage const *image) {
    static avifMatrixCoefficients const known[] = {AVIF_MATRIX_COEFFICIENTS_BT709, AVIF_MATRIX_COEFFICIENTS_UNSPECIFIED,
        AVIF_MATRIX_COEFFICIENTS_BT470BG, AVIF_MATRIX_COEFFICIENTS_BT601, AVIF_MATRIX_COEFFICIENTS_BT2020_NCL};
    bool found = false;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); ++i) found |= image->matrixCoefficients == known[i];
    if (!found || image->depth == 8) return true;
    bool const has_alpha = image->alphaPlane;
    if (image->yuvFormat == AVIF_PIXEL_FORMAT_YUV400) return !has_alpha;
    return has_alpha && (image->depth == 10 || image->yuvFormat == AVIF_PIXEL_FORMAT_YUV420);
}

/// The same picture with the upper eight bits of its samples, where it would be converted by them. Older libraries than Pillow's
/// would take all of them, and then chroma comes out sharper than anyone has trained with.
static avifImage lower(avifImage const *image) {
    avifImage eight = *image;
    if (keeps_depth(image)) return eight;
    avifPixelFormatInfo format;
    avifGetPixelFormatInfo(image->yuvFormat, &format);
    unsigned const shift = image->depth - 8;
    size_t const chroma_width = (image->width + (size_t)format.chromaShiftX) >> format.chromaShiftX;
    size_t const chroma_height = (image->height + (size_t)format.chromaShiftY) >> format.chromaShiftY;
    for (size_t i = 0; i < AVIF_PLANE_COUNT_YUV; ++i)
        if (image->yuvPlanes[i])
            lower_plane(image->yuvPlanes[i], i ? chroma_width : image->width, i ? chroma_height : image->height,
                image->yuvRowBytes[i], shift);
    if (image->alphaPlane) lower_plane(image->alphaPlane, image->width, image->height, image->alphaRowBytes, shift);
    eight.depth = 8;
    return eight;
}

static uform_status_t decode(uform_decoding_t *decoding, avifDecoder *decoder) {
    avifResult result = avifDecoderParse(decoder);
    if (result) return fail(decoder, result);
    avifImage const *const image = decoder->image;
    uint32_t const width = image->width, height = image->height;
    unsigned const orientation = decoding->ignore_orientation ? 1 : read_orientation(image);
    uform_status_t status = uform_decode_begin_(decoding, width, height, orientation, 0);
    if (!status) status = uform_decode_ensure_memory_((uint64_t)width * height);
    if (!status && decoder->alphaPresent)
        status =
            uform_decode_begin_(decoding, width, height, orientation, decoding->width * decoding->height * channels_k);
    if (status) return status;
    // From here on the picture inside is held to the limit too. In the container, libavif would call it broken.
    if (decoding->pixel_limit < decoder->imageSizeLimit) decoder->imageSizeLimit = (uint32_t)decoding->pixel_limit;
    ((source_t *)decoder->io->data)->only_pictures = true;
    result = avifDecoderNextImage(decoder);
    if (result) return fail(decoder, result);
    if (image->width != width || image->height != height)
        return uform_fail_(uform_status_malformed_k, "the container says %u x %u pixels, the picture %u x %u", width,
            height, image->width, image->height);

    // With alpha, libavif has to see it, to divide by it where colours were multiplied.
    avifRGBImage target;
    avifRGBImageSetDefaults(&target, image);
    target.depth = 8;
    target.format = decoder->alphaPresent ? AVIF_RGB_FORMAT_RGBA : AVIF_RGB_FORMAT_RGB;
    target.pixels = decoder->alphaPresent ? decoding->scratch : decoding->pixels;
    target.rowBytes = width * (decoder->alphaPresent ? channels_k : 3);
    avifImage const eight = lower(decoder->image);
    result = avifImageYUVToRGB(&eight, &target);
    if (result) return fail(decoder, result);
    if (decoder->alphaPresent)
        uform_drop_alpha_(decoding->scratch, decoding->width * decoding->height, decoding->flatten, decoding->pixels);
    return uform_status_ok_k;
}

uform_status_t uform_decode_avif_(uform_decoding_t *decoding) {
    uform_status_t status = uform_decode_ensure_memory_(0);
    if (status) return status;
    avifDecoder *const decoder = avifDecoderCreate();
    if (!decoder) return uform_fail_(uform_status_out_of_memory_k, "no memory for the decoder");
    source_t source = {.decoding = decoding};
    source.io = (avifIO){.read = read_source, .sizeHint = decoding->length, .persistent = AVIF_TRUE, .data = &source};
    avifDecoderSetIO(decoder, &source.io);
    decoder->codecChoice = choose_codec();
    decoder->maxThreads = 1; // the executor's threads have a picture each
    decoder->strictFlags &= ~(avifStrictFlags)(AVIF_STRICT_CLAP_VALID | AVIF_STRICT_PIXI_REQUIRED);
    status = decode(decoding, decoder);
    avifDecoderDestroy(decoder);
    return status;
}
