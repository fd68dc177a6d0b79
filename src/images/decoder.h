/**
 *  What the decoders of the formats share: a decoder reads the header of a file, says through `uform_decode_begin_` how
 *  large the picture is and which way up, and fills the pixels it is given.
 */
#ifndef UFORM_IMAGES_DECODER_H
#define UFORM_IMAGES_DECODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/detail.h"
#include "images/bitmap.h"
#include "images/block.h"
#include "uform/status.h"

/// One picture on its way through a decoder.
typedef struct uform_decoding_t {
    uint8_t const *bytes; ///< [length], the file
    size_t length;
    size_t pixel_limit;
    bool ignore_orientation, flatten;
    uform_block_t *buffer;

    // From uform_decode_begin_ on.
    size_t width, height; ///< as stored, before turning
    unsigned orientation; ///< as EXIF counts, 1 to 8
    uint8_t *pixels;      ///< [height, width, 3], to be filled
    uint8_t *scratch;     ///< aligned to 64 bytes; as large as was asked for
} uform_decoding_t;

/// Whether a picture of this size is within the limit, and has pixels at all.
uform_status_t uform_decode_check_(uint64_t width, uint64_t height, size_t limit);

/// Checks a picture's size and only then makes room for it. Anything but 2 to 8 counts as upright.
/// The pixels are undefined; memory of a former picture is not kept.
uform_status_t uform_decode_begin_(
    uform_decoding_t *decoding, uint64_t width, uint64_t height, unsigned orientation, size_t scratch_bytes);

/// Whether there is plenty of memory for a picture of so many pixels. To be asked before libraries that crash or abort where an
/// allocation fails: what is there then won't all be gone a moment later.
uform_status_t uform_decode_ensure_memory_(uint64_t pixels);

/// The decoders. The file begins with the format's signature, which is all that was looked at.
uform_status_t uform_decode_jpeg_(uform_decoding_t *decoding);
uform_status_t uform_decode_png_(uform_decoding_t *decoding);
uform_status_t uform_decode_webp_(uform_decoding_t *decoding);
uform_status_t uform_decode_avif_(uform_decoding_t *decoding);
uform_status_t uform_decode_gif_(uform_decoding_t *decoding);
uform_status_t uform_decode_bmp_(uform_decoding_t *decoding);
uform_status_t uform_decode_tiff_(uform_decoding_t *decoding);

/// The orientation that EXIF data or, failing that, an XMP packet tells; 1 where neither does. Both may be empty.
/// What is broken in them is passed over: a picture does not fail for its metadata.
unsigned uform_orientation_(uint8_t const *exif, size_t exif_bytes, uint8_t const *xmp, size_t xmp_bytes);

/// The orientation tag of EXIF data as it stands there; 0 where there is none.
unsigned uform_exif_orientation_(uint8_t const *exif, size_t exif_bytes);

/// Turns [height, width, 3] `source` the way that brings a picture of this EXIF orientation upright. The target is
/// [height, width, 3], or [width, height, 3] for orientations above 4.
void uform_turn_(uint8_t const *source, size_t width, size_t height, unsigned orientation, uint8_t *target);

/// A colour of 8 bits under `alpha` on white.
static inline uint8_t uform_over_white_(unsigned color, unsigned alpha) {
    unsigned const sum = color * alpha + 255 * (255 - alpha) + 128;
    return (uint8_t)((sum + (sum >> 8)) >> 8);
}

/// Drops the alpha of `count` RGBA pixels, or lays them over white.
void uform_drop_alpha_(uint8_t const *rgba, size_t count, bool flatten, uint8_t *rgb);

/// Spreads `count` bytes, which lie at the end of the 3 * count bytes of `pixels`, to the colours they stand for.
void uform_spread_(uint8_t *pixels, size_t count, uint8_t const colors[256][3]);

/// Ink of four colours to light as Pillow does, `count` times [cyan, magenta, yellow, black] of 8 bits.
void uform_ink_to_light_(uint8_t const *ink, size_t count, uint8_t *rgb);

static inline unsigned uform_read_u16_(uint8_t const *bytes, bool big_endian) {
    return big_endian ? (unsigned)(bytes[0] << 8 | bytes[1]) : (unsigned)(bytes[1] << 8 | bytes[0]);
}

static inline uint32_t uform_read_u32_(uint8_t const *bytes, bool big_endian) {
    uint32_t const first = uform_read_u16_(bytes, big_endian), second = uform_read_u16_(bytes + 2, big_endian);
    return big_endian ? first << 16 | second : second << 16 | first;
}

#endif
