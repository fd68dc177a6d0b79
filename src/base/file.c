/**
 *  Files through POSIX calls: open, fstat, mmap, read.
 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/detail.h"
#include "base/memory.h"

static uform_status_t fail_with_errno(char const *path) {
    bool const absent = errno == ENOENT || errno == ENOTDIR;
    return absent ? uform_fail_(uform_status_not_found_k, "%s: no such file", path)
                  : uform_fail_(uform_status_io_failed_k, "%s: %m", path);
}

/// What a checkout without Git LFS leaves in the place of a large file: a few lines that name it.
static uform_status_t refuse_pointer(char const *path, int descriptor, size_t length) {
    static char const begin[] = "version https://git-lfs.";
    enum { begin_bytes_k = sizeof(begin) - 1, pointer_limit_k = 1024 };
    char found[begin_bytes_k];
    if (length >= pointer_limit_k || pread(descriptor, found, begin_bytes_k, 0) != begin_bytes_k)
        return uform_status_ok_k;
    if (memcmp(found, begin, begin_bytes_k) != 0) return uform_status_ok_k;
    return uform_fail_(uform_status_malformed_k,
        "%s: expected the file itself, found the pointer to it that Git LFS leaves: git lfs pull fetches files", path);
}

static uform_status_t open_regular(char const *path, int *descriptor, size_t *length) {
    // Without O_NONBLOCK a named pipe in the place of a file would hang the caller for ever.
    *descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (*descriptor < 0) return fail_with_errno(path);
    struct stat facts;
    uform_status_t status = uform_status_ok_k;
    if (fstat(*descriptor, &facts) != 0) status = fail_with_errno(path);
    else if (!S_ISREG(facts.st_mode))
        status = uform_fail_(uform_status_io_failed_k, "%s: expected a regular file, found %s", path,
            S_ISDIR(facts.st_mode) ? "a directory" : "a device, pipe or socket");
    else status = refuse_pointer(path, *descriptor, *length = (size_t)facts.st_size);
    if (status != uform_status_ok_k) close(*descriptor);
    return status;
}

uform_status_t uform_file_map_(char const *path, uform_file_t *file) {
    *file = (uform_file_t){0};
    int descriptor = -1;
    size_t length = 0;
    uform_status_t status = open_regular(path, &descriptor, &length);
    if (status != uform_status_ok_k) return status;
    if (!length) file->data = (unsigned char const *)"";
    else {
        void *data = mmap(NULL, length, PROT_READ, MAP_PRIVATE, descriptor, 0);
        if (data == MAP_FAILED) status = fail_with_errno(path);
        else *file = (uform_file_t){data, length};
    }
    close(descriptor);
    return status;
}

void uform_file_unmap_(uform_file_t *file) {
    if (file->length) munmap((void *)(uintptr_t)file->data, file->length);
    *file = (uform_file_t){0};
}

/// Reads until `length` bytes or the end of the file, which may have been cut since its length was asked.
static uform_status_t read_all(int descriptor, char const *path, char *text, size_t *length) {
    size_t done = 0;
    while (done < *length) {
        ssize_t const got = read(descriptor, text + done, *length - done);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return fail_with_errno(path);
        if (got == 0) break;
        done += (size_t)got;
    }
    *length = done;
    return uform_status_ok_k;
}

uform_status_t uform_file_read_(char const *path, size_t limit, char **text, size_t *length) {
    *text = NULL, *length = 0;
    int descriptor = -1;
    size_t bytes = 0;
    uform_status_t status = open_regular(path, &descriptor, &bytes);
    if (status != uform_status_ok_k) return status;
    char *memory = NULL;
    if (bytes > limit)
        status = uform_fail_(uform_status_malformed_k, "%s: expected at most %zu bytes, found %zu", path, limit, bytes);
    else if (!(memory = uform_allocate_(bytes + 1, 1))) status = uform_status_out_of_memory_k;
    else status = read_all(descriptor, path, memory, &bytes);
    close(descriptor);
    if (status != uform_status_ok_k) {
        uform_free_(memory);
        return status;
    }
    memory[bytes] = '\0';
    *text = memory, *length = bytes;
    return uform_status_ok_k;
}

bool uform_file_exists_(char const *path) {
    struct stat facts;
    return stat(path, &facts) == 0;
}

char *uform_path_join_(char const *directory, char const *name) {
    size_t const directory_length = strlen(directory), name_length = strlen(name);
    char *path = uform_allocate_(directory_length + name_length + 2, 1);
    if (!path) return NULL;
    memcpy(path, directory, directory_length);
    size_t used = directory_length;
    if (name_length && used && path[used - 1] != '/') path[used++] = '/';
    memcpy(path + used, name, name_length);
    return path;
}

bool uform_path_stays_inside_(char const *path) {
    if (*path == '/') return false;
    while (*path) {
        size_t const length = strcspn(path, "/");
        if (length == 2 && !memcmp(path, "..", 2)) return false;
        path += length;
        path += *path == '/';
    }
    return true;
}
