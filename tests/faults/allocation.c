/**
 *  The C library's allocator with a counter in front of it. The forwarding names are glibc's.
 */
#include "faults/allocation.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *memory, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);
extern void *memalign(size_t alignment, size_t bytes);

static atomic_size_t seen, fatal;
static atomic_bool forever, hit;

void faults_arm(size_t nth, bool persistent) {
    atomic_store(&seen, 0);
    atomic_store(&hit, false);
    atomic_store(&forever, persistent);
    atomic_store(&fatal, nth);
}

bool faults_disarm(void) {
    atomic_store(&fatal, 0);
    return atomic_load(&hit);
}

size_t faults_count(void) {
    return atomic_load(&seen);
}

static bool refuse(void) {
    size_t const nth = atomic_load(&fatal);
    if (!nth) return false;
    size_t const own = atomic_fetch_add(&seen, 1) + 1;
    if (own < nth || (own > nth && !atomic_load(&forever))) return false;
    atomic_store(&hit, true);
    errno = ENOMEM;
    return true;
}

void *malloc(size_t bytes) {
    return refuse() ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes) {
    return refuse() ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *memory, size_t bytes) {
    return refuse() ? NULL : __libc_realloc(memory, bytes);
}

void *memalign(size_t alignment, size_t bytes) {
    return refuse() ? NULL : __libc_memalign(alignment, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes) {
    return memalign(alignment, bytes);
}

int posix_memalign(void **memory, size_t alignment, size_t bytes) {
    void *const made = memalign(alignment, bytes);
    if (!made) return ENOMEM;
    *memory = made;
    return 0;
}
