/**
 *  Names and sizes that BERT and RoBERTa share.
 */
#ifndef UFORM_MODELS_ARCHITECTURES_BERT_LAYERS_H
#define UFORM_MODELS_ARCHITECTURES_BERT_LAYERS_H

#include "models/architectures/architecture.h"

#define UFORM_BERT_CONFIG(vocabulary)                                                                                  \
    UFORM_SIZE("vocab_size", vocabulary_count, vocabulary, uform_largest_vocabulary_k),                                \
        UFORM_SIZE("max_position_embeddings", position_count, 512, uform_largest_positions_k),                         \
        UFORM_SIZE("type_vocab_size", type_count, 2, 1 << 16),                                                         \
        UFORM_SIZE("hidden_size", width, 768, uform_largest_width_k),                                                  \
        UFORM_SIZE("num_hidden_layers", layers, 12, uform_largest_layers_k),                                           \
        UFORM_SIZE("num_attention_heads", heads, 12, uform_largest_heads_k),                                           \
        UFORM_SIZE("intermediate_size", feed_forward_width, 3072, uform_largest_feed_forward_k),                       \
        UFORM_ACTIVATION("hidden_act", activation, gelu), UFORM_REAL("layer_norm_eps", norm_epsilon, 1e-12, 0, 1)

#define UFORM_BERT_NAMES                                                                                               \
    .words = "embeddings.word_embeddings.weight", .positions = "embeddings.position_embeddings.weight",                \
    .types = "embeddings.token_type_embeddings.weight", .embedding_norm = "embeddings.LayerNorm",                      \
    .query = "encoder.layer.%zu.attention.self.query", .key = "encoder.layer.%zu.attention.self.key",                  \
    .value = "encoder.layer.%zu.attention.self.value", .attention_output = "encoder.layer.%zu.attention.output.dense", \
    .attention_norm = "encoder.layer.%zu.attention.output.LayerNorm",                                                  \
    .feed_forward_up = "encoder.layer.%zu.intermediate.dense", .feed_forward_down = "encoder.layer.%zu.output.dense",  \
    .feed_forward_norm = "encoder.layer.%zu.output.LayerNorm"

#endif
