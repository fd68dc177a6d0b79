/**
 *  From a decoded picture to what a vision tower takes, as the image processor that a model's directory names would do it.
 *
 *  Reading gives plain data; what a missing key means depends on the class of the processor, as in transformers 5.24. Applying
 *  it gives bytes and a table: the pixel tensor is `values[channel][byte]`, shape [3, height, width]. Where a tensor can't be
 *  told by bytes (a processor that resizes f32, zeros padded after normalising) it is there itself, in planes.
 *
 *  Arithmetic: a class whose name ends in `Fast`, and one that exists for tensors only, computes as torch does; every other as
 *  Pillow does, which is what the plain names have meant since directories hold them. docs/preprocessing.md tells the rest.
 */
#ifndef UFORM_IMAGES_PREPROCESS_H
#define UFORM_IMAGES_PREPROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "images/bitmap.h"
#include "images/resize.h"
#include "kernels/kernels.h"

/// How the size of the resized picture follows from the size of the picture.
typedef enum uform_sizing_t {
    uform_sizing_none_k,     ///< it stays
    uform_sizing_exact_k,    ///< `height` x `width`, whatever the picture's shape
    uform_sizing_shortest_k, ///< the shorter edge becomes `shortest`; `longest`, unless zero, bounds the other
    uform_sizing_inside_k,   ///< as large as fits `height` x `width`
    uform_sizing_patches_k,  ///< multiples of `patch_size`, as many patches as `patch_limit` allows
} uform_sizing_t;

/// Where the middle of a picture is when a margin is odd.
typedef enum uform_middle_t {
    uform_middle_pillow_k, ///< cut: rounded down; padded: the larger half before
    uform_middle_torch_k,  ///< cut: rounded down; padded: the smaller half before
    uform_middle_even_k,   ///< cut: halves to even; padded: the smaller half before
} uform_middle_t;

enum {
    uform_size_limit_k = 1 << 14,           ///< of an edge that a directory asks for, and of its patches
    uform_patches_limit_k = 1 << 16,        ///< of `patch_limit`
    uform_resized_pixels_limit_k = 1 << 26, ///< pixels of a picture that had to be resized, cut or padded
};

/// Plain data: copying is fine, nothing is owned.
typedef struct uform_preprocessor_t {
    uform_arithmetic_t arithmetic;
    uform_sizing_t sizing;
    uform_filter_t filter;
    size_t height, width, shortest, longest;
    size_t patch_size, patch_limit; ///< of pictures in patches of the caller's cutting; else zero
    bool crop;
    uform_middle_t middle;
    size_t crop_height, crop_width;
    size_t pad_height, pad_width; ///< padded to with zeros on the right and below, after normalising; zero for not
    size_t output_height, output_width; ///< of every result; zero where they depend on the picture
    float values[3][256];               ///< the number a byte of a channel becomes
    float scale;                        ///< of a byte in a tensor of f32 before it is resized
    float means[3], deviations[3];      ///< and what normalises it afterwards: zeros and ones for not
} uform_preprocessor_t;

/// Reads processor_config.json (if it holds an image processor), else preprocessor_config.json, else the image encoder of UForm 3's
/// torch_config.json or, without that, config.json. `not_found` without any of them, `unsupported` for a processor or a combination of keys this library does not
/// compute; the detail names file, key and value.
uform_status_t uform_preprocessor_read_(char const *directory, uform_preprocessor_t *preprocessor);

/// The same from the members of an image processor's configuration. `model_type` names the class if they do not, may be NULL.
uform_status_t uform_preprocessor_parse_(
    uform_json_t const *object, char const *where, char const *model_type, uform_preprocessor_t *preprocessor);

/// The same from UForm 3's configuration of an image encoder.
uform_status_t uform_preprocessor_parse_encoder_(
    uform_json_t const *object, char const *where, uform_preprocessor_t *preprocessor);

/// What preprocessing passes through, one thread's own, reused from picture to picture. Zeroed is a valid empty one.
typedef struct uform_preprocess_buffer_t {
    uform_resizer_t resizer;
    uform_block_t bytes, numbers, planes;
} uform_preprocess_buffer_t;

/// A preprocessed picture: bytes, or the tensor itself. Either lives in the buffer or, if there was nothing to do, is the source.
typedef struct uform_picture_t {
    uint8_t const *pixels; ///< [height, width, 3]; NULL where there are planes
    float const *planes;   ///< [3, height, width], the pixel tensor; NULL where there are bytes
    size_t width, height;
} uform_picture_t;

/// The size `uform_preprocess_` would resize to, before cutting and padding. `unsupported` where no pixel would be left.
uform_status_t uform_preprocess_size_(
    uform_preprocessor_t const *preprocessor, size_t source_width, size_t source_height, size_t *width, size_t *height);

/// A picture has at least one pixel. `unsupported` for sizes beyond the limits above and those of resize.h.
uform_status_t uform_preprocess_(uform_preprocessor_t const *preprocessor, uform_kernels_t const *kernels,
    uform_bitmap_t const *source, uform_preprocess_buffer_t *buffer, uform_picture_t *picture);

/// Whether a picture may come as planes, for bytes can't say all that this preprocessor gives.
static inline bool uform_preprocessor_has_planes_(uform_preprocessor_t const *preprocessor) {
    return preprocessor->arithmetic == uform_arithmetic_tensor_k || preprocessor->pad_width;
}

/// Writes the pixel tensor, [3, height, width].
void uform_picture_tensor_(uform_preprocessor_t const *preprocessor, uform_picture_t const *picture, float *tensor);

/// How much memory the buffer has.
size_t uform_preprocess_buffer_bytes_(uform_preprocess_buffer_t const *buffer);

/// Leaves a valid empty one.
void uform_preprocess_buffer_free_(uform_preprocess_buffer_t *buffer);

#endif
