/**
 *  Every picture of the corpus has Pillow's pixels, or the status that its fault deserves.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <zlib.h>

#include "base/memory.h"
#include "images/decode.h"
#include "pictures/corpus.h"

/// Decodes one and says what is wrong with it, if anything is.
static bool check(picture_t const *picture, uform_block_t *buffer) {
    uform_image_t const image = {.data = picture->bytes, .length = picture->length};
    uform_decode_options_t const options = {
        .flatten = !strcmp(picture->option, "flatten"), .ignore_orientation = !strcmp(picture->option, "stored")};
    uform_bitmap_t bitmap;
    uform_status_t const status = uform_decode_(&image, &options, buffer, &bitmap);
    char found[32];
    if (status) (void)snprintf(found, sizeof(found), "%s", uform_status_name(status));
    else (void)snprintf(found, sizeof(found), "%zux%zu", bitmap.width, bitmap.height);
    uint32_t const digest = status ? 0 : (uint32_t)crc32(0, bitmap.pixels, (uInt)(bitmap.width * bitmap.height * 3));
    if (status && (!*uform_last_detail() || bitmap.pixels)) print_error("%s: no detail, or pixels\n", picture->name);
    else if (!strcmp(found, picture->expectation) && digest == picture->digest) return true;
    print_error("%s %s: expected %s %08x, found %s %08x %s\n", picture->name, picture->option, picture->expectation,
        picture->digest, found, digest, status ? uform_last_detail() : "");
    return false;
}

static void pictures_are_pillows(void **state) {
    (void)state;
    size_t count, wrong = 0;
    picture_t *const pictures = corpus_read(&count);
    uform_block_t buffer = {NULL, 0};
    for (size_t i = 0; i < count; ++i) wrong += !check(pictures + i, &buffer);
    // Backwards too: nothing may be left in the buffer that another picture shows.
    for (size_t i = count; i > 0; --i) wrong += !check(pictures + i - 1, &buffer);
    uform_free_(buffer.memory);
    corpus_free(pictures, count);
    assert_int_equal(wrong, 0);
}

typedef struct share_t {
    picture_t const *pictures;
    size_t count, wrong;
} share_t;

static void *check_all(void *argument) {
    share_t *const share = argument;
    uform_block_t buffer = {NULL, 0};
    for (size_t i = 0; i < share->count; ++i) share->wrong += !check(share->pictures + i, &buffer);
    uform_free_(buffer.memory);
    return NULL;
}

static void threads_decode_side_by_side(void **state) {
    (void)state;
    enum { thread_count_k = 4 };
    size_t count;
    picture_t *const pictures = corpus_read(&count);
    share_t shares[thread_count_k];
    pthread_t threads[thread_count_k];
    for (size_t i = 0; i < thread_count_k; ++i) {
        shares[i] = (share_t){pictures, count, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, check_all, &shares[i]), 0);
    }
    for (size_t i = 0; i < thread_count_k; ++i) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(shares[i].wrong, 0);
    }
    corpus_free(pictures, count);
}

/// Whatever is wrong with a file, neither the library nor those below it tell standard error.
static void nothing_is_printed(void **state) {
    (void)state;
    size_t count;
    picture_t *const pictures = corpus_read(&count);
    FILE *const kept = tmpfile();
    int const standard_error = dup(STDERR_FILENO);
    assert_non_null(kept);
    assert_true(standard_error >= 0 && dup2(fileno(kept), STDERR_FILENO) >= 0);
    uform_block_t buffer = {NULL, 0};
    for (size_t i = 0; i < count; ++i) {
        uform_image_t const image = {.data = pictures[i].bytes, .length = pictures[i].length};
        uform_bitmap_t bitmap;
        (void)uform_decode_(&image, &(uform_decode_options_t){0}, &buffer, &bitmap);
    }
    uform_free_(buffer.memory);
    (void)fflush(stderr);
    assert_true(dup2(standard_error, STDERR_FILENO) >= 0);
    (void)close(standard_error);
    corpus_free(pictures, count);
    assert_int_equal(lseek(fileno(kept), 0, SEEK_END), 0);
    (void)fclose(kept);
}

static void limits_stop_at_the_header(void **state) {
    (void)state;
    size_t count;
    picture_t *const pictures = corpus_read(&count);
    for (size_t i = 0; i < count; ++i) {
        size_t width, height;
        if (sscanf(pictures[i].expectation, "%zux%zu", &width, &height) != 2) continue;
        uform_block_t buffer = {NULL, 0};
        uform_image_t const image = {.data = pictures[i].bytes, .length = pictures[i].length};
        uform_decode_options_t options = {.pixel_limit = width * height};
        uform_bitmap_t bitmap;
        assert_int_equal(uform_decode_(&image, &options, &buffer, &bitmap), uform_status_ok_k);
        uform_free_(buffer.memory);
        if (--options.pixel_limit == 0) continue; // which would be the default
        buffer = (uform_block_t){NULL, 0};
        if (uform_decode_(&image, &options, &buffer, &bitmap) != uform_status_unsupported_k)
            fail_msg("%s: not refused: %s", pictures[i].name, uform_last_detail());
        assert_null(buffer.memory);
        assert_non_null(strstr(uform_last_detail(), "limit"));
    }
    corpus_free(pictures, count);
}

int main(void) {
    struct CMUnitTest const tests[] = {cmocka_unit_test(pictures_are_pillows),
        cmocka_unit_test(threads_decode_side_by_side), cmocka_unit_test(nothing_is_printed),
        cmocka_unit_test(limits_stop_at_the_header)};
    return cmocka_run_group_tests_name("pictures", tests, NULL, NULL);
}
