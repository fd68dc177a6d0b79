/**
 *  What the tests of tokenizers share: the golden files, tokenizers made of them, hashes of ids.
 */
#ifndef UFORM_TESTS_TOKENIZERS_TOKENIZER_TEST_H
#define UFORM_TESTS_TOKENIZERS_TOKENIZER_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/json.h"
#include "tokenizers/tokenizer.h"

/// Reads tests/golden/tokenizers/<name>. Close it with `uform_json_close_`.
uform_json_document_t golden_open(char const *name);

/// Loads the variant of that name, or a tokenizer.json whose text
/// this is; "@name" in it stands for the golden file name.json.
uform_tokenizer_t golden_tokenizer(char const *variant, bool lower_case);
uform_status_t tokenizer_from_text(char const *text, size_t length, bool lower_case, uform_tokenizer_t *tokenizer);

/// The tokenizer of a golden run: its variant, lowercasing if the run does.
uform_tokenizer_t golden_run_tokenizer(uform_json_t const *run);

/// The options written beside a golden run.
uform_tokenize_options_t golden_options(uform_json_t const *run);

/// A text of the golden files, in memory the caller frees.
char *golden_text(uform_json_t const *json, size_t *length);

/// Checks every run of a file of cases. Its variants are taken from variants.json unless `tokenizer` is given.
void check_cases(char const *name, uform_tokenizer_t tokenizer);

/// FNV-1a over ids and an end mark; begin with zero.
uint64_t hash_ids(uint64_t hash, uint32_t const *ids, size_t count);

/// splitmix64: a number below `limit`.
uint64_t random_below(uint64_t *state, uint64_t limit);

#endif
