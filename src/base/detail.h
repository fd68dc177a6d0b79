/**
 *  The words behind a failure. Every function that fails says why through `uform_fail_`, which returns the status it
 *  was given:
 *
 *      return uform_fail_(uform_status_malformed_k, "%s: %s: expected a positive integer, found %s", file, key, value);
 */
#ifndef UFORM_BASE_DETAIL_H
#define UFORM_BASE_DETAIL_H

#include <stdarg.h>

#include "uform/status.h"

/// Stores the sentence as the calling thread's last detail (cut at a character boundary) and returns `status`.
uform_status_t uform_fail_(uform_status_t status, char const *format, ...) __attribute__((format(printf, 2, 3)));

/// Puts `prefix` before the calling thread's last detail and returns `status`.
uform_status_t uform_fail_prefixed_(uform_status_t status, char const *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
