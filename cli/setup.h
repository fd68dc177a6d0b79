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

/// The towers a command can't do without; bits.
enum { setup_texts_k = 1, setup_images_k = 2 };

/// Those that every item of an input needs: lines and texts that end in NUL the one, paths the other.
unsigned setup_towers_of_(settings_t const *settings);

/// Makes the executor and the model and tries the options on an empty text, or a small picture, so that what they get
/// wrong is said before anything is read or written. On failure a message has been written and there is nothing to
/// close.
bool setup_open_(setup_t *setup, settings_t const *settings, unsigned towers);

/// What the model makes of a picture that is always the same, by which it is known again whatever its directory is
/// called: [dimensions] of the type the embeddings have.
uform_status_t setup_probe_(setup_t const *setup, float *vector);

void setup_close_(setup_t *setup);

#endif
