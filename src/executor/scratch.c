/**
 *  Scratch: one block a thread, allocated by the thread that uses it, so that its pages are touched first where they
 *  are needed, also those that the heap had been using before. Nothing is copied when it grows: the contents are undefined between calls of `uform_scratch_`.
 */
#include "executor/scratch.h"

#include <stdint.h>

#include "base/detail.h"
#include "base/memory.h"
#include "executor/executor.h"

/// Sizes are rounded up to this, so that texts of slightly growing length don't reallocate each time.
enum { step_bytes_k = 64 << 10 };

void uform_scratch_release_(uform_scratch_slot_t *slot) {
    // The exchange comes before the release on every processor, so that a child forked at any point of this sees either
    // the block or an empty slot, never a pointer to freed memory.
    void *const memory = atomic_exchange(&slot->memory, NULL);
    slot->bytes = 0;
    uform_free_(memory);
}

void *uform_scratch_(uform_worker_t const *worker, size_t bytes) {
    uform_scratch_slot_t *const slot = worker->scratch;
    void *const kept = atomic_load_explicit(&slot->memory, memory_order_relaxed);
    if (kept && slot->bytes >= bytes) return kept;
    if (bytes > SIZE_MAX - step_bytes_k) {
        (void)uform_fail_(uform_status_out_of_memory_k, "scratch: %zu bytes are more than there can be", bytes);
        return NULL;
    }
    size_t const rounded = bytes / step_bytes_k * step_bytes_k + step_bytes_k;
    // The old block goes first, so that the peak is the new one alone.
    uform_scratch_release_(slot);
    void *const memory = uform_allocate_aligned_(rounded);
    if (!memory) return NULL;
    uform_untouch_(memory, rounded);
    slot->bytes = rounded;
    atomic_store(&slot->memory, memory);
    return memory;
}
