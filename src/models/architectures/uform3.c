/**
 *  UForm 3: a BERT-like tower for texts without token types, and a vision tower with scaled branches, in one space.
 */
#include "models/architectures/architecture.h"

/// In a file of its own, or both in one.
static char const *const text_prefixes[] = {"", "text_encoder.", NULL};
static char const *const image_prefixes[] = {"", "image_encoder.", NULL};

/// The package gives no defaults: a number without one has to be there.
static uform_config_row_t const text_config[] = {
    UFORM_SIZE("vocab_size", vocabulary_count, -1, uform_largest_vocabulary_k),
    UFORM_SIZE("max_position_embeddings", position_count, 77, uform_largest_positions_k),
    UFORM_SIZE("dim", width, -1, uform_largest_width_k),
    UFORM_SIZE("num_layers", layers, -1, uform_largest_layers_k),
    UFORM_SIZE("num_heads", heads, -1, uform_largest_heads_k),
    UFORM_COUNT("padding_idx", pad_token, -1, UINT32_MAX),
    UFORM_COUNT(NULL, feed_forward_ratio, 4, 4),
    UFORM_ACTIVATION(NULL, activation, gelu),
    UFORM_REAL(NULL, norm_epsilon, 1e-12, 0, 1),
    UFORM_CONFIG_END,
};

static uform_config_row_t const image_config[] = {
    UFORM_SIZE("dim", width, -1, uform_largest_width_k),
    UFORM_SIZE("num_layers", layers, -1, uform_largest_layers_k),
    UFORM_SIZE("num_heads", heads, -1, uform_largest_heads_k),
    UFORM_IMAGE_SIZE("image_size", -1),
    UFORM_SIZE("patch_size", patch, -1, uform_largest_patch_k),
    UFORM_COUNT("num_reg_tokens", register_count, 0, 1 << 10),
    UFORM_COUNT(NULL, channels, 3, 3),
    UFORM_COUNT(NULL, feed_forward_ratio, 4, 4),
    UFORM_ACTIVATION(NULL, activation, gelu),
    UFORM_REAL(NULL, norm_epsilon, 1e-6, 0, 1),
    UFORM_CONFIG_END,
};

uform_architecture_t const uform_architecture_uform3_text_ = {
    .prefixes = text_prefixes,
    .config = text_config,
    .summary = uform_summary_file_k,
    .cut_bluntly = true,
    .pooling_key = "pooling",
    .position_style_key = "model_type",
    .skipped_layers_key = "multimodal_layers_ids",
    .words = "word_embeddings.weight",
    .positions = "position_embeddings.weight",
    .embedding_norm = "layer_norm",
    .query = "blocks.%zu.attention.query",
    .key = "blocks.%zu.attention.key",
    .value = "blocks.%zu.attention.value",
    .attention_output = "blocks.%zu.attention.out",
    .attention_norm = "blocks.%zu.norm_attn",
    .feed_forward_up = "blocks.%zu.mlp.hidden_layer",
    .feed_forward_down = "blocks.%zu.mlp.output_layer",
    .feed_forward_norm = "blocks.%zu.norm_mlp",
    .projection = "embedding_projection",
};

uform_architecture_t const uform_architecture_uform3_image_ = {
    .prefixes = image_prefixes,
    .config = image_config,
    .positions_kind = uform_positions_table_k,
    .summary = uform_summary_file_k,
    .norm_first = true,
    .pooling_key = "pooling",
    .patches = "patch_embed",
    .class_token = "cls_token",
    .register_tokens = "reg_token",
    .positions = "pos_embed",
    .query = "blocks.%zu.attn.query",
    .key = "blocks.%zu.attn.key",
    .value = "blocks.%zu.attn.value",
    .attention_output = "blocks.%zu.attn.out",
    .attention_norm = "blocks.%zu.norm1",
    .attention_scale = "blocks.%zu.ls1.gamma",
    .feed_forward_up = "blocks.%zu.mlp.hidden_layer",
    .feed_forward_down = "blocks.%zu.mlp.output_layer",
    .feed_forward_norm = "blocks.%zu.norm2",
    .feed_forward_scale = "blocks.%zu.ls2.gamma",
    .final_norm = "norm",
    .projection = "embedding_projection",
};
