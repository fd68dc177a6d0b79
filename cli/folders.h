/**
 *  Pictures in folders: which files there are, in an order that is the same on every machine.
 */
#ifndef UFORM_CLI_FOLDERS_H
#define UFORM_CLI_FOLDERS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct paths_t {
    char **paths; ///< [count], each in memory of its own
    size_t count, capacity;
    size_t failed_count; ///< folders and files that couldn't be looked at; each had its message
} paths_t;

/// Adds a file as it is, or the pictures in a folder and in the folders within it. Names that begin with a dot are
/// passed over, and links to folders within one aren't followed. A file counts as a picture by how it begins, or by
/// the ending of its name. False, with a message, without memory.
bool paths_add_(paths_t *paths, char const *operand);

/// Sorts the paths by their bytes and drops those that are there twice.
void paths_sort_(paths_t *paths);

/// Whether bytes begin as a picture's file does, [length].
bool begins_as_picture_(unsigned char const *bytes, size_t length);

/// Whether a name ends as pictures' names do.
bool ends_as_picture_(char const *name);

void paths_free_(paths_t *paths);

#endif
