/**
 *  DINOv3 on ViT: norms first, scaled branches, registers, and positions as rotations of queries and keys.
 */
#include "models/architectures/architecture.h"

static char const *const prefixes[] = {"", "model.", "dinov3_vit.", NULL};

static uform_config_row_t const config[] = {
    UFORM_SIZE("hidden_size", width, 384, uform_largest_width_k),
    UFORM_SIZE("num_hidden_layers", layers, 12, uform_largest_layers_k),
    UFORM_SIZE("num_attention_heads", heads, 6, uform_largest_heads_k),
    UFORM_SIZE("intermediate_size", feed_forward_width, 1536, uform_largest_feed_forward_k),
    UFORM_ACTIVATION("hidden_act", activation, gelu),
    UFORM_REAL("layer_norm_eps", norm_epsilon, 1e-5, 0, 1),
    UFORM_IMAGE_SIZE("image_size", 224),
    UFORM_SQUARE("patch_size", patch, 16, uform_largest_patch_k),
    UFORM_SIZE("num_channels", channels, 3, 1 << 10),
    UFORM_COUNT("num_register_tokens", register_count, 0, 1 << 10),
    UFORM_REAL("rope_theta", rotary_base, 100, 1e-3, 1e9),
    UFORM_FLAG("query_bias", query_bias, true),
    UFORM_FLAG("key_bias", key_bias, false),
    UFORM_FLAG("value_bias", value_bias, true),
    UFORM_FLAG("proj_bias", output_bias, true),
    UFORM_FLAG("mlp_bias", feed_forward_bias, true),
    UFORM_FLAG("use_gated_mlp", gated, false),
    UFORM_CONFIG_END,
};

uform_architecture_t const uform_architecture_dinov3_ = {
    .prefixes = prefixes,
    .config = config,
    .positions_kind = uform_positions_rotary_k,
    .summary = uform_summary_first_k,
    .norm_first = true,
    .patches = "embeddings.patch_embeddings",
    .class_token = "embeddings.cls_token",
    .register_tokens = "embeddings.register_tokens",
    .query = "layer.%zu.attention.q_proj",
    .key = "layer.%zu.attention.k_proj",
    .value = "layer.%zu.attention.v_proj",
    .attention_output = "layer.%zu.attention.o_proj",
    .attention_norm = "layer.%zu.norm1",
    .attention_scale = "layer.%zu.layer_scale1.lambda1",
    .feed_forward_up = "layer.%zu.mlp.up_proj",
    .feed_forward_down = "layer.%zu.mlp.down_proj",
    .feed_forward_norm = "layer.%zu.norm2",
    .feed_forward_scale = "layer.%zu.layer_scale2.lambda1",
    .gate = "layer.%zu.mlp.gate_proj",
    .gated_up = "layer.%zu.mlp.up_proj",
    .gated_down = "layer.%zu.mlp.down_proj",
    .final_norm = "norm",
};
