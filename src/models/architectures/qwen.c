/**
 *  Qwen 2, whose queries, keys and values have biases, and Qwen 3, whose heads of queries and keys are normalised instead.
 */
#include "models/architectures/generative_layers.h"

#define UFORM_QWEN_CONFIG                                                                                              \
    UFORM_SIZE("vocab_size", vocabulary_count, 151936, uform_largest_vocabulary_k),                                    \
        UFORM_SIZE("max_position_embeddings", position_count, 32768, uform_largest_rotations_k),                       \
        UFORM_SIZE("hidden_size", width, 4096, uform_largest_width_k),                                                 \
        UFORM_SIZE("num_hidden_layers", layers, 32, uform_largest_layers_k),                                           \
        UFORM_SIZE("num_attention_heads", heads, 32, uform_largest_heads_k),                                           \
        UFORM_SIZE("intermediate_size", feed_forward_width, 22016, uform_largest_feed_forward_k),                      \
        UFORM_ACTIVATION("hidden_act", activation, silu), UFORM_REAL("rms_norm_eps", norm_epsilon, 1e-6, 0, 1),        \
        UFORM_REAL("rope_theta", rotary_base, 10000, 1e-3, 1e12), UFORM_FLAG(NULL, norm_bias, false),                  \
        UFORM_FLAG(NULL, output_bias, false), UFORM_FLAG(NULL, feed_forward_bias, false),                              \
        UFORM_FLAG(NULL, gated, true)

static char const *const prefixes[] = {UFORM_GENERATIVE_PREFIXES, NULL};

static uform_config_row_t const qwen2_config[] = {
    UFORM_QWEN_CONFIG,
    UFORM_COUNT("num_key_value_heads", key_value_heads, 0, uform_largest_heads_k),
    UFORM_CONFIG_END,
};

uform_architecture_t const uform_architecture_qwen2_ = {
    .prefixes = prefixes,
    .config = qwen2_config,
    UFORM_GENERATIVE_LAYERS,
    .feed_forward_norm = "layers.%zu.post_attention_layernorm",
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
    UFORM_GENERATIVE_LAYERS,
    .feed_forward_norm = "layers.%zu.post_attention_layernorm",
};
