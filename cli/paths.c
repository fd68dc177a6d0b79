/**
 *  Only folders are resolved: a picture may be a link to a file of another name, and is known by its own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "paths.h"

char const *path_name_(char const *path) {
    char const *const slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

char *path_folder_(char const *path) {
    char const *const slash = strrchr(path, '/');
    char *const folder = !slash ? strdup(".") : slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
    char *const resolved = folder ? realpath(folder, NULL) : NULL;
    free(folder);
    return resolved;
}

char *path_join_(char const *folder, char const *name) {
    size_t length = strlen(folder);
    while (length && folder[length - 1] == '/') --length;
    char *path = NULL;
    return asprintf(&path, "%.*s/%s", (int)length, folder, name) < 0 ? NULL : path;
}

char *path_from_root_(char const *path) {
    char *const folder = path_folder_(path);
    char *const full = folder ? path_join_(folder, path_name_(path)) : NULL;
    free(folder);
    return full;
}
