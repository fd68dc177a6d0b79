/**
 *  Pictures between a decoder and a model: 8-bit RGB, and the memory they pass through.
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

/// Memory of one thread that grows to a high-water mark. Zeroed is a valid empty one.
typedef struct uform_bytes_t {
    uint8_t *memory; ///< aligned to 64 bytes
    size_t capacity;
} uform_bytes_t;

#endif
