/**
 *  One safetensors file: eight bytes of header length (little-endian), a JSON header, then the tensors' bytes.
 *
 *      { "name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ..., "__metadata__": {"key": "value"} }
 *
 *  Files are checked as the `safetensors` package checks them, so whatever it refuses is `malformed` here: header
 *  length, offsets that overlap, leave holes, run backwards or past the end, shapes that overflow or do not match
 *  their span.
 */
#ifndef UFORM_BASE_SAFETENSORS_H
#define UFORM_BASE_SAFETENSORS_H

#include <stddef.h>
#include <stdint.h>

#include "base/file.h"
#include "base/json.h"

/// Every dtype of the format: token and bits of one element.
#define UFORM_TENSOR_SCALARS(row)                                                                                      \
    row(BOOL, 8) row(F4, 4) row(F6_E2M3, 6) row(F6_E3M2, 6) row(U8, 8) row(I8, 8) row(F8_E5M2, 8) row(F8_E4M3, 8)      \
        row(F8_E8M0, 8) row(F8_E4M3FNUZ, 8) row(F8_E5M2FNUZ, 8) row(I16, 16) row(U16, 16) row(F16, 16) row(BF16, 16)   \
            row(I32, 32) row(U32, 32) row(F32, 32) row(C64, 64) row(F64, 64) row(I64, 64) row(U64, 64)

typedef enum uform_tensor_scalar_t {
#define UFORM_TENSOR_SCALAR_ROW_(name, bits) uform_tensor_scalar_##name##_k,
    UFORM_TENSOR_SCALARS(UFORM_TENSOR_SCALAR_ROW_)
#undef UFORM_TENSOR_SCALAR_ROW_
        uform_tensor_scalar_count_k
} uform_tensor_scalar_t;

/// The dtype's token as files spell it, e.g. "BF16". Static storage.
char const *uform_tensor_scalar_name_(uform_tensor_scalar_t scalar);

/// One entry of the header.
typedef struct uform_safetensor_t {
    char const *name;   ///< NUL-terminated, lives as long as the file
    size_t name_length; ///< bytes; a name with U+0000 in it is longer than its C string
    uform_tensor_scalar_t scalar;
    uform_json_t const *shape; ///< array of [dimension_count] integers
    size_t dimension_count;
    size_t begin, end; ///< bytes from the start of `data`
} uform_safetensor_t;

typedef struct uform_safetensors_t {
    char *path;
    uform_file_t file;
    uform_json_document_t header;
    unsigned char const *data; ///< behind the header, [data_bytes], not aligned
    size_t data_bytes;
    uform_safetensor_t *tensors; ///< [tensor_count], sorted by name
    size_t tensor_count;
} uform_safetensors_t;

/// Maps a file and checks its header. On failure nothing is left to close.
uform_status_t uform_safetensors_open_(char const *path, uform_safetensors_t *safetensors);
void uform_safetensors_close_(uform_safetensors_t *safetensors);

/// The tensor of this name; NULL without one. Binary search.
uform_safetensor_t const *uform_safetensors_find_(uform_safetensors_t const *safetensors, char const *name);

#endif
