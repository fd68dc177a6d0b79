/**
 *  Arenas: blocks of memory placed where an executor computes, given out from front to back.
 *
 *  Memory layout: a list of blocks, the latest first, each a header apart from its memory, which is pages of its own. A
 *  reset leaves one block, with room for the most that was in use at once.
 */
#include <stdbool.h>

#include "base/detail.h"
#include "base/memory.h"
#include "executor/ram.h"

typedef struct block_t {
    struct block_t *next;
    unsigned char *memory; ///< [bytes]
    size_t bytes, used;
} block_t;

struct uform_arena_s {
    struct uform_executor_s *executor; ///< a reference for its placement, or NULL
    block_t *blocks;
    size_t alignment; ///< the largest that was asked for: a block may begin with a gap as large
};

enum { default_alignment_k = 64 };

static void free_blocks(block_t *block) {
    while (block) {
        block_t *const next = block->next;
        uform_domains_unmap_(block->memory, block->bytes);
        uform_free_(block);
        block = next;
    }
}

/// Lists a new block.
static uform_status_t add_block(uform_arena_t arena, size_t bytes) {
    static uform_domains_t const nowhere;
    uform_domains_t const *const domains = arena->executor ? &arena->executor->placement.memory_domains : &nowhere;
    void *memory;
    block_t *const block = uform_allocate_(1, sizeof(*block));
    if (!block) return uform_status_out_of_memory_k;
    uform_status_t const status = uform_domains_map_(domains, bytes, &memory);
    if (status != uform_status_ok_k) {
        uform_free_(block);
        return status;
    }
    *block = (block_t){arena->blocks, memory, bytes, 0};
    arena->blocks = block;
    return uform_status_ok_k;
}

static size_t bytes_of(uform_arena_t arena) {
    size_t bytes = 0;
    for (block_t const *block = arena->blocks; block; block = block->next) bytes += block->bytes;
    return bytes;
}

/// Lists a block of at least so many bytes, and as many as there are already, so that blocks stay few.
static uform_status_t grow(uform_arena_t arena, size_t bytes) {
    size_t const present = bytes_of(arena);
    if (present > bytes && add_block(arena, present) == uform_status_ok_k) return uform_status_ok_k;
    return add_block(arena, bytes ? bytes : 1);
}

uform_status_t uform_arena_new_in(uform_executor_t executor, size_t bytes, uform_arena_t *arena) {
    if (!arena) return uform_fail_(uform_status_invalid_argument_k, "arena: expected a pointer, found NULL");
    *arena = NULL;
    uform_arena_t const made = uform_allocate_(1, sizeof(*made));
    if (!made) return uform_status_out_of_memory_k;
    made->executor = executor;
    made->alignment = default_alignment_k;
    uform_status_t const status = bytes ? grow(made, bytes) : uform_status_ok_k;
    if (status != uform_status_ok_k) {
        uform_free_(made);
        return status;
    }
    if (executor) uform_executor_retain_(executor);
    *arena = made;
    return status;
}

/// Takes a piece out of the block, NULL if it has no room for it.
static void *take(block_t *block, size_t bytes, size_t alignment) {
    uintptr_t const free = (uintptr_t)block->memory + block->used;
    size_t const gap = (size_t)(-free & (alignment - 1));
    size_t const room = block->bytes - block->used;
    if (gap > room || bytes > room - gap) return NULL;
    block->used += gap + bytes;
    return block->memory + (block->used - bytes);
}

uform_status_t uform_arena_allocate(uform_arena_t arena, size_t bytes, size_t alignment, void **memory) {
    if (!memory) return uform_fail_(uform_status_invalid_argument_k, "memory: expected a pointer, found NULL");
    *memory = NULL;
    if (!arena) return uform_fail_(uform_status_invalid_argument_k, "arena: expected one, found NULL");
    if (!alignment) alignment = default_alignment_k;
    if (alignment & (alignment - 1))
        return uform_fail_(
            uform_status_invalid_argument_k, "alignment: expected zero or a power of two, found %zu", alignment);
    for (block_t *block = arena->blocks; block && !*memory; block = block->next)
        *memory = take(block, bytes, alignment);
    if (*memory) return uform_status_ok_k;
    if (alignment > SIZE_MAX - bytes)
        return uform_fail_(uform_status_out_of_memory_k, "bytes: %zu are more than there can be", bytes);
    if (alignment > arena->alignment) arena->alignment = alignment;
    // Blocks begin at a cache line; what is aligned beyond that may need a gap.
    uform_status_t const status = grow(arena, alignment > default_alignment_k ? bytes + alignment : bytes);
    if (status == uform_status_ok_k) *memory = take(arena->blocks, bytes, alignment);
    return status;
}

uform_status_t uform_arena_reset(uform_arena_t arena) {
    if (!arena) return uform_fail_(uform_status_invalid_argument_k, "arena: expected one, found NULL");
    block_t *const blocks = arena->blocks;
    bool const grown = blocks && blocks->next;
    size_t used = 0;
    for (block_t *block = blocks; block; block = block->next) {
        // The same pieces in one block may need a gap where another block began.
        used += block->used + arena->alignment;
        block->used = 0;
    }
    if (!grown) return uform_status_ok_k;
    // The old blocks go first, so that the peak is the new one alone.
    arena->blocks = NULL;
    free_blocks(blocks);
    return grow(arena, used);
}

void uform_arena_free(uform_arena_t arena) {
    if (!arena) return;
    free_blocks(arena->blocks);
    if (arena->executor) uform_executor_drop_(arena->executor);
    uform_free_(arena);
}
