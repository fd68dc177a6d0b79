/**
 *  RoBERTa, XLM-RoBERTa and CamemBERT: BERT whose positions begin behind the padding token's number.
 */
#include "models/architectures/bert_layers.h"

/// As a bare model, inside a model with a head, and inside sentence-transformers' own modules, old and new.
static char const *const prefixes[] = {"", "roberta.", "model.", "model.roberta.", "0.auto_model.",
    "0.auto_model.roberta.", "auto_model.", "0.model.", NULL};

static uform_config_row_t const config[] = {
    UFORM_BERT_CONFIG(50265),
    UFORM_COUNT("pad_token_id", pad_token, 1, UINT32_MAX),
    UFORM_CONFIG_END,
};

uform_architecture_t const uform_architecture_roberta_ = {
    .prefixes = prefixes,
    .config = config,
    .summary = uform_summary_mean_k,
    .positions_behind_padding = true,
    UFORM_BERT_NAMES,
};
