/**
 *  Named tensors of one safetensors file, or of the shards an index names, mapped and read row by row as f32.
 */
#ifndef UFORM_MODELS_WEIGHTS_H
#define UFORM_MODELS_WEIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/safetensors.h"
#include "uform/status.h"

/// One tensor: where its bytes are and what they mean. `data` points into a mapped file.
typedef struct uform_tensor_t {
    char const *name;             ///< as the file spells it
    char const *file;             ///< path of the file, for details
    uform_tensor_scalar_t scalar; ///< f32, f16, bf16, f64 or another that `uform_tensor_read_` refuses
    size_t dimension_count;
    size_t dimensions[4];
    void const *data; ///< need not be aligned
} uform_tensor_t;

/// A set of mapped files. Zeroed is a valid empty set.
typedef struct uform_weights_t {
    char *path;                 ///< of the file or of the index, for details
    uform_safetensors_t *files; ///< [file_count]
    size_t file_count;
} uform_weights_t;

/// Maps `model.safetensors` of a directory, or the shards `model.safetensors.index.json` names (the index wins over
/// stray files; names can't leave the directory; a shard's tensors that the index does not place there are ignored).
uform_status_t uform_weights_open_(char const *directory, uform_weights_t *weights);

/// Maps one file of a directory, whatever its name. `not_found` without it.
uform_status_t uform_weights_open_file_(char const *directory, char const *name, uform_weights_t *weights);

/// Whether a directory has what `uform_weights_open_` opens.
uform_status_t uform_weights_exist_(char const *directory, bool *exist);
void uform_weights_close_(uform_weights_t *weights);

/// Finds a tensor by its exact name; false without one.
bool uform_weights_find_(uform_weights_t const *weights, char const *name, uform_tensor_t *tensor);

/// Finds a tensor that must exist, hold floating-point numbers and have the shape [rows, columns], or [rows] with zero
/// `columns`. Leading dimensions of one don't count, and trailing ones, as a convolution's, count as one. `not_found` names a missing tensor, `malformed` both shapes, `unsupported` the dtype.
uform_status_t uform_weights_require_(
    uform_weights_t const *weights, char const *name, size_t rows, size_t columns, uform_tensor_t *tensor);

/// `unsupported` names tensor and dtype when it is not f32, f16, bf16 or f64.
uform_status_t uform_tensor_check_(uform_tensor_t const *tensor);

/// Some of the rows of a matrix, or of the numbers of a vector, of a dtype that was checked.
uform_tensor_t uform_tensor_rows_(uform_tensor_t const *tensor, size_t row_begin, size_t row_count);

/// Reads rows [row_begin, row_begin + row_count) of a matrix (or a vector as a single row) as f32 into `rows`, `stride`
/// floats apart. `unsupported` names tensor and dtype when it is not f32, f16, bf16 or f64.
uform_status_t uform_tensor_read_(
    uform_tensor_t const *tensor, size_t row_begin, size_t row_count, float *rows, size_t stride);

/// Tells the system that the tensor's pages are no longer needed, so that they don't count as ours after packing.
void uform_tensor_forget_(uform_tensor_t const *tensor);

#endif
