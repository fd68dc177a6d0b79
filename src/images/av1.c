/**
 *  AV1's sequence header, as far as the size of frames: the open bitstream units of the data are walked by their lengths,
 *  and of the headers among them the fields before the size are read to get past them.
 */
#include "images/av1.h"

enum { sequence_header_k = 1, temporal_delimiter_k = 2, metadata_k = 5, padding_k = 15 };

typedef struct bits_t {
    uint8_t const *bytes;
    size_t count, position; ///< bits; reading beyond them gives zeros
} bits_t;

static uint32_t read_bits(bits_t *bits, unsigned count) {
    uint32_t value = 0;
    for (unsigned i = 0; i < count; ++i, ++bits->position) {
        bool const there = bits->position < bits->count;
        value = value << 1 | (there ? bits->bytes[bits->position / 8] >> (7 - bits->position % 8) & 1u : 0);
    }
    return value;
}

static void skip_unary_number(bits_t *bits) {
    unsigned zeros = 0;
    while (bits->position < bits->count && !read_bits(bits, 1)) ++zeros;
    if (zeros < 32) (void)read_bits(bits, zeros);
}

/// Skips timing and the operating points.
static void skip_points(bits_t *bits) {
    bool has_model = false;
    unsigned delay_bits = 0;
    if (read_bits(bits, 1)) { // timing
        (void)read_bits(bits, 32);
        (void)read_bits(bits, 32);
        if (read_bits(bits, 1)) skip_unary_number(bits);
        has_model = read_bits(bits, 1);
        if (has_model) {
            delay_bits = read_bits(bits, 5) + 1;
            (void)read_bits(bits, 32);
            (void)read_bits(bits, 10);
        }
    }
    bool const has_delays = read_bits(bits, 1);
    unsigned const point_count = read_bits(bits, 5) + 1;
    for (unsigned i = 0; i < point_count; ++i) {
        (void)read_bits(bits, 12);
        if (read_bits(bits, 5) > 7) (void)read_bits(bits, 1); // a tier, from level 4.0 on
        if (has_model && read_bits(bits, 1)) {
            (void)read_bits(bits, delay_bits);
            (void)read_bits(bits, delay_bits);
            (void)read_bits(bits, 1);
        }
        if (has_delays && read_bits(bits, 1)) (void)read_bits(bits, 4);
    }
}

static bool read_sequence_header(uint8_t const *bytes, size_t length, uint64_t *width, uint64_t *height) {
    bits_t bits = {bytes, length * 8, 0};
    (void)read_bits(&bits, 4); // profile, still picture
    if (read_bits(&bits, 1)) (void)read_bits(&bits, 5);
    else skip_points(&bits);
    unsigned const width_bits = read_bits(&bits, 4) + 1, height_bits = read_bits(&bits, 4) + 1;
    uint64_t const sizes[2] = {(uint64_t)read_bits(&bits, width_bits) + 1, (uint64_t)read_bits(&bits, height_bits) + 1};
    if (sizes[0] > *width) *width = sizes[0];
    if (sizes[1] > *height) *height = sizes[1];
    return bits.position <= bits.count;
}

/// Reads a unit's length, seven bits a byte from the lowest; false where it is cut or larger than what is left.
static bool read_length(uint8_t const *bytes, size_t length, size_t *used, size_t *value) {
    *value = 0;
    for (unsigned shift = 0; shift < 56; shift += 7) {
        if (*used >= length) return false;
        uint8_t const byte = bytes[(*used)++];
        *value |= (size_t)(byte & 0x7F) << shift;
        if (!(byte & 0x80)) return *value <= length - *used;
    }
    return false;
}

bool uform_av1_size_(uint8_t const *bytes, size_t length, uint64_t *width, uint64_t *height) {
    bool found = false;
    *width = *height = 0;
    for (size_t used = 0; used < length;) {
        unsigned const type = bytes[used] >> 3 & 15;
        bool const extended = bytes[used] & 4, sized = bytes[used] & 2;
        used += extended ? 2 : 1;
        if (used > length) break;
        size_t unit = length - used;
        if (sized && !read_length(bytes, length, &used, &unit)) break;
        if (type == sequence_header_k) {
            if (!read_sequence_header(bytes + used, unit, width, height)) return false;
            found = true;
        } else if (!found && type != temporal_delimiter_k && type != metadata_k && type != padding_k) return false;
        used += unit;
    }
    return found;
}
