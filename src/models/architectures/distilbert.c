/**
 *  DistilBERT: BERT with fewer layers, no token types, and names of its own.
 */
#include "models/architectures/architecture.h"

/// As a bare DistilBertModel, inside a model with a head, and inside sentence-transformers' own modules, old and new.
static char const *const prefixes[] = {"", "distilbert.", "model.", "model.distilbert.", "0.auto_model.",
    "0.auto_model.distilbert.", "auto_model.", "0.model.", NULL};

static uform_config_row_t const config[] = {
    UFORM_SIZE("vocab_size", vocabulary_count, 30522, uform_largest_vocabulary_k),
    UFORM_SIZE("max_position_embeddings", position_count, 512, uform_largest_positions_k),
    UFORM_SIZE("dim", width, 768, uform_largest_width_k),
    UFORM_SIZE("n_layers", layers, 6, uform_largest_layers_k),
    UFORM_SIZE("n_heads", heads, 12, uform_largest_heads_k),
    UFORM_SIZE("hidden_dim", feed_forward_width, 3072, uform_largest_feed_forward_k),
    // transformers takes other families' names too, and before its own.
    UFORM_ALSO("hidden_size", width, uform_largest_width_k),
    UFORM_ALSO("num_hidden_layers", layers, uform_largest_layers_k),
    UFORM_ALSO("num_attention_heads", heads, uform_largest_heads_k),
    UFORM_ACTIVATION("activation", activation, gelu),
    UFORM_REAL(NULL, norm_epsilon, 1e-12, 0, 1),
    UFORM_CONFIG_END,
};

uform_architecture_t const uform_architecture_distilbert_ = {
    .prefixes = prefixes,
    .config = config,
    .summary = uform_summary_mean_k,
    .words = "embeddings.word_embeddings.weight",
    .positions = "embeddings.position_embeddings.weight",
    .embedding_norm = "embeddings.LayerNorm",
    .query = "transformer.layer.%zu.attention.q_lin",
    .key = "transformer.layer.%zu.attention.k_lin",
    .value = "transformer.layer.%zu.attention.v_lin",
    .attention_output = "transformer.layer.%zu.attention.out_lin",
    .attention_norm = "transformer.layer.%zu.sa_layer_norm",
    .feed_forward_up = "transformer.layer.%zu.ffn.lin1",
    .feed_forward_down = "transformer.layer.%zu.ffn.lin2",
    .feed_forward_norm = "transformer.layer.%zu.output_layer_norm",
};
