/**
 *  Every allocation of what an index is made and searched with fails in turn: the answer is a refusal, and a file that
 *  was there stays.
 */
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../cli/folders.h"
#include "../../cli/index_file.h"
#include "../../cli/matches.h"
#include "../../cli/page.h"
#include "../faults/allocation.h"

static char folder[] = "/tmp/uform-faults-XXXXXX";
static char file_path[64], picture_path[64];
static bool first_time;
static float const rows[6] = {1, 0, 0, 1, 1, 0};

static bool write_index(void) {
    index_writer_t writer;
    if (!index_create_(&writer, file_path, rows, 2)) return false;
    bool written = true;
    for (size_t row = 0; written && row != 3; ++row) written = index_add_(&writer, rows + 2 * row, "picture", 7);
    if (written) return index_finish_(&writer, "clip");
    index_abandon_(&writer);
    return false;
}

static bool find_matches(void) {
    match_t matches[4];
    size_t found[2];
    return matches_find_(rows, 3, 2, rows, 2, 2, 2, matches, found) && found[0] == 2 && matches[0].position == 0;
}

static bool list_folder(void) {
    paths_t paths = {0};
    bool const listed = paths_add_(&paths, folder) && !paths.failed_count;
    paths_sort_(&paths);
    bool const whole = listed && paths.count == 1;
    paths_free_(&paths);
    return whole;
}

static bool write_page(void) {
    page_t page;
    if (!page_open_(&page, file_path)) return false;
    page_text_query_(&page, "a <query>");
    page_match_(&page, 1, 0.5f, picture_path);
    return page_close_(&page);
}

/// What stands in the file is what stood there the first time.
static void expect_whole(void) {
    static char whole[8192];
    static size_t whole_length;
    char found[sizeof(whole)];
    FILE *const file = fopen(file_path, "rb");
    if (!file) return;
    size_t const length = fread(found, 1, sizeof(found), file);
    fclose(file);
    if (first_time) memcpy(whole, found, length), whole_length = length;
    first_time = false;
    assert_int_equal(length, whole_length);
    assert_memory_equal(found, whole, length);
}

static void sweep(bool (*call)(void)) {
    unlink(file_path);
    first_time = true;
    assert_true(call());
    expect_whole();
    bool done = false;
    for (size_t nth = 1; !done; ++nth) {
        assert_true(nth < 1000);
        faults_arm(nth, true);
        bool const good = call();
        done = !faults_disarm();
        // Streams do without a buffer, and threads without one another.
        if (done) assert_true(good);
        if (good) expect_whole();
    }
}

static void files_of_indexes(void **state) {
    (void)state;
    sweep(write_index);
    index_t index;
    assert_true(index_open_(&index, file_path));
    assert_int_equal(index.count, 3);
    index_close_(&index);
}

static void matches(void **state) {
    (void)state;
    sweep(find_matches);
}

static void folders(void **state) {
    (void)state;
    sweep(list_folder);
}

static void pages(void **state) {
    (void)state;
    sweep(write_page);
}

static int remove_entry(char const *path, struct stat const *facts, int kind, struct FTW *place) {
    (void)facts, (void)kind, (void)place;
    return remove(path);
}

int main(void) {
    if (!mkdtemp(folder)) return 1;
    snprintf(file_path, sizeof(file_path), "%s/file", folder);
    snprintf(picture_path, sizeof(picture_path), "%s/a.gif", folder);
    FILE *const picture = fopen(picture_path, "wb");
    if (!picture || fputs("GIF89a", picture) < 0 || fclose(picture) != 0) return 1;
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(files_of_indexes),
        cmocka_unit_test(matches),
        cmocka_unit_test(folders),
        cmocka_unit_test(pages),
    };
    int const failed = cmocka_run_group_tests(tests, NULL, NULL);
    nftw(folder, remove_entry, 4, FTW_DEPTH | FTW_PHYS);
    return failed;
}
