/**
 *  SigLIP and SigLIP 2: norms first; texts are padded to their full length, nothing is masked, and the last token stands for
 *  them; images are pooled by attention. SigLIP 2's NaFlex takes images of any shape, as patches with the channel fastest.
 */
#include "models/architectures/architecture.h"
#include "models/architectures/clip_layers.h"

static char const *const text_prefixes[] = {"text_model.", "", "model.text_model.", NULL};
static char const *const image_prefixes[] = {"vision_model.", "", "model.vision_model.", NULL};

static uform_config_row_t const text_config[] = {
    UFORM_SIZE("vocab_size", vocabulary_count, 32000, uform_largest_vocabulary_k),
    UFORM_SIZE("max_position_embeddings", position_count, 64, uform_largest_positions_k),
    UFORM_SIZE("hidden_size", width, 768, uform_largest_width_k),
    UFORM_SIZE("num_hidden_layers", layers, 12, uform_largest_layers_k),
    UFORM_SIZE("num_attention_heads", heads, 12, uform_largest_heads_k),
    UFORM_SIZE("intermediate_size", feed_forward_width, 3072, uform_largest_feed_forward_k),
    UFORM_ACTIVATION("hidden_act", activation, gelu_tanh),
    UFORM_REAL("layer_norm_eps", norm_epsilon, 1e-6, 0, 1),
    UFORM_COUNT("pad_token_id", pad_token, 1, UINT32_MAX),
    UFORM_CONFIG_END,
};

#define IMAGE_ROWS                                                                                                     \
    UFORM_SIZE("hidden_size", width, 768, uform_largest_width_k),                                                      \
        UFORM_SIZE("num_hidden_layers", layers, 12, uform_largest_layers_k),                                           \
        UFORM_SIZE("num_attention_heads", heads, 12, uform_largest_heads_k),                                           \
        UFORM_SIZE("intermediate_size", feed_forward_width, 3072, uform_largest_feed_forward_k),                       \
        UFORM_ACTIVATION("hidden_act", activation, gelu_tanh), UFORM_REAL("layer_norm_eps", norm_epsilon, 1e-6, 0, 1), \
        UFORM_SQUARE("patch_size", patch, 16, uform_largest_patch_k),                                                  \
        UFORM_SIZE("num_channels", channels, 3, 1 << 10), UFORM_FLAG("vision_use_head", attention_head, true)

static uform_config_row_t const image_config[] = {IMAGE_ROWS, UFORM_IMAGE_SIZE("image_size", 224), UFORM_CONFIG_END};

static uform_config_row_t const flexible_image_config[] = {
    IMAGE_ROWS, UFORM_SIZE("num_patches", patch_count, 256, uform_largest_positions_k), UFORM_CONFIG_END};

uform_architecture_t const uform_architecture_siglip_text_ = {
    .prefixes = text_prefixes,
    .config = text_config,
    .summary = uform_summary_padded_last_k,
    .words = "embeddings.token_embedding.weight",
    .positions = "embeddings.position_embedding.weight",
    UFORM_CLIP_LAYERS,
    .final_norm = "final_layer_norm",
    .projection = "head",
    .projection_has_bias = true,
};

/// What both vision towers share.
#define IMAGE_TOWER                                                                                                    \
    .prefixes = image_prefixes, .summary = uform_summary_attention_k, .patches = "embeddings.patch_embedding",         \
    .positions = "embeddings.position_embedding.weight", UFORM_CLIP_LAYERS, .final_norm = "post_layernorm",            \
    .probe = "head.probe", .pool_projections = "head.attention.in_proj_", .pool_output = "head.attention.out_proj",    \
    .pool_norm = "head.layernorm", .pool_up = "head.mlp.fc1", .pool_down = "head.mlp.fc2"

uform_architecture_t const uform_architecture_siglip_image_ = {
    .config = image_config,
    .positions_kind = uform_positions_table_k,
    IMAGE_TOWER,
};

uform_architecture_t const uform_architecture_siglip2_image_ = {
    .config = flexible_image_config,
    .positions_kind = uform_positions_bilinear_k,
    .channels_last = true,
    IMAGE_TOWER,
};
