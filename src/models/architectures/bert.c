/**
 *  BERT: learned absolute positions from zero, token types, norms behind the residual sums.
 */
#include "models/architectures/bert_layers.h"

/// As a bare BertModel, inside a model with a head, and inside sentence-transformers' own modules, old and new.
static char const *const prefixes[] = {
    "", "bert.", "model.", "model.bert.", "0.auto_model.", "0.auto_model.bert.", "auto_model.", "0.model.", NULL};

static uform_config_row_t const config[] = {UFORM_BERT_CONFIG(30522), UFORM_CONFIG_END};

uform_architecture_t const uform_architecture_bert_ = {
    .prefixes = prefixes,
    .config = config,
    .summary = uform_summary_mean_k,
    UFORM_BERT_NAMES,
};
