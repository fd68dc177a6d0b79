/**
 *  Tokenizers read from tokenizer.json: normalise, pre-tokenise, split into the model's pieces, put the template
 *  around. Ids equal those of the `tokenizers` library on every text, in linear time.
 */
#ifndef UFORM_TOKENIZERS_TOKENIZER_H
#define UFORM_TOKENIZERS_TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "uform/model.h"

typedef struct uform_tokenizer_s *uform_tokenizer_t;

/// A token that another file of a directory names.
typedef struct uform_named_token_t {
    char *content; ///< [length], owned by whoever read it; NULL for none
    size_t length;
    bool special, single_word, lstrip, rstrip, normalized;
} uform_named_token_t;

/// What the other files of a directory say of its tokenizer. Zeroed leaves everything to tokenizer.json.
typedef struct uform_tokenizer_settings_t {
    /// sentence-transformers' do_lower_case: a Lowercase before the file's normalizer, which raw added tokens don't go
    /// through. See `uform_normalizer_load_`.
    bool lower_case;
    /// Switches of a BertNormalizer that tokenizer_config.json sets otherwise; auto follows tokenizer.json.
    uform_switch_t bert_lowercase, bert_strip_accents, bert_chinese;
    /// add_prefix_space of a ByteLevel or Metaspace, likewise.
    uform_switch_t prefix_space;
    /// split_special_tokens: special tokens typed in a text are ordinary text.
    uform_switch_t literal_specials;
    /// [token_count], added in this order where tokenizer.json has no added token of that content.
    uform_named_token_t const *tokens;
    size_t token_count;
} uform_tokenizer_settings_t;

/// Reads tokenizer.json. The detail names file, key and value. `settings` may be NULL.
uform_status_t uform_tokenizer_load_(
    char const *path, uform_tokenizer_settings_t const *settings, uform_tokenizer_t *tokenizer);

/// The same of a text; `path` only names it in details.
uform_status_t uform_tokenizer_parse_(char const *text, size_t length, char const *path,
    uform_tokenizer_settings_t const *settings, uform_tokenizer_t *tokenizer);
void uform_tokenizer_free_(uform_tokenizer_t tokenizer);

/// Ids below this are possible (vocabulary and added tokens); the model's embedding table must have as many rows.
size_t uform_tokenizer_vocabulary_count_(uform_tokenizer_t tokenizer);

/// The limit of the file's `truncation`, zero without one. `uform_tokenizer_run_` does not follow it: sentence-transformers and
/// transformers have limits of their own.
size_t uform_tokenizer_truncation_(uform_tokenizer_t tokenizer);

/// Whether the file's `truncation` drops tokens at the start of a long text.
bool uform_tokenizer_truncates_left_(uform_tokenizer_t tokenizer);

/// What the file's `padding` fills texts up with. `uform_tokenizer_run_` doesn't pad.
typedef struct uform_tokenizer_padding_t {
    bool found;     ///< the file has one
    bool left;      ///< tokens go before the text
    bool has_token; ///< and its token is known
    uint32_t token; ///< by its id
} uform_tokenizer_padding_t;

uform_tokenizer_padding_t uform_tokenizer_padding_(uform_tokenizer_t tokenizer);

/// Special tokens the template puts around every text.
size_t uform_tokenizer_special_count_(uform_tokenizer_t tokenizer);

/// Whether the template puts this token around texts, or it is an added token that is special.
bool uform_tokenizer_is_special_(uform_tokenizer_t tokenizer, uint32_t id);

/// The id of a token by its exact content (added tokens first, then the vocabulary); false without one.
bool uform_tokenizer_id_(uform_tokenizer_t tokenizer, char const *content, size_t length, uint32_t *id);

typedef struct uform_tokenize_options_t {
    size_t max_tokens; ///< special tokens included; zero for no limit
    bool truncate_left;
    bool literal_specials; ///< special tokens typed in the text are ordinary text
    char const *prefix;    ///< a prompt put before the text (before everything else); may be NULL
    size_t prefix_length;
} uform_tokenize_options_t;

/// Memory one thread tokenizes with: grows to a high-water mark,
/// reused from text to text. Zero it first, free it at the end.
typedef struct uform_tokenize_buffer_t {
    uint32_t *ids;     ///< [count]
    uint8_t *type_ids; ///< [count]
    size_t count;
    bool truncated; ///< the text had more tokens than the limit
    struct uform_tokenize_work_t *work;
} uform_tokenize_buffer_t;

/// Tokenizes one text of UTF-8 (NUL bytes allowed, invalid sequences replaced as Python's
/// "replace" does). The result is in the buffer until the next call with it. Fails only
/// without memory, or when `max_tokens` leaves no room for the special tokens.
uform_status_t uform_tokenizer_run_(uform_tokenizer_t tokenizer, char const *text, size_t length,
    uform_tokenize_options_t const *options, uform_tokenize_buffer_t *buffer);
void uform_tokenize_buffer_free_(uform_tokenize_buffer_t *buffer);

#endif
