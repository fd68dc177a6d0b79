/**
 *  ModernBERT: norms first and mostly without shifts, gated feed-forward layers, positions as rotations, and layers that see all
 *  tokens, each followed by some that see their surroundings.
 */
#include "models/architectures/architecture.h"

/// As a bare ModernBertModel, inside a model with a head, and inside sentence-transformers' own modules, old and new.
static char const *const prefixes[] = {
    "", "model.", "model.model.", "0.auto_model.", "0.auto_model.model.", "auto_model.", "0.model.", NULL};

static uform_config_row_t const config[] = {
    UFORM_SIZE("vocab_size", vocabulary_count, 50368, uform_largest_vocabulary_k),
    UFORM_SIZE("max_position_embeddings", position_count, 8192, uform_largest_rotations_k),
    UFORM_SIZE("hidden_size", width, 768, uform_largest_width_k),
    UFORM_SIZE("num_hidden_layers", layers, 22, uform_largest_layers_k),
    UFORM_SIZE("num_attention_heads", heads, 12, uform_largest_heads_k),
    UFORM_SIZE("intermediate_size", feed_forward_width, 1152, uform_largest_feed_forward_k),
    UFORM_ACTIVATION("hidden_activation", activation, gelu),
    UFORM_REAL("norm_eps", norm_epsilon, 1e-5, 0, 1),
    UFORM_FLAG("norm_bias", norm_bias, false),
    UFORM_FLAG("attention_bias", query_bias, false),
    UFORM_FLAG("attention_bias", key_bias, false),
    UFORM_FLAG("attention_bias", value_bias, false),
    UFORM_FLAG("attention_bias", output_bias, false),
    UFORM_FLAG("mlp_bias", feed_forward_bias, false),
    UFORM_FLAG(NULL, gated, true),
    UFORM_SIZE("local_attention", window, 128, 1 << 20),
    UFORM_SIZE("global_attn_every_n_layers", global_every, 3, 1 << 20),
    UFORM_REAL("global_rope_theta", rotary_base, 160000, 1e-3, 1e12),
    UFORM_REAL("local_rope_theta", local_rotary_base, 10000, 1e-3, 1e12),
    UFORM_CONFIG_END,
};

uform_architecture_t const uform_architecture_modernbert_ = {
    .prefixes = prefixes,
    .config = config,
    .positions_kind = uform_positions_rotary_texts_k,
    .summary = uform_summary_mean_k,
    .norm_first = true,
    .first_attention_unnormed = true,
    .has_windows = true,
    .words = "embeddings.tok_embeddings.weight",
    .embedding_norm = "embeddings.norm",
    .query_key_value = "layers.%zu.attn.Wqkv",
    .attention_output = "layers.%zu.attn.Wo",
    .attention_norm = "layers.%zu.attn_norm",
    .gate_and_up = "layers.%zu.mlp.Wi",
    .gated_down = "layers.%zu.mlp.Wo",
    .feed_forward_norm = "layers.%zu.mlp_norm",
    .final_norm = "final_norm",
};
