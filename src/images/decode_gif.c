/**
 *  GIF through giflib: the first frame on its canvas, which is filled with the transparent colour or else with colour 0,
 *  and grows where the frame reaches over it, all as Pillow does.
 */
#include <gif_lib.h>
#include <string.h>

#include "images/decoder.h"

enum { transparency_flag_k = 1, control_bytes_k = 4 };

typedef struct gif_t {
    uform_decoding_t *decoding;
    size_t used;     ///< bytes of the file that giflib has read
    int transparent; ///< a colour's index, or -1
} gif_t;

static int read_bytes(GifFileType *codec, GifByteType *target, int count) {
    gif_t *const gif = codec->UserData;
    size_t const left = gif->decoding->length - gif->used;
    size_t const step = (size_t)count < left ? (size_t)count : left;
    memcpy(target, gif->decoding->bytes + gif->used, step);
    gif->used += step;
    return (int)step;
}

static uform_status_t fail(int code) {
    uform_status_t const status =
        code == D_GIF_ERR_NOT_ENOUGH_MEM ? uform_status_out_of_memory_k : uform_status_malformed_k;
    if (code == D_GIF_ERR_READ_FAILED || code == D_GIF_ERR_EOF_TOO_SOON)
        return uform_fail_(status, "the file is truncated");
    char const *const words = GifErrorString(code);
    return uform_fail_(status, "%s", words ? words : "the pixels can't be decoded");
}

/// Reads an extension and keeps the transparent colour.
static bool read_extension(gif_t *gif, GifFileType *codec) {
    GifByteType *block;
    int code;
    if (DGifGetExtension(codec, &code, &block) == GIF_ERROR) return false;
    // A block begins with its length.
    if (code == GRAPHICS_EXT_FUNC_CODE && block && block[0] >= control_bytes_k && block[1] & transparency_flag_k)
        gif->transparent = block[4];
    while (block)
        if (DGifGetExtensionNext(codec, &block) == GIF_ERROR) return false;
    return true;
}

/// Moves on to the first frame and reads its descriptor.
static uform_status_t find_frame(gif_t *gif, GifFileType *codec) {
    for (;;) {
        GifRecordType type;
        if (gif->used >= gif->decoding->length)
            return uform_fail_(uform_status_malformed_k, "expected a frame, found none");
        if (DGifGetRecordType(codec, &type) == GIF_ERROR) {
            // Bytes between blocks that mean nothing are passed over.
            if (codec->Error == D_GIF_ERR_WRONG_RECORD) continue;
            return fail(codec->Error);
        }
        if (type == TERMINATE_RECORD_TYPE) return uform_fail_(uform_status_malformed_k, "expected a frame, found none");
        if (type == EXTENSION_RECORD_TYPE && !read_extension(gif, codec)) return fail(codec->Error);
        if (type == IMAGE_DESC_RECORD_TYPE)
            return DGifGetImageDesc(codec) == GIF_ERROR ? fail(codec->Error) : uform_status_ok_k;
    }
}

/// Colours beyond the palette are black; without one, or with one of nothing but greys in order, they are greys.
static void fill_table(gif_t const *gif, ColorMapObject const *palette, uint8_t colors[256][3]) {
    bool ordered = true;
    for (int i = 0; i < 256; ++i) {
        bool const listed = palette && i < palette->ColorCount;
        uint8_t const other = ordered ? (uint8_t)i : 0;
        GifColorType const color = listed ? palette->Colors[i] : (GifColorType){other, other, other};
        ordered = ordered && color.Red == i && color.Green == i && color.Blue == i;
        colors[i][0] = color.Red, colors[i][1] = color.Green, colors[i][2] = color.Blue;
    }
    if (gif->decoding->flatten && gif->transparent >= 0) memset(colors[gif->transparent], 255, 3);
}

/// Where the next index goes: along the rows, which come in passes if interlaced.
typedef struct cursor_t {
    uint8_t *corner; ///< of the frame on its canvas
    size_t stride, width, height;
    size_t x, y, pass, last_pass;
} cursor_t;

/// The passes of an interlaced frame; the last row is all that others have.
static struct { uint8_t first, step; } const passes[] = {{0, 8}, {4, 8}, {2, 4}, {1, 2}, {0, 1}};

static cursor_t begin_frame(GifImageDesc const *frame, uint8_t *canvas, size_t stride) {
    size_t const last = sizeof(passes) / sizeof(passes[0]) - 1;
    return (cursor_t){.corner = canvas + (size_t)frame->Top * stride + (size_t)frame->Left,
        .stride = stride,
        .width = (size_t)frame->Width,
        .height = (size_t)frame->Height,
        .pass = frame->Interlace ? 0 : last,
        .last_pass = frame->Interlace ? last - 1 : last};
}

/// Puts indices down, the last first; false when the frame is full.
static bool put(cursor_t *cursor, uint8_t const *stack, size_t depth) {
    while (depth) {
        cursor->corner[cursor->y * cursor->stride + cursor->x] = stack[--depth];
        if (++cursor->x < cursor->width) continue;
        cursor->x = 0;
        cursor->y += passes[cursor->pass].step;
        while (cursor->y >= cursor->height) {
            if (cursor->pass == cursor->last_pass) return false;
            cursor->y = passes[++cursor->pass].first;
        }
    }
    return true;
}

/// Makes strings of indices of the codes that giflib reads. Its own expansion turns codes that stand for nothing into
/// indices too, and then a broken file would be a picture.
static uform_status_t expand_codes(GifFileType *codec, unsigned index_bits, cursor_t cursor) {
    enum { table_k = 4096 };
    uint16_t prefixes[table_k]; // of a code's string, and the index behind it
    uint8_t suffixes[table_k], stack[table_k + 1];
    int const clear = 1 << index_bits;
    int next = clear + 2, previous = -1;
    uint8_t first = 0; // of the previous string
    for (;;) {
        int code;
        if (DGifGetLZCodes(codec, &code) == GIF_ERROR) return fail(codec->Error);
        if (code < 0) return fail(D_GIF_ERR_EOF_TOO_SOON);
        if (code == clear) {
            next = clear + 2, previous = -1;
            continue;
        }
        if (previous < 0 ? code > clear : code > next) return fail(D_GIF_ERR_IMAGE_DEFECT);
        size_t depth = 0;
        int rest = code;
        if (code == next && previous >= 0) stack[depth++] = first, rest = previous;
        while (rest >= clear) {
            if (depth == table_k) return fail(D_GIF_ERR_IMAGE_DEFECT);
            stack[depth++] = suffixes[rest], rest = prefixes[rest];
        }
        stack[depth++] = first = (uint8_t)rest;
        if (previous >= 0 && next < table_k) suffixes[next] = first, prefixes[next++] = (uint16_t)previous;
        previous = code;
        if (!put(&cursor, stack, depth)) return uform_status_ok_k;
    }
}

static uform_status_t decode(gif_t *gif, GifFileType *codec) {
    uform_status_t status = find_frame(gif, codec);
    if (status) return status;
    GifImageDesc const *const frame = &codec->Image;
    if (frame->Width <= 0 || frame->Height <= 0)
        return uform_fail_(uform_status_malformed_k, "the first frame has no pixels");
    int const right = frame->Left + frame->Width, bottom = frame->Top + frame->Height;
    uform_decoding_t *const decoding = gif->decoding;
    status = uform_decode_begin_(decoding, (uint64_t)(right > codec->SWidth ? right : codec->SWidth),
        (uint64_t)(bottom > codec->SHeight ? bottom : codec->SHeight), 1, 0);
    if (status) return status;

    size_t const count = decoding->width * decoding->height;
    uint8_t *const indices = decoding->pixels + 2 * count;
    memset(indices, gif->transparent >= 0 ? gif->transparent : 0, count);
    // The size of an index is the last thing giflib has read, and keeps to itself.
    unsigned const index_bits = decoding->bytes[gif->used - 1];
    status = expand_codes(codec, index_bits, begin_frame(frame, indices, decoding->width));
    if (status) return status;
    uint8_t colors[256][3];
    fill_table(gif, frame->ColorMap ? frame->ColorMap : codec->SColorMap, colors);
    uform_spread_(decoding->pixels, count, (uint8_t const(*)[3])colors);
    return uform_status_ok_k;
}

uform_status_t uform_decode_gif_(uform_decoding_t *decoding) {
    gif_t gif = {.decoding = decoding, .transparent = -1};
    int error = 0;
    GifFileType *const codec = DGifOpen(&gif, read_bytes, &error);
    if (!codec) return fail(error);
    uform_status_t const status = decode(&gif, codec);
    (void)DGifCloseFile(codec, &error);
    return status;
}
