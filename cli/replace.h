/**
 *  Files that appear whole or not at all: written beside their place under a name of their own, and renamed at the end.
 */
#ifndef UFORM_CLI_REPLACE_H
#define UFORM_CLI_REPLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct replacement_t {
    char const *option; ///< that named the file, for messages
    char *path;         ///< the file to be replaced, links resolved
    char *temporary;    ///< where it is written until then
    FILE *stream;
    bool failed; ///< a message has been written
} replacement_t;

/// Has a file removed when a signal ends the process, until it is forgotten. The path must live until then.
void replace_watch_(char const *temporary);
void replace_forget_(char const *temporary);

/// Begins to write a file. One that exists and isn't empty is replaced only if it begins with `signature`, whatever the
/// case of its letters: a mistyped name must not cost a picture. On failure a message has been written.
bool replace_open_(replacement_t *replacement, char const *option, char const *path, char const *signature);

/// Appends bytes. The first failure writes a message, further calls do nothing.
bool replace_write_(replacement_t *replacement, void const *bytes, size_t length);

/// Fails for a reason of the caller's, which a message tells.
bool replace_fail_(replacement_t *replacement, char const *problem);

/// Overwrites bytes that were written before.
bool replace_rewrite_(replacement_t *replacement, uint64_t offset, void const *bytes, size_t length);

/// The folder of the file that is being written, links resolved, in memory of its own. NULL, with a message, on failure.
char *replace_folder_(replacement_t *replacement);

/// Puts the file in its place, if nothing failed.
bool replace_commit_(replacement_t *replacement);

/// Forgets the file, as if it had never been begun.
void replace_abandon_(replacement_t *replacement);

#endif
