/**
 *  The `post_processor` of tokenizer.json: the special tokens around a text and the type of each token. Whatever its
 *  kind, it comes down to a template: a list of tokens, with one or more places for the text.
 *
 *  Adding one: a row in the table of post_processor.c with a function that puts its tokens around the template so far.
 */
#ifndef UFORM_TOKENIZERS_POST_PROCESSOR_H
#define UFORM_TOKENIZERS_POST_PROCESSOR_H

#include "base/json.h"
#include "tokenizers/buffers.h"

/// A place in the template.
typedef struct uform_template_item_t {
    bool is_text; ///< all tokens of the text, else the one with this id
    uint8_t type_id;
    uint32_t id;
} uform_template_item_t;

typedef struct uform_post_processor_t {
    uform_template_item_t *items; ///< [count], owned
    size_t count;
    size_t parts;        ///< post-processors it was made by
    size_t added_count;  ///< special tokens, which a limit leaves room for
    uint32_t largest_id; ///< of them
} uform_post_processor_t;

/// Reads the value of the key `post_processor`, NULL or null for none. `path` names the file in details.
uform_status_t uform_post_processor_load_(
    uform_json_t const *json, char const *path, uform_post_processor_t *post_processor);
void uform_post_processor_free_(uform_post_processor_t *post_processor);

#endif
