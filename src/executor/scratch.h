/**
 *  Scratch: one block a thread, grown to a high-water mark.
 */
#ifndef UFORM_EXECUTOR_SCRATCH_H
#define UFORM_EXECUTOR_SCRATCH_H

#include <stdatomic.h>
#include <stddef.h>

/// One thread's block. Zeroed is a valid empty one. Only its thread uses it; the pointer is atomic for the sake of a
/// child forked meanwhile, which releases what it sees.
typedef struct uform_scratch_slot_t {
    _Atomic(void *) memory; ///< [bytes], aligned to 64 bytes
    size_t bytes;
} uform_scratch_slot_t;

/// Gives the slot's memory back and empties it.
void uform_scratch_release_(uform_scratch_slot_t *slot);

#endif
