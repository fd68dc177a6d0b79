/**
 *  Pictures made by the formula of tools/golden_pixels.py, checksums, and the classes to test.
 */
#ifndef UFORM_TESTS_PREPROCESS_PICTURES_H
#define UFORM_TESTS_PREPROCESS_PICTURES_H

#include <stddef.h>
#include <stdint.h>

#include "images/preprocess.h"

/// "noise", "extremes", "checkers" or "ramp", [height, width, 3]; the caller frees. Nothing may be read behind the last byte.
uint8_t *picture_new(char const *kind, size_t width, size_t height, uint32_t seed);

/// CRC-32 of zip files.
uint32_t checksum(void const *bytes, size_t length);

/// A file of tests/preprocess/expected, whole, with a NUL behind it; the caller frees.
char *expected_read(char const *name, size_t *length);

enum { kernels_limit_k = 32 };

/// Kernels of every class this machine offers that has a resampling of its own; returns how many.
size_t kernels_list(uform_kernels_t const *kernels[kernels_limit_k]);

#endif
