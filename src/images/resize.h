/**
 *  Resizing of pictures as the two libraries do it that image processors are built upon, bit for bit:
 *
 *  - Pillow 13: weights of 22 bits, a picture of bytes between the two passes; the pass across rows comes first where it takes
 *    away more than twice as many rows as the other takes columns (earlier versions always go along rows first).
 *  - torchvision on tensors of bytes: weights of 16 bits, along rows first; `nearest` is its `nearest-exact`.
 *
 *  Both spread their filters over the ratio when they shrink. Tensors of f32, as DINOv3's processor resizes them, are within a
 *  few units in the last place of torch's.
 *
 *  Only a window of the resized picture is computed, and only what that takes.
 */
#ifndef UFORM_IMAGES_RESIZE_H
#define UFORM_IMAGES_RESIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "images/bitmap.h"
#include "images/block.h"
#include "kernels/kernels.h"

/// Whose arithmetic. `tensor` is torch on f32.
typedef enum uform_arithmetic_t {
    uform_arithmetic_pillow_k,
    uform_arithmetic_torch_k,
    uform_arithmetic_tensor_k,
} uform_arithmetic_t;

/// The filters with the numbers that Pillow and configuration files give them.
typedef enum uform_filter_t {
    uform_filter_nearest_k = 0,
    uform_filter_lanczos_k = 1,
    uform_filter_bilinear_k = 2,
    uform_filter_bicubic_k = 3,
    uform_filter_box_k = 4,
    uform_filter_hamming_k = 5,
    uform_filter_count_k,
} uform_filter_t;

enum {
    uform_edge_limit_k = 1 << 24,   ///< pixels of an edge of a resized picture, inside the window or not
    uform_weight_limit_k = 1 << 25, ///< weights of one axis
    /// Pixels of the rows that a window takes, each as wide as the window, where the pass along rows comes first: a second of work.
    uform_between_limit_k = 1 << 27,
    uform_band_limit_k = 1 << 23, ///< those that one row of the window takes, which lie in memory at once
};

typedef struct uform_resize_t {
    uform_arithmetic_t arithmetic;
    uform_filter_t filter;
    size_t width, height;            ///< of the whole resized picture, at least 1
    size_t left, top, columns, rows; ///< the window of it, within it and not empty
} uform_resize_t;

/// An axis that is kept for the next picture of the same size. Zeroed is a valid empty one.
typedef struct uform_axis_t {
    bool known;
    uform_arithmetic_t arithmetic;
    uform_filter_t filter;
    size_t inputs, outputs; ///< edges of the whole pictures
    size_t begin, count;    ///< the window of the outputs
    size_t base, span;      ///< the inputs it takes: `first`s count from `base`
    size_t longest;         ///< the most inputs that one output takes
    uform_resample_axis_t axis;
    uform_block_t block; ///< what `axis` points to
} uform_axis_t;

/// What resizing passes through, one thread's own. Zeroed is a valid empty one.
typedef struct uform_resizer_t {
    uform_axis_t horizontal, vertical;
    uform_block_t between; ///< a band of the picture between the two passes
    uform_block_t tail;    ///< a copy of the last rows of a picture, with room behind them
} uform_resizer_t;

/// Computes one axis; `unsupported` beyond the limits above, with edges and limit in the detail.
uform_status_t uform_axis_make_(uform_axis_t *axis, uform_arithmetic_t arithmetic, uform_filter_t filter, size_t inputs,
    size_t outputs, size_t begin, size_t count);

/// How many inputs the outputs from `begin` on take, those between them included.
size_t uform_axis_span_(
    uform_arithmetic_t arithmetic, uform_filter_t filter, size_t inputs, size_t outputs, size_t begin, size_t count);

/// Writes the window as bytes, [rows, columns, 3], rows `stride_bytes` apart. The arithmetic is Pillow's or torch's.
uform_status_t uform_resize_(uform_resize_t const *resize, uform_resample_t const *kernels,
    uform_bitmap_t const *source, uform_resizer_t *resizer, uint8_t *pixels, size_t stride_bytes);

/// Writes the window as f32, [rows, columns, 3], rows dense, of a picture of bytes times `scale`.
uform_status_t uform_resize_tensor_(uform_resize_t const *resize, uform_resample_t const *kernels,
    uform_bitmap_t const *source, float scale, uform_resizer_t *resizer, float *numbers);

/// How much memory the resizer has.
size_t uform_resizer_bytes_(uform_resizer_t const *resizer);

/// Leaves a valid empty one.
void uform_resizer_free_(uform_resizer_t *resizer);

#endif
