/**
 *  Applies changes to copies of a model's directory, one at a time.
 */
#include "malformed/changes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

uform_status_t changes_load(workspace_t const *workspace) {
    uform_model_options_t const options = {.size = sizeof(options), .precision = uform_scalar_f32_k};
    uform_model_t model;
    uform_status_t const status = uform_model_load_ram(workspace->path, NULL, 0, &options, &model);
    assert_true((status == uform_status_ok_k) == (model != NULL));
    uform_model_free(model);
    return status;
}

/// All occurrences replaced; fails the test when there is none, for then the row tests nothing.
static unsigned char *substitute(unsigned char const *bytes, size_t *length, char const *find, char const *replace) {
    size_t const find_length = strlen(find), replace_length = strlen(replace);
    unsigned char *changed = malloc(*length * (replace_length + 1) + 1);
    size_t used = 0, found = 0;
    for (size_t i = 0; i < *length;) {
        if (i + find_length <= *length && !memcmp(bytes + i, find, find_length)) {
            memcpy(changed + used, replace, replace_length);
            used += replace_length, i += find_length, ++found;
        } else changed[used++] = bytes[i++];
    }
    if (!found) fail_msg("expected \"%s\" in the file", find);
    *length = used;
    return changed;
}

static void apply(workspace_t const *workspace, change_t const *change) {
    if (!change->replace) {
        workspace_remove(workspace, change->file);
        return;
    }
    if (!change->find) {
        workspace_write_text(workspace, change->file, change->replace);
        return;
    }
    size_t length;
    unsigned char *bytes = workspace_read(workspace, change->file, &length);
    unsigned char *changed = substitute(bytes, &length, change->find, change->replace);
    workspace_write(workspace, change->file, changed, length);
    free(changed);
    free(bytes);
}

/// Whether the detail is one line that holds the words and names the file. Rows whose words name another file stand for
/// themselves: the change shows where the changed file disagrees with it.
static bool detail_is_good(change_t const *change) {
    char const *detail = uform_last_detail();
    bool const elsewhere =
        strstr(change->words, "config.json") || strstr(change->words, "missing") || strstr(change->words, "shape");
    return strstr(detail, change->words) && (elsewhere || strstr(detail, change->file)) && !strpbrk(detail, "\n\r");
}

void changes_check(workspace_t const *workspace, char const *model, change_t const *changes, size_t count) {
    size_t failed = 0;
    for (size_t row = 0; row < count; ++row) {
        change_t const *change = &changes[row];
        workspace_copy_model(workspace, model);
        apply(workspace, change);
        uform_status_t const status = changes_load(workspace), expected = change->status;
        if (status == expected && (status == uform_status_ok_k || detail_is_good(change))) continue;
        print_error("%s, %s, %s: expected %s about \"%s\", found %s: %s\n", model, change->file,
            change->replace ? change->replace : "removed", uform_status_name(expected),
            change->words ? change->words : "", uform_status_name(status), status ? uform_last_detail() : "");
        ++failed;
    }
    assert_int_equal(failed, 0);
}
