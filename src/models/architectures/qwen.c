/**
 *  Qwen 2, whose queries, keys and values have biases, and Qwen 3, whose heads of queries and keys are normalised instead.
 */
#include "models/architectures/qwen_layers.h"

static char const *const prefixes[] = {UFORM_QWEN_PREFIXES, NULL};

static uform_config_row_t const qwen2_config[] = {
    UFORM_QWEN_CONFIG,
    UFORM_COUNT("num_key_value_heads", key_value_heads, 0, uform_largest_heads_k),
    UFORM_CONFIG_END,
};

uform_architecture_t const uform_architecture_qwen2_ = {
    .prefixes = prefixes,
    .config = qwen2_config,
    UFORM_QWEN_LAYERS,
};

static uform_config_row_t const qwen3_config[] = {
    UFORM_QWEN_CONFIG,
    UFORM_COUNT("num_key_value_heads", key_value_heads, 0, uform_largest_heads_k),
    UFORM_COUNT("head_dim", head_width, 128, 1 << 12),
    UFORM_FLAG("attention_bias", query_bias, false),
    UFORM_FLAG("attention_bias", key_bias, false),
    UFORM_FLAG("attention_bias", value_bias, false),
    UFORM_FLAG("attention_bias", output_bias, false),
    UFORM_CONFIG_END,
};

uform_architecture_t const uform_architecture_qwen3_ = {
    .prefixes = prefixes,
    .config = qwen3_config,
    .query_norm = "layers.%zu.self_attn.q_norm",
    .key_norm = "layers.%zu.self_attn.k_norm",
    UFORM_QWEN_LAYERS,
};
