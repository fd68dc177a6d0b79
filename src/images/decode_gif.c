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

/// A single zero beyond the end is a block of no bytes: all pixels may have been read before a file that lacks its end.
static int read_bytes(GifFileType *codec, GifByteType *target, int count) {
    gif_t *const gif = codec->UserData;
    size_t const left = gif->decoding->length - gif->used;
    if (!left && count == 1) {
        *target = 0;
        return 1;
    }
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
        if (type == TERMINATE_RECORD_TYPE)
            return uform_fail_(uform_status_malformed_k, "expected a frame, found none");
        if (type == EXTENSION_RECORD_TYPE && !read_extension(gif, codec)) return fail(codec->Error);
        if (type == IMAGE_DESC_RECORD_TYPE)
            return DGifGetImageDesc(codec) == GIF_ERROR ? fail(codec->Error) : uform_status_ok_k;
    }
}

/// Colours beyond a palette, or without one, are greys.
static void fill_table(gif_t const *gif, ColorMapObject const *palette, uint8_t colors[256][3]) {
    for (int i = 0; i < 256; ++i) {
        bool const listed = palette && i < palette->ColorCount;
        uint8_t const color[3] = {listed ? palette->Colors[i].Red : (uint8_t)i,
            listed ? palette->Colors[i].Green : (uint8_t)i, listed ? palette->Colors[i].Blue : (uint8_t)i};
        bool const white = gif->decoding->flatten && i == gif->transparent;
        for (size_t c = 0; c < 3; ++c) colors[i][c] = white ? 255 : color[c];
    }
}

static uform_status_t decode_lines(GifFileType *codec, uint8_t *indices, size_t canvas_width) {
    // The passes of an interlaced frame; the last row alone is that of others.
    static struct {
        size_t first, step;
    } const passes[] = {{0, 8}, {4, 8}, {2, 4}, {1, 2}, {0, 1}};
    GifImageDesc const *const frame = &codec->Image;
    size_t const height = (size_t)frame->Height;
    uint8_t *const corner = indices + (size_t)frame->Top * canvas_width + (size_t)frame->Left;
    size_t const begin = frame->Interlace ? 0 : 4, end = frame->Interlace ? 4 : 5;
    for (size_t pass = begin; pass < end; ++pass)
        for (size_t y = passes[pass].first; y < height; y += passes[pass].step)
            if (DGifGetLine(codec, corner + y * canvas_width, frame->Width) == GIF_ERROR) return fail(codec->Error);
    return uform_status_ok_k;
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
    status = decode_lines(codec, indices, decoding->width);
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
