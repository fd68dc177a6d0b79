/**
 *  One descriptor a family of models: data that `encoder.c` interprets. Adding a family is one file here and one row
 *  in the table.
 */
#ifndef UFORM_MODELS_ARCHITECTURES_ARCHITECTURE_H
#define UFORM_MODELS_ARCHITECTURES_ARCHITECTURE_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/kernels.h"

/// What a config.json says of sizes and constants.
typedef struct uform_architecture_sizes_t {
    size_t vocabulary_count, position_count, type_count;
    size_t width, layers, heads, feed_forward_width;
    float norm_epsilon;
    uform_activation_t activation;
} uform_architecture_sizes_t;

/// Tensor names are stems: ".weight" and ".bias" follow, `%zu` stands for the layer. The loader tries them with every
/// prefix of `prefixes`, and `weight` and `bias` also under LayerNorm's old names `gamma` and `beta`.
typedef struct uform_architecture_t {
    char const *name;                      ///< "bert"
    char const *const *model_types;        ///< `model_type` values of config.json, NULL-terminated
    char const *const *prefixes;           ///< "", "bert.", "model.", "0.auto_model.", ..., NULL-terminated
    char const *words, *positions, *types; ///< embedding tables, which have no bias
    char const *embedding_norm;
    char const *query, *key, *value; ///< linear layers
    char const *attention_output, *attention_norm;
    char const *feed_forward_up, *feed_forward_down, *feed_forward_norm;
    size_t first_position; ///< position of a text's first token
} uform_architecture_t;

extern uform_architecture_t const uform_architecture_bert_;

/// The descriptor for a `model_type`; NULL when there is none.
uform_architecture_t const *uform_architecture_find_(char const *model_type);

#endif
