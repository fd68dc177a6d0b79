/**
 *  Files, paths and memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "malformed/workspace.h"

static void paths_that_leave_are_seen(void **state) {
    (void)state;
    static char const *const inside[] = {
        "", "a", "a/b", "./a", "a/./b", "..a", "a..", "a/..b", "...", "a//b", "1_Pooling/"};
    static char const *const outside[] = {"/", "/a", "..", "../a", "a/..", "a/../b", "a/../../b", "a//..", "./.."};
    for (size_t i = 0; i < sizeof(inside) / sizeof(inside[0]); ++i) assert_true(uform_path_stays_inside_(inside[i]));
    for (size_t i = 0; i < sizeof(outside) / sizeof(outside[0]); ++i)
        assert_false(uform_path_stays_inside_(outside[i]));
}

static void paths_are_joined(void **state) {
    (void)state;
    static char const *const rows[][3] = {
        {"a", "b", "a/b"}, {"a/", "b", "a/b"}, {"a", "", "a"}, {"", "b", "b"}, {"/", "b", "/b"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
        char *path = uform_path_join_(rows[i][0], rows[i][1]);
        assert_string_equal(path, rows[i][2]);
        uform_free_(path);
    }
}

static void files_are_mapped_and_read(void **state) {
    workspace_t const *workspace = *state;
    char path[workspace_path_bytes_k];
    uform_file_t file;
    char *text;
    size_t length;
    workspace_write(workspace, "file", "one\0two", 7);
    assert_int_equal(uform_file_map_(workspace_file(workspace, "file", path), &file), uform_status_ok_k);
    assert_int_equal(file.length, 7);
    assert_memory_equal(file.data, "one\0two", 7);
    uform_file_unmap_(&file);
    assert_int_equal(uform_file_read_(path, 7, &text, &length), uform_status_ok_k);
    assert_int_equal(length, 7);
    assert_memory_equal(text, "one\0two", 8);
    uform_free_(text);
    assert_int_equal(uform_file_read_(path, 6, &text, &length), uform_status_malformed_k);
    assert_null(text);
    workspace_write(workspace, "empty", "", 0);
    assert_int_equal(uform_file_map_(workspace_file(workspace, "empty", path), &file), uform_status_ok_k);
    assert_non_null(file.data);
    assert_int_equal(file.length, 0);
    uform_file_unmap_(&file);
}

static void things_that_are_no_files_are_refused(void **state) {
    workspace_t const *workspace = *state;
    char path[workspace_path_bytes_k];
    uform_file_t file;
    assert_int_equal(mkfifo(workspace_file(workspace, "pipe", path), 0600), 0);
    assert_int_equal(uform_file_map_(path, &file), uform_status_io_failed_k); // and does not wait for a writer
    assert_non_null(strstr(uform_last_detail(), "pipe"));
    assert_int_equal(uform_file_map_(workspace->path, &file), uform_status_io_failed_k);
    assert_int_equal(uform_file_map_(workspace_file(workspace, "absent", path), &file), uform_status_not_found_k);
    assert_false(uform_file_exists_(path));
    assert_int_equal(symlink("absent", workspace_file(workspace, "dangling", path)), 0);
    assert_int_equal(uform_file_map_(path, &file), uform_status_not_found_k);
    assert_int_equal(symlink("around", workspace_file(workspace, "around", path)), 0);
    assert_int_equal(uform_file_map_(path, &file), uform_status_io_failed_k);
}

/// What a checkout without Git LFS has instead of weights.
static void pointers_are_no_files(void **state) {
    static char const pointer[] = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n";
    workspace_t const *workspace = *state;
    char path[workspace_path_bytes_k], *text;
    uform_file_t file;
    size_t length;
    workspace_write_text(workspace, "weights", pointer);
    assert_int_equal(uform_file_map_(workspace_file(workspace, "weights", path), &file), uform_status_malformed_k);
    assert_non_null(strstr(uform_last_detail(), "weights: expected the file itself, found the pointer"));
    assert_int_equal(uform_file_read_(path, 1000, &text, &length), uform_status_malformed_k);
    workspace_write(workspace, "weights", pointer, 20); // as any other file that begins so
    assert_int_equal(uform_file_map_(path, &file), uform_status_ok_k);
    uform_file_unmap_(&file);
}

static void too_much_memory_is_refused(void **state) {
    (void)state;
    size_t const huge = SIZE_MAX / 2;
    assert_null(uform_allocate_(huge, 4));
    assert_non_null(strstr(uform_last_detail(), "could not be allocated"));
    assert_null(uform_allocate_aligned_(SIZE_MAX - 10));
    void *memory = uform_allocate_(0, 0);
    assert_non_null(memory);
    assert_null(uform_reallocate_(memory, huge, 4));
    memory = uform_reallocate_(memory, 10, 10);
    assert_non_null(memory);
    uform_free_(memory);
    for (size_t bytes = 0; bytes < 9; ++bytes) {
        void *aligned = uform_allocate_aligned_(bytes << 20);
        assert_non_null(aligned);
        assert_int_equal((uintptr_t)aligned % (bytes >= 4 ? 2u << 20 : 64), 0);
        uform_free_(aligned);
    }
}

/// Every code point both ways, and every cut of it.
static void characters_round_trip(void **state) {
    (void)state;
    for (uint32_t code_point = 0; code_point <= 0x10FFFF; ++code_point) {
        char bytes[4];
        size_t const length = uform_utf8_encode_(code_point, bytes);
        bool const surrogate = code_point >= 0xD800 && code_point <= 0xDFFF;
        if (uform_utf8_valid_length_(bytes, length) != (surrogate ? 0 : length)) fail_msg("U+%04X", code_point);
        for (size_t cut = 0; cut < length; ++cut)
            if (uform_utf8_valid_length_(bytes, cut)) fail_msg("U+%04X cut", code_point);
    }
    assert_int_equal(uform_utf8_valid_length_("\xc0\x80", 2), 0);
    assert_int_equal(uform_utf8_valid_length_("\xe0\x80\x80", 3), 0);
    assert_int_equal(uform_utf8_valid_length_("\xf4\x90\x80\x80", 4), 0);
    assert_int_equal(uform_utf8_valid_length_("\xf5\x80\x80\x80", 4), 0);
    assert_int_equal(uform_utf8_valid_length_("\x80", 1), 0);
}

int main(void) {
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(paths_that_leave_are_seen),
        cmocka_unit_test(paths_are_joined),
        cmocka_unit_test(files_are_mapped_and_read),
        cmocka_unit_test(things_that_are_no_files_are_refused),
        cmocka_unit_test(pointers_are_no_files),
        cmocka_unit_test(too_much_memory_is_refused),
        cmocka_unit_test(characters_round_trip),
    };
    return cmocka_run_group_tests_name("files", tests, workspace_setup, workspace_teardown);
}
