/**
 *  The `pre_tokenizer` of tokenizer.json: dividing a normalized text into words. A list of stages; each divides the
 *  spans of the one before it. Words are handed out one at a time and need no memory.
 *
 *  Adding one: a row in the table of pre_tokenizer.c with a function that finds the next span.
 */
#ifndef UFORM_TOKENIZERS_PRE_TOKENIZER_H
#define UFORM_TOKENIZERS_PRE_TOKENIZER_H

#include "base/json.h"
#include "tokenizers/buffers.h"

enum { uform_pre_tokenizer_stages_limit_k = 8 };

/// A part of a text: [start, end), in bytes.
typedef struct uform_span_t {
    size_t start, end;
} uform_span_t;

/// Finds the next span in `rest` of the text and moves the start of `rest` behind it; false when there is none.
typedef bool (*uform_pre_tokenizer_stage_t)(char const *text, uform_span_t *rest, uform_span_t *span);

typedef struct uform_pre_tokenizer_t {
    uform_pre_tokenizer_stage_t stages[uform_pre_tokenizer_stages_limit_k];
    size_t count; ///< zero: the whole text is one word
} uform_pre_tokenizer_t;

/// Where an iteration over the words of a text stands.
typedef struct uform_words_t {
    char const *text;
    uform_span_t rests[uform_pre_tokenizer_stages_limit_k]; ///< what each stage has yet to divide
    size_t stage;
} uform_words_t;

/// Reads the value of the key `pre_tokenizer`, NULL or null for none. `path` names the file in details.
uform_status_t uform_pre_tokenizer_load_(
    uform_json_t const *json, char const *path, uform_pre_tokenizer_t *pre_tokenizer);

/// Begins with the part `whole` of `text`, of valid UTF-8.
static inline void uform_words_begin_(uform_words_t *words, char const *text, uform_span_t whole) {
    words->text = text, words->stage = 0, words->rests[0] = whole;
}

/// The next word, never an empty one; false at the end.
static inline bool uform_words_next_(
    uform_pre_tokenizer_t const *pre_tokenizer, uform_words_t *words, uform_span_t *word) {
    if (!pre_tokenizer->count) {
        *word = words->rests[0], words->rests[0].start = words->rests[0].end;
        return word->start < word->end;
    }
    for (;;) {
        if (pre_tokenizer->stages[words->stage](words->text, &words->rests[words->stage], word)) {
            if (words->stage + 1 == pre_tokenizer->count) return true;
            words->rests[++words->stage] = *word;
        } else if (words->stage-- == 0) return words->stage = 0, false;
    }
}

#endif
