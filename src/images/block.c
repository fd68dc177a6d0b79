/**
 *  Memory that grows to a high-water mark.
 */
#include "images/block.h"

#include "base/memory.h"

uform_status_t uform_block_reserve_(uform_block_t *block, size_t bytes) {
    if (block->memory && bytes <= block->bytes) return uform_status_ok_k;
    uform_block_free_(block);
    block->memory = uform_allocate_aligned_(bytes);
    if (!block->memory) return uform_status_out_of_memory_k;
    block->bytes = bytes;
    return uform_status_ok_k;
}

void uform_block_free_(uform_block_t *block) {
    uform_free_(block->memory);
    *block = (uform_block_t){0};
}
