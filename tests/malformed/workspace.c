/**
 *  A temporary directory to put broken files into.
 */
#include "malformed/workspace.h"

#include <errno.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static int remove_one(char const *path, struct stat const *facts, int kind, struct FTW *place) {
    (void)facts, (void)kind;
    return place->level ? remove(path) : 0;
}

int workspace_setup(void **state) {
    workspace_t *workspace = calloc(1, sizeof(*workspace));
    char const *parent = getenv("TMPDIR");
    if (!workspace) return -1;
    snprintf(workspace->path, sizeof(workspace->path), "%s/uform-malformed-XXXXXX", parent ? parent : "/tmp");
    *state = workspace;
    return mkdtemp(workspace->path) ? 0 : -1;
}

int workspace_teardown(void **state) {
    workspace_t *workspace = *state;
    nftw(workspace->path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    int const failed = rmdir(workspace->path);
    free(workspace);
    return failed;
}

char const *workspace_file(workspace_t const *workspace, char const *name, char *buffer) {
    int const length = snprintf(buffer, workspace_path_bytes_k, "%s/%s", workspace->path, name);
    assert_true(length > 0 && length < workspace_path_bytes_k);
    return buffer;
}

static void make_folders(char *path, size_t from) {
    for (char *slash = strchr(path + from, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(path, 0700) && errno != EEXIST) fail_msg("%s: %s", path, strerror(errno));
        *slash = '/';
    }
}

void workspace_write(workspace_t const *workspace, char const *name, void const *bytes, size_t length) {
    char path[workspace_path_bytes_k];
    workspace_file(workspace, name, path);
    make_folders(path, strlen(workspace->path) + 1);
    unlink(path);
    FILE *file = fopen(path, "wb");
    if (!file) fail_msg("%s: %s", path, strerror(errno));
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

void workspace_write_text(workspace_t const *workspace, char const *name, char const *text) {
    workspace_write(workspace, name, text, strlen(text));
}

void workspace_remove(workspace_t const *workspace, char const *name) {
    char path[workspace_path_bytes_k];
    workspace_file(workspace, name, path);
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    if (*name) assert_int_equal(remove(path), 0);
}

unsigned char *workspace_read(workspace_t const *workspace, char const *name, size_t *length) {
    char path[workspace_path_bytes_k];
    FILE *file = fopen(workspace_file(workspace, name, path), "rb");
    if (!file) fail_msg("%s: %s", path, strerror(errno));
    fseek(file, 0, SEEK_END);
    *length = (size_t)ftell(file);
    rewind(file);
    unsigned char *bytes = malloc(*length + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *length, file), *length);
    fclose(file);
    return bytes;
}

static workspace_t const *copy_target;
static size_t copy_root_length;

static int copy_one(char const *path, struct stat const *facts, int kind, struct FTW *place) {
    (void)facts;
    if (kind != FTW_F || !place->level) return 0;
    workspace_t source = {""};
    size_t length;
    snprintf(source.path, sizeof(source.path), "%.*s", (int)copy_root_length, path);
    unsigned char *bytes = workspace_read(&source, path + copy_root_length + 1, &length);
    workspace_write(copy_target, path + copy_root_length + 1, bytes, length);
    free(bytes);
    return 0;
}

void workspace_copy_model(workspace_t const *workspace, char const *model) {
    char path[workspace_path_bytes_k];
    snprintf(path, sizeof(path), "%s/golden/models/%s", UFORM_TESTS_DIRECTORY, model);
    copy_target = workspace, copy_root_length = strlen(path);
    workspace_remove(workspace, "");
    assert_int_equal(nftw(path, copy_one, 16, 0), 0);
}
