/**
 *  Memory. Everything goes through these, sizes are checked for overflow, and NULL with a detail is the answer to too
 *  much.
 */
#ifndef UFORM_BASE_MEMORY_H
#define UFORM_BASE_MEMORY_H

#include <stddef.h>

/// Zeroed array of `count` items of `item_bytes`; NULL (and a detail) when there is no memory or the product overflows.
/// A count of zero gives a valid pointer.
void *uform_allocate_(size_t count, size_t item_bytes);

/// Grows or shrinks an array made by `uform_allocate_`; the old one stays valid on failure. New items are not zeroed.
void *uform_reallocate_(void *memory, size_t count, size_t item_bytes);

/// Memory aligned to 64 bytes (2 MiB from 4 MiB on, so that huge pages can serve); contents undefined.
/// Free it with `uform_free_`.
void *uform_allocate_aligned_(size_t bytes);

void uform_free_(void *memory);

/// Gives back what whole pages lie within, so that whoever touches them first, and not who had them before, decides which
/// NUMA node they are on. The contents become undefined.
void uform_untouch_(void *memory, size_t bytes);

/// Zeroed pages of their own, aligned to a page (2 MiB from 4 MiB on), none of them touched yet.
/// Give them back with `uform_unmap_` and the same number of bytes; NULL is legal there.
void *uform_map_(size_t bytes);
void uform_unmap_(void *memory, size_t bytes);

#endif
