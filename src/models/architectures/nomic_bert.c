/**
 *  NomicBERT: BERT with gated feed-forward layers, positions as rotations, and no biases but the norms'.
 */
#include "models/architectures/architecture.h"

/// As a bare NomicBertModel, inside a model with a head, and inside sentence-transformers' own modules, old and new.
static char const *const prefixes[] = {
    "", "nomic_bert.", "bert.", "model.", "0.auto_model.", "auto_model.", "0.model.", NULL};

static uform_config_row_t const config[] = {
    UFORM_SIZE("vocab_size", vocabulary_count, 30528, uform_largest_vocabulary_k),
    UFORM_SIZE("max_position_embeddings", position_count, 2048, uform_largest_rotations_k),
    UFORM_SIZE("type_vocab_size", type_count, 2, 1 << 16),
    UFORM_SIZE("hidden_size", width, 768, uform_largest_width_k),
    UFORM_SIZE("num_hidden_layers", layers, 12, uform_largest_layers_k),
    UFORM_SIZE("num_attention_heads", heads, 12, uform_largest_heads_k),
    UFORM_SIZE("intermediate_size", feed_forward_width, 3072, uform_largest_feed_forward_k),
    UFORM_ACTIVATION("hidden_act", activation, silu),
    UFORM_REAL("layer_norm_eps", norm_epsilon, 1e-12, 0, 1),
    UFORM_REAL(NULL, rotary_base, 1000, 1000, 1000),
    UFORM_FLAG(NULL, query_bias, false),
    UFORM_FLAG(NULL, key_bias, false),
    UFORM_FLAG(NULL, value_bias, false),
    UFORM_FLAG(NULL, output_bias, false),
    UFORM_FLAG(NULL, feed_forward_bias, false),
    UFORM_FLAG(NULL, gated, true),
    UFORM_CONFIG_END,
};

/// Two spellings: what transformers saves, and what the published files hold.
uform_architecture_t const uform_architecture_nomic_bert_ = {
    .prefixes = prefixes,
    .config = config,
    .positions_kind = uform_positions_rotary_texts_k,
    .summary = uform_summary_mean_k,
    .words = "embeddings.word_embeddings.weight",
    .types = "embeddings.token_type_embeddings.weight",
    .embedding_norm = "embeddings.LayerNorm|emb_ln",
    .query = "layers.%zu.self_attn.q_proj",
    .key = "layers.%zu.self_attn.k_proj",
    .value = "layers.%zu.self_attn.v_proj",
    .query_key_value = "encoder.layers.%zu.attn.Wqkv",
    .attention_output = "layers.%zu.self_attn.o_proj|encoder.layers.%zu.attn.out_proj",
    .attention_norm = "layers.%zu.post_attention_layernorm|encoder.layers.%zu.norm1",
    .gate = "layers.%zu.mlp.gate_proj|encoder.layers.%zu.mlp.fc12",
    .gated_up = "layers.%zu.mlp.up_proj|encoder.layers.%zu.mlp.fc11",
    .gated_down = "layers.%zu.mlp.down_proj|encoder.layers.%zu.mlp.fc2",
    .feed_forward_norm = "layers.%zu.post_mlp_layernorm|encoder.layers.%zu.norm2",
};
