/**
 *  Fuzzes preprocessing: bytes that begin like an object are the configuration of an image processor, others tell the arithmetic,
 *  the filter, the sizes and the pixels of one resizing. tests/preprocess/test_mutations.c tries the same in every build.
 */
#include <stddef.h>
#include <stdint.h>

#include "preprocess/attempt.h"

int LLVMFuzzerTestOneInput(uint8_t const *bytes, size_t length);

int LLVMFuzzerTestOneInput(uint8_t const *bytes, size_t length) {
    if (length && bytes[0] == '{') attempt_config(bytes, length);
    else attempt_resize(bytes, length);
    return 0;
}
