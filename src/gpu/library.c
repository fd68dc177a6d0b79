/**
 *  Opening drivers and looking their functions up. No state but what the loader keeps.
 */
#include "gpu/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/detail.h"

void uform_gpu_explain_(uform_gpu_reason_t *reason, char const *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason->text, sizeof(reason->text), format, arguments);
    va_end(arguments);
}

/// Opens the first file there is. One that is there but can't be loaded is the better reason than one that is absent.
static uform_status_t open_first(
    char const *const *files, size_t file_count, void **library, char const **file, uform_gpu_reason_t *reason) {
    *library = NULL;
    bool explained = false;
    for (size_t i = 0; i < file_count && !*library; i++) {
        *file = files[i];
        errno = 0;
        *library = dlopen(files[i], RTLD_LAZY | RTLD_LOCAL);
        if (*library) break;
        if (errno == ENOMEM)
            return uform_fail_(uform_status_out_of_memory_k, "%s: no memory to open it with", files[i]);
        char const *const message = dlerror();
        bool const absent =
            message && !strncmp(message, files[i], strlen(files[i])) && strstr(message, strerror(ENOENT));
        if (!explained && (!absent || i == 0)) uform_gpu_explain_(reason, "%s", message ? message : files[i]);
        explained = explained || !absent;
    }
    return uform_status_ok_k;
}

uform_status_t uform_gpu_library_open_(char const *const *files, size_t file_count, uform_gpu_symbol_t const *symbols,
    size_t symbol_count, void *functions, char const **file, uform_gpu_reason_t *reason) {
    void *library;
    uform_status_t const status = open_first(files, file_count, &library, file, reason);
    bool complete = library != NULL;
    for (size_t i = 0; i < symbol_count && complete; i++) {
        // A function's address doesn't convert from an object's in standard C, but POSIX gives them one representation.
        void *const address = dlsym(library, symbols[i].name);
        memcpy((char *)functions + symbols[i].offset, &address, sizeof(address));
        complete = address || !symbols[i].required;
        if (!complete) uform_gpu_explain_(reason, "%s: too old or broken: it has no %s", *file, symbols[i].name);
    }
    if (!complete) *file = NULL;
    else reason->text[0] = '\0';
    return status;
}
