/**
 *  The encoders of T5: norms first and by the root mean square, no biases, attention that isn't scaled but knows distances.
 */
#include "models/architectures/architecture.h"

/// As a bare T5EncoderModel or the encoder of both halves, and inside sentence-transformers' own modules, old and new.
static char const *const prefixes[] = {"", "0.auto_model.", "0.model.", "auto_model.", "transformer.", NULL};

static uform_config_row_t const config[] = {
    UFORM_SIZE("vocab_size", vocabulary_count, 32128, uform_largest_vocabulary_k),
    UFORM_COUNT(NULL, position_count, 1 << 14, 0), // distances need no limit, memory for their biases does
    UFORM_SIZE("d_model", width, 512, uform_largest_width_k),
    UFORM_SIZE("num_layers", layers, 6, uform_largest_layers_k),
    UFORM_SIZE("num_heads", heads, 8, uform_largest_heads_k),
    UFORM_SIZE("d_kv", head_width, 64, 1 << 12),
    UFORM_SIZE("d_ff", feed_forward_width, 2048, uform_largest_feed_forward_k),
    UFORM_REAL("layer_norm_epsilon", norm_epsilon, 1e-6, 0, 1),
    UFORM_REAL(NULL, attention_scalar, 1, 1, 1),
    UFORM_DISTANCES("relative_attention_num_buckets", uform_distance_buckets_k),
    UFORM_CONFIG_ROW_("relative_attention_max_distance", size, distance_limit, uform_distance_limit_k,
        uform_distance_limit_k, uform_distance_limit_k),
    UFORM_COUNT("pad_token_id", pad_token, 0, uform_largest_vocabulary_k),
    // transformers takes other families' names too, and before its own; of feed_forward_proj so what it once made of it.
    UFORM_ALSO("hidden_size", width, uform_largest_width_k),
    UFORM_ALSO("num_hidden_layers", layers, uform_largest_layers_k),
    UFORM_ALSO("num_attention_heads", heads, uform_largest_heads_k),
    UFORM_ALSO("head_dim", head_width, 1 << 12),
    UFORM_CONFIG_ROW_("dense_act_fn", activation, activation, (double)NAN, 0, 0),
    UFORM_CONFIG_ROW_("is_gated_act", flag, gated, (double)NAN, 0, 1),
    UFORM_FLAG(NULL, norm_bias, false),
    UFORM_FLAG(NULL, query_bias, false),
    UFORM_FLAG(NULL, key_bias, false),
    UFORM_FLAG(NULL, value_bias, false),
    UFORM_FLAG(NULL, output_bias, false),
    UFORM_FLAG(NULL, feed_forward_bias, false),
    UFORM_CONFIG_END,
};

uform_architecture_t const uform_architecture_t5_ = {
    .prefixes = prefixes,
    .config = config,
    .summary = uform_summary_mean_k,
    .norm_first = true,
    .root_mean_square = true,
    .gated_act_key = "feed_forward_proj",
    .words = "encoder.embed_tokens.weight|shared.weight",
    .query = "encoder.block.%zu.layer.0.SelfAttention.q",
    .key = "encoder.block.%zu.layer.0.SelfAttention.k",
    .value = "encoder.block.%zu.layer.0.SelfAttention.v",
    .distance_bias = "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight",
    .attention_output = "encoder.block.%zu.layer.0.SelfAttention.o",
    .attention_norm = "encoder.block.%zu.layer.0.layer_norm",
    .feed_forward_up = "encoder.block.%zu.layer.1.DenseReluDense.wi",
    .feed_forward_down = "encoder.block.%zu.layer.1.DenseReluDense.wo",
    .gate = "encoder.block.%zu.layer.1.DenseReluDense.wi_0",
    .gated_up = "encoder.block.%zu.layer.1.DenseReluDense.wi_1",
    .gated_down = "encoder.block.%zu.layer.1.DenseReluDense.wo",
    .feed_forward_norm = "encoder.block.%zu.layer.1.layer_norm",
    .final_norm = "encoder.final_layer_norm",
};
