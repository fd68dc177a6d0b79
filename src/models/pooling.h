/**
 *  From token vectors to one vector, as sentence-transformers pools; and what follows: the cut, the length of one,
 *  the output scalar.
 */
#ifndef UFORM_MODELS_POOLING_H
#define UFORM_MODELS_POOLING_H

#include <stdbool.h>
#include <stddef.h>

#include "kernels/kernels.h"
#include "uform/model.h"

/// Which of a text's rows a pooling looks at.
typedef enum uform_pooled_rows_t {
    uform_pooled_rows_all_k,
    uform_pooled_rows_first_k,
    uform_pooled_rows_last_k
} uform_pooled_rows_t;

/// The same for several modes, that skip no tokens.
uform_pooled_rows_t uform_pooled_rows_(uform_pooling_t const *modes, size_t count);

/// Pools rows [begin, end) of the last hidden state, [rows, width] f32 panels, into `vector`, [width]. The first `skip`
/// rows are a prompt that takes no part. `mode` is a single one.
void uform_pool_(
    uform_panels_t hidden, size_t begin, size_t end, size_t skip, size_t width, uform_pooling_t mode, float *vector);

/// Divides by the length, or by 1e-12 if that is larger.
void uform_normalize_vector_(float *vector, size_t count);

/// Bytes of one embedding.
size_t uform_embedding_bytes_(uform_scalar_t scalar, size_t dimensions);

/// Writes an embedding; false, and a null row, when a number is not finite or not representable.
bool uform_write_embedding_(float const *vector, size_t dimensions, uform_scalar_t scalar, void *row);

/// Writes a null row: NaN in f32, f16 and bf16, zeros in i8 and b1.
void uform_write_null_(size_t dimensions, uform_scalar_t scalar, void *row);

#endif
