/**
 *  Packing a file's weights while reading them: a stripe of 32 rows at a time, so that no second copy of a matrix
 *  exists.
 */
#ifndef UFORM_MODELS_PACKING_H
#define UFORM_MODELS_PACKING_H

#include <stddef.h>

#include "cpu/domains.h"
#include "kernels/kernels.h"
#include "models/weights.h"

/// The memory that packed weights live in, all of which goes at once. With `domains` set, zeroed but for that is a valid
/// empty one. Without memory domains it is the heap's; with some, it is spread over them page by page.
typedef struct uform_weights_memory_t {
    uform_domains_t const *domains;
    struct uform_weights_block_t *blocks;
    size_t bytes; ///< asked for, over all blocks
} uform_weights_memory_t;

/// Memory aligned to 64 bytes, contents undefined.
uform_status_t uform_weights_allocate_(uform_weights_memory_t *memory, size_t bytes, void **block);
void uform_weights_release_(uform_weights_memory_t *memory);

/// One linear layer: weights packed by a multiplication's `pack`, and the bias. Zeroed is a valid empty one.
typedef struct uform_linear_t {
    void *weights;
    float *bias;           ///< [columns] padded with zeros
    size_t columns, depth; ///< padded to `uform_width_step_k`
} uform_linear_t;

/// How a dimension of a matrix is laid out in the packed one: in groups of `real` numbers, each padded to `padded`.
/// An ungrouped dimension is one group.
typedef struct uform_grouping_t {
    size_t count, real, padded;
} uform_grouping_t;

/// Memory that packing works with, and that its results live in.
typedef struct uform_packer_t {
    uform_gemm_t const *gemm;
    uform_weights_memory_t *memory;
    float *stripe;  ///< [32, deepest], aligned
    float *row;     ///< [deepest]
    size_t deepest; ///< the largest padded depth it serves
    // What is done to the next matrices while they are packed; zeros do nothing.
    float const *row_scale; ///< [outputs] multiplies every row and its bias
    size_t planes;          ///< a row is so many planes in the file, and their numbers in turn when packed
    float table_scale;      ///< multiplies a table
} uform_packer_t;

size_t uform_padded_width_(size_t width);
uform_grouping_t uform_ungrouped_(size_t count);

uform_status_t uform_packer_open_(
    uform_gemm_t const *gemm, size_t deepest, uform_weights_memory_t *memory, uform_packer_t *packer);
void uform_packer_close_(uform_packer_t *packer);

/// Room for a linear layer whose matrices are packed part by part; zeroed bias.
uform_status_t uform_packer_reserve_(uform_packer_t *packer, size_t columns, size_t depth, uform_linear_t *linear);

/// Packs one matrix, [outputs, inputs] in the file, and its bias (unless NULL) from `column_begin` on.
uform_status_t uform_packer_fill_(uform_packer_t *packer, uform_tensor_t const *weight, uform_tensor_t const *bias,
    uform_grouping_t outputs, uform_grouping_t inputs, size_t column_begin, uform_linear_t *linear);

/// A vector of floats padded with zeros to the width step, aligned to 64 bytes.
uform_status_t uform_packer_vector_(uform_packer_t *packer, uform_tensor_t const *tensor, float **vector);

/// A table of rows, [rows, width padded], of the precision's scalar.
uform_status_t uform_packer_table_(
    uform_packer_t *packer, uform_tensor_t const *tensor, uform_scalar_t scalar, void **table);

#endif
