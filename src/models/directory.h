/**
 *  A model directory as sentence-transformers and transformers read it: which architecture, which sizes, what happens
 *  behind the transformer, and where every tensor is. Nothing here computes.
 */
#ifndef UFORM_MODELS_DIRECTORY_H
#define UFORM_MODELS_DIRECTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "images/preprocess.h"
#include "kernels/kernels.h"
#include "models/architectures/architecture.h"
#include "models/weights.h"
#include "tokenizers/buffers.h"
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
    uform_weights_t weights;     ///< the module's own file; empty for a tower's projection
    uform_tensor_t weight, bias; ///< `bias.data` is NULL without one
} uform_dense_t;

/// One of a model's encoders, and what stands behind it.
typedef struct uform_tower_t {
    uform_architecture_t const *architecture; ///< NULL when the directory has no such tower
    char const *missing;                      ///< the file whose absence leaves the tower unusable; NULL when none is
    uform_architecture_sizes_t sizes;         ///< what config.json says
    size_t *layer_numbers;                    ///< [sizes.layers] as tensors count them; NULL when none is left out
    bool own_weights;                         ///< its tensors are in `image_weights`
    uform_pooling_t pooling[8]; ///< [pooling_count] single modes in the order their vectors are concatenated
    size_t pooling_count;
    bool pooled_by_module; ///< a Pooling of modules.json says so, not the family
    uform_dense_t *dense;  ///< [dense_count]
    size_t dense_count;
    bool normalize;      ///< vectors have length one
    size_t pooled_width; ///< before the Dense layers, with the directory's pooling
    size_t dimensions;   ///< of an embedding, with the directory's pooling, before any cut
} uform_tower_t;

typedef struct uform_directory_t {
    char *path;
    uform_family_t const *family;
    bool is_bare; ///< config.json names a class that ends with the tower, whatever projection the file holds
    uform_tower_t text, image;
    uform_weights_t weights, image_weights; ///< the latter only where the image tower has a file of its own
    double logit_scale, logit_bias;         ///< of cosines; a zero scale when there is none
    bool has_logit_bias;                    ///< the file has one, whatever it is
    // Texts.
    uform_tokenizer_t tokenizer;
    uform_tokenizer_settings_t tokenizer_settings;
    uform_switch_t truncate_left; ///< long texts lose tokens at their start (on) or at their end (off)
    size_t max_tokens;            ///< the limit sentence-transformers would use
    char *pad_token;              ///< as its file calls it; NULL when none does
    char const *pad_token_file;   ///< the name of that file; NULL for the tokenizer's class
    uform_switch_t
        pads_left; ///< fill up to a full length before (on) or behind (off) the text; auto: as tokenizer.json does
    bool class_pads_left;              ///< and where that doesn't say
    uform_named_token_t *named_tokens; ///< [named_token_count], of the files beside tokenizer.json
    size_t named_token_count;
    uform_bytes_t made_tokenizer; ///< a tokenizer.json made of vocab.txt; empty where there is one
    bool include_prompt;          ///< prompt tokens take part in the pooling
    size_t truncate_dimensions;   ///< config_sentence_transformers.json: truncate_dim; zero keeps all
    uform_prompt_t *prompts;      ///< [prompt_count]
    size_t prompt_count;
    size_t default_prompt; ///< position in `prompts`, or `prompt_count` for none
    // Images.
    uform_preprocessor_t preprocessor;
} uform_directory_t;

/// Whether the directory has the tower and all its files.
static inline bool uform_tower_works_(uform_tower_t const *tower) {
    return tower->architecture && !tower->missing;
}

/// Whether texts and images end in one space.
static inline bool uform_directory_has_both_(uform_directory_t const *directory) {
    return directory->text.architecture && directory->image.architecture;
}

/// Where the tower's tensors are.
uform_weights_t const *uform_directory_weights_(uform_directory_t const *directory, uform_tower_t const *tower);

/// Finds one tensor of a tower and checks its shape. `name` is one of the descriptor's patterns, `layer` what stands for its
/// `%zu`, `suffix` "weight" or "bias", or NULL for a whole name. Every prefix of the descriptor is tried, and "gamma" and "beta"
/// for "weight" and "bias". A matrix has [rows, columns]; a vector has [rows] and zero `columns`. Leading dimensions of one don't
/// count, and trailing ones, as a convolution's, count as one. `not_found` names a missing tensor, `malformed` both shapes,
/// `unsupported` a dtype that is no floating-point number.
uform_status_t uform_directory_tensor_(uform_directory_t const *directory, uform_tower_t const *tower, char const *name,
    size_t layer, char const *suffix, size_t rows, size_t columns, uform_tensor_t *tensor);

/// Finds a tensor under one of the prefixes, or, with `prefixes` NULL, those of the tower; false without one. Nothing of it is
/// checked.
bool uform_directory_find_(uform_directory_t const *directory, uform_tower_t const *tower, char const *const *prefixes,
    char const *name, size_t layer, char const *suffix, uform_tensor_t *tensor);

/// Reads everything but tensor data. On failure nothing is left to free and the detail names file, key and value.
uform_status_t uform_directory_open_(char const *path, uform_directory_t *directory);
void uform_directory_close_(uform_directory_t *directory);

#endif
