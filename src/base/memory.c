/**
 *  Memory from the C library, with every size checked.
 */
#include "base/memory.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <unistd.h>

#include "base/detail.h"

enum {
    line_bytes_k = 64,
    huge_page_bytes_k = 2 << 20,
    huge_from_bytes_k = 4 << 20, ///< below this a huge page would waste more than it saves
};

static void *refuse(size_t count, size_t item_bytes) {
    (void)uform_fail_(
        uform_status_out_of_memory_k, "memory: %zu items of %zu bytes could not be allocated", count, item_bytes);
    return NULL;
}

/// The product, or false when it is more than any object may have.
static bool bytes_of(size_t count, size_t item_bytes, size_t *bytes) {
    return !__builtin_mul_overflow(count, item_bytes, bytes) && *bytes <= PTRDIFF_MAX;
}

void *uform_allocate_(size_t count, size_t item_bytes) {
    size_t bytes;
    if (!bytes_of(count, item_bytes, &bytes)) return refuse(count, item_bytes);
    void *memory = calloc(bytes ? bytes : 1, 1);
    return memory ? memory : refuse(count, item_bytes);
}

void *uform_reallocate_(void *memory, size_t count, size_t item_bytes) {
    size_t bytes;
    if (!bytes_of(count, item_bytes, &bytes)) return refuse(count, item_bytes);
    void *moved = realloc(memory, bytes ? bytes : 1);
    return moved ? moved : refuse(count, item_bytes);
}

/// Advice only: where the system refuses, ordinary pages serve.
static void advise_huge(void *memory, size_t bytes) {
#ifdef MADV_HUGEPAGE
    if (bytes >= huge_from_bytes_k) (void)madvise(memory, bytes & ~(size_t)(huge_page_bytes_k - 1), MADV_HUGEPAGE);
#else
    (void)memory, (void)bytes;
#endif
}

void *uform_allocate_aligned_(size_t bytes) {
    size_t const alignment = bytes >= huge_from_bytes_k ? huge_page_bytes_k : line_bytes_k;
    if (bytes > PTRDIFF_MAX) return refuse(1, bytes);
    void *memory = NULL;
    if (posix_memalign(&memory, alignment, bytes ? bytes : 1)) return refuse(1, bytes);
    advise_huge(memory, bytes);
    return memory;
}

void uform_untouch_(void *memory, size_t bytes) {
#if defined(__linux__)
    uintptr_t const page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)memory, end = begin + bytes;
    uintptr_t const first = (begin + page - 1) / page * page, last = end / page * page;
    if (first < last) (void)madvise((char *)memory + (first - begin), last - first, MADV_DONTNEED);
#else
    (void)memory, (void)bytes;
#endif
}

static size_t whole_pages(size_t bytes) {
    size_t const page = (size_t)sysconf(_SC_PAGESIZE);
    return (bytes + (bytes == 0) + page - 1) / page * page;
}

void *uform_map_(size_t bytes) {
    if (bytes > PTRDIFF_MAX - 2 * (size_t)huge_page_bytes_k) return refuse(1, bytes);
    size_t const whole = whole_pages(bytes), spare = bytes >= huge_from_bytes_k ? huge_page_bytes_k : 0;
    char *const mapped = mmap(NULL, whole + spare, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) return refuse(1, bytes);
    size_t const before = spare ? -(uintptr_t)mapped % huge_page_bytes_k : 0;
    if (before) (void)munmap(mapped, before);
    if (before != spare) (void)munmap(mapped + before + whole, spare - before);
    advise_huge(mapped + before, bytes);
    return mapped + before;
}

void uform_unmap_(void *memory, size_t bytes) {
    if (memory) (void)munmap(memory, whole_pages(bytes));
}

void uform_free_(void *memory) {
    free(memory);
}
