/**
 *  What the computing commands begin with: an executor, a model, and the options of its calls.
 */
#ifndef UFORM_CLI_SETUP_H
#define UFORM_CLI_SETUP_H

#include "options.h"

typedef struct setup_t {
    uform_executor_t executor;
    uform_executor_description_t executor_facts;
    uform_model_t model;
    uform_model_description_t model_facts;
    uform_encode_options_t encoding;
    uform_scalar_t scalar; ///< of the embeddings, never derived
    size_t dimensions;     ///< of the embeddings
    size_t row_bytes;
} setup_t;

/// Makes the executor and the model and tries the options on an empty text, so that what they get wrong is said before
/// anything is read or written. On failure a message has been written and there is nothing to close.
bool setup_open_(setup_t *setup, settings_t const *settings);

void setup_close_(setup_t *setup);

#endif
