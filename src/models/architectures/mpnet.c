/**
 *  MPNet: RoBERTa without token types, and a bias of attention that depends on the distance of two tokens.
 */
#include "models/architectures/architecture.h"

/// As a bare MPNetModel, inside a model with a head, and inside sentence-transformers' own modules, old and new.
static char const *const prefixes[] = {
    "", "mpnet.", "model.", "model.mpnet.", "0.auto_model.", "0.auto_model.mpnet.", "auto_model.", "0.model.", NULL};

static uform_config_row_t const config[] = {
    UFORM_SIZE("vocab_size", vocabulary_count, 30527, uform_largest_vocabulary_k),
    UFORM_SIZE("max_position_embeddings", position_count, 512, uform_largest_positions_k),
    UFORM_SIZE("hidden_size", width, 768, uform_largest_width_k),
    UFORM_SIZE("num_hidden_layers", layers, 12, uform_largest_layers_k),
    UFORM_SIZE("num_attention_heads", heads, 12, uform_largest_heads_k),
    UFORM_SIZE("intermediate_size", feed_forward_width, 3072, uform_largest_feed_forward_k),
    UFORM_ACTIVATION("hidden_act", activation, gelu),
    UFORM_REAL("layer_norm_eps", norm_epsilon, 1e-12, 0, 1),
    UFORM_DISTANCES("relative_attention_num_buckets", 1 << 16),
    UFORM_COUNT(NULL, pad_token, 1, 1), // transformers looks at no file for it
    UFORM_CONFIG_END,
};

uform_architecture_t const uform_architecture_mpnet_ = {
    .prefixes = prefixes,
    .config = config,
    .summary = uform_summary_mean_k,
    .positions_behind_padding = true,
    .words = "embeddings.word_embeddings.weight",
    .positions = "embeddings.position_embeddings.weight",
    .embedding_norm = "embeddings.LayerNorm",
    .query = "encoder.layer.%zu.attention.attn.q",
    .key = "encoder.layer.%zu.attention.attn.k",
    .value = "encoder.layer.%zu.attention.attn.v",
    .distance_bias = "encoder.relative_attention_bias.weight",
    .attention_output = "encoder.layer.%zu.attention.attn.o",
    .attention_norm = "encoder.layer.%zu.attention.LayerNorm",
    .feed_forward_up = "encoder.layer.%zu.intermediate.dense",
    .feed_forward_down = "encoder.layer.%zu.output.dense",
    .feed_forward_norm = "encoder.layer.%zu.output.LayerNorm",
};
