/**
 *  The `added_tokens` of tokenizer.json: tokens found in a text before it is divided into words. Some are looked for in
 *  the text as it is, the others (`normalized`) in what the normalizer made of the parts between those. At every
 *  position the longest token wins, and the search goes on behind it.
 */
#ifndef UFORM_TOKENIZERS_ADDED_TOKENS_H
#define UFORM_TOKENIZERS_ADDED_TOKENS_H

#include "base/json.h"
#include "tokenizers/automaton.h"
#include "tokenizers/token_model.h"
#include "tokenizers/normalizer.h"
#include "tokenizers/pre_tokenizer.h"
#include "tokenizers/token_map.h"
#include "tokenizers/tokenizer.h"

typedef struct uform_added_token_t {
    uint32_t id;
    uint32_t length;  ///< bytes of the text it is found by
    bool special;     ///< counted as special by its content, even if a later entry says otherwise
    bool single_word; ///< only where no word character touches it
    bool lstrip;      ///< takes the white space before it
    bool rstrip;      ///< takes the white space behind it
    bool normalized;  ///< found in the normalized text
} uform_added_token_t;

/// Tokens looked for in the same text.
typedef struct uform_token_set_t {
    uform_automaton_t automaton;
    bool begins[256]; ///< the bytes tokens begin with
} uform_token_set_t;

typedef struct uform_added_tokens_t {
    uform_added_token_t *tokens; ///< [count], owned
    size_t count;
    uform_token_map_t ids; ///< of contents
    uform_token_set_t raw, normalized;
    uint32_t largest_id;
} uform_added_tokens_t;

/// A token found at a position of a text.
typedef struct uform_token_match_t {
    size_t position;
    uint32_t token;
} uform_token_match_t;

/// Where a search for tokens in a text stands.
typedef struct uform_token_search_t {
    uform_token_match_t *matches; ///< [capacity], owned, kept from text to text; the next one is the last
    size_t count, capacity;
    size_t found_end;   ///< where the last match ended
    size_t done;        ///< the parts handed out end here
    uform_span_t white; ///< the white space last skipped
    bool has_token;     ///< a token waits to be handed out after the text before it
    uform_span_t token_span;
    uint32_t token_id;
} uform_token_search_t;

/// Reads the value of the key `added_tokens`, NULL or null for none, and then adds those of [more_count] named ones that are not
/// among them. Ids are given as the library does: those of the model, then numbers from the size of its vocabulary on; the file's
/// own are checked, then ignored.
uform_status_t uform_added_tokens_load_(uform_json_t const *json, char const *path, uform_token_model_t const *model,
    uform_normalizer_t const *normalizer, uform_named_token_t const *more, size_t more_count,
    uform_added_tokens_t *added);
void uform_added_tokens_free_(uform_added_tokens_t *added);

/// Begins a search. False without memory, with a detail.
bool uform_token_search_begin_(
    uform_token_set_t const *set, char const *text, size_t length, uform_token_search_t *search);

/// Hands out the next part of the text, never an empty one: a token
/// (`is_token`) or what lies between tokens. False at the end.
bool uform_token_search_next_(uform_added_tokens_t const *added, char const *text, size_t length, bool literal_specials,
    uform_token_search_t *search, uform_span_t *part, bool *is_token, uint32_t *id);
void uform_token_search_free_(uform_token_search_t *search);

#endif
