/**
 *  BMP: Windows' headers of 40 to 124 bytes and OS/2's of 12 and 64, from 1 to 32 bits a pixel, palettes, bit fields and both
 *  run-length codes, bottom up and top down. Read here, as no library that is kept well reads nothing but BMP.
 */
#include <string.h>

#include "images/decoder.h"

enum {
    file_header_bytes_k = 14,
    core_header_bytes_k = 12,
    info_header_bytes_k = 40,
    masks_header_bytes_k = 52, ///< headers from here on hold the masks of colours
    alpha_header_bytes_k = 56, ///< and from here on that of alpha
};

typedef enum compression_t { raw_k = 0, rle8_k = 1, rle4_k = 2, fields_k = 3 } compression_t;

typedef struct bmp_t {
    uform_decoding_t *decoding;
    size_t width, height;
    bool top_down;
    unsigned bits;
    uint32_t compression;
    size_t palette, palette_entries, palette_entry_bytes; ///< offset; count; 3 or 4
    size_t data;                                          ///< offset of the pixels
    uint32_t masks[4];                                    ///< red, green, blue, alpha
} bmp_t;

static uform_status_t refuse_cut(void) {
    return uform_fail_(uform_status_malformed_k, "the file is truncated");
}

static uint32_t u32_at(bmp_t const *bmp, size_t offset) {
    return uform_read_u32_(bmp->decoding->bytes + offset, false);
}

static unsigned u16_at(bmp_t const *bmp, size_t offset) {
    return uform_read_u16_(bmp->decoding->bytes + offset, false);
}

/// Masks of the kinds of pixel that no file tells: five bits a colour, or eight.
static void set_masks(bmp_t *bmp) {
    static uint32_t const fives[4] = {0x7C00, 0x3E0, 0x1F, 0}, eights[4] = {0xFF0000, 0xFF00, 0xFF, 0};
    memcpy(bmp->masks, bmp->bits == 16 ? fives : eights, sizeof(bmp->masks));
}

/// Reads the masks, which stand in long headers and behind short ones; returns where the header ends.
static uform_status_t read_masks(bmp_t *bmp, size_t header_bytes, size_t *end) {
    size_t const at = file_header_bytes_k + info_header_bytes_k;
    size_t const count = header_bytes >= alpha_header_bytes_k ? 4 : 3;
    if (header_bytes < masks_header_bytes_k) *end += 12;
    if (*end > bmp->decoding->length) return refuse_cut();
    for (size_t i = 0; i < count; ++i) bmp->masks[i] = u32_at(bmp, at + 4 * i);
    if (bmp->bits == 32 && !bmp->masks[0] && !bmp->masks[1] && !bmp->masks[2]) {
        set_masks(bmp);
        bmp->masks[3] = 0xFF000000;
    }
    for (size_t i = 0; i < 4; ++i) {
        uint32_t const low = bmp->masks[i] & -bmp->masks[i];
        bool const gapless = !((bmp->masks[i] / (low ? low : 1)) & (bmp->masks[i] / (low ? low : 1) + 1));
        if (!gapless || (i < 3 && !low))
            return uform_fail_(
                uform_status_unsupported_k, "expected masks of adjoining bits, found %08X", bmp->masks[i]);
    }
    return uform_status_ok_k;
}

static uform_status_t check_kind(bmp_t const *bmp) {
    // Which compressions go with how many bits: 1 << compression.
    static struct {
        uint8_t bits, compressions;
    } const kinds[] = {{1, 1 << raw_k}, {4, 1 << raw_k | 1 << rle4_k}, {8, 1 << raw_k | 1 << rle8_k},
        {16, 1 << raw_k | 1 << fields_k}, {24, 1 << raw_k | 1 << fields_k}, {32, 1 << raw_k | 1 << fields_k}};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); ++i)
        if (bmp->bits == kinds[i].bits && bmp->compression <= fields_k && kinds[i].compressions >> bmp->compression & 1)
            return uform_status_ok_k;
    return uform_fail_(
        uform_status_unsupported_k, "%u bits a pixel with compression %u are not read", bmp->bits, bmp->compression);
}

static uform_status_t read_header(bmp_t *bmp) {
    size_t const length = bmp->decoding->length, at = file_header_bytes_k;
    if (length < file_header_bytes_k + core_header_bytes_k) return refuse_cut();
    size_t const header_bytes = u32_at(bmp, at);
    static uint8_t const known[] = {12, 40, 52, 56, 64, 108, 124};
    if (header_bytes > UINT8_MAX || !memchr(known, (int)header_bytes, sizeof(known)))
        return uform_fail_(uform_status_unsupported_k, "a header of %zu bytes is not known", header_bytes);
    if (length < at + header_bytes) return refuse_cut();
    bool const core = header_bytes == core_header_bytes_k;
    bmp->width = core ? u16_at(bmp, at + 4) : u32_at(bmp, at + 4);
    uint32_t const height = core ? u16_at(bmp, at + 6) : u32_at(bmp, at + 8);
    bmp->top_down = !core && height >> 24 == 0xFF;
    bmp->height = bmp->top_down ? -height : height;
    bmp->bits = u16_at(bmp, at + (core ? 10 : 14));
    bmp->compression = core ? raw_k : u32_at(bmp, at + 16);
    uform_status_t const status = check_kind(bmp);
    if (status) return status;

    size_t end = at + header_bytes;
    set_masks(bmp);
    if (bmp->compression == fields_k) {
        uform_status_t const mask_status = read_masks(bmp, header_bytes, &end);
        if (mask_status) return mask_status;
    }
    uint32_t const listed = core ? 0 : u32_at(bmp, at + 32);
    bmp->data = u32_at(bmp, 10);
    if (bmp->bits <= 8) {
        bmp->palette = end;
        bmp->palette_entry_bytes = core ? 3 : 4;
        bmp->palette_entries = listed ? listed : (size_t)1 << bmp->bits;
        if (bmp->palette_entries > 65536)
            return uform_fail_(uform_status_malformed_k, "a palette of %zu colours", bmp->palette_entries);
        end += bmp->palette_entries * bmp->palette_entry_bytes;
        // Some writers forget their palette when they say where the pixels are.
        if (bmp->data == at + header_bytes) bmp->data = end;
    }
    if (!bmp->data) bmp->data = end;
    return uform_status_ok_k;
}

/// Colours beyond the palette are black, except that of a palette of nothing but greys in order goes on, as in Pillow.
static void fill_table(bmp_t const *bmp, uint8_t colors[256][3]) {
    uint8_t const *const bytes = bmp->decoding->bytes + bmp->palette;
    size_t const left = bmp->decoding->length > bmp->palette ? bmp->decoding->length - bmp->palette : 0;
    bool ordered = true;
    for (size_t i = 0; i < 256; ++i) {
        size_t const place = i * bmp->palette_entry_bytes;
        bool const there = i < bmp->palette_entries && place + 3 <= left;
        for (size_t c = 0; c < 3; ++c) {
            colors[i][c] = there ? bytes[place + 2 - c] : ordered ? (uint8_t)i : 0;
            ordered = ordered && colors[i][c] == i;
        }
    }
}

/// A run, an escape, or pixels as they are: the codes of RLE4 and RLE8 into [height, width] indices in the file's order.
/// The same readings of what the format leaves open as Pillow's.
static uform_status_t read_runs(bmp_t const *bmp, uint8_t *indices) {
    enum { end_of_line_k = 0, end_of_bitmap_k = 1, delta_k = 2 };
    uint8_t const *const bytes = bmp->decoding->bytes;
    size_t const length = bmp->decoding->length, width = bmp->width, total = width * bmp->height;
    bool const nibbles = bmp->compression == rle4_k;
    size_t used = bmp->data, done = 0, x = 0;
    memset(indices, 0, total);
    while (done < total) {
        if (used + 2 > length || used + 2 < used) return refuse_cut();
        size_t count = bytes[used];
        uint8_t const value = bytes[used + 1];
        used += 2;
        if (count) { // a run stays in its row
            if (x + count > width) count = width > x ? width - x : 0;
            if (count > total - done) count = total - done;
            for (size_t i = 0; i < count; ++i)
                indices[done++] = !nibbles ? value : i % 2 ? value & 15 : (uint8_t)(value >> 4);
            x += count;
        } else if (value == end_of_line_k) {
            done += (width - done % width) % width;
            x = 0;
        } else if (value == end_of_bitmap_k) {
            break;
        } else if (value == delta_k) {
            if (length - used < 2) return refuse_cut();
            size_t const step = bytes[used] + bytes[used + 1] * width;
            used += 2;
            done += step < total - done ? step : total - done;
            x = done % width;
        } else {
            count = value < total - done ? value : total - done;
            size_t const taken = nibbles ? (count + 1) / 2 : count;
            if (length - used < taken) return refuse_cut();
            for (size_t i = 0; i < count; ++i) {
                uint8_t const byte = bytes[used + (nibbles ? i / 2 : i)];
                indices[done++] = !nibbles ? byte : i % 2 ? byte & 15 : (uint8_t)(byte >> 4);
            }
            used += taken;
            x += value;
            used += used % 2; // codes begin at even offsets
        }
        if (used > length) return done < total ? refuse_cut() : uform_status_ok_k;
    }
    return uform_status_ok_k;
}

/// One row of palette indices, each a byte.
static void unpack_indices(uint8_t const *row, size_t width, unsigned bits, uint8_t *indices) {
    unsigned const per_byte = 8 / bits, last = (1u << bits) - 1;
    for (size_t x = 0; x < width; ++x)
        indices[x] = (uint8_t)(row[x / per_byte] >> (8 - bits - x % per_byte * bits) & last);
}

/// One row of pixels made of bit fields.
static void unpack_fields(bmp_t const *bmp, uint8_t const *row, uint8_t *rgb) {
    size_t const bytes = bmp->bits / 8;
    for (size_t x = 0; x < bmp->width; ++x, row += bytes, rgb += 3) {
        uint32_t pixel = 0;
        for (size_t i = 0; i < bytes; ++i) pixel |= (uint32_t)row[i] << (8 * i);
        uint8_t channels[4] = {0, 0, 0, 255};
        for (size_t c = 0; c < 4; ++c) {
            uint32_t const mask = bmp->masks[c], low = mask & -mask;
            if (mask) channels[c] = (uint8_t)((uint64_t)((pixel & mask) / low) * 255 / (mask / low));
        }
        for (size_t c = 0; c < 3; ++c)
            rgb[c] = bmp->decoding->flatten ? uform_over_white_(channels[c], channels[3]) : channels[c];
    }
}

/// One row of pixels of blue, green, red and, with four bytes, something else.
static void unpack_bytes(uint8_t const *row, size_t width, size_t bytes, uint8_t *rgb) {
    for (size_t x = 0; x < width; ++x, row += bytes, rgb += 3) rgb[0] = row[2], rgb[1] = row[1], rgb[2] = row[0];
}

static uform_status_t read_rows(bmp_t const *bmp) {
    uform_decoding_t const *const decoding = bmp->decoding;
    size_t const count = bmp->width * bmp->height, row_bytes = (bmp->width * bmp->bits + 7) / 8;
    size_t const stride = (bmp->width * bmp->bits + 31) / 32 * 4;
    // The last row may lack its padding.
    size_t const needed = stride * (bmp->height - 1) + row_bytes;
    if (bmp->data > decoding->length || decoding->length - bmp->data < needed) return refuse_cut();
    bool const plain = bmp->bits >= 24 && bmp->masks[0] == 0xFF0000 && bmp->masks[1] == 0xFF00 &&
                       bmp->masks[2] == 0xFF && !(decoding->flatten && bmp->masks[3]);
    for (size_t y = 0; y < bmp->height; ++y) {
        uint8_t const *const row = decoding->bytes + bmp->data + y * stride;
        size_t const target = bmp->top_down ? y : bmp->height - 1 - y;
        uint8_t *const rgb = decoding->pixels + target * bmp->width * 3;
        if (bmp->bits <= 8)
            unpack_indices(row, bmp->width, bmp->bits, decoding->pixels + 2 * count + target * bmp->width);
        else if (plain) unpack_bytes(row, bmp->width, bmp->bits / 8, rgb);
        else unpack_fields(bmp, row, rgb);
    }
    return uform_status_ok_k;
}

uform_status_t uform_decode_bmp_(uform_decoding_t *decoding) {
    bmp_t bmp = {.decoding = decoding};
    uform_status_t status = read_header(&bmp);
    // Pixels cannot be compared with the size of the file before the size is checked.
    if (!status) status = uform_decode_begin_(decoding, bmp.width, bmp.height, 1, 0);
    if (status) return status;
    size_t const count = bmp.width * bmp.height;
    bool const runs = bmp.compression == rle4_k || bmp.compression == rle8_k;
    if (runs) {
        status = uform_decode_begin_(decoding, bmp.width, bmp.height, 1, count);
        if (!status) status = read_runs(&bmp, decoding->scratch);
        for (size_t y = 0; y < bmp.height && !status; ++y)
            memcpy(decoding->pixels + 2 * count + y * bmp.width,
                decoding->scratch + (bmp.top_down ? y : bmp.height - 1 - y) * bmp.width, bmp.width);
    } else status = read_rows(&bmp);
    if (status || bmp.bits > 8) return status;
    uint8_t colors[256][3];
    fill_table(&bmp, colors);
    uform_spread_(decoding->pixels, count, (uint8_t const(*)[3])colors);
    return uform_status_ok_k;
}
