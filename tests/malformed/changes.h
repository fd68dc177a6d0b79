/**
 *  Tables of broken directories: a good one with one file changed. Every row must end in its status, and the detail must name the
 *  file and the key at fault.
 */
#ifndef UFORM_TESTS_MALFORMED_CHANGES_H
#define UFORM_TESTS_MALFORMED_CHANGES_H

#include "malformed/workspace.h"
#include "uform/uform.h"

/// With `find`, every occurrence in the file is replaced; without, the whole file; without both, it is removed.
typedef struct change_t {
    char const *file, *find, *replace;
    uform_status_t status;
    char const *words; ///< what the detail must hold besides the file's name; NULL for a change that is fine
} change_t;

/// Loads the workspace in f32 and frees it.
uform_status_t changes_load(workspace_t const *workspace);

/// Tries all rows on copies of tests/golden/models/<model>, and fails the running test when some are not as they should.
void changes_check(workspace_t const *workspace, char const *model, change_t const *changes, size_t count);

#endif
