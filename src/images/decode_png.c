/**
 *  PNG through libspng.
 *
 *  What Pillow accepts is not what libspng accepts: Pillow looks at no checksum from the first IDAT on but zlib's own, ignores
 *  chunks it doesn't know, and needs no IEND. So libspng does not see the file but a stream of what it has to decode:
 *  a header, the IDAT chunks cut to what is there, both with checksums that hold. Everything else is read here.
 *
 *  Grey of up to 8 bits and palettes come as one byte a pixel and are spread through a table of colours, in which alpha is
 *  already flattened if wanted. To that end a palette's picture is passed off as a grey one.
 */
#include <spng.h>
#include <string.h>
#include <zlib.h>

#include "images/decoder.h"

enum {
    signature_bytes_k = 8,
    chunk_frame_bytes_k = 12, ///< length, type and checksum
    header_bytes_k = 13,
    text_limit_k = 1 << 20, ///< of compressed texts that may hold an orientation, and of what becomes of them
    gray_k = 0,
    rgb_k = 2,
    palette_k = 3,
    gray_alpha_k = 4,
    rgb_alpha_k = 6,
};

typedef struct piece_t {
    uint8_t const *bytes;
    size_t length;
} piece_t;

/// A chunk of the file; `content` ends where the file does.
typedef struct chunk_t {
    uint8_t const *type;
    piece_t content;
    bool whole; ///< content and checksum are there
    size_t next;
} chunk_t;

typedef struct png_t {
    uform_decoding_t *decoding;
    uint8_t const *header; ///< [13]
    piece_t palette, transparency;
    size_t first_data; ///< offset of the first IDAT

    // The stream: one piece at a time.
    piece_t piece;
    uint8_t frame[chunk_frame_bytes_k + header_bytes_k + signature_bytes_k]; ///< what pieces are made of here
    size_t next;                                                             ///< offset of the chunk to come
    enum { at_transparency_k, at_data_k, in_data_k, in_checksum_k } stage;
    uint32_t checksum;
} png_t;

static bool is_type(chunk_t const *chunk, char const *type) {
    return !memcmp(chunk->type, type, 4);
}

static bool is_word(uint8_t byte) {
    return (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') || byte == '_';
}

/// The chunk at an offset; false where there is none, or something else.
static bool read_chunk(uform_decoding_t const *decoding, size_t offset, chunk_t *chunk) {
    if (decoding->length - offset < 8) return false;
    uint8_t const *const bytes = decoding->bytes + offset;
    size_t const length = uform_read_u32_(bytes, true), left = decoding->length - offset - 8;
    for (unsigned i = 4; i < 8; ++i)
        if (!is_word(bytes[i])) return false;
    chunk->type = bytes + 4;
    chunk->content = (piece_t){bytes + 8, length < left ? length : left};
    chunk->whole = length + 4 <= left;
    chunk->next = chunk->whole ? offset + 8 + length + 4 : decoding->length;
    return true;
}

static uint32_t checksum_of(uint8_t const *type, piece_t content) {
    return (uint32_t)crc32(crc32(0, type, 4), content.bytes, (uInt)content.length);
}

/// Reads and checks everything before the first IDAT.
static uform_status_t read_header(png_t *png) {
    chunk_t chunk;
    for (size_t offset = signature_bytes_k;; offset = chunk.next) {
        if (!read_chunk(png->decoding, offset, &chunk))
            return uform_fail_(uform_status_malformed_k, "expected a chunk at byte %zu", offset);
        if (is_type(&chunk, "IDAT")) {
            png->first_data = offset;
            break;
        }
        if (is_type(&chunk, "IEND")) break;
        if (!chunk.whole) return uform_fail_(uform_status_malformed_k, "the file is truncated");
        uint32_t const expected = checksum_of(chunk.type, chunk.content);
        uint32_t const found = uform_read_u32_(chunk.content.bytes + chunk.content.length, true);
        if (expected != found)
            return uform_fail_(uform_status_malformed_k, "%.4s: expected the checksum %08X, found %08X",
                (char const *)chunk.type, expected, found);
        if (is_type(&chunk, "IHDR") && chunk.content.length >= header_bytes_k) png->header = chunk.content.bytes;
        if (is_type(&chunk, "PLTE")) png->palette = chunk.content;
        if (is_type(&chunk, "tRNS")) png->transparency = chunk.content;
    }
    if (!png->header) return uform_fail_(uform_status_malformed_k, "IHDR: expected a header, found none");
    if (png->header[9] == palette_k && !png->palette.bytes)
        return uform_fail_(uform_status_malformed_k, "PLTE: expected a palette, found none");
    if (!png->first_data) return uform_fail_(uform_status_malformed_k, "IDAT: expected pixels, found none");
    return uform_status_ok_k;
}

/// Inflates what may be an orientation's text, as far as it is sound and fits: the text becomes what it was packed from.
/// Only a lack of memory fails.
static uform_status_t inflate_text(piece_t *text, uint8_t *memory) {
    z_stream stream = {.next_in = (Bytef *)(uintptr_t)text->bytes, .avail_in = (uInt)text->length};
    stream.next_out = memory;
    stream.avail_out = text_limit_k;
    int error = inflateInit(&stream);
    if (!error) {
        error = inflate(&stream, Z_FINISH);
        (void)inflateEnd(&stream);
    }
    if (error == Z_MEM_ERROR) return uform_fail_(uform_status_out_of_memory_k, "no memory for metadata");
    *text = (piece_t){memory, text_limit_k - stream.avail_out};
    return uform_status_ok_k;
}

/// What follows a text chunk's keyword, or nothing where the keyword is another.
static piece_t after_keyword(piece_t content, char const *keyword) {
    size_t const bytes = strlen(keyword) + 1;
    if (content.length < bytes || memcmp(content.bytes, keyword, bytes)) return (piece_t){NULL, 0};
    return (piece_t){content.bytes + bytes, content.length - bytes};
}

/// What follows the next byte of this value, or nothing.
static piece_t after_byte(piece_t text, int byte) {
    uint8_t const *const found = text.length ? memchr(text.bytes, byte, text.length) : NULL;
    if (!found) return (piece_t){NULL, 0};
    return (piece_t){found + 1, text.length - (size_t)(found + 1 - text.bytes)};
}

static int digit_of(uint8_t byte) {
    if (byte >= '0' && byte <= '9') return byte - '0';
    if ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'f') return (byte | 0x20) - 'a' + 10;
    return -1;
}

/// EXIF data in hexadecimal digits, as ImageMagick wrote it before there was a chunk for it: three lines come first.
/// The bytes replace the digits in `memory`.
static piece_t hexadecimal_exif(piece_t text, uint8_t *memory) {
    for (unsigned line = 0; line < 3; ++line) text = after_byte(text, '\n');
    size_t used = 0;
    int upper = -1;
    for (size_t i = 0; i < text.length; ++i) {
        int const digit = digit_of(text.bytes[i]);
        if (digit < 0) continue;
        if (upper < 0) upper = digit;
        else memory[used++] = (uint8_t)(upper << 4 | digit), upper = -1;
    }
    return (piece_t){memory, used};
}

/// EXIF data out of a text chunk, packed or not; nothing where the chunk holds something else.
static uform_status_t read_profile(chunk_t const *chunk, uint8_t *memory, piece_t *exif) {
    bool const packed = is_type(chunk, "zTXt");
    piece_t text = after_keyword(chunk->content, "Raw profile type exif");
    if (!text.length || !(packed || is_type(chunk, "tEXt"))) return uform_status_ok_k;
    if (packed) {
        ++text.bytes, --text.length; // the method
        uform_status_t const status = inflate_text(&text, memory);
        if (status) return status;
    }
    *exif = hexadecimal_exif(text, memory);
    return uform_status_ok_k;
}

/// XMP out of an international text chunk, where a flag, a method, a language and a translation come before the text.
static uform_status_t read_xmp(chunk_t const *chunk, uint8_t *memory, piece_t *xmp) {
    piece_t text = after_keyword(chunk->content, "XML:com.adobe.xmp");
    if (text.length < 2 || !is_type(chunk, "iTXt")) return uform_status_ok_k;
    bool const packed = text.bytes[0];
    *xmp = after_byte(after_byte((piece_t){text.bytes + 2, text.length - 2}, 0), 0);
    return packed ? inflate_text(xmp, memory) : uform_status_ok_k;
}

/// Metadata may stand before and behind the pixels. Of texts the first counts, so that none is unpacked but one of each kind, to
/// `memory` [2, text_limit_k].
static uform_status_t read_orientation(uform_decoding_t const *decoding, uint8_t *memory, unsigned *orientation) {
    piece_t exif = {NULL, 0}, profile = {NULL, 0}, xmp = {NULL, 0};
    chunk_t chunk;
    uform_status_t status = uform_status_ok_k;
    for (size_t offset = signature_bytes_k; read_chunk(decoding, offset, &chunk) && !status; offset = chunk.next) {
        if (is_type(&chunk, "IEND") || !chunk.whole) break;
        if (is_type(&chunk, "eXIf")) exif = chunk.content;
        if (chunk.content.length > text_limit_k) continue;
        if (!profile.bytes) status = read_profile(&chunk, memory, &profile);
        if (!status && !xmp.bytes) status = read_xmp(&chunk, memory + text_limit_k, &xmp);
    }
    if (!exif.bytes) exif = profile;
    *orientation = uform_orientation_(exif.bytes, exif.length, xmp.bytes, xmp.length);
    return status;
}

/// Whether some chunk could hold an orientation that has to be unpacked.
static bool has_texts(uform_decoding_t const *decoding) {
    chunk_t chunk;
    for (size_t offset = signature_bytes_k; read_chunk(decoding, offset, &chunk); offset = chunk.next)
        if (is_type(&chunk, "zTXt") || is_type(&chunk, "tEXt") || is_type(&chunk, "iTXt")) return true;
    return false;
}

/// Frames a chunk of our own: `content` has been put behind the eight bytes of its frame.
static size_t frame_chunk(uint8_t *frame, char const *type, size_t content_bytes) {
    for (unsigned i = 0; i < 4; ++i) frame[i] = (uint8_t)(content_bytes >> (24 - 8 * i));
    memcpy(frame + 4, type, 4);
    uint32_t const checksum = checksum_of(frame + 4, (piece_t){frame + 8, content_bytes});
    for (unsigned i = 0; i < 4; ++i) frame[8 + content_bytes + i] = (uint8_t)(checksum >> (24 - 8 * i));
    return content_bytes + chunk_frame_bytes_k;
}

/// The stream's begin: the file's signature, and its header with a colour type of our choice.
static void begin_stream(png_t *png, bool as_gray) {
    memcpy(png->frame, png->decoding->bytes, signature_bytes_k);
    uint8_t *const content = png->frame + signature_bytes_k + 8;
    memcpy(content, png->header, header_bytes_k);
    if (as_gray) content[9] = gray_k;
    size_t const bytes = frame_chunk(png->frame + signature_bytes_k, "IHDR", header_bytes_k);
    png->piece = (piece_t){png->frame, signature_bytes_k + bytes};
    png->stage = at_transparency_k;
    png->next = png->first_data;
}

/// Moves on to the next piece; false at the end.
static bool next_piece(png_t *png) {
    chunk_t chunk;
    switch (png->stage) {
        case at_transparency_k: {
            // Six bytes for RGB, two for grey; only of use, and only passed on, where alpha is wanted.
            size_t const needed = png->header[9] == rgb_k ? 6 : png->header[9] == gray_k ? 2 : 0;
            bool const passed = png->decoding->flatten && needed && png->transparency.length >= needed;
            png->stage = at_data_k;
            if (!passed) return next_piece(png);
            memcpy(png->frame + 8, png->transparency.bytes, needed);
            png->piece = (piece_t){png->frame, frame_chunk(png->frame, "tRNS", needed)};
            return true;
        }
        case at_data_k:
            if (!read_chunk(png->decoding, png->next, &chunk) || !is_type(&chunk, "IDAT")) return false;
            for (unsigned i = 0; i < 4; ++i) png->frame[i] = (uint8_t)(chunk.content.length >> (24 - 8 * i));
            memcpy(png->frame + 4, chunk.type, 4);
            png->piece = (piece_t){png->frame, 8};
            png->stage = in_data_k;
            return true;
        case in_data_k:
            if (!read_chunk(png->decoding, png->next, &chunk)) return false;
            png->checksum = checksum_of(chunk.type, chunk.content);
            png->piece = chunk.content;
            png->next = chunk.next;
            png->stage = in_checksum_k;
            return true;
        case in_checksum_k:
            for (unsigned i = 0; i < 4; ++i) png->frame[i] = (uint8_t)(png->checksum >> (24 - 8 * i));
            png->piece = (piece_t){png->frame, 4};
            png->stage = at_data_k;
            return true;
    }
    return false;
}

static int read_stream(spng_ctx *codec, void *user, void *target, size_t length) {
    (void)codec;
    png_t *const png = user;
    uint8_t *bytes = target;
    while (length) {
        if (!png->piece.length && !next_piece(png)) return SPNG_IO_EOF;
        size_t const step = length < png->piece.length ? length : png->piece.length;
        memcpy(bytes, png->piece.bytes, step);
        png->piece.bytes += step, png->piece.length -= step;
        bytes += step, length -= step;
    }
    return 0;
}

/// The colour of every byte that libspng makes of a sample: it stretches those of fewer bits over all eight.
static void fill_table(png_t const *png, uint8_t colors[256][3]) {
    unsigned const last = (1u << png->header[8]) - 1;
    bool const indexed = png->header[9] == palette_k;
    unsigned const hidden =
        !indexed && png->transparency.length >= 2 ? uform_read_u16_(png->transparency.bytes, true) : UINT32_MAX;
    for (unsigned sample = 0; sample <= last; ++sample) {
        uint8_t const gray = (uint8_t)(sample * 255 / last);
        unsigned alpha = sample == hidden ? 0 : 255;
        if (indexed && sample < png->transparency.length) alpha = png->transparency.bytes[sample];
        for (size_t c = 0; c < 3; ++c) {
            // Indices beyond a palette are black, as in Pillow.
            size_t const place = 3 * (size_t)sample + c;
            bool const listed = place < png->palette.length / 3 * 3;
            uint8_t const color = !indexed ? gray : listed ? png->palette.bytes[place] : 0;
            colors[gray][c] = png->decoding->flatten ? uform_over_white_(color, alpha) : color;
        }
    }
}

static uform_status_t decode_pixels(png_t *png, spng_ctx *codec) {
    uform_decoding_t const *const decoding = png->decoding;
    unsigned const depth = png->header[8], type = png->header[9];
    size_t const count = decoding->width * decoding->height;
    bool const by_table = depth <= 8 && (type == gray_k || type == palette_k);
    begin_stream(png, type == palette_k);
    int error = spng_set_png_stream(codec, read_stream, png);
    if (!error && by_table) error = spng_decode_image(codec, decoding->pixels + 2 * count, count, SPNG_FMT_G8, 0);
    else if (!error && decoding->flatten)
        error = spng_decode_image(codec, decoding->scratch, 4 * count, SPNG_FMT_RGBA8, SPNG_DECODE_TRNS);
    else if (!error) error = spng_decode_image(codec, decoding->pixels, 3 * count, SPNG_FMT_RGB8, 0);
    if (error == SPNG_EMEM) return uform_fail_(uform_status_out_of_memory_k, "no memory for the decoder");
    if (error == SPNG_IO_EOF) return uform_fail_(uform_status_malformed_k, "the file is truncated");
    if (error) return uform_fail_(uform_status_malformed_k, "%s", spng_strerror(error));
    if (by_table) {
        uint8_t colors[256][3];
        fill_table(png, colors);
        uform_spread_(decoding->pixels, count, (uint8_t const(*)[3])colors);
    } else if (decoding->flatten) uform_drop_alpha_(decoding->scratch, count, true, decoding->pixels);
    return uform_status_ok_k;
}

uform_status_t uform_decode_png_(uform_decoding_t *decoding) {
    png_t png = {.decoding = decoding};
    uform_status_t status = read_header(&png);
    if (status) return status;
    uint64_t const width = uform_read_u32_(png.header, true), height = uform_read_u32_(png.header + 4, true);
    // The size is checked first, so that four times as many bytes can be counted.
    status = uform_decode_begin_(decoding, width, height, 1, 0);
    if (status) return status;
    bool const with_texts = !decoding->ignore_orientation && has_texts(decoding);
    size_t const scratch_bytes = decoding->flatten ? 4 * decoding->width * decoding->height : 0;
    size_t const text_bytes = with_texts ? 2 * (size_t)text_limit_k : 0;
    status = uform_decode_begin_(decoding, width, height, 1, scratch_bytes > text_bytes ? scratch_bytes : text_bytes);
    if (status) return status;
    unsigned orientation = 1;
    if (!decoding->ignore_orientation) status = read_orientation(decoding, decoding->scratch, &orientation);
    if (!status && orientation != 1) status = uform_decode_begin_(decoding, width, height, orientation, scratch_bytes);
    if (status) return status;

    spng_ctx *const codec = spng_ctx_new(0);
    if (!codec) return uform_fail_(uform_status_out_of_memory_k, "no memory for the decoder");
    status = decode_pixels(&png, codec);
    spng_ctx_free(codec);
    return status;
}
