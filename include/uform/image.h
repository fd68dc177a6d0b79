/**
 *  Images: files in memory, or raw pixels, on their way into a model that encodes them.
 */
#ifndef UFORM_IMAGE_H
#define UFORM_IMAGE_H

#include <stddef.h>

#include "uform/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 *  What the bytes of an image are. Zero is a file, whose format its first bytes tell; the others are raw pixels of eight bits a
 *  channel, interleaved, row by row from the top left.
 */
typedef enum uform_image_layout_t {
    uform_image_layout_file_k = 0, ///< JPEG, PNG, WebP, AVIF, GIF, BMP or TIFF
    uform_image_layout_rgb_k = 1,  ///< three bytes a pixel
    uform_image_layout_rgba_k = 2, ///< four; alpha as in a file
    uform_image_layout_gray_k = 3, ///< one
} uform_image_layout_t;

/**
 *  An image of the caller's, read only while a call runs.
 */
typedef struct uform_image_t {
    void const *data;
    size_t length;               ///< bytes at `data`
    uform_image_layout_t layout; ///< zero for a file
    size_t width, height;        ///< of raw pixels; ignored for files
    size_t stride_bytes;         ///< from one row of raw pixels to the next; zero for densely packed; ignored for files
} uform_image_t;

#ifdef __cplusplus
}
#endif

#endif
