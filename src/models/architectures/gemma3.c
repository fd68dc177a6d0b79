/**
 *  Gemma 3's texts, and EmbeddingGemma, which sees both ways: norms before and behind every branch, gains that files count from one,
 *  words times the root of the width, and windows for all layers but the last of so many.
 */
#include "models/architectures/generative_layers.h"

static char const *const prefixes[] = {UFORM_GENERATIVE_PREFIXES, NULL};

static uform_config_row_t const config[] = {
    UFORM_SIZE("vocab_size", vocabulary_count, 262208, uform_largest_vocabulary_k),
    UFORM_SIZE("max_position_embeddings", position_count, 131072, uform_largest_rotations_k),
    UFORM_SIZE("hidden_size", width, 2304, uform_largest_width_k),
    UFORM_SIZE("num_hidden_layers", layers, 26, uform_largest_layers_k),
    UFORM_SIZE("num_attention_heads", heads, 8, uform_largest_heads_k),
    UFORM_SIZE("num_key_value_heads", key_value_heads, 4, uform_largest_heads_k),
    UFORM_SIZE("head_dim", head_width, 256, 1 << 12),
    UFORM_SIZE("intermediate_size", feed_forward_width, 9216, uform_largest_feed_forward_k),
    UFORM_ACTIVATION("hidden_activation", activation, gelu_tanh),
    UFORM_REAL("rms_norm_eps", norm_epsilon, 1e-6, 0, 1),
    UFORM_REAL("query_pre_attn_scalar", attention_scalar, 256, 1e-6, 1e9),
    UFORM_FLAG("attention_bias", query_bias, false),
    UFORM_FLAG("attention_bias", key_bias, false),
    UFORM_FLAG("attention_bias", value_bias, false),
    UFORM_FLAG("attention_bias", output_bias, false),
    UFORM_FLAG(NULL, feed_forward_bias, false),
    UFORM_FLAG(NULL, norm_bias, false),
    UFORM_FLAG(NULL, gated, true),
    UFORM_SIZE("sliding_window", window, 4096, 1 << 20),
    UFORM_SIZE("sliding_window_pattern", global_every, 6, 1 << 20),
    UFORM_REAL("rope_theta", rotary_base, 1000000, 1e-3, 1e12),
    UFORM_REAL("rope_local_base_freq", local_rotary_base, 10000, 1e-3, 1e12),
    UFORM_CONFIG_END,
};

uform_architecture_t const uform_architecture_gemma3_ = {
    .prefixes = prefixes,
    .config = config,
    UFORM_GENERATIVE_LAYERS,
    .has_windows = true,
    .global_comes_last = true,
    .gains_from_one = true,
    .words_by_root = true,
    .both_ways_key = "use_bidirectional_attention",
    .query_norm = "layers.%zu.self_attn.q_norm",
    .key_norm = "layers.%zu.self_attn.k_norm",
    .attention_branch_norm = "layers.%zu.post_attention_layernorm",
    .feed_forward_norm = "layers.%zu.pre_feedforward_layernorm",
    .feed_forward_branch_norm = "layers.%zu.post_feedforward_layernorm",
};
