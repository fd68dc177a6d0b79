/**
 *  The `model` of tokenizer.json: dividing a word into pieces.
 *
 *  Adding one: one file that fills the functions below, and one row in the table of token_model.c.
 */
#ifndef UFORM_TOKENIZERS_TOKEN_MODEL_H
#define UFORM_TOKENIZERS_TOKEN_MODEL_H

#include "base/json.h"
#include "tokenizers/buffers.h"

typedef struct uform_token_model_kind_t {
    char const *type; ///< the key `type` of the file

    /// Whether a file that doesn't say its type is of this kind.
    bool (*recognize)(uform_json_t const *json);

    /// Reads the object under `model`. `where` begins details.
    uform_status_t (*load)(uform_json_t const *json, char const *where, void **state);
    void (*free)(void *state);

    /// The id of a token of the vocabulary. Eight bytes must be readable after `content`.
    bool (*find)(void const *state, char const *content, size_t length, uint32_t *id);

    /// Appends the ids of a word's pieces. The word is valid UTF-8, not empty, and eight bytes are readable after it.
    /// `scratch` is kept from word to word. False without memory, with a detail.
    bool (*split)(void const *state, char const *word, size_t length, uform_ids_t *scratch, uform_ids_t *ids);

    /// How many tokens the vocabulary has, and the largest id.
    void (*measure)(void const *state, size_t *count, uint32_t *largest_id);
} uform_token_model_kind_t;

typedef struct uform_token_model_t {
    uform_token_model_kind_t const *kind;
    void *state; ///< owned
} uform_token_model_t;

extern uform_token_model_kind_t const uform_token_model_wordpiece_;
extern uform_token_model_kind_t const uform_token_model_bpe_;
extern uform_token_model_kind_t const uform_token_model_unigram_;

uform_status_t uform_token_model_load_(uform_json_t const *json, char const *path, uform_token_model_t *model);
void uform_token_model_free_(uform_token_model_t *model);

#endif
