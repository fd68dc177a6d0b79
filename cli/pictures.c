/**
 *  Files are read into memory rather than mapped: a mapped file that someone shortens ends the process.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pictures.h"
#include "progress.h"

enum { pictures_per_thread_k = 32, pictures_limit_k = 1024 };

/// Of one file; and of all that wait for a call: at least so many, and for each of them the size of a large photo.
static size_t const file_bytes_limit = (size_t)1 << 30, call_bytes_at_least = (size_t)64 << 20,
                    bytes_per_picture = (size_t)1 << 20;

size_t pictures_a_call_(setup_t const *setup) {
    size_t const wanted = pictures_per_thread_k * setup->executor_facts.threads;
    return wanted < pictures_limit_k ? wanted : pictures_limit_k;
}

bool pictures_open_(pictures_t *pictures, size_t limit) {
    memset(pictures, 0, sizeof(*pictures));
    pictures->limit = limit;
    pictures->images = calloc(limit, sizeof(*pictures->images));
    pictures->items = calloc(limit, sizeof(*pictures->items));
    if (pictures->images && pictures->items) return true;
    message_("not enough memory for %zu pictures", limit);
    pictures_close_(pictures);
    return false;
}

static picture_outcome_t refuse(uform_status_t reason, char const *words, uform_status_t *status, char *problem) {
    *status = reason;
    snprintf(problem, picture_problem_bytes_k, "%s", words);
    return picture_refused_k;
}

/// Reads up to `length` bytes; a file that became shorter gives what it has.
static bool read_fully(int descriptor, char *bytes, size_t *length) {
    size_t done = 0;
    while (done != *length) {
        ssize_t const count = read(descriptor, bytes + done, *length - done);
        if (count == 0) break;
        if (count > 0) done += (size_t)count;
        else if (errno != EINTR) return false;
    }
    *length = done;
    return true;
}

/// Takes what an open file holds.
static picture_outcome_t add_file(pictures_t *pictures, int descriptor, uform_status_t *status, char *problem) {
    struct stat facts;
    if (fstat(descriptor, &facts) != 0) return refuse(status_of_error_(errno), strerror(errno), status, problem);
    if (!S_ISREG(facts.st_mode))
        return refuse(uform_status_io_failed_k,
            S_ISDIR(facts.st_mode) ? "expected a file, found a directory" : "expected a file, found a device or pipe",
            status, problem);
    if ((uint64_t)facts.st_size > file_bytes_limit) {
        char words[96];
        snprintf(words, sizeof(words), "expected a picture of at most %zu bytes, found %lld", file_bytes_limit,
            (long long)facts.st_size);
        return refuse(uform_status_unsupported_k, words, status, problem);
    }
    size_t length = (size_t)facts.st_size;
    size_t const shared = pictures->limit * bytes_per_picture;
    size_t const limit = shared > call_bytes_at_least ? shared : call_bytes_at_least;
    if (pictures->count && pictures->bytes + length > limit) return picture_full_k;
    char *const bytes = malloc(length + 1);
    if (!bytes && pictures->count) return picture_full_k;
    if (!bytes) return refuse(uform_status_out_of_memory_k, strerror(ENOMEM), status, problem);
    if (!read_fully(descriptor, bytes, &length)) {
        free(bytes);
        return refuse(status_of_error_(errno), strerror(errno), status, problem);
    }
    pictures->images[pictures->count++] = (uform_image_t){.data = bytes, .length = length};
    pictures->bytes += length;
    return picture_added_k;
}

picture_outcome_t pictures_add_(pictures_t *pictures, char const *path, uform_status_t *status, char *problem) {
    if (pictures->count == pictures->limit) return picture_full_k;
    // Opening a pipe would wait for its other end.
    int const descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (descriptor < 0) return refuse(status_of_error_(errno), strerror(errno), status, problem);
    picture_outcome_t const outcome = add_file(pictures, descriptor, status, problem);
    close(descriptor);
    return outcome;
}

bool pictures_encode_(pictures_t *pictures, setup_t const *setup, void *rows) {
    if (!pictures->count) return true;
    uform_encode_report_t report = {.size = sizeof(report), .items = pictures->items};
    uform_status_t const status = uform_encode_images(setup->model, setup->executor, pictures->images, pictures->count,
        &setup->encoding, rows, setup->row_bytes, &report);
    if (status == uform_status_ok_k || report.failed_count) return true;
    message_status_(status);
    return false;
}

uform_status_t pictures_encode_again_(pictures_t *pictures, setup_t const *setup, size_t position, void *row) {
    return uform_encode_images(
        setup->model, setup->executor, &pictures->images[position], 1, &setup->encoding, row, 0, NULL);
}

uform_image_t pictures_take_(pictures_t *pictures) {
    uform_image_t const taken = pictures->images[--pictures->count];
    pictures->bytes -= taken.length;
    return taken;
}

void picture_free_(uform_image_t picture) {
    // The bytes are ours; the library only promises not to change them.
    union {
        void const *constant;
        void *ours;
    } const pointer = {.constant = picture.data};
    free(pointer.ours);
}

void pictures_clear_(pictures_t *pictures) {
    for (size_t position = 0; position != pictures->count; ++position) picture_free_(pictures->images[position]);
    pictures->count = pictures->bytes = 0;
}

void pictures_close_(pictures_t *pictures) {
    pictures_clear_(pictures);
    free(pictures->images);
    free(pictures->items);
    memset(pictures, 0, sizeof(*pictures));
}
