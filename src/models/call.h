/**
 *  What a call's options come to, once the directory filled in the rest.
 */
#ifndef UFORM_MODELS_CALL_H
#define UFORM_MODELS_CALL_H

#include "images/decode.h"
#include "models/model.h"

/// What a call encodes.
typedef enum uform_modality_t {
    uform_modality_texts_k,
    uform_modality_images_k,
} uform_modality_t;

typedef struct uform_call_plan_t {
    uform_scalar_t scalar;
    size_t dimensions; ///< of an output row
    bool normalize;
    size_t normalized_dimensions; ///< numbers that are made a vector of length one before the rest is cut off
    uform_pooling_t pooling[8];   ///< [pooling_count] single modes
    size_t pooling_count;
    size_t pooled_width;   ///< width x pooling_count
    size_t dense_count;    ///< layers behind the pooling: a pooler is left out where pooling is another
    size_t skipped_tokens; ///< of a prompt that takes no part in the pooling
    uform_pooled_rows_t pooled;
    uform_tokenize_options_t tokenize;
    uform_decode_options_t decode;
} uform_call_plan_t;

/// Resolves the options of one call; NULL for the defaults. The detail names the option.
uform_status_t uform_call_plan_(
    uform_model_t model, uform_modality_t modality, uform_encode_options_t const *options, uform_call_plan_t *plan);

#endif
