/**
 *  The regular expressions tokenizer.json files divide texts by. There is no engine behind them: each known expression is
 * a row of settings of one matcher, which reads every character a bounded number of times.
 *
 *  Adding one: a row in the table of patterns.c, with the expression as files spell it.
 */
#ifndef UFORM_TOKENIZERS_PATTERNS_H
#define UFORM_TOKENIZERS_PATTERNS_H

#include <stddef.h>

#include "tokenizers/span.h"

typedef struct uform_pattern_t uform_pattern_t;

/// The pattern a regular expression of [length] bytes stands for; NULL when it isn't known.
uform_pattern_t const *uform_pattern_known_(char const *expression, size_t length);

/// GPT-2's, which the ByteLevel pre-tokenizer has built in.
uform_pattern_t const *uform_pattern_gpt2_(void);

/// The first match in a part of a text of valid UTF-8; an empty span at its end when there is none.
uform_span_t uform_pattern_find_(uform_pattern_t const *pattern, char const *text, uform_span_t part);

#endif
