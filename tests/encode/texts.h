/**
 *  Texts of many lengths for calls, made from a seed, and a model to give them to.
 */
#ifndef UFORM_TESTS_ENCODE_TEXTS_H
#define UFORM_TESTS_ENCODE_TEXTS_H

#include "uform/uform.h"

/// Fills [count] texts of up to `longest_words` words; `memory` is the caller's, [count * longest_words * 8] bytes.
void texts_make(uform_text_t *texts, size_t count, size_t longest_words, char *memory);

/// Loads tests/golden/models/<name>, failing the running test with the detail.
uform_model_t texts_load(char const *name, uform_scalar_t precision);

/// An executor of so many threads and a class (zero derives), failing the running test with the detail.
uform_executor_t texts_executor(size_t threads, uform_cpu_class_t cpu_class);

#endif
