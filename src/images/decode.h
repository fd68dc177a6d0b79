/**
 *  Picture files and raw pixels to 8-bit RGB, as Pillow's `convert("RGB")` gives them.
 *
 *  Alpha is dropped and the colours under it stay, unless the caller has them flattened. Samples of 16 bits keep their
 *  upper eight, `value >> 8`, in every format: what Pillow does for colours, while it clips greys.
 */
#ifndef UFORM_IMAGES_DECODE_H
#define UFORM_IMAGES_DECODE_H

#include <stdbool.h>
#include <stddef.h>

#include "images/bitmap.h"
#include "images/block.h"
#include "uform/image.h"
#include "uform/status.h"

/// How to decode; zeroed for the defaults.
typedef struct uform_decode_options_t {
    size_t pixel_limit;      ///< a picture of more is refused by its header; zero takes Pillow's, 178,956,970
    bool ignore_orientation; ///< leaves the rows as stored; a TIFF's are turned nevertheless, as by Pillow
    bool flatten;            ///< lays transparent pixels over white instead of dropping their alpha
} uform_decode_options_t;

/// Decodes `image` into `bitmap`, whose pixels lie in `buffer`, or are the caller's own where raw RGB is dense.
/// `unsupported` for what is beyond the limit, or a kind of picture no decoder here reads; `malformed` for broken ones;
/// the detail begins with the format's name. Thread-safe as long as every thread brings its own buffer, which stays the
/// caller's to free, also after a failure.
uform_status_t uform_decode_(
    uform_image_t const *image, uform_decode_options_t const *options, uform_block_t *buffer, uform_bitmap_t *bitmap);

#endif
