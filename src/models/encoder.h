/**
 *  The one interpreter of architecture descriptors: packed weights, and the pass of a ragged batch through all
 *  layers.
 */
#ifndef UFORM_MODELS_ENCODER_H
#define UFORM_MODELS_ENCODER_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/kernels.h"
#include "models/directory.h"
#include "models/packing.h"

/// Gain and shift of a layer normalisation, [width] padded with zeros.
typedef struct uform_norm_t {
    float *gain, *shift;
} uform_norm_t;

typedef struct uform_layer_t {
    uform_linear_t projections; ///< queries, keys and values side by side, every head padded to `head_width`
    uform_linear_t attention_output;
    uform_norm_t attention_norm;
    uform_linear_t up, down;
    uform_norm_t feed_forward_norm;
} uform_layer_t;

/// Immutable once loaded; any number of threads run it at once.
typedef struct uform_encoder_t {
    uform_architecture_sizes_t sizes;
    size_t first_position;
    uform_scalar_t precision;        ///< f32 or bf16
    uform_gemm_t const *gemm;        ///< whose pack format the weights have
    size_t width;                    ///< padded
    size_t head_width;               ///< padded
    size_t feed_forward_width;       ///< padded
    float attention_scale;           ///< one over the root of the real head width
    void *words, *positions, *types; ///< row-major [.., width] of the precision's scalar
    uform_norm_t embedding_norm;
    uform_layer_t *layers; ///< [sizes.layers]
} uform_encoder_t;

/// Texts one behind the other, none padded.
typedef struct uform_batch_t {
    uint32_t *ids, *position_ids, *type_ids; ///< [row_count], checked against the tables
    size_t row_count;
    size_t *text_begins; ///< [text_count + 1] first rows
    size_t text_count;
} uform_batch_t;

/// Reads and packs the transformer's weights for one multiplication's format into `memory`, which outlives the encoder.
uform_status_t uform_encoder_load_(uform_directory_t const *directory, uform_scalar_t precision,
    uform_gemm_t const *gemm, uform_weights_memory_t *memory, uform_encoder_t *encoder);
void uform_encoder_free_(uform_encoder_t *encoder);

/// Scratch for batches of up to `rows` rows whose longest text has `longest` tokens.
size_t uform_encoder_scratch_bytes_(
    uform_encoder_t const *encoder, uform_kernels_t const *kernels, size_t rows, size_t longest);

/// Runs a batch; the last hidden state, [row_count, width] f32, lies in the scratch afterwards. Neither allocates nor
/// fails.
uform_panels_t uform_encoder_run_(
    uform_encoder_t const *encoder, uform_kernels_t const *kernels, uform_batch_t const *batch, void *scratch);

#endif
