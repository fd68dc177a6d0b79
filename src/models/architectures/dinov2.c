/**
 *  DINOv2, without and with registers: norms first, scaled branches, images of any size by resampled positions, and a
 *  feed-forward layer with a gate in the giant one. Tensors are called as transformers saves them, or as its fifth version calls them
 *  in memory.
 */
#include "models/architectures/architecture.h"

static char const *const prefixes[] = {"", "dinov2.", "model.", NULL};
static char const *const register_prefixes[] = {"", "dinov2_with_registers.", "model.", NULL};

#define ROWS                                                                                                           \
    UFORM_SIZE("hidden_size", width, 768, uform_largest_width_k),                                                      \
        UFORM_SIZE("num_hidden_layers", layers, 12, uform_largest_layers_k),                                           \
        UFORM_SIZE("num_attention_heads", heads, 12, uform_largest_heads_k),                                           \
        UFORM_SIZE("mlp_ratio", feed_forward_ratio, 4, 64), UFORM_ACTIVATION("hidden_act", activation, gelu),          \
        UFORM_REAL("layer_norm_eps", norm_epsilon, 1e-6, 0, 1), UFORM_IMAGE_SIZE("image_size", 224),                   \
        UFORM_SIZE("num_channels", channels, 3, 1 << 10), UFORM_FLAG("qkv_bias", query_bias, true),                    \
        UFORM_FLAG("qkv_bias", key_bias, true), UFORM_FLAG("qkv_bias", value_bias, true),                              \
        UFORM_FLAG("use_swiglu_ffn", gated, false)

static uform_config_row_t const config[] = {
    ROWS, UFORM_SQUARE("patch_size", patch, 14, uform_largest_patch_k), UFORM_CONFIG_END};

static uform_config_row_t const register_config[] = {ROWS, UFORM_SQUARE("patch_size", patch, 16, uform_largest_patch_k),
    UFORM_COUNT("num_register_tokens", register_count, 4, 1 << 10), UFORM_CONFIG_END};

#define TOWER                                                                                                          \
    .summary = uform_summary_first_k, .norm_first = true, .patches = "embeddings.patch_embeddings.projection",         \
    .class_token = "embeddings.cls_token", .positions = "embeddings.position_embeddings", .prefix_positions = 1,       \
    .query = "encoder.layer.%zu.attention.attention.query|encoder.layer.%zu.attention.q_proj",                         \
    .key = "encoder.layer.%zu.attention.attention.key|encoder.layer.%zu.attention.k_proj",                             \
    .value = "encoder.layer.%zu.attention.attention.value|encoder.layer.%zu.attention.v_proj",                         \
    .attention_output = "encoder.layer.%zu.attention.output.dense|encoder.layer.%zu.attention.o_proj",                 \
    .attention_norm = "encoder.layer.%zu.norm1", .attention_scale = "encoder.layer.%zu.layer_scale1.lambda1",          \
    .feed_forward_up = "encoder.layer.%zu.mlp.fc1", .feed_forward_down = "encoder.layer.%zu.mlp.fc2",                  \
    .feed_forward_norm = "encoder.layer.%zu.norm2", .feed_forward_scale = "encoder.layer.%zu.layer_scale2.lambda1",    \
    .gate = "encoder.layer.%zu.mlp.gate_proj", .gated_up = "encoder.layer.%zu.mlp.up_proj",                            \
    .gate_and_up = "encoder.layer.%zu.mlp.weights_in", .gate_is_silu = true,                                           \
    .gated_down = "encoder.layer.%zu.mlp.weights_out|encoder.layer.%zu.mlp.down_proj", .final_norm = "layernorm"

uform_architecture_t const uform_architecture_dinov2_ = {
    .prefixes = prefixes,
    .config = config,
    .positions_kind = uform_positions_bicubic_k,
    TOWER,
};

uform_architecture_t const uform_architecture_dinov2_registers_ = {
    .prefixes = register_prefixes,
    .config = register_config,
    .positions_kind = uform_positions_smoothed_k,
    .register_tokens = "embeddings.register_tokens",
    TOWER,
};
