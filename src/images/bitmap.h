/**
 *  Pictures between a decoder and a model: 8-bit RGB.
 */
#ifndef UFORM_IMAGES_BITMAP_H
#define UFORM_IMAGES_BITMAP_H

#include <stddef.h>
#include <stdint.h>

/// RGB pixels of 8 bits a channel, [height, width, 3], rows densely packed.
typedef struct uform_bitmap_t {
    uint8_t const *pixels;
    size_t width, height;
} uform_bitmap_t;

#endif
