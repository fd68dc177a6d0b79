/**
 *  Sets of processors: the affinity mask, the processors online. Sets are allocated, as machines exceed the 1,024
 *  processors that a fixed mask holds, and the processors of a NUMA node need not be contiguous.
 */
#include "cpu/limits.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/detail.h"
#include "base/memory.h"

enum {
    word_bits_k = sizeof(unsigned long) * CHAR_BIT,
    first_words_k = 1024 / word_bits_k,
    processors_limit_k = 1 << 20, ///< far beyond what kernels are built for; a larger number is a broken file
};

void uform_cpu_set_free_(uform_cpu_set_t *set) {
    uform_free_(set->words);
    *set = (uform_cpu_set_t){0};
}

bool uform_cpu_set_has_(uform_cpu_set_t const *set, size_t processor) {
    size_t const word = processor / word_bits_k;
    return word < set->word_count && (set->words[word] >> processor % word_bits_k & 1);
}

size_t uform_cpu_set_count_(uform_cpu_set_t const *set) {
    size_t count = 0;
    for (size_t i = 0; i < set->word_count; i++) count += (size_t)__builtin_popcountl(set->words[i]);
    return count;
}

void uform_cpu_set_intersect_(uform_cpu_set_t *set, uform_cpu_set_t const *other) {
    for (size_t i = 0; i < set->word_count; i++) set->words[i] &= i < other->word_count ? other->words[i] : 0;
}

size_t uform_cpu_set_limit_(uform_cpu_set_t const *set) {
    size_t limit = set->word_count * word_bits_k;
    while (limit && !uform_cpu_set_has_(set, limit - 1)) limit--;
    return limit;
}

bool uform_cpu_set_equal_(uform_cpu_set_t const *set, uform_cpu_set_t const *other) {
    size_t const words = set->word_count > other->word_count ? set->word_count : other->word_count;
    for (size_t i = 0; i < words; i++)
        if ((i < set->word_count ? set->words[i] : 0) != (i < other->word_count ? other->words[i] : 0)) return false;
    return true;
}

uform_status_t uform_cpu_set_copy_(uform_cpu_set_t const *set, uform_cpu_set_t *copy) {
    *copy = (uform_cpu_set_t){0};
    return uform_cpu_set_unite_(copy, set);
}

/// Makes room for processors below a limit.
static uform_status_t grow(uform_cpu_set_t *set, size_t limit) {
    size_t const needed = (limit + word_bits_k - 1) / word_bits_k;
    if (needed <= set->word_count) return uform_status_ok_k;
    unsigned long *const words = uform_reallocate_(set->words, needed, sizeof(*words));
    if (!words) return uform_status_out_of_memory_k;
    memset(words + set->word_count, 0, (needed - set->word_count) * sizeof(*words));
    set->words = words;
    set->word_count = needed;
    return uform_status_ok_k;
}

/// Adds [first, last], both below the limit.
static uform_status_t add_range(uform_cpu_set_t *set, size_t first, size_t last) {
    uform_status_t const status = grow(set, last + 1);
    if (status != uform_status_ok_k) return status;
    for (size_t i = first; i <= last; i++) set->words[i / word_bits_k] |= 1ul << i % word_bits_k;
    return uform_status_ok_k;
}

uform_status_t uform_cpu_set_add_(uform_cpu_set_t *set, size_t processor) {
    return add_range(set, processor, processor);
}

uform_status_t uform_cpu_set_unite_(uform_cpu_set_t *set, uform_cpu_set_t const *other) {
    size_t const limit = uform_cpu_set_limit_(other);
    uform_status_t const status = limit ? grow(set, limit) : uform_status_ok_k;
    for (size_t i = 0; status == uform_status_ok_k && i < other->word_count && i < set->word_count; i++)
        set->words[i] |= other->words[i];
    return status;
}

/// Reads a decimal number below the limit and moves past it.
static bool read_number(char const **text, size_t *number) {
    if (**text < '0' || **text > '9') return false;
    char *end;
    errno = 0;
    unsigned long const value = strtoul(*text, &end, 10);
    if (errno || value >= processors_limit_k) return false;
    *text = end;
    *number = value;
    return true;
}

uform_status_t uform_cpu_set_parse_(char const *list, char const *what, uform_cpu_set_t *set) {
    *set = (uform_cpu_set_t){0};
    uform_status_t status = uform_status_ok_k;
    for (char const *text = list; *text && *text != '\n';) {
        size_t first, last;
        bool valid = read_number(&text, &first);
        last = first;
        if (valid && *text == '-') {
            text++;
            valid = read_number(&text, &last) && last >= first;
        }
        bool const more = *text == ',';
        if (more) text++;
        valid = valid && (more || !*text || *text == '\n');
        if (valid) status = add_range(set, first, last);
        else
            status = uform_fail_(uform_status_malformed_k,
                "%s: expected a list of numbers such as 0-31,64-95, found \"%.64s\"", what, list);
        if (status == uform_status_ok_k) continue;
        uform_cpu_set_free_(set);
        return status;
    }
    return status;
}

/// Processors 0 to n - 1, for systems that only say how many there are.
static uform_status_t count_online(uform_cpu_set_t *set) {
    *set = (uform_cpu_set_t){0};
    long const online = sysconf(_SC_NPROCESSORS_ONLN);
    return add_range(set, 0, online > 0 && online <= processors_limit_k ? (size_t)online - 1 : 0);
}

uform_status_t uform_cpu_allowed_(uform_cpu_set_t *set) {
#if defined(__linux__)
    // The kernel refuses a mask smaller than its own.
    for (size_t words = first_words_k; words <= processors_limit_k / word_bits_k; words *= 2) {
        *set = (uform_cpu_set_t){uform_allocate_(words, sizeof(unsigned long)), words};
        if (!set->words) {
            set->word_count = 0;
            return uform_status_out_of_memory_k;
        }
        if (!sched_getaffinity(0, words * sizeof(unsigned long), (cpu_set_t *)(void *)set->words))
            return uform_status_ok_k;
        uform_cpu_set_free_(set);
        if (errno != EINVAL) break;
    }
#endif
    return count_online(set);
}

bool uform_cpu_confine_(uform_cpu_set_t const *set) {
#if defined(__linux__)
    return !sched_setaffinity(0, set->word_count * sizeof(unsigned long), (cpu_set_t const *)(void *)set->words);
#else
    (void)set;
    return false;
#endif
}

uform_status_t uform_cpu_set_read_(char const *root, char const *path, uform_cpu_set_t *set) {
    *set = (uform_cpu_set_t){0};
    char *text;
    uform_status_t status = uform_kernel_file_read_(root, path, &text);
    if (status != uform_status_ok_k) return status;
    status = uform_cpu_set_parse_(text, path, set);
    uform_free_(text);
    return status;
}

uform_status_t uform_cpu_online_(char const *root, uform_cpu_set_t *set) {
    uform_status_t const status = uform_cpu_set_read_(root, "/sys/devices/system/cpu/online", set);
    bool const unreadable = status == uform_status_not_found_k || status == uform_status_io_failed_k;
    return unreadable ? count_online(set) : status;
}

size_t uform_cpu_default_threads_(size_t online, size_t allowed, double quota) {
    size_t threads = online / 8 * 7 + online % 8 * 7 / 8;
    if (threads > allowed) threads = allowed;
    if (quota > 0 && quota < (double)threads) threads = (size_t)quota;
    return threads ? threads : 1;
}
