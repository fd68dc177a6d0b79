/**
 *  The one interpreter of architecture descriptors: packed weights, and the pass of a ragged batch through all
 *  layers. To it an image is a text whose tokens are patches.
 */
#ifndef UFORM_MODELS_ENCODER_H
#define UFORM_MODELS_ENCODER_H

#include <stddef.h>
#include <stdint.h>

#include "executor/team.h"
#include "kernels/kernels.h"
#include "models/directory.h"
#include "models/packing.h"
#include "models/pooling.h"

/// Gain and shift of a layer normalisation, [width] padded with zeros.
typedef struct uform_norm_t {
    float *gain, *shift;
} uform_norm_t;

/// The feed-forward part: down(activation(up)), or down(activation(gate) * up).
typedef struct uform_feed_forward_t {
    uform_linear_t up, gate, down; ///< `gate.weights` is NULL without one
} uform_feed_forward_t;

typedef struct uform_layer_t {
    uform_linear_t projections;   ///< queries, keys and values side by side, every head padded to `head_width`
    float *query_gain, *key_gain; ///< [head_width] of norms of their heads, NULL for none
    uform_linear_t attention_output;
    uform_norm_t attention_norm;
    uform_feed_forward_t feed_forward;
    uform_norm_t feed_forward_norm;
    uform_norm_t attention_branch_norm, feed_forward_branch_norm; ///< of what a branch gives; NULL pointers without one
} uform_layer_t;

/// Attention pooling: one learned query over all tokens, and a feed-forward layer behind it.
typedef struct uform_attention_head_t {
    void *query;                ///< [heads * head_width] of the precision's scalar
    uform_linear_t projections; ///< keys and values side by side
    uform_linear_t output;
    uform_norm_t norm;
    uform_feed_forward_t feed_forward;
} uform_attention_head_t;

enum { uform_largest_image_k = 1 << 14 }; ///< patches of an image; attention's time grows with their square

/// A grid of patches.
typedef struct uform_grid_t {
    size_t height, width;
} uform_grid_t;

/// What images are turned into tokens with.
typedef struct uform_patches_t {
    uform_linear_t linear;   ///< depth: a patch's numbers, the channel fastest
    size_t depth;            ///< of them, not padded
    void *values;            ///< [3, 256] what a channel's byte becomes, of the precision's scalar
    float *prefix;           ///< [prefix_count, width] tokens before the patches, with their positions
    size_t prefix_count;     ///< class token and registers
    float *table;            ///< [table_grid, width] positions as trained, with the patches' bias
    uform_grid_t table_grid; ///< 1 x 1 where positions are rotations
    uform_grid_t usual_grid; ///< of images as the preprocessor gives them; 0 x 0 when that depends
    float *usual;            ///< [usual_grid, width] positions for it
    float *cosines, *sines;  ///< [prefix_count + usual_grid, head_width / 2] for it, where positions are rotations
} uform_patches_t;

/// Rotations by a token's number, [position_count, head_width / 2].
typedef struct uform_rotations_t {
    float *cosines, *sines;
} uform_rotations_t;

/// Immutable once loaded; any number of threads run it at once.
typedef struct uform_encoder_t {
    uform_architecture_t const *architecture; ///< NULL for a tower the model does not have
    uform_architecture_sizes_t sizes;
    uform_scalar_t precision;      ///< f32 or bf16
    uform_gemm_t const *gemm;      ///< whose pack format the weights have
    size_t width;                  ///< padded
    size_t head_width;             ///< padded
    size_t feed_forward_width;     ///< padded
    float attention_scale;         ///< one over the root of the real head width
    uform_activation_t activation; ///< of the feed-forward layers
    void *words, *positions,
        *types; ///< row-major [.., width] of the precision's scalar; texts only, `types` may be NULL
    /// Of two tokens of distance k - i: distance_bias[head * distance_stride + k - i], what their product gains before it is scaled;
    /// NULL for nothing.
    float *distance_bias;
    size_t distance_stride;
    float *window_bias;                           ///< likewise of layers with a window, the same for all heads
    uform_rotations_t rotations, local_rotations; ///< texts only; the second of layers with a window
    uform_patches_t patches;                      ///< images only
    uform_norm_t embedding_norm;                  ///< NULL pointers without one, as all norms
    uform_layer_t *layers;                        ///< [sizes.layers]
    uform_norm_t final_norm;
    uform_attention_head_t head;
    bool has_head;
} uform_encoder_t;

/// Texts, or images, one behind the other, none padded.
typedef struct uform_batch_t {
    uint32_t *ids, *position_ids, *type_ids; ///< [row_count], checked against the tables; texts only
    uint8_t *pixels;     ///< [row_count, patches.depth] a patch's bytes in its row; images only, nothing in prefix rows
    float *numbers;      ///< [row_count, patches.depth] the tensor's numbers instead, where bytes can't say them
    uform_grid_t *grids; ///< [text_count] images only
    size_t row_count;
    size_t *text_begins; ///< [text_count + 1] first rows
    size_t text_count;
    uform_pooled_rows_t pooled; ///< rows that count in the end; the last layer computes no others. Ignored with a head
} uform_batch_t;

/// Reads and packs a tower's weights for one multiplication's format into `memory`, which outlives the encoder.
uform_status_t uform_encoder_load_(uform_directory_t const *directory, uform_tower_t const *tower,
    uform_scalar_t precision, uform_gemm_t const *gemm, uform_weights_memory_t *memory, uform_encoder_t *encoder);
void uform_encoder_free_(uform_encoder_t *encoder);

/// Columns of queries, keys and values, padded.
static inline size_t uform_projection_columns_(uform_encoder_t const *encoder) {
    return (encoder->sizes.heads + 2 * encoder->sizes.key_value_heads) * encoder->head_width;
}

/// Whether queries and keys are rotated.
static inline bool uform_is_rotated_(uform_architecture_t const *architecture) {
    uform_positions_t const kind = architecture->positions_kind;
    return kind == uform_positions_rotary_k || kind == uform_positions_rotary_texts_k;
}

/// Whether the pass ends in one row a text, instead of one a token.
bool uform_encoder_ends_in_texts_(uform_encoder_t const *encoder, uform_pooled_rows_t pooled);

/// One thread of those that run a batch together.
typedef struct uform_member_t {
    uform_team_t *team;
    size_t index;  ///< below the team's count; the first one does what isn't worth dividing
    void *scratch; ///< `uform_encoder_member_bytes_`, aligned to 64 bytes, its own
} uform_member_t;

/// Scratch that the members of a team share, for batches of up to `rows` rows.
size_t uform_encoder_scratch_bytes_(uform_encoder_t const *encoder, size_t rows, size_t members);

/// A member's own scratch, for batches whose longest text has up to `longest` tokens.
size_t uform_encoder_member_bytes_(uform_encoder_t const *encoder, uform_kernels_t const *kernels, size_t longest);

/// Runs a batch, each member of a team its share; the last hidden state, [row_count, width] f32, or one row a text,
/// lies in the shared scratch afterwards. Its bits do not depend on the team. Neither allocates nor fails.
uform_panels_t uform_encoder_run_(uform_encoder_t const *encoder, uform_kernels_t const *kernels,
    uform_batch_t const *batch, uform_member_t const *member, void *scratch);

#endif
