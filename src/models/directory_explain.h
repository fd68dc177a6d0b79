/**
 *  Failures that say what a directory holds in the place of a file that isn't there.
 */
#ifndef UFORM_MODELS_DIRECTORY_EXPLAIN_H
#define UFORM_MODELS_DIRECTORY_EXPLAIN_H

#include "uform/status.h"

/// No `missing`, a file of weights: `unsupported` names weights of another format or name, `not_found` that there are none.
uform_status_t uform_directory_explain_weights_(char const *directory, char const *missing);

/// No config.json: a cache of models, or weights that need none.
uform_status_t uform_directory_explain_config_(char const *directory);

/// No tokenizer.json: `unsupported` names a vocabulary that is not read by itself.
uform_status_t uform_directory_explain_tokenizer_(char const *directory);

#endif
