/**
 *  Random raw pictures for tests of calls on images, and the tiny models of tests/golden/vision.
 */
#ifndef UFORM_TESTS_ENCODE_PICTURES_H
#define UFORM_TESTS_ENCODE_PICTURES_H

#include <stddef.h>

#include "uform/uform.h"

enum { pictures_side_k = 64 }; ///< at most, either way

/// Fills in [count] pictures of all raw layouts and of sides up to `pictures_side_k`; `memory` holds
/// [count, pictures_side_k, pictures_side_k, 4] bytes. The same ones every time.
void pictures_make(uform_image_t *pictures, size_t count, unsigned char *memory);

/// Loads a model of tests/golden/vision/models, failing the running test with the detail.
uform_model_t pictures_load(char const *name, uform_scalar_t precision);

#endif
