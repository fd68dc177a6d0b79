/**
 *  Every allocation of a decoder fails once: the picture is then either refused or whole, and nothing crashes. Left out are the
 *  formats whose libraries, as of Debian 12, crash or abort by themselves: libwebp, libavif and libtiff.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>
#include <zlib.h>

#include "base/memory.h"
#include "faults/allocation.h"
#include "images/decode.h"
#include "pictures/corpus.h"

enum { allocation_limit_k = 400, spare_bytes_k = 8 << 20 };

static void sweep(picture_t const *picture) {
    uform_image_t const image = {.data = picture->bytes, .length = picture->length};
    uform_decode_options_t const options = {
        .flatten = !strcmp(picture->option, "flatten"), .ignore_orientation = !strcmp(picture->option, "stored")};
    for (size_t nth = 1; nth < allocation_limit_k; ++nth) {
        uform_block_t buffer = {NULL, 0};
        uform_bitmap_t bitmap;
        faults_arm(nth, false);
        uform_status_t const status = uform_decode_(&image, &options, &buffer, &bitmap);
        bool const failed = faults_disarm();
        if (!status && crc32(0, bitmap.pixels, (uInt)(bitmap.width * bitmap.height * 3)) != picture->digest)
            fail_msg("%s: other pixels after allocation %zu failed", picture->name, nth);
        if (status && !*uform_last_detail()) fail_msg("%s: no detail", picture->name);
        uform_free_(buffer.memory);
        if (!failed) return;
    }
}

static void allocations_may_fail(void **state) {
    (void)state;
    size_t count;
    picture_t *const pictures = corpus_read(&count);
    static char const *const endings[] = {".jpg", ".png", ".gif", ".bmp"};
    for (size_t i = 0; i < count; ++i)
        for (size_t j = 0; j < sizeof(endings) / sizeof(endings[0]); ++j)
            if (strstr(pictures[i].name, endings[j])) sweep(pictures + i);
    corpus_free(pictures, count);
}

/// With less memory than some libraries need in order not to crash, their pictures are refused.
static void little_memory_is_enough_for_a_status(void **state) {
    (void)state;
    size_t count, pages = 0;
    picture_t *const pictures = corpus_read(&count);
    FILE *const statistics = fopen("/proc/self/statm", "r");
    assert_true(statistics && fscanf(statistics, "%zu", &pages) == 1);
    (void)fclose(statistics);
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    struct rlimit const little = {pages * (size_t)sysconf(_SC_PAGESIZE) + spare_bytes_k, before.rlim_max};
    static char const *const endings[] = {".webp", ".avif", ".tif"};
    size_t tried = 0;
    for (size_t i = 0; i < count; ++i) {
        uform_image_t const image = {.data = pictures[i].bytes, .length = pictures[i].length};
        uform_block_t buffer = {NULL, 0};
        uform_bitmap_t bitmap;
        bool known = false;
        for (size_t j = 0; j < sizeof(endings) / sizeof(endings[0]); ++j)
            known |= strstr(pictures[i].name, endings[j]) && strchr(pictures[i].expectation, 'x');
        if (!known) continue;
        assert_int_equal(setrlimit(RLIMIT_AS, &little), 0);
        uform_status_t const status = uform_decode_(&image, &(uform_decode_options_t){0}, &buffer, &bitmap);
        assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
        if (status != uform_status_out_of_memory_k) fail_msg("%s: %s", pictures[i].name, uform_status_name(status));
        uform_free_(buffer.memory);
        ++tried;
    }
    assert_true(tried > 0);
    corpus_free(pictures, count);
}

int main(void) {
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(allocations_may_fail), cmocka_unit_test(little_memory_is_enough_for_a_status)};
    return cmocka_run_group_tests_name("picture_faults", tests, NULL, NULL);
}
