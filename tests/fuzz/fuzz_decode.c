/**
 *  Any bytes are a picture or a status. The entry point of libFuzzer; replay.c calls it too.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/memory.h"
#include "images/decode.h"

enum { pixel_limit_k = 1 << 20 }; ///< small enough that no input takes long

int LLVMFuzzerTestOneInput(uint8_t const *data, size_t size);

int LLVMFuzzerTestOneInput(uint8_t const *data, size_t size) {
    static unsigned volatile sink;
    unsigned const choice = size ? data[size - 1] : 0; // which bits nothing else depends on in most formats
    uform_image_t const image = {.data = data, .length = size};
    uform_decode_options_t const options = {
        .pixel_limit = pixel_limit_k, .flatten = choice & 1, .ignore_orientation = choice & 2};
    uform_block_t buffer = {NULL, 0};
    uform_bitmap_t bitmap;
    uform_status_t const status = uform_decode_(&image, &options, &buffer, &bitmap);
    if (status && !*uform_last_detail()) abort();
    if (!status && bitmap.width > pixel_limit_k / bitmap.height) abort();
    unsigned sum = 0;
    if (!status)
        for (size_t i = 0; i < bitmap.width * bitmap.height * 3; ++i) sum += bitmap.pixels[i];
    sink = sink + sum;
    uform_free_(buffer.memory);
    return 0;
}
