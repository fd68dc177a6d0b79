/**
 *  How large the frames of AV1 data are, before a decoder takes memory for them.
 */
#ifndef UFORM_IMAGES_AV1_H
#define UFORM_IMAGES_AV1_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// The largest frame that a sequence header at the begin of AV1 data allows; false where the data does not begin with a
/// whole one. Of several headers in the data the largest sizes count.
bool uform_av1_size_(uint8_t const *bytes, size_t length, uint64_t *width, uint64_t *height);

#endif
