/**
 *  Reading the kernel's files: their length is only known once they end, so the text grows as it is read.
 */
#include "cpu/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/detail.h"
#include "base/memory.h"

enum {
    path_bytes_k = 8192,
    first_bytes_k = 4096,
    last_bytes_k = 16 << 20, ///< a list of mounts can be long, but not endless
};

static uform_status_t read_all(int descriptor, char const *path, char **text) {
    size_t capacity = first_bytes_k, length = 0;
    char *memory = uform_allocate_(capacity, 1);
    if (!memory) return uform_status_out_of_memory_k;
    for (;;) {
        ssize_t const got = read(descriptor, memory + length, capacity - 1 - length);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) {
            memory[length] = '\0';
            *text = memory;
            if (got == 0) return uform_status_ok_k;
            uform_status_t const status = uform_fail_(uform_status_io_failed_k, "%s: %m", path);
            uform_free_(memory);
            *text = NULL;
            return status;
        }
        length += (size_t)got;
        if (length + 1 < capacity) continue;
        capacity *= 2;
        char *const larger = capacity <= last_bytes_k ? uform_reallocate_(memory, capacity, 1) : NULL;
        if (larger) {
            memory = larger;
            continue;
        }
        uform_free_(memory);
        if (capacity <= last_bytes_k) return uform_status_out_of_memory_k;
        return uform_fail_(
            uform_status_malformed_k, "%s: expected at most %d bytes, found more", path, (int)last_bytes_k);
    }
}

uform_status_t uform_kernel_file_read_(char const *root, char const *path, char **text) {
    *text = NULL;
    char whole[path_bytes_k];
    int const length = snprintf(whole, sizeof(whole), "%s%s", root, path);
    if (length < 0 || (size_t)length >= sizeof(whole))
        return uform_fail_(uform_status_not_found_k, "%.64s...: the path is too long", path);
    // Without O_NONBLOCK a named pipe in the place of a file would hang the caller for ever.
    int const descriptor = open(whole, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) {
        bool const absent = errno == ENOENT || errno == ENOTDIR;
        return uform_fail_(absent ? uform_status_not_found_k : uform_status_io_failed_k, "%s: %m", whole);
    }
    uform_status_t const status = read_all(descriptor, whole, text);
    close(descriptor);
    return status;
}
