/**
 *  What Qwen's models share, generative ones that serve as encoders: norms first and by the root mean square, gated feed-forward
 *  layers, positions as rotations, and heads of keys and values that several heads of queries share.
 */
#ifndef UFORM_MODELS_ARCHITECTURES_QWEN_LAYERS_H
#define UFORM_MODELS_ARCHITECTURES_QWEN_LAYERS_H

#include "models/architectures/architecture.h"

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

/// Fields of a `uform_architecture_t`.
#define UFORM_QWEN_LAYERS                                                                                              \
    .positions_kind = uform_positions_rotary_texts_k, .summary = uform_summary_mean_k, .norm_first = true,             \
    .causal = true, .root_mean_square = true, .words = "embed_tokens.weight", .query = "layers.%zu.self_attn.q_proj",  \
    .key = "layers.%zu.self_attn.k_proj", .value = "layers.%zu.self_attn.v_proj",                                      \
    .attention_output = "layers.%zu.self_attn.o_proj", .attention_norm = "layers.%zu.input_layernorm",                 \
    .gate = "layers.%zu.mlp.gate_proj", .gated_up = "layers.%zu.mlp.up_proj",                                          \
    .gated_down = "layers.%zu.mlp.down_proj", .feed_forward_norm = "layers.%zu.post_attention_layernorm",              \
    .final_norm = "norm"

/// As a bare model, inside one that generates, and inside sentence-transformers' own modules, old and new.
#define UFORM_QWEN_PREFIXES "", "model.", "0.auto_model.", "0.model.", "auto_model."

#endif
