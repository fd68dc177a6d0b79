/**
 *  UTF-8: one character at a time, strict (no overlong forms, no surrogates, nothing beyond U+10FFFF).
 */
#ifndef UFORM_BASE_UTF8_H
#define UFORM_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/// Bytes of the valid character `text` begins with, of [length] bytes; zero when there is none.
size_t uform_utf8_valid_length_(char const *text, size_t length);

/// Writes a code point (a scalar value) in at most four bytes and returns how many.
size_t uform_utf8_encode_(uint32_t code_point, char *output);

#endif
