/**
 *  A driver's shared library, opened at run time so that UForm loads where there is none.
 */
#ifndef UFORM_GPU_LIBRARY_H
#define UFORM_GPU_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

#include "uform/status.h"

/// Why a driver is of no use, in a few words. Empty while it is.
typedef struct uform_gpu_reason_t {
    char text[256];
} uform_gpu_reason_t;

void uform_gpu_explain_(uform_gpu_reason_t *reason, char const *format, ...) __attribute__((format(printf, 2, 3)));

/// A function of the library and where its address goes.
typedef struct uform_gpu_symbol_t {
    char const *name;
    size_t offset; ///< of the pointer within the structure of them
    bool required;
} uform_gpu_symbol_t;

/// Opens the first of the files, [file_count], that there is and fills `functions`, a structure of function pointers,
/// with NULL for optional ones that are missing. Without a file or a required function: `ok`, a NULL `file`, and the
/// reason. The library stays open for the life of the process, as drivers keep threads.
uform_status_t uform_gpu_library_open_(char const *const *files, size_t file_count, uform_gpu_symbol_t const *symbols,
    size_t symbol_count, void *functions, char const **file, uform_gpu_reason_t *reason);

#endif
