/**
 *  Memory that grows to a high-water mark and keeps nothing of what it held: what one thread decodes and resizes pictures through.
 */
#ifndef UFORM_IMAGES_BLOCK_H
#define UFORM_IMAGES_BLOCK_H

#include <stddef.h>

#include "uform/status.h"

/// Zeroed is a valid empty one.
typedef struct uform_block_t {
    void *memory; ///< aligned to 64 bytes
    size_t bytes;
} uform_block_t;

/// Makes the block at least this large; its contents become undefined. On failure it is empty.
uform_status_t uform_block_reserve_(uform_block_t *block, size_t bytes);
void uform_block_free_(uform_block_t *block);

#endif
