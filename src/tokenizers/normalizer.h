/**
 *  The `normalizer` of tokenizer.json: what happens to a text before it is divided
 *  into words. A list of steps, each of which reads UTF-8 and writes UTF-8.
 *
 *  Adding one: a row in the table of normalizer.c with a function that reads its keys and appends its steps.
 */
#ifndef UFORM_TOKENIZERS_NORMALIZER_H
#define UFORM_TOKENIZERS_NORMALIZER_H

#include "base/json.h"
#include "tokenizers/buffers.h"
#include "tokenizers/tokenizer.h"

typedef struct uform_normalizer_step_t uform_normalizer_step_t;

typedef struct uform_normalizer_t {
    uform_normalizer_step_t *steps; ///< [count], owned
    size_t count;
    size_t growth; ///< how many times longer replacements can make a text
    uform_tokenizer_settings_t settings;
} uform_normalizer_t;

/// What one thread normalizes with.
typedef struct uform_normalizer_work_t {
    uform_bytes_t bytes[2]; ///< the results of every other step
    uform_marks_t marks;
    bool moved; ///< the result doesn't begin with what the text's first character became
} uform_normalizer_work_t;

/// Reads the value of the key `normalizer`, NULL or null for none. `path` names the file in details. `lower_case` puts
/// a Lowercase before it unless it is one already or a Sequence that holds one. Like sentence-transformers, that looks
/// neither into Sequences in a Sequence nor at BertNormalizer's own `lowercase`.
uform_status_t uform_normalizer_load_(uform_json_t const *json, char const *path,
    uform_tokenizer_settings_t const *settings, uform_normalizer_t *normalizer);
void uform_normalizer_free_(uform_normalizer_t *normalizer);

/// Normalizes valid UTF-8. The result lies in `work`, until the next call. False without memory, with a detail.
bool uform_normalizer_run_(uform_normalizer_t const *normalizer, char const *text, size_t length,
    uform_normalizer_work_t *work, uform_bytes_t const **result);
void uform_normalizer_work_free_(uform_normalizer_work_t *work);

#endif
