/**
 *  Finding ForkUnion's C functions. Two generations of names: version 2 counts threads with `fu_pool_count_threads`
 *  and returns nothing from `fu_pool_for_threads`; later versions count with `fu_pool_threads_count`, and both answer a
 *  status, whose names `fu_status_to_string` gives. A library stays open once opened, as its pools' threads run in it.
 */
#include "executor/forkunion.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/detail.h"

static char const library_variable[] = "UFORM_FORKUNION_LIBRARY";

/// By release.
static char const *const library_names[] = {
#if defined(__APPLE__)
    "libfork_union_dynamic.dylib",
    "libforkunion_dynamic.dylib",
#else
    "libfork_union_dynamic.so",
    "libforkunion_dynamic.so",
#endif
};

enum { library_count_k = sizeof(library_names) / sizeof(*library_names) };

/// What later versions answer for a pool without threads.
enum { not_spawned_k = -7 };

typedef void (*function_t)(void);

// Weak references don't ask for a library, but see what is linked into the same program, which dlsym doesn't unless the
// program exports it. Their types are those of version 2.
#if defined(__ELF__)
extern char const *fu_status_to_string(int status) __attribute__((weak));
extern int fu_pool_threads_count(void *pool, size_t *threads) __attribute__((weak));
extern size_t fu_pool_count_threads(void *pool) __attribute__((weak));
extern void fu_pool_for_threads(void *pool, uform_forkunion_share_t share, void *context) __attribute__((weak));
#endif

static struct {
    char const *name;
    function_t function;
} const linked[] = {
#if defined(__ELF__)
    {"fu_status_to_string", (function_t)fu_status_to_string},
    {"fu_pool_threads_count", (function_t)fu_pool_threads_count},
    {"fu_pool_count_threads", (function_t)fu_pool_count_threads},
    {"fu_pool_for_threads", (function_t)fu_pool_for_threads},
#endif
    {NULL, NULL},
};

/// Its address stands for the program itself where a library is asked for.
static char own_program[1];

/// Copies the address into a pointer to a function. Whether it was found.
static bool find(void *library, char const *name, void *function) {
    function_t found = NULL;
    if (library == own_program) {
        for (size_t i = 0; linked[i].name && !found; i++)
            if (!strcmp(linked[i].name, name)) found = linked[i].function;
    } else {
        void *const address = dlsym(library, name);
        memcpy(&found, &address, sizeof(found));
    }
    memcpy(function, &found, sizeof(found));
    return found != NULL;
}

/// Fills the functions in from a library, or says which one it lacks; NULL if it has all.
static char const *fill(void *library, uform_forkunion_t *functions) {
    *functions = (uform_forkunion_t){0};
    function_t unused;
    bool const answers = find(library, "fu_status_to_string", &unused);
    if (answers && !find(library, "fu_pool_threads_count", &functions->count_or_fail)) return "fu_pool_threads_count";
    if (!answers && !find(library, "fu_pool_count_threads", &functions->count)) return "fu_pool_count_threads";
    if (answers && find(library, "fu_pool_for_threads", &functions->run_or_fail)) return NULL;
    if (!answers && find(library, "fu_pool_for_threads", &functions->run)) return NULL;
    return "fu_pool_for_threads";
}

static char const *library_from_environment(void) {
#if defined(__linux__)
    return secure_getenv(library_variable);
#else
    return getenv(library_variable);
#endif
}

/// Why a library couldn't be opened, on one line.
static char const *opening_failure(void) {
    char const *const failure = dlerror();
    return failure ? failure : "it could not be opened";
}

static uform_status_t find_in(char const *path, uform_forkunion_t *functions) {
    void *const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) return uform_fail_(uform_status_unsupported_k, "pool: %s: %s", library_variable, opening_failure());
    char const *const missing = fill(library, functions);
    if (!missing) return uform_status_ok_k;
    dlclose(library);
    return uform_fail_(uform_status_unsupported_k, "pool: %s: %s has no %s", library_variable, path, missing);
}

uform_status_t uform_forkunion_find_(uform_forkunion_t *functions) {
    char const *const named = library_from_environment();
    if (named && *named) return find_in(named, functions);
    if (!fill(own_program, functions)) return uform_status_ok_k;
    char const *const missing = fill(RTLD_DEFAULT, functions);
    if (!missing) return uform_status_ok_k;
    for (size_t i = 0; i < library_count_k; i++) {
        void *const library = dlopen(library_names[i], RTLD_NOW | RTLD_LOCAL);
        if (!library) continue;
        if (!fill(library, functions)) return uform_status_ok_k;
        dlclose(library);
    }
    return uform_fail_(uform_status_unsupported_k,
        "pool: ForkUnion's %s was found neither in this process nor in %s or %s; a program that holds it may have to be "
        "linked with -rdynamic, and %s can name another library",
        missing, library_names[0], library_names[1], library_variable);
}

static uform_status_t fail(int status) {
    return uform_fail_(uform_status_mismatched_k, "pool: ForkUnion refused it with status %d", status);
}

uform_status_t uform_forkunion_count_(uform_forkunion_t const *functions, void *pool, size_t *threads) {
    *threads = 0;
    if (functions->count) {
        *threads = functions->count(pool);
        return uform_status_ok_k;
    }
    int const status = functions->count_or_fail(pool, threads);
    if (!status) return uform_status_ok_k;
    *threads = 0;
    return status == not_spawned_k ? uform_status_ok_k : fail(status);
}

uform_status_t uform_forkunion_run_(
    uform_forkunion_t const *functions, void *pool, uform_forkunion_share_t share, void *context) {
    if (functions->run) {
        functions->run(pool, share, context);
        return uform_status_ok_k;
    }
    int const status = functions->run_or_fail(pool, share, context);
    return status ? fail(status) : uform_status_ok_k;
}
