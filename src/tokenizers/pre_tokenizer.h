/**
 *  The `pre_tokenizer` of tokenizer.json: dividing a normalized text into words. A list of stages; each divides the
 *  spans of the one before it, or writes each of them anew. Words are handed out one at a time; only stages that write
 *  need memory, for one span each.
 *
 *  Adding one: a row in the table of pre_tokenizer.c with a function that appends its stages.
 */
#ifndef UFORM_TOKENIZERS_PRE_TOKENIZER_H
#define UFORM_TOKENIZERS_PRE_TOKENIZER_H

#include "base/json.h"
#include "tokenizers/buffers.h"
#include "tokenizers/patterns.h"
#include "tokenizers/span.h"
#include "uform/model.h"

enum {
    uform_pre_tokenizer_stages_limit_k = 8,
    uform_pre_tokenizer_literal_limit_k = 32, ///< bytes of a text that is looked for or put in
};

/// What becomes of the parts of a text that match, and those between them.
typedef enum uform_split_behavior_t {
    uform_split_removed_k,
    uform_split_isolated_k,
    uform_split_merged_with_previous_k,
    uform_split_merged_with_next_k,
    uform_split_contiguous_k,
} uform_split_behavior_t;

typedef enum uform_prepend_t {
    uform_prepend_never_k,
    uform_prepend_always_k,
    uform_prepend_first_k, ///< only to what the original text begins with
} uform_prepend_t;

typedef struct uform_pre_tokenizer_stage_t uform_pre_tokenizer_stage_t;

struct uform_pre_tokenizer_stage_t {
    /// Finds the next span in `rest` of the text and moves the start of `rest` behind it; false when there is none.
    bool (*next)(uform_pre_tokenizer_stage_t const *stage, char const *text, uform_span_t *rest, uform_span_t *span);

    /// Instead of it: appends what becomes of a span that isn't empty. `first` says that the original text begins with
    /// it. False without memory, with a detail.
    bool (*rewrite)(
        uform_pre_tokenizer_stage_t const *stage, char const *text, size_t length, bool first, uform_bytes_t *output);

    /// Of a split: the first match in `part`, an empty span at its end when there is none.
    uform_span_t (*find)(uform_pre_tokenizer_stage_t const *stage, char const *text, uform_span_t part);
    uform_split_behavior_t behavior;
    bool invert;                    ///< what matches and what doesn't change roles
    uint16_t flags;                 ///< of characters that match
    uform_pattern_t const *pattern; ///< that matches
    uform_prepend_t prepend;        ///< of a rewriting stage
    size_t literal_length;          ///< bytes of a text that matches, or that is put in
    char literal[uform_pre_tokenizer_literal_limit_k];
};

typedef struct uform_pre_tokenizer_t {
    uform_pre_tokenizer_stage_t stages[uform_pre_tokenizer_stages_limit_k];
    size_t count;                ///< zero: the whole text is one word
    size_t growth;               ///< how many times longer rewriting can make a text
    uform_switch_t prefix_space; ///< what goes before the file's `add_prefix_space` and `prepend_scheme`
} uform_pre_tokenizer_t;

/// What one thread rewrites with: the result of each stage.
typedef struct uform_words_work_t {
    uform_bytes_t rewritten[uform_pre_tokenizer_stages_limit_k];
} uform_words_work_t;

/// Where an iteration over the words of a text stands.
typedef struct uform_words_t {
    char const *texts[uform_pre_tokenizer_stages_limit_k];  ///< of each stage
    uform_span_t rests[uform_pre_tokenizer_stages_limit_k]; ///< what each stage has yet to divide
    bool first[uform_pre_tokenizer_stages_limit_k];         ///< the original text begins with the stage's text
    size_t stage;
    bool failed; ///< the words ended for lack of memory
    uform_words_work_t *work;
} uform_words_t;

/// Reads the value of the key `pre_tokenizer`, NULL or null for none. `path` names the file in details.
uform_status_t uform_pre_tokenizer_load_(
    uform_json_t const *json, char const *path, uform_switch_t prefix_space, uform_pre_tokenizer_t *pre_tokenizer);

/// Begins with the part `whole` of `text`, of valid UTF-8. `first` says that the original text begins with it.
static inline void uform_words_begin_(
    uform_words_t *words, char const *text, uform_span_t whole, bool first, uform_words_work_t *work) {
    words->texts[0] = text, words->rests[0] = whole, words->first[0] = first;
    words->stage = 0, words->failed = false, words->work = work;
}

/// The only span of a stage that rewrites; false without one.
bool uform_words_rewrite_(
    uform_pre_tokenizer_stage_t const *stage, uform_words_t *words, char const **text, uform_span_t *span);

/// The next word, never an empty one; false at the end, or when it failed. Eight bytes are readable after it.
static inline bool uform_words_next_(
    uform_pre_tokenizer_t const *pre_tokenizer, uform_words_t *words, char const **word, size_t *length) {
    uform_span_t span;
    if (!pre_tokenizer->count) {
        span = words->rests[0], words->rests[0].start = words->rests[0].end;
        return *word = words->texts[0] + span.start, *length = span.end - span.start, *length != 0;
    }
    for (;;) {
        size_t const at = words->stage;
        uform_pre_tokenizer_stage_t const *const stage = &pre_tokenizer->stages[at];
        char const *text = words->texts[at];
        bool const found = stage->rewrite ? uform_words_rewrite_(stage, words, &text, &span)
                                          : stage->next(stage, text, &words->rests[at], &span);
        if (found && at + 1 == pre_tokenizer->count)
            return *word = text + span.start, *length = span.end - span.start, true;
        if (found) {
            words->texts[at + 1] = text, words->rests[at + 1] = span;
            words->first[at + 1] = words->first[at] && !span.start;
            ++words->stage;
        } else if (!at || words->failed) return words->stage = 0, false;
        else --words->stage;
    }
}

void uform_words_work_free_(uform_words_work_t *work);

#endif
