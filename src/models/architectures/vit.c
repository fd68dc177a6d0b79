/**
 *  ViT: norms first, a class token, and a pooler behind it that classifiers leave out. DeiT has a token for distillation besides.
 *  Tensors are called as transformers saves them, or as its fifth version calls them in memory.
 */
#include "models/architectures/architecture.h"

static char const *const prefixes[] = {"", "vit.", "model.", NULL};
static char const *const deit_prefixes[] = {"", "deit.", "model.", NULL};

#define ROWS                                                                                                           \
    UFORM_SIZE("hidden_size", width, 768, uform_largest_width_k),                                                      \
        UFORM_SIZE("num_hidden_layers", layers, 12, uform_largest_layers_k),                                           \
        UFORM_SIZE("num_attention_heads", heads, 12, uform_largest_heads_k),                                           \
        UFORM_SIZE("intermediate_size", feed_forward_width, 3072, uform_largest_feed_forward_k),                       \
        UFORM_ACTIVATION("hidden_act", activation, gelu), UFORM_ACTIVATION("pooler_act", projection_activation, tanh), \
        UFORM_REAL("layer_norm_eps", norm_epsilon, 1e-12, 0, 1), UFORM_IMAGE_SIZE("image_size", 224),                  \
        UFORM_SQUARE("patch_size", patch, 16, uform_largest_patch_k),                                                  \
        UFORM_SIZE("num_channels", channels, 3, 1 << 10), UFORM_FLAG("qkv_bias", query_bias, true),                    \
        UFORM_FLAG("qkv_bias", key_bias, true), UFORM_FLAG("qkv_bias", value_bias, true)

static uform_config_row_t const config[] = {ROWS, UFORM_CONFIG_END};
static uform_config_row_t const deit_config[] = {ROWS, UFORM_COUNT(NULL, register_count, 1, 1), UFORM_CONFIG_END};

#define TOWER                                                                                                          \
    .positions_kind = uform_positions_table_k, .summary = uform_summary_first_k, .norm_first = true,                   \
    .patches = "embeddings.patch_embeddings.projection", .class_token = "embeddings.cls_token",                        \
    .positions = "embeddings.position_embeddings",                                                                     \
    .query = "encoder.layer.%zu.attention.attention.query|layers.%zu.attention.q_proj",                                \
    .key = "encoder.layer.%zu.attention.attention.key|layers.%zu.attention.k_proj",                                    \
    .value = "encoder.layer.%zu.attention.attention.value|layers.%zu.attention.v_proj",                                \
    .attention_output = "encoder.layer.%zu.attention.output.dense|layers.%zu.attention.o_proj",                        \
    .attention_norm = "encoder.layer.%zu.layernorm_before|layers.%zu.layernorm_before",                                \
    .feed_forward_up = "encoder.layer.%zu.intermediate.dense|layers.%zu.mlp.fc1",                                      \
    .feed_forward_down = "encoder.layer.%zu.output.dense|layers.%zu.mlp.fc2",                                          \
    .feed_forward_norm = "encoder.layer.%zu.layernorm_after|layers.%zu.layernorm_after", .final_norm = "layernorm",    \
    .projection = "pooler.dense", .projection_has_bias = true, .projection_is_optional = true,                         \
    .projection_is_pooler = true

uform_architecture_t const uform_architecture_vit_ = {
    .prefixes = prefixes,
    .config = config,
    .prefix_positions = 1,
    TOWER,
};

uform_architecture_t const uform_architecture_deit_ = {
    .prefixes = deit_prefixes,
    .config = deit_config,
    .register_tokens = "embeddings.distillation_token",
    .prefix_positions = 2,
    TOWER,
};
