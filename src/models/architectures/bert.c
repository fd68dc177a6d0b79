/**
 *  BERT: learned absolute positions from zero, token types, norms behind the residual sums.
 */
#include "models/architectures/architecture.h"

static char const *const model_types[] = {"bert", NULL};

/// As a bare BertModel, inside a model with a head, and inside sentence-transformers' own modules, old and new.
static char const *const prefixes[] = {
    "", "bert.", "model.", "model.bert.", "0.auto_model.", "0.auto_model.bert.", "auto_model.", "0.model.", NULL};

uform_architecture_t const uform_architecture_bert_ = {
    .name = "bert",
    .model_types = model_types,
    .prefixes = prefixes,
    .words = "embeddings.word_embeddings",
    .positions = "embeddings.position_embeddings",
    .types = "embeddings.token_type_embeddings",
    .embedding_norm = "embeddings.LayerNorm",
    .query = "encoder.layer.%zu.attention.self.query",
    .key = "encoder.layer.%zu.attention.self.key",
    .value = "encoder.layer.%zu.attention.self.value",
    .attention_output = "encoder.layer.%zu.attention.output.dense",
    .attention_norm = "encoder.layer.%zu.attention.output.LayerNorm",
    .feed_forward_up = "encoder.layer.%zu.intermediate.dense",
    .feed_forward_down = "encoder.layer.%zu.output.dense",
    .feed_forward_norm = "encoder.layer.%zu.output.LayerNorm",
    .first_position = 0,
};
