/**
 *  TIFF through libtiff: grey, palettes, RGB and CMYK of up to 16 bits, with and without alpha, in strips or tiles, planes
 *  together or apart, whatever libtiff unpacks; YCbCr through libtiff's own conversion.
 *
 *  Samples are first gathered, eight bits each, into [height, width, channels] and then made into colours. Alpha, if there is
 *  any, is the last channel.
 */
#include <stdio.h>
#include <string.h>
#include <tiffio.h>

#include "images/decoder.h"

enum {
    sample_limit_k = 8,        ///< a pixel, used or not
    channel_limit_k = 5,       ///< CMYK and alpha
    tile_pixels_k = 1 << 22,   ///< one may be larger than its picture, up to here
    words_bytes_k = 200,       ///< of libtiff's first complaint
    spare_bytes_k = 1 << 24,   ///< beside pixels, for tables and dictionaries
    bytes_a_pixel_limit_k = 16 ///< of one strip or tile
};

typedef struct tiff_t {
    uform_decoding_t *decoding;
    TIFF *codec;
    size_t position;
    char words[words_bytes_k];

    uint32_t width, height;
    uint16_t bits, samples, photometric, planes, compression;
    unsigned channels;  ///< of colour
    bool has_alpha;     ///< the sample after them is alpha
    bool premultiplied; ///< and colours are multiplied by it
    uint8_t *gathered;  ///< [height, width, channels + has_alpha]
} tiff_t;

static uform_status_t fail(tiff_t const *tiff, char const *otherwise) {
    // Its complaints about memory have no code, but few forms.
    static char const *const forms[] = {"Out of memory", "Failed to allocate memory", "malloc", "No space"};
    uform_status_t status = uform_status_malformed_k;
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); ++i)
        if (strstr(tiff->words, forms[i])) status = uform_status_out_of_memory_k;
    return uform_fail_(status, "%s", tiff->words[0] ? tiff->words : otherwise);
}

/// Where libtiff has no memory for a list, it says so by leaving out the list.
static uform_status_t refuse_lack(void) {
    return uform_fail_(uform_status_out_of_memory_k, "no memory for the directory");
}

// Memory as a file, for libtiff.

static tmsize_t read_bytes(thandle_t handle, void *target, tmsize_t count) {
    tiff_t *const tiff = handle;
    size_t const left = tiff->decoding->length - tiff->position;
    size_t const step = count < 0 ? 0 : (size_t)count < left ? (size_t)count : left;
    memcpy(target, tiff->decoding->bytes + tiff->position, step);
    tiff->position += step;
    return (tmsize_t)step;
}

static tmsize_t refuse_write(thandle_t handle, void *source, tmsize_t count) {
    (void)handle, (void)source, (void)count;
    return -1;
}

static toff_t seek(thandle_t handle, toff_t offset, int whence) {
    tiff_t *const tiff = handle;
    toff_t const base = whence == SEEK_CUR ? tiff->position : whence == SEEK_END ? tiff->decoding->length : 0;
    toff_t const place = base + offset;
    if (place < base || place > tiff->decoding->length) return (toff_t)-1;
    tiff->position = (size_t)place;
    return place;
}

static int pass_close(thandle_t handle) {
    (void)handle;
    return 0;
}

static toff_t size_of(thandle_t handle) {
    return ((tiff_t *)handle)->decoding->length;
}

static int map(thandle_t handle, void **base, toff_t *size) {
    tiff_t *const tiff = handle;
    *base = (void *)(uintptr_t)tiff->decoding->bytes;
    *size = tiff->decoding->length;
    return 1;
}

static void unmap(thandle_t handle, void *base, toff_t size) {
    (void)handle, (void)base, (void)size;
}

__attribute__((format(printf, 4, 0))) static int keep_words(
    TIFF *codec, void *user, char const *module, char const *format, va_list arguments) {
    (void)codec, (void)module;
    tiff_t *const tiff = user;
    if (!tiff->words[0]) (void)vsnprintf(tiff->words, sizeof(tiff->words), format, arguments);
    return 1;
}

static int pass_warning(TIFF *codec, void *user, char const *module, char const *format, va_list arguments) {
    (void)codec, (void)user, (void)module, (void)format, (void)arguments;
    return 1;
}

/// Opens the file with handlers of its own: the process's are not touched.
static uform_status_t open_file(tiff_t *tiff) {
    TIFFOpenOptions *const options = TIFFOpenOptionsAlloc();
    if (!options) return uform_fail_(uform_status_out_of_memory_k, "no memory for the decoder");
    size_t allowed;
    if (__builtin_mul_overflow(tiff->decoding->pixel_limit, (size_t)bytes_a_pixel_limit_k, &allowed) ||
        allowed > PTRDIFF_MAX - spare_bytes_k)
        allowed = PTRDIFF_MAX - spare_bytes_k;
    TIFFOpenOptionsSetMaxSingleMemAlloc(options, (tmsize_t)(allowed + spare_bytes_k));
    TIFFOpenOptionsSetErrorHandlerExtR(options, keep_words, tiff);
    TIFFOpenOptionsSetWarningHandlerExtR(options, pass_warning, NULL);
    tiff->codec = TIFFClientOpenExt(
        "picture", "rC", tiff, read_bytes, refuse_write, seek, pass_close, size_of, map, unmap, options);
    TIFFOpenOptionsFree(options);
    return tiff->codec ? uform_status_ok_k : fail(tiff, "the directory is broken");
}

/// How many channels of colour a photometric interpretation has; 0 for those not read here.
static unsigned channels_of(unsigned photometric) {
    static uint8_t const channels[] = {[PHOTOMETRIC_MINISWHITE] = 1,
        [PHOTOMETRIC_MINISBLACK] = 1,
        [PHOTOMETRIC_RGB] = 3,
        [PHOTOMETRIC_PALETTE] = 1,
        [PHOTOMETRIC_SEPARATED] = 4,
        [PHOTOMETRIC_YCBCR] = 3};
    return photometric < sizeof(channels) ? channels[photometric] : 0;
}

static uform_status_t check_samples(tiff_t *tiff) {
    uint16_t format = SAMPLEFORMAT_UINT;
    (void)TIFFGetFieldDefaulted(tiff->codec, TIFFTAG_SAMPLEFORMAT, &format);
    bool const small = tiff->bits == 1 || tiff->bits == 2 || tiff->bits == 4;
    bool const wide = tiff->bits == 16;
    if (format != SAMPLEFORMAT_UINT && !(format == SAMPLEFORMAT_INT && tiff->bits == 8) && format != SAMPLEFORMAT_VOID)
        return uform_fail_(uform_status_unsupported_k, "SampleFormat: %u with %u bits is not read", format, tiff->bits);
    if (tiff->bits != 8 && !wide && !(small && tiff->samples == 1))
        return uform_fail_(uform_status_unsupported_k, "BitsPerSample: %u with %u samples a pixel is not read",
            tiff->bits, tiff->samples);
    if (wide && (tiff->photometric == PHOTOMETRIC_PALETTE || tiff->photometric == PHOTOMETRIC_YCBCR))
        return uform_fail_(uform_status_unsupported_k,
            "BitsPerSample: 16 with PhotometricInterpretation %u is not read", tiff->photometric);
    if (tiff->samples < tiff->channels || tiff->samples > sample_limit_k)
        return uform_fail_(uform_status_unsupported_k,
            "SamplesPerPixel: %u with PhotometricInterpretation %u is not read", tiff->samples, tiff->photometric);
    return uform_status_ok_k;
}

static uform_status_t read_header(tiff_t *tiff) {
    TIFF *const codec = tiff->codec;
    if (!TIFFGetField(codec, TIFFTAG_IMAGEWIDTH, &tiff->width) ||
        !TIFFGetField(codec, TIFFTAG_IMAGELENGTH, &tiff->height))
        return uform_fail_(uform_status_malformed_k, "ImageWidth, ImageLength: expected both, found one or none");
    (void)TIFFGetFieldDefaulted(codec, TIFFTAG_BITSPERSAMPLE, &tiff->bits);
    (void)TIFFGetFieldDefaulted(codec, TIFFTAG_SAMPLESPERPIXEL, &tiff->samples);
    (void)TIFFGetFieldDefaulted(codec, TIFFTAG_PLANARCONFIG, &tiff->planes);
    (void)TIFFGetFieldDefaulted(codec, TIFFTAG_COMPRESSION, &tiff->compression);
    if (!TIFFGetField(codec, TIFFTAG_PHOTOMETRIC, &tiff->photometric)) tiff->photometric = PHOTOMETRIC_MINISWHITE;
    if (tiff->compression == COMPRESSION_OJPEG) tiff->photometric = PHOTOMETRIC_YCBCR;
    if (!TIFFIsCODECConfigured(tiff->compression))
        return uform_fail_(uform_status_unsupported_k, "Compression: %u is not read", tiff->compression);
    tiff->channels = channels_of(tiff->photometric);
    if (!tiff->channels)
        return uform_fail_(uform_status_unsupported_k, "PhotometricInterpretation: %u is not read", tiff->photometric);
    uint16_t extra_count = 0, *extras = NULL;
    (void)TIFFGetFieldDefaulted(codec, TIFFTAG_EXTRASAMPLES, &extra_count, &extras);
    if (extra_count && !extras) return refuse_lack();
    if (tiff->samples > tiff->channels) {
        unsigned const meaning = extra_count ? extras[0] : EXTRASAMPLE_UNSPECIFIED;
        tiff->premultiplied = meaning == EXTRASAMPLE_ASSOCALPHA;
        tiff->has_alpha = meaning != EXTRASAMPLE_UNSPECIFIED && tiff->channels < 4;
    }
    return check_samples(tiff);
}

/// Samples of one row of one plane, from `first` on, every `step`-th, to bytes that are `stride` apart.
static void gather_row(
    tiff_t const *tiff, uint8_t const *row, size_t first, size_t step, size_t width, uint8_t *target, size_t stride) {
    if (tiff->bits == 16) {
        for (size_t x = 0; x < width; ++x) {
            uint16_t sample; // libtiff has put the bytes into the machine's order
            memcpy(&sample, row + 2 * (first + x * step), sizeof(sample));
            target[x * stride] = (uint8_t)(sample >> 8);
        }
    } else if (tiff->bits == 8) {
        for (size_t x = 0; x < width; ++x) target[x * stride] = row[first + x * step];
    } else {
        unsigned const bits = tiff->bits, per_byte = 8 / bits, last = (1u << bits) - 1;
        unsigned const scale = tiff->photometric == PHOTOMETRIC_PALETTE ? 1 : 255 / last;
        for (size_t x = 0; x < width; ++x)
            target[x * stride] = (uint8_t)((row[x / per_byte] >> (8 - bits - x % per_byte * bits) & last) * scale);
    }
}

/// Where the strips or tiles of a file lie in the picture.
typedef struct blocks_t {
    bool tiled;
    size_t width, height;        ///< of one, in pixels
    size_t bytes, row_bytes;     ///< of one
    size_t samples, plane_count; ///< a pixel in one; blocks for one place
} blocks_t;

static uform_status_t measure_blocks(tiff_t *tiff, blocks_t *blocks) {
    uint32_t width = tiff->width, height = tiff->height;
    blocks->tiled = TIFFIsTiled(tiff->codec);
    if (blocks->tiled) {
        if (!TIFFGetField(tiff->codec, TIFFTAG_TILEWIDTH, &width) ||
            !TIFFGetField(tiff->codec, TIFFTAG_TILELENGTH, &height))
            return uform_fail_(uform_status_malformed_k, "TileWidth, TileLength: expected both, found one or none");
    } else {
        uint32_t rows = 0;
        (void)TIFFGetFieldDefaulted(tiff->codec, TIFFTAG_ROWSPERSTRIP, &rows);
        if (rows && rows < height) height = rows;
    }
    size_t const limit = tiff->decoding->pixel_limit > tile_pixels_k ? tiff->decoding->pixel_limit : tile_pixels_k;
    if (!width || !height || width > limit / height)
        return uform_fail_(
            uform_status_unsupported_k, "tiles of %u x %u pixels are more than the limit of %zu", width, height, limit);
    bool const apart = tiff->planes == PLANARCONFIG_SEPARATE && tiff->samples > 1;
    blocks->width = width, blocks->height = height;
    blocks->samples = apart ? 1 : tiff->samples;
    blocks->plane_count = apart ? tiff->channels + tiff->has_alpha : 1;
    blocks->row_bytes = ((uint64_t)width * blocks->samples * tiff->bits + 7) / 8;
    uint64_t const bytes = blocks->tiled ? TIFFTileSize64(tiff->codec) : TIFFStripSize64(tiff->codec);
    uint64_t const row_bytes = blocks->tiled ? TIFFTileRowSize64(tiff->codec) : TIFFScanlineSize64(tiff->codec);
    if (bytes != blocks->row_bytes * height || row_bytes != blocks->row_bytes)
        return uform_fail_(uform_status_malformed_k, "strips or tiles hold %llu bytes where %llu are needed",
            (unsigned long long)bytes, (unsigned long long)(blocks->row_bytes * height));
    blocks->bytes = (size_t)bytes;
    return uform_status_ok_k;
}

static uform_status_t read_block(tiff_t *tiff, blocks_t const *blocks, size_t left, size_t top, size_t plane) {
    uint8_t *const block = tiff->decoding->scratch;
    tmsize_t const room = (tmsize_t)blocks->bytes;
    uint32_t const x = (uint32_t)left, y = (uint32_t)top;
    uint16_t const sample = (uint16_t)plane;
    tmsize_t const done =
        blocks->tiled ? TIFFReadEncodedTile(tiff->codec, TIFFComputeTile(tiff->codec, x, y, 0, sample), block, room)
                      : TIFFReadEncodedStrip(tiff->codec, TIFFComputeStrip(tiff->codec, y, sample), block, room);
    if (done < 0) return fail(tiff, "the pixels can't be decoded");
    // Some codecs end a block early and call that success.
    if (done < room) memset(block + done, 0, (size_t)(room - done));

    size_t const channels = tiff->channels + tiff->has_alpha;
    size_t const width = left + blocks->width < tiff->width ? blocks->width : tiff->width - left;
    size_t const height = top + blocks->height < tiff->height ? blocks->height : tiff->height - top;
    for (size_t row = 0; row < height; ++row) {
        uint8_t const *const source = block + row * blocks->row_bytes;
        uint8_t *const target = tiff->gathered + ((top + row) * tiff->width + left) * channels;
        if (blocks->plane_count > 1) gather_row(tiff, source, 0, 1, width, target + plane, channels);
        else
            for (size_t c = 0; c < channels; ++c)
                gather_row(tiff, source, c, blocks->samples, width, target + c, channels);
    }
    return uform_status_ok_k;
}

/// Divides colours by the alpha they were multiplied with.
static void divide_by_alpha(uint8_t *pixel, unsigned channels) {
    unsigned const alpha = pixel[channels];
    for (unsigned c = 0; c < channels; ++c) {
        unsigned const color = alpha ? pixel[c] * 255u / alpha : 0;
        pixel[c] = (uint8_t)(color > 255 ? 255 : color);
    }
}

/// The colours of grey and palettes by their sample.
static uform_status_t fill_table(tiff_t const *tiff, uint8_t colors[256][3]) {
    uint16_t *maps[3] = {NULL, NULL, NULL};
    bool const indexed = tiff->photometric == PHOTOMETRIC_PALETTE;
    if (indexed && !TIFFGetField(tiff->codec, TIFFTAG_COLORMAP, &maps[0], &maps[1], &maps[2]))
        return uform_fail_(uform_status_malformed_k, "ColorMap: expected one, found none");
    if (indexed && !(maps[0] && maps[1] && maps[2])) return refuse_lack();
    size_t const listed = indexed ? (size_t)1 << tiff->bits : 0;
    for (size_t i = 0; i < 256; ++i)
        for (size_t c = 0; c < 3; ++c)
            colors[i][c] = (uint8_t)(i < listed                                    ? maps[c][i] >> 8
                                     : tiff->photometric == PHOTOMETRIC_MINISWHITE ? 255 - i
                                                                                   : i);
    return uform_status_ok_k;
}

/// The gathered samples to RGB.
static uform_status_t make_colors(tiff_t const *tiff) {
    uform_decoding_t const *const decoding = tiff->decoding;
    size_t const count = decoding->width * decoding->height, channels = tiff->channels + tiff->has_alpha;
    if (tiff->channels == 4) {
        uform_ink_to_light_(tiff->gathered, count, decoding->pixels);
        return uform_status_ok_k;
    }
    uint8_t colors[256][3];
    uform_status_t const status = fill_table(tiff, colors);
    if (status) return status;
    for (size_t i = 0; i < count; ++i) {
        uint8_t *const pixel = tiff->gathered + i * channels, *const rgb = decoding->pixels + 3 * i;
        unsigned const alpha = tiff->has_alpha ? pixel[tiff->channels] : 255;
        if (tiff->premultiplied && tiff->has_alpha) divide_by_alpha(pixel, tiff->channels);
        uint8_t const *const color = tiff->channels == 3 ? pixel : colors[pixel[0]];
        for (size_t c = 0; c < 3; ++c) rgb[c] = decoding->flatten ? uform_over_white_(color[c], alpha) : color[c];
    }
    return uform_status_ok_k;
}

static uform_status_t decode_blocks(tiff_t *tiff, unsigned orientation) {
    uform_decoding_t *const decoding = tiff->decoding;
    blocks_t blocks = {.tiled = false};
    uform_status_t status = measure_blocks(tiff, &blocks);
    if (status) return status;
    size_t const channels = tiff->channels + tiff->has_alpha;
    bool const direct = tiff->channels == 3 && !tiff->has_alpha; // samples are colours as they are gathered
    size_t const block_bytes = (blocks.bytes + 63) / 64 * 64;
    size_t const gathered_bytes = direct ? 0 : decoding->width * decoding->height * channels;
    status = uform_decode_begin_(decoding, tiff->width, tiff->height, orientation, block_bytes + gathered_bytes);
    if (status) return status;
    tiff->gathered = direct ? decoding->pixels : decoding->scratch + block_bytes;
    for (size_t top = 0; top < tiff->height; top += blocks.height)
        for (size_t left = 0; left < tiff->width; left += blocks.width)
            for (size_t plane = 0; plane < blocks.plane_count; ++plane) {
                status = read_block(tiff, &blocks, left, top, plane);
                if (status) return status;
            }
    return direct ? uform_status_ok_k : make_colors(tiff);
}

/// YCbCr with chroma at fewer places, which libtiff makes into RGBA itself.
static uform_status_t decode_converted(tiff_t *tiff, unsigned orientation) {
    uform_decoding_t *const decoding = tiff->decoding;
    size_t const count = decoding->width * decoding->height;
    uform_status_t const status = uform_decode_begin_(decoding, tiff->width, tiff->height, orientation, 4 * count);
    if (status) return status;
    char words[1024] = "";
    TIFFRGBAImage image;
    if (!TIFFRGBAImageOK(tiff->codec, words) || !TIFFRGBAImageBegin(&image, tiff->codec, 1, words))
        return uform_fail_(uform_status_unsupported_k, "%s", words);
    // As stored: turning is done later, by the tag.
    image.orientation = image.req_orientation = ORIENTATION_TOPLEFT;
    int const done = TIFFRGBAImageGet(&image, (uint32_t *)(void *)decoding->scratch, tiff->width, tiff->height);
    TIFFRGBAImageEnd(&image);
    if (!done) return fail(tiff, "the pixels can't be decoded");
    uint32_t const *const packed = (uint32_t const *)(void *)decoding->scratch;
    for (size_t i = 0; i < count; ++i) {
        decoding->pixels[3 * i] = (uint8_t)TIFFGetR(packed[i]);
        decoding->pixels[3 * i + 1] = (uint8_t)TIFFGetG(packed[i]);
        decoding->pixels[3 * i + 2] = (uint8_t)TIFFGetB(packed[i]);
    }
    return uform_status_ok_k;
}

static unsigned read_orientation(tiff_t *tiff) {
    uint16_t orientation = 0;
    uint32_t xmp_bytes = 0;
    void *xmp = NULL;
    if (TIFFGetField(tiff->codec, TIFFTAG_ORIENTATION, &orientation)) return orientation;
    if (!TIFFGetField(tiff->codec, TIFFTAG_XMLPACKET, &xmp_bytes, &xmp)) xmp_bytes = 0;
    return uform_orientation_(NULL, 0, xmp, xmp_bytes);
}

static uform_status_t decode(tiff_t *tiff) {
    uform_status_t status = read_header(tiff);
    if (status) return status;
    unsigned const orientation = read_orientation(tiff);
    status = uform_decode_begin_(tiff->decoding, tiff->width, tiff->height, orientation, 0);
    if (status) return status;
    if (tiff->photometric != PHOTOMETRIC_YCBCR || tiff->samples == 1) return decode_blocks(tiff, orientation);
    if (tiff->compression != COMPRESSION_JPEG || tiff->planes != PLANARCONFIG_CONTIG)
        return decode_converted(tiff, orientation);
    // libjpeg's own conversion is the faster one, and Pillow's.
    (void)TIFFSetField(tiff->codec, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
    return decode_blocks(tiff, orientation);
}

uform_status_t uform_decode_tiff_(uform_decoding_t *decoding) {
    tiff_t tiff = {.decoding = decoding};
    uform_status_t status = uform_decode_ensure_memory_(0);
    if (!status) status = open_file(&tiff);
    if (status) return status;
    status = decode(&tiff);
    TIFFClose(tiff.codec);
    return status;
}
