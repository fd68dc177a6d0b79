/**
 *  Files and paths. A file is either mapped (weights: only the pages that are touched cost memory) or read whole
 *  (JSON).
 *
 *  A mapped file that another process truncates raises SIGBUS when the lost pages are touched; the system offers no
 *  defence that does not cost a copy, so weights must not be rewritten in place while they are being loaded.
 */
#ifndef UFORM_BASE_FILE_H
#define UFORM_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "uform/status.h"

/// A mapped file. Zeroed is a valid empty one.
typedef struct uform_file_t {
    unsigned char const *data; ///< [length], page-aligned; not NULL once mapped, even if empty
    size_t length;             ///< bytes
} uform_file_t;

/// Maps a regular file for reading. `not_found` when there is none, `io_failed` when it can't be read or isn't a
/// regular file, `malformed` when it is only a pointer of Git LFS.
uform_status_t uform_file_map_(char const *path, uform_file_t *file);
void uform_file_unmap_(uform_file_t *file);

/// Reads a regular file of at most `limit` bytes whole, into memory the caller frees with `uform_free_`; a NUL follows
/// the last byte. Statuses as for `uform_file_map_`, and `malformed` beyond the limit.
uform_status_t uform_file_read_(char const *path, size_t limit, char **text, size_t *length);

/// Whether the path names something that exists, whatever it is. Symbolic links are followed.
bool uform_file_exists_(char const *path);

/// `directory/name` in memory the caller frees with `uform_free_`; just `directory` for an empty name. NULL and a
/// detail without memory.
char *uform_path_join_(char const *directory, char const *name);

/// Whether a relative path spelled in a file can't lead out of the directory it is relative to: not absolute, no `..`
/// component. Symbolic links inside the directory are the owner's business: Hugging Face caches are made of them.
bool uform_path_stays_inside_(char const *path);

#endif
