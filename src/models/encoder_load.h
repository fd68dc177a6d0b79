/**
 *  What the files that load a tower share.
 */
#ifndef UFORM_MODELS_ENCODER_LOAD_H
#define UFORM_MODELS_ENCODER_LOAD_H

#include "models/encoder.h"

typedef struct uform_loader_t {
    uform_directory_t const *directory;
    uform_tower_t const *tower;
    uform_encoder_t *encoder;
    uform_packer_t packer;
    size_t layer;
} uform_loader_t;

/// A linear layer's tensors, or some of their rows where several layers are stacked in them.
typedef struct uform_part_t {
    char const *stem;
    bool no_bias;
    size_t part, part_count; ///< the part's number and how many there are; a zero count is one
} uform_part_t;

uform_grouping_t uform_loader_heads_(uform_encoder_t const *encoder);

/// A tensor of the layer at hand; see `uform_directory_tensor_`.
uform_status_t uform_loader_tensor_(
    uform_loader_t *loader, char const *stem, char const *suffix, size_t rows, size_t columns, uform_tensor_t *tensor);

/// Memory for so many floats, contents undefined, that lives as long as the weights.
uform_status_t uform_loader_floats_(uform_loader_t *loader, size_t count, float **floats);

/// Gain and shift of the tower's width, padded.
uform_status_t uform_loader_norm_(uform_loader_t *loader, char const *stem, uform_norm_t *norm);

/// Fills a reserved linear layer, or the columns of it that the part has.
uform_status_t uform_loader_fill_(uform_loader_t *loader, uform_part_t part, uform_grouping_t outputs,
    uform_grouping_t inputs, size_t column_begin, uform_linear_t *linear);

/// Reserves and fills one.
uform_status_t uform_loader_linear_(uform_loader_t *loader, uform_part_t part, uform_grouping_t outputs,
    uform_grouping_t inputs, uform_linear_t *linear);

/// What turns an image's patches into tokens, and where they are.
uform_status_t uform_loader_patches_(uform_loader_t *loader);

/// Attention pooling.
uform_status_t uform_loader_head_(uform_loader_t *loader);

#endif
