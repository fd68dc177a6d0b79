/**
 *  Makes allocations fail on purpose. A program that links allocation.c has its own malloc, calloc, realloc,
 *  posix_memalign, aligned_alloc and memalign, which count and forward to the C library's. Not for sanitizer builds,
 *  which bring their own.
 *
 *      for (size_t nth = 1;; nth++) {
 *          faults_arm(nth, false);
 *          uform_status_t const status = the_call(&object);
 *          if (!faults_disarm()) break;   // the call needs fewer allocations: all of them were made to fail once
 *          assert_int_equal(status, uform_status_out_of_memory_k);
 *      }
 */
#ifndef UFORM_TESTS_FAULTS_ALLOCATION_H
#define UFORM_TESTS_FAULTS_ALLOCATION_H

#include <stdbool.h>
#include <stddef.h>

/// Has the `nth` allocation from now on fail, on whatever thread; the first is 1. With `persistent`, all after it too.
void faults_arm(size_t nth, bool persistent);

/// Ends that, and tells whether any allocation failed.
bool faults_disarm(void);

/// Allocations since `faults_arm`, failed ones included.
size_t faults_count(void);

#endif
