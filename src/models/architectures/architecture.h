/**
 *  One descriptor a tower: data that `encoder.c` interprets. A family, which is what config.json's `model_type` names, has a
 *  tower for texts, one for images, or both. Adding a family is one file here and one row in the table.
 */
#ifndef UFORM_MODELS_ARCHITECTURES_ARCHITECTURE_H
#define UFORM_MODELS_ARCHITECTURES_ARCHITECTURE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/kernels.h"

/// What a config.json says of sizes and constants.
typedef struct uform_architecture_sizes_t {
    size_t width, layers, heads;
    size_t
        key_value_heads; ///< that several heads of queries share; zero where each has its own, until the file is read
    size_t head_width;   ///< zero for the width's share, until the file is read
    size_t feed_forward_width; ///< of the middle of the feed-forward layer
    size_t feed_forward_ratio; ///< where the file gives the middle as a multiple of the width; else zero
    float norm_epsilon;
    uform_activation_t activation, projection_activation;
    bool query_bias, key_bias, value_bias, output_bias, feed_forward_bias, patch_bias;
    bool norm_bias;      ///< norms have a shift
    bool gated;          ///< the feed-forward layer has a gate
    bool attention_head; ///< the vector comes from attention pooling
    bool causal;         ///< a token sees those before it only
    // Texts.
    size_t vocabulary_count, position_count, type_count;
    size_t pad_token, end_token;
    size_t first_position; ///< of a text's first token
    size_t distance_count; ///< rows of the table of biases by distance, of which `uform_distance_buckets_k` are used
    size_t distance_limit; ///< from which on all distances share a bias, where the file says so
    bool skips_padding;    ///< a padding token in a text stands right before `first_position` and takes no place
    // Images.
    size_t image_height, image_width, channels;
    size_t patch;          ///< side of a square patch, in pixels
    size_t patch_count;    ///< rows of the position table that belong to patches, where the file gives their number
    size_t register_count; ///< tokens between the class token and the patches
    float rotary_base, local_rotary_base; ///< the second of layers with a window
    // All layers see a window but layer `global_phase` of every `global_every`: keys up to `farthest` away, which is half of the
    // window either way or, where tokens see those before them only, all of it but the token itself.
    size_t window, global_every, global_phase, farthest;
    float attention_scalar; ///< one over its root scales attention; zero for the heads' width
} uform_architecture_sizes_t;

/// How a value is spelled in config.json.
typedef enum uform_config_kind_t {
    uform_config_size_k,       ///< an integer within limits
    uform_config_real_k,       ///< a number within limits
    uform_config_flag_k,       ///< true or false
    uform_config_activation_k, ///< transformers' name of one
    uform_config_square_k,     ///< an integer, or two equal ones
    uform_config_height_k,     ///< an integer, or the first of two
    uform_config_width_k,      ///< an integer, or the second of two
} uform_config_kind_t;

/// One value: where it is, where it goes, what holds without it. A row without a key is a constant.
typedef struct uform_config_row_t {
    char const *key;
    uform_config_kind_t kind;
    size_t offset;   ///< into `uform_architecture_sizes_t`
    double fallback; ///< negative when the key has to be there, NAN when an earlier row's value holds without it
    double minimum, maximum;
} uform_config_row_t;

#define UFORM_CONFIG_ROW_(key, kind, field, fallback, minimum, maximum)                                                \
    { key, uform_config_##kind##_k, offsetof(uform_architecture_sizes_t, field), fallback, minimum, maximum }
#define UFORM_SIZE(key, field, fallback, maximum) UFORM_CONFIG_ROW_(key, size, field, fallback, 1, maximum)
#define UFORM_COUNT(key, field, fallback, maximum) UFORM_CONFIG_ROW_(key, size, field, fallback, 0, maximum)
#define UFORM_ALSO(key, field, maximum) UFORM_CONFIG_ROW_(key, size, field, (double)NAN, 1, maximum)
#define UFORM_REAL(key, field, fallback, minimum, maximum)                                                             \
    UFORM_CONFIG_ROW_(key, real, field, fallback, minimum, maximum)
#define UFORM_FLAG(key, field, fallback) UFORM_CONFIG_ROW_(key, flag, field, fallback, 0, 1)
#define UFORM_ACTIVATION(key, field, fallback)                                                                         \
    UFORM_CONFIG_ROW_(key, activation, field, uform_activation_##fallback##_k, 0, 0)
#define UFORM_SQUARE(key, field, fallback, maximum) UFORM_CONFIG_ROW_(key, square, field, fallback, 1, maximum)
#define UFORM_IMAGE_SIZE(key, fallback)                                                                                \
    UFORM_CONFIG_ROW_(key, height, image_height, fallback, 1, 1 << 16),                                                \
        UFORM_CONFIG_ROW_(key, width, image_width, fallback, 1, 1 << 16)
#define UFORM_CONFIG_END                                                                                               \
    { NULL, uform_config_size_k, SIZE_MAX, 0, 0, 0 }

/// Bounds that every family shares: larger numbers are no model's.
enum {
    uform_largest_width_k = 1 << 14,
    uform_largest_layers_k = 1 << 12,
    uform_largest_heads_k = 1 << 12,
    uform_largest_feed_forward_k = 1 << 20,
    uform_largest_vocabulary_k = 1 << 28,
    uform_largest_positions_k = 1 << 24,
    uform_largest_patch_k = 1 << 8,
    uform_largest_rotations_k = 1 << 17,                       ///< positions that have no table in a file to bound them
    uform_largest_rotated_k = uform_largest_rotations_k * 128, ///< numbers of a head, times such positions
};

/// Groups of distances between tokens that share a bias, all from the limit on one.
enum { uform_distance_buckets_k = 32, uform_distance_limit_k = 128 };
#define UFORM_DISTANCES(key, most)                                                                                     \
    UFORM_CONFIG_ROW_(key, size, distance_count, uform_distance_buckets_k, uform_distance_buckets_k, most)

/// How a tower knows where a token or a patch is.
typedef enum uform_positions_t {
    uform_positions_table_k,        ///< a learned row a place; images have one size
    uform_positions_bicubic_k,      ///< learned on a square grid, resampled for others: bicubic, without antialiasing
    uform_positions_smoothed_k,     ///< the same with antialiasing
    uform_positions_bilinear_k,     ///< likewise, bilinear, with antialiasing
    uform_positions_rotary_k,       ///< queries and keys of patches are rotated by their place; there is no table
    uform_positions_rotary_texts_k, ///< likewise those of tokens, by their number
} uform_positions_t;

/// Which token stands for all of them, where no modules.json says.
typedef enum uform_summary_t {
    uform_summary_mean_k,        ///< the mean of all
    uform_summary_first_k,       ///< the first
    uform_summary_padded_last_k, ///< the last one of a text padded to its full length
    uform_summary_end_k,       ///< the first end token or, with the number 2 that old files have for it, the largest id
    uform_summary_attention_k, ///< attention pooling
    uform_summary_file_k,      ///< UForm 3: what "pooling" says
} uform_summary_t;

/// Names are of two kinds: whole names of tables and vectors, and stems of linear layers and norms, which ".weight" and
/// ".bias" follow. `%zu` stands for the layer, and '|' for "or". The loader tries them with every prefix, and `weight` and
/// `bias` also under LayerNorm's old names `gamma` and `beta`. NULL is a part the tower does not have.
typedef struct uform_architecture_t {
    char const *const *prefixes;      ///< "", "bert.", "model.", ..., NULL-terminated
    uform_config_row_t const *config; ///< up to `UFORM_CONFIG_END`
    uform_positions_t positions_kind;
    uform_summary_t summary;
    bool norm_first;                ///< norms stand before attention and feed-forward layer, not behind their sums
    bool first_attention_unnormed;  ///< the first layer has no norm before its attention
    bool has_windows;               ///< layers differ in what they see, see `global_every`
    bool global_comes_last;         ///< of so many layers the last one sees all, not the first, where no list says
    bool causal;                    ///< a token sees those before it only, unless the file says otherwise
    bool root_mean_square;          ///< norms don't subtract the mean
    bool gains_from_one;            ///< files hold what gains are more than one
    bool words_by_root;             ///< the table of words is multiplied by the root of the width
    char const *both_ways_key;      ///< what says that tokens see those behind them too
    bool has_old_tokenizer;         ///< its tokenizer may be vocab.json and merges.txt instead of tokenizer.json
    bool cut_bluntly;               ///< a text too long loses its end, special tokens and all
    bool channels_last;             ///< patches are flattened with the channel fastest
    char const *pooling_key;        ///< what says "cls" where the first token stands for all, else the mean does
    bool positions_behind_padding;  ///< a text's first position is the one behind the padding token's number
    char const *position_style_key; ///< what says "roberta" where positions begin behind the padding token's number
    char const *skipped_layers_key; ///< a list of layers that take no part
    char const *words, *types;      ///< embedding tables
    char const *patches; ///< stem of the patches' embedding, [width, channels, patch, patch] or [width, all three]
    char const *class_token, *register_tokens; ///< vectors before the patches
    char const *positions;
    size_t prefix_positions; ///< rows in front of the table of positions that belong to tokens before the patches
    char const *embedding_norm;
    char const
        *query_key_value; ///< one layer that holds the rows of the next three, where they are not there by themselves
    char const *query, *key, *value, *attention_output, *attention_norm, *attention_scale;
    char const *query_norm, *key_norm; ///< stems of norms of each head by its root mean square
    char const *attention_branch_norm,
        *feed_forward_branch_norm; ///< of norms of what a branch gives, before it is added
    char const
        *distance_bias; ///< table of what the distance of two tokens adds to their attention, the same in all layers
    char const *feed_forward_up, *feed_forward_down, *feed_forward_norm, *feed_forward_scale;
    char const *gate, *gated_up, *gated_down; ///< instead of up and down where there is a gate
    char const *gate_and_up;                  ///< one matrix with the rows of both, where there is no `gate` by itself
    bool gate_is_silu;                        ///< whatever the file says of activations
    char const *gated_act_key;                ///< what says whether there is a gate, and which activation
    char const *final_norm;
    bool last_state_is_raw; ///< in the reference the final norm is the pooled token's alone
    char const *probe, *pool_projections, *pool_output, *pool_norm, *pool_up, *pool_down; ///< attention pooling
    char const *projection;   ///< stem of the linear layer behind it all
    bool projection_is_outer; ///< it stands beside the tower: its name has an outer prefix
    bool projection_has_bias;
    bool projection_is_optional;
    bool projection_is_pooler; ///< it belongs to the first token: another pooling goes without
} uform_architecture_t;

/// What a `model_type` is made of.
typedef struct uform_family_t {
    char const *model_type; ///< NULL for the family that has none: UForm 3, known by its sections
    char const *name;       ///< what descriptions call it
    uform_architecture_t const *text, *image;
    char const *const
        *text_sections; ///< keys of config.json, the first that is an object counts; NULL: all of the file
    char const *const *image_sections;
    char const *const *outer_prefixes;
    char const *tokenizer_class; ///< what transformers takes whatever tokenizer_config.json says; NULL follows that
    char const *scale, *bias;    ///< names of the logits' scale (a logarithm) and bias; NULL for none
    char const *text_file, *image_file; ///< where the towers' tensors are when there is no model.safetensors
    bool normalize;                     ///< vectors have length one unless modules.json says otherwise
} uform_family_t;

extern uform_architecture_t const uform_architecture_bert_, uform_architecture_roberta_, uform_architecture_distilbert_,
    uform_architecture_mpnet_, uform_architecture_modernbert_, uform_architecture_qwen2_, uform_architecture_qwen3_,
    uform_architecture_nomic_bert_, uform_architecture_gemma3_, uform_architecture_t5_, uform_architecture_clip_text_,
    uform_architecture_clip_image_, uform_architecture_siglip_text_, uform_architecture_siglip_image_,
    uform_architecture_siglip2_image_, uform_architecture_vit_, uform_architecture_deit_, uform_architecture_dinov2_,
    uform_architecture_dinov2_registers_, uform_architecture_dinov3_, uform_architecture_uform3_text_,
    uform_architecture_uform3_image_;

/// The family of a `model_type`, NULL for none; with NULL the one that has no `model_type`.
uform_family_t const *uform_family_find_(char const *model_type);

/// The `model_type` values there are, for messages: "bert, clip, ...". Returns `buffer`.
char const *uform_family_names_(char *buffer, size_t buffer_bytes);

#endif
