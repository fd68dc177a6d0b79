/**
 *  A temporary directory to put broken files into. Failures of the helpers fail the running test.
 */
#ifndef UFORM_TESTS_MALFORMED_WORKSPACE_H
#define UFORM_TESTS_MALFORMED_WORKSPACE_H

#include <stddef.h>

enum { workspace_path_bytes_k = 512 };

typedef struct workspace_t {
    char path[workspace_path_bytes_k];
} workspace_t;

/// cmocka's setup and teardown: `*state` is a `workspace_t`, whose directory exists in between.
int workspace_setup(void **state);
int workspace_teardown(void **state);

/// Writes [length] bytes, creating the folders the name needs; replaces what is there, a link itself and not its
/// target.
void workspace_write(workspace_t const *workspace, char const *name, void const *bytes, size_t length);
void workspace_write_text(workspace_t const *workspace, char const *name, char const *text);

/// Removes a file or a whole folder; "" empties the workspace.
void workspace_remove(workspace_t const *workspace, char const *name);

/// Makes the workspace a copy of tests/golden/models/<model>.
void workspace_copy_model(workspace_t const *workspace, char const *model);

/// The path of a file in the workspace; `buffer` has `workspace_path_bytes_k`.
char const *workspace_file(workspace_t const *workspace, char const *name, char *buffer);

/// Reads a file whole; the caller frees.
unsigned char *workspace_read(workspace_t const *workspace, char const *name, size_t *length);

#endif
