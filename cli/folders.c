/**
 *  A folder's names are read and the folder closed before those within it are opened, so depth costs no descriptors.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "folders.h"
#include "paths.h"
#include "progress.h"

/// How the files of pictures begin: `bytes` at `offset`, after `first` at the very beginning.
static struct beginning_t {
    char const *first;
    size_t first_length, offset;
    char const *bytes;
    size_t length;
} const beginnings[] = {
    {"\xFF\xD8\xFF", 3, 0, "", 0},
    {"\x89PNG\r\n\x1A\n", 8, 0, "", 0},
    {"GIF8", 4, 0, "", 0},
    {"II*\0", 4, 0, "", 0},
    {"MM\0*", 4, 0, "", 0},
    {"RIFF", 4, 8, "WEBP", 4},
    {"", 0, 4, "ftypavif", 8},
    {"", 0, 4, "ftypavis", 8},
    // Two letters are no evidence; the size of the header behind them is.
    {"BM", 2, 14, "\x0C\0\0\0", 4},
    {"BM", 2, 14, "\x28\0\0\0", 4},
    {"BM", 2, 14, "\x34\0\0\0", 4},
    {"BM", 2, 14, "\x38\0\0\0", 4},
    {"BM", 2, 14, "\x40\0\0\0", 4},
    {"BM", 2, 14, "\x6C\0\0\0", 4},
    {"BM", 2, 14, "\x7C\0\0\0", 4},
};

static char const *const endings[] = {
    ".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".webp", ".avif", ".gif", ".bmp", ".dib", ".tif", ".tiff"};

enum { beginning_bytes_k = 32 };

bool begins_as_picture_(unsigned char const *bytes, size_t length) {
    for (size_t row = 0; row != sizeof(beginnings) / sizeof(beginnings[0]); ++row) {
        struct beginning_t const *const beginning = &beginnings[row];
        if (length >= beginning->first_length && length >= beginning->offset + beginning->length &&
            memcmp(bytes, beginning->first, beginning->first_length) == 0 &&
            memcmp(bytes + beginning->offset, beginning->bytes, beginning->length) == 0)
            return true;
    }
    return false;
}

bool ends_as_picture_(char const *name) {
    size_t const length = strlen(name);
    for (size_t row = 0; row != sizeof(endings) / sizeof(endings[0]); ++row) {
        size_t const ending = strlen(endings[row]);
        if (length > ending && strcasecmp(name + length - ending, endings[row]) == 0) return true;
    }
    return false;
}

/// Whether a regular file is a picture. One that should be by its name is for its decoder to judge.
static bool is_picture(char const *path) {
    if (ends_as_picture_(path)) return true;
    unsigned char bytes[beginning_bytes_k];
    int const descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    ssize_t const length = descriptor < 0 ? -1 : read(descriptor, bytes, sizeof(bytes));
    if (descriptor >= 0) close(descriptor);
    return length > 0 && begins_as_picture_(bytes, (size_t)length);
}

static bool out_of_memory(void) {
    message_("not enough memory for the list of pictures");
    return false;
}

/// Appends a path, whose memory it takes over.
static bool append(paths_t *paths, char *path) {
    if (path && paths->count == paths->capacity) {
        size_t const capacity = paths->capacity ? 2 * paths->capacity : 256;
        char **const grown = realloc(paths->paths, capacity * sizeof(*grown));
        if (grown) paths->paths = grown, paths->capacity = capacity;
    }
    if (!path || paths->count == paths->capacity) return free(path), out_of_memory();
    paths->paths[paths->count++] = path;
    return true;
}

static int compare(void const *left, void const *right) {
    return strcmp(*(char *const *)left, *(char *const *)right);
}

void paths_sort_(paths_t *paths) {
    if (!paths->count) return;
    qsort(paths->paths, paths->count, sizeof(*paths->paths), compare);
    size_t kept = 1;
    for (size_t index = 1; index != paths->count; ++index)
        if (strcmp(paths->paths[index], paths->paths[kept - 1]) == 0) free(paths->paths[index]);
        else paths->paths[kept++] = paths->paths[index];
    paths->count = kept;
}

void paths_free_(paths_t *paths) {
    for (size_t index = 0; index != paths->count; ++index) free(paths->paths[index]);
    free(paths->paths);
    memset(paths, 0, sizeof(*paths));
}

/// The paths of what a folder holds, those aside whose names begin with a dot.
static bool list_folder(paths_t *listed, char const *folder, bool *listable) {
    DIR *const listing = opendir(folder);
    bool good = true;
    *listable = listing != NULL;
    errno = listing ? 0 : errno;
    for (struct dirent const *entry; listing && good && (entry = readdir(listing));)
        if (entry->d_name[0] != '.') good = append(listed, path_join_(folder, entry->d_name));
    *listable = *listable && (errno == 0 || !good);
    int const error = errno;
    if (listing) closedir(listing);
    errno = error;
    return good;
}

static bool complain(paths_t *paths, char const *path) {
    message_item_(NULL, path, status_of_error_(errno), strerror(errno));
    ++paths->failed_count;
    return true;
}

static bool walk(paths_t *paths, char const *folder) {
    paths_t listed = {0};
    bool listable = true;
    bool good = list_folder(&listed, folder, &listable);
    if (!listable) good = complain(paths, folder);
    paths_sort_(&listed);
    for (size_t index = 0; good && index != listed.count; ++index) {
        char const *const path = listed.paths[index];
        struct stat facts;
        // What a link points to may be gone, and a folder it points to may be one we are in.
        if (lstat(path, &facts) != 0) good = complain(paths, path);
        else if (S_ISDIR(facts.st_mode)) good = walk(paths, path);
        else if (S_ISLNK(facts.st_mode) && stat(path, &facts) != 0)
            good = !ends_as_picture_(path) || complain(paths, path);
        else if (S_ISREG(facts.st_mode) && is_picture(path)) good = append(paths, strdup(path));
    }
    paths_free_(&listed);
    return good;
}

bool paths_add_(paths_t *paths, char const *operand) {
    struct stat facts;
    if (stat(operand, &facts) != 0) return complain(paths, operand);
    if (S_ISDIR(facts.st_mode)) return walk(paths, operand);
    return append(paths, strdup(operand));
}
