/**
 *  A model directory as sentence-transformers and transformers read it: which architecture, which sizes, what happens
 *  behind the transformer, and where every tensor is. Nothing here computes.
 */
#ifndef UFORM_MODELS_DIRECTORY_H
#define UFORM_MODELS_DIRECTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/kernels.h"
#include "models/architectures/architecture.h"
#include "models/weights.h"
#include "tokenizers/tokenizer.h"
#include "uform/model.h"

enum { uform_largest_dimensions_k = 16384 }; ///< longest vector a Dense module may take or give

typedef struct uform_prompt_t {
    char *name, *text;  ///< NUL-terminated
    size_t text_length; ///< the text may hold NUL bytes
} uform_prompt_t;

/// One Dense module behind the pooling: outputs = activation(inputs x weight^T + bias).
typedef struct uform_dense_t {
    size_t inputs, outputs;
    bool normalize_inputs; ///< a Normalize module stands right before it
    uform_activation_t activation;
    uform_weights_t weights;     ///< the module's own file
    uform_tensor_t weight, bias; ///< `bias.data` is NULL without one
} uform_dense_t;

typedef struct uform_directory_t {
    char *path;
    uform_architecture_t const *architecture;
    uform_architecture_sizes_t sizes; ///< what config.json says
    uform_weights_t weights;          ///< the transformer's file or shards
    uform_tokenizer_t tokenizer;
    uform_tokenizer_settings_t tokenizer_settings;
    uform_switch_t truncate_left; ///< long texts lose tokens at their start (on) or at their end (off)
    size_t max_tokens;            ///< the limit sentence-transformers would use
    uform_pooling_t pooling[8];   ///< [pooling_count] single modes in the order their vectors are concatenated
    size_t pooling_count;
    bool include_prompt;  ///< prompt tokens take part in the pooling
    uform_dense_t *dense; ///< [dense_count]
    size_t dense_count;
    bool normalize;             ///< a Normalize module stands at the end
    size_t truncate_dimensions; ///< config_sentence_transformers.json: truncate_dim; zero keeps all
    uform_prompt_t *prompts;    ///< [prompt_count]
    size_t prompt_count;
    size_t default_prompt; ///< position in `prompts`, or `prompt_count` for none
} uform_directory_t;

/// Finds one tensor of the transformer and checks its shape. `stem` is one of the descriptor's patterns, `layer` what
/// stands for its
/// `%zu`, `suffix` "weight" or "bias". Every prefix of the descriptor is tried, and "gamma" and "beta" for the stems of
/// norms. A matrix has [rows, columns]; a vector has [rows] and zero `columns`. `not_found` names a missing tensor,
/// `malformed` both shapes, `unsupported` a dtype that is no floating-point number.
uform_status_t uform_directory_tensor_(uform_directory_t const *directory, char const *stem, size_t layer,
    char const *suffix, size_t rows, size_t columns, uform_tensor_t *tensor);

/// Reads everything but tensor data. On failure nothing is left to free and the detail names file, key and value.
uform_status_t uform_directory_open_(char const *path, uform_directory_t *directory);
void uform_directory_close_(uform_directory_t *directory);

#endif
