/**
 *  Comparing embeddings with what sentence-transformers gives.
 */
#include "golden/golden.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

void golden_compare(
    char const *what, float const *found, float const *expected, size_t count, golden_tolerance_t tolerance) {
    double product = 0, found_square = 0, expected_square = 0, difference = 0, largest = 1;
    for (size_t i = 0; i < count; ++i) {
        product += (double)found[i] * expected[i];
        found_square += (double)found[i] * found[i];
        expected_square += (double)expected[i] * expected[i];
        difference = fmax(difference, fabs((double)found[i] - expected[i]));
        largest = fmax(largest, fabs((double)expected[i]));
        if (!isfinite(found[i])) fail_msg("%s: number %zu is not finite", what, i);
    }
    double const cosine = product / sqrt(found_square * expected_square);
    if (!(cosine >= tolerance.cosine))
        fail_msg("%s: expected a cosine of at least %.7f, found %.7f", what, tolerance.cosine, cosine);
    if (!(difference <= tolerance.difference * largest))
        fail_msg("%s: expected numbers within %g, found a difference of %g", what, tolerance.difference * largest,
            difference);
}

uform_model_t golden_load(char const *directory, uform_scalar_t precision) {
    uform_model_options_t const options = {.size = sizeof(options), .precision = precision};
    uform_model_t model;
    uform_status_t const status = uform_model_load_ram(directory, NULL, 0, &options, &model);
    if (status != uform_status_ok_k) fail_msg("%s: %s: %s", directory, uform_status_name(status), uform_last_detail());
    return model;
}
