/**
 *  What is tried with any bytes at all that may be an image processor's configuration: reading them, and small pictures.
 */
#ifndef UFORM_TESTS_PREPROCESS_ATTEMPT_H
#define UFORM_TESTS_PREPROCESS_ATTEMPT_H

#include <stddef.h>
#include <stdint.h>

/// Parses the bytes as a configuration and, if they are one, preprocesses pictures of a few shapes with it. What is large is
/// skipped. Returns whether they were.
int attempt_config(uint8_t const *bytes, size_t length);

/// Takes numbers from the bytes for arithmetic, filter, sizes and window, resizes, and compares the best class with serial.
/// Returns whether they sufficed.
int attempt_resize(uint8_t const *bytes, size_t length);

#endif
