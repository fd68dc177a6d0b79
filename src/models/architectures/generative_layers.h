/**
 *  What generative models that serve as encoders share: norms first and by the root mean square, gated feed-forward layers,
 *  positions as rotations, and heads of keys and values that several heads of queries share.
 */
#ifndef UFORM_MODELS_ARCHITECTURES_GENERATIVE_LAYERS_H
#define UFORM_MODELS_ARCHITECTURES_GENERATIVE_LAYERS_H

#include "models/architectures/architecture.h"

/// Fields of a `uform_architecture_t`.
#define UFORM_GENERATIVE_LAYERS                                                                                        \
    .positions_kind = uform_positions_rotary_texts_k, .summary = uform_summary_mean_k, .norm_first = true,             \
    .causal = true, .root_mean_square = true, .words = "embed_tokens.weight", .query = "layers.%zu.self_attn.q_proj",  \
    .key = "layers.%zu.self_attn.k_proj", .value = "layers.%zu.self_attn.v_proj",                                      \
    .attention_output = "layers.%zu.self_attn.o_proj", .attention_norm = "layers.%zu.input_layernorm",                 \
    .gate = "layers.%zu.mlp.gate_proj", .gated_up = "layers.%zu.mlp.up_proj",                                          \
    .gated_down = "layers.%zu.mlp.down_proj", .final_norm = "norm"

/// As a bare model, inside one that generates, and inside sentence-transformers' own modules, old and new.
#define UFORM_GENERATIVE_PREFIXES "", "model.", "0.auto_model.", "0.model.", "auto_model."

#endif
