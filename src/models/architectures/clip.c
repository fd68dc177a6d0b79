/**
 *  CLIP: norms first, a causal tower for texts whose end token stands for the text, and a vision tower whose class token does.
 */
#include "models/architectures/architecture.h"
#include "models/architectures/clip_layers.h"

/// Inside a CLIPModel or a model with a projection, bare, and inside other models.
static char const *const text_prefixes[] = {"text_model.", "", "clip.text_model.", "model.text_model.", NULL};
static char const *const image_prefixes[] = {"vision_model.", "", "clip.vision_model.", "model.vision_model.", NULL};

static uform_config_row_t const text_config[] = {
    UFORM_SIZE("vocab_size", vocabulary_count, 49408, uform_largest_vocabulary_k),
    UFORM_SIZE("max_position_embeddings", position_count, 77, uform_largest_positions_k),
    UFORM_SIZE("hidden_size", width, 512, uform_largest_width_k),
    UFORM_SIZE("num_hidden_layers", layers, 12, uform_largest_layers_k),
    UFORM_SIZE("num_attention_heads", heads, 8, uform_largest_heads_k),
    UFORM_SIZE("intermediate_size", feed_forward_width, 2048, uform_largest_feed_forward_k),
    UFORM_ACTIVATION("hidden_act", activation, quick_gelu),
    UFORM_REAL("layer_norm_eps", norm_epsilon, 1e-5, 0, 1),
    UFORM_COUNT("eos_token_id", end_token, 49407, UINT32_MAX),
    UFORM_CONFIG_END,
};

static uform_config_row_t const image_config[] = {
    UFORM_SIZE("hidden_size", width, 768, uform_largest_width_k),
    UFORM_SIZE("num_hidden_layers", layers, 12, uform_largest_layers_k),
    UFORM_SIZE("num_attention_heads", heads, 12, uform_largest_heads_k),
    UFORM_SIZE("intermediate_size", feed_forward_width, 3072, uform_largest_feed_forward_k),
    UFORM_ACTIVATION("hidden_act", activation, quick_gelu),
    UFORM_REAL("layer_norm_eps", norm_epsilon, 1e-5, 0, 1),
    UFORM_IMAGE_SIZE("image_size", 224),
    UFORM_SQUARE("patch_size", patch, 32, uform_largest_patch_k),
    UFORM_SIZE("num_channels", channels, 3, 1 << 10),
    UFORM_FLAG(NULL, patch_bias, false),
    UFORM_CONFIG_END,
};

uform_architecture_t const uform_architecture_clip_text_ = {
    .prefixes = text_prefixes,
    .config = text_config,
    .summary = uform_summary_end_k,
    .causal = true,
    .has_old_tokenizer = true,
    .words = "embeddings.token_embedding.weight",
    .positions = "embeddings.position_embedding.weight",
    UFORM_CLIP_LAYERS,
    .final_norm = "final_layer_norm",
    .projection = "text_projection",
    .projection_is_outer = true,
    .projection_is_optional = true,
};

uform_architecture_t const uform_architecture_clip_image_ = {
    .prefixes = image_prefixes,
    .config = image_config,
    .positions_kind = uform_positions_table_k,
    .summary = uform_summary_first_k,
    .patches = "embeddings.patch_embedding",
    .class_token = "embeddings.class_embedding",
    .positions = "embeddings.position_embedding.weight",
    .prefix_positions = 1,
    .embedding_norm = "pre_layrnorm",
    UFORM_CLIP_LAYERS,
    .final_norm = "post_layernorm",
    .last_state_is_raw = true,
    .projection = "visual_projection",
    .projection_is_outer = true,
    .projection_is_optional = true,
};
