/**
 *  What searching is made of, without a model: files of indexes, whole and broken; matches; folders walked for pictures;
 *  files that are replaced whole or not at all.
 */
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../cli/folders.h"
#include "../../cli/index_file.h"
#include "../../cli/matches.h"
#include "random.h"

static char folder[] = "/tmp/uform-index-XXXXXX";

static char const *file(char const *name) {
    static char paths[4][256];
    static unsigned turn;
    char *const path = paths[turn++ % 4];
    snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
    return path;
}

static int remove_entry(char const *path, struct stat const *facts, int kind, struct FTW *place) {
    (void)facts, (void)kind, (void)place;
    return remove(path);
}

static void write_file(char const *path, void const *bytes, size_t length) {
    // Some file systems wait for the disk when a file is emptied and written again.
    unlink(path);
    FILE *const stream = fopen(path, "wb");
    assert_non_null(stream);
    assert_int_equal(fwrite(bytes, 1, length, stream), length);
    assert_int_equal(fclose(stream), 0);
}

static char *read_file(char const *path, size_t *length) {
    FILE *const stream = fopen(path, "rb");
    assert_non_null(stream);
    fseek(stream, 0, SEEK_END);
    *length = (size_t)ftell(stream);
    rewind(stream);
    char *const bytes = malloc(*length + 1);
    assert_int_equal(fread(bytes, 1, *length, stream), *length);
    fclose(stream);
    return bytes;
}

/// Messages are expected by the thousand; `true` brings them back.
static void show_messages(bool shown) {
    static int kept = -1;
    if (kept < 0) kept = dup(STDERR_FILENO);
    int const target = shown ? kept : open("/dev/null", O_WRONLY);
    dup2(target, STDERR_FILENO);
    if (!shown) close(target);
}

/// Names as odd as a file system allows, one after the other.
static size_t odd_path(size_t position, char *path) {
    static char const *const names[] = {"a.jpg", "b c.png", "\xFF\xFE", "new\nline", "q\"uo'te", "x"};
    return (size_t)sprintf(path, "%s%zu", names[position % 6], position / 6);
}

static void write_index(char const *path, float const *probe, float const *rows, size_t count, size_t dimensions) {
    index_writer_t writer;
    assert_true(index_create_(&writer, path, probe, dimensions));
    for (size_t row = 0; row != count; ++row) {
        char name[64];
        size_t const length = odd_path(row, name);
        assert_true(index_add_(&writer, rows + row * dimensions, name, length));
    }
    assert_true(index_finish_(&writer, "clip"));
}

static void indexes_hold_what_was_put_in(void **state) {
    (void)state;
    random_seed();
    static size_t const counts[] = {0, 1, 37, 1000}, widths[] = {1, 17, 64, 512};
    for (size_t which = 0; which != 16; ++which) {
        size_t const count = counts[which % 4], dimensions = widths[which / 4];
        float *const rows = calloc(count + 1, dimensions * sizeof(float));
        random_rows(rows, count + 1, dimensions);
        write_index(file("index"), rows + count * dimensions, rows, count, dimensions);
        index_t index;
        assert_true(index_open_(&index, file("index")));
        assert_int_equal(index.count, count);
        assert_int_equal(index.dimensions, dimensions);
        assert_string_equal(index.architecture, "clip");
        assert_int_equal(index.graph.bytes, 0);
        assert_memory_equal(index.probe, rows + count * dimensions, dimensions * sizeof(float));
        if (count) assert_memory_equal(index.vectors, rows, count * dimensions * sizeof(float));
        assert_int_equal((uintptr_t)index.vectors % 64, 0);
        for (size_t row = 0; row != count; ++row) {
            char name[64];
            size_t const length = odd_path(row, name);
            size_t found = 0;
            char const *const path = index_path_(&index, row, &found);
            assert_int_equal(found, length);
            assert_memory_equal(path, name, length);
        }
        index_close_(&index);
        free(rows);
    }
}

static void a_graph_is_noted(void **state) {
    (void)state;
    float const probe[2] = {1, 0}, rows[4] = {0, 1, 1, 0};
    write_index(file("index"), probe, rows, 2, 2);
    assert_true(index_set_graph_(file("index"), (index_graph_t){12345, 67890}));
    index_t index;
    assert_true(index_open_(&index, file("index")));
    assert_int_equal(index.graph.bytes, 12345);
    assert_int_equal(index.graph.checksum, 67890);
    assert_int_equal(index.count, 2);
    index_close_(&index);
}

/// Uses everything an index has, so that a sanitizer sees what it reads.
static size_t use(index_t const *index) {
    size_t used = strlen(index->architecture);
    float sum = 0;
    for (size_t at = 0; at != index->dimensions; ++at) sum += index->probe[at];
    for (size_t row = 0; row != index->count; ++row) {
        size_t length = 0;
        char const *const path = index_path_(index, row, &length);
        for (size_t at = 0; at != length; ++at) used += (unsigned char)path[at];
        for (size_t at = 0; at != index->dimensions; ++at) sum += index->vectors[row * index->dimensions + at];
    }
    return used + (sum == sum);
}

static void broken_indexes_are_refused(void **state) {
    (void)state;
    random_seed();
    enum { count = 9, dimensions = 5, rounds = 3000 };
    float rows[(count + 1) * dimensions];
    random_rows(rows, count + 1, dimensions);
    write_index(file("index"), rows, rows + dimensions, count, dimensions);
    size_t length = 0, used = 0;
    char *const whole = read_file(file("index"), &length), *const broken = malloc(length + 1);
    index_t index;
    show_messages(false);
    // Cut, or longer than it says.
    for (size_t cut = 0; cut != length + 2; ++cut) {
        if (cut == length) continue;
        memcpy(broken, whole, length);
        broken[length] = 0;
        write_file(file("broken"), broken, cut);
        assert_false(index_open_(&index, file("broken")));
    }
    // Numbers and ends of paths that are wrong.
    size_t opened = 0;
    for (size_t round = 0; round != rounds; ++round) {
        memcpy(broken, whole, length);
        bool const in_header = round % 2;
        for (size_t changes = 1 + random_below(3); changes; --changes)
            broken[random_below(in_header ? 128 : length)] = (char)random_below(256);
        write_file(file("broken"), broken, length);
        if (!index_open_(&index, file("broken"))) continue;
        ++opened;
        used += use(&index);
        index_close_(&index);
    }
    assert_true(opened > 0 && opened < rounds && used > 0);
    assert_false(index_open_(&index, file("nowhere")));
    assert_false(index_open_(&index, folder));
    assert_false(index_open_(&index, "/dev/null"));
    assert_int_equal(mkfifo(file("pipe"), 0600), 0);
    assert_false(index_open_(&index, file("pipe")));
    show_messages(true);
    free(whole), free(broken);
}

/// Files in the folder whose names begin so.
static size_t count_files(char const *beginning) {
    size_t count = 0;
    DIR *const listing = opendir(folder);
    for (struct dirent const *entry; (entry = readdir(listing));)
        count += strncmp(entry->d_name, beginning, strlen(beginning)) == 0;
    closedir(listing);
    return count;
}

static void files_are_replaced_whole(void **state) {
    (void)state;
    float const probe[2] = {1, 0}, rows[4] = {0, 1, 1, 0};
    index_writer_t writer;
    index_t index;
    write_index(file("kept"), probe, rows, 1, 2);
    // One that isn't finished leaves what was there.
    assert_true(index_create_(&writer, file("kept"), probe, 2));
    assert_true(index_add_(&writer, rows, "x", 1));
    assert_int_equal(count_files("kept"), 2);
    index_abandon_(&writer);
    assert_int_equal(count_files("kept"), 1);
    assert_true(index_open_(&index, file("kept")));
    assert_int_equal(index.count, 1);
    // One that is read stays as it was while another takes its place.
    write_index(file("kept"), probe, rows, 2, 2);
    assert_int_equal(index.count, 1);
    assert_memory_equal(index.vectors, rows, 2 * sizeof(float));
    index_close_(&index);
    // Through a link, the file is replaced, not the link.
    assert_int_equal(symlink("kept", file("link")), 0);
    write_index(file("link"), probe, rows, 0, 2);
    struct stat facts;
    assert_int_equal(lstat(file("link"), &facts), 0);
    assert_true(S_ISLNK(facts.st_mode));
    assert_true(index_open_(&index, file("kept")));
    assert_int_equal(index.count, 0);
    index_close_(&index);
    // What is no index isn't replaced, unless it is empty.
    write_file(file("cat.jpg"), "\xFF\xD8\xFF cat", 7);
    write_file(file("empty"), "", 0);
    show_messages(false);
    assert_false(index_create_(&writer, file("cat.jpg"), probe, 2));
    assert_false(index_create_(&writer, file("nowhere/index"), probe, 2));
    assert_false(index_create_(&writer, folder, probe, 2));
    assert_false(index_create_(&writer, "/dev/null", probe, 2));
    show_messages(true);
    write_index(file("empty"), probe, rows, 1, 2);
    size_t length = 0;
    char *const cat = read_file(file("cat.jpg"), &length);
    assert_int_equal(length, 7);
    free(cat);
}

static int compare(void const *left, void const *right) {
    match_t const *const a = left, *const b = right;
    if (a->score != b->score) return a->score > b->score ? -1 : 1;
    return a->position < b->position ? -1 : 1;
}

/// All rows from the best to the worst, those with a NaN left out.
static size_t rank_rows(float const *rows, size_t count, size_t dimensions, float const *query, match_t *ranked) {
    size_t kept = 0;
    for (size_t row = 0; row != count; ++row) {
        float const score = match_score_(rows + row * dimensions, query, dimensions);
        if (score == score) ranked[kept++] = (match_t){score, row};
    }
    if (kept) qsort(ranked, kept, sizeof(*ranked), compare);
    return kept;
}

static void expect_best_rows(size_t count, size_t dimensions, size_t top) {
    enum { query_count = 11, runs = 3 };
    static size_t const threads[runs] = {1, 2, 5};
    float *const rows = calloc(count + query_count, dimensions * sizeof(float));
    float *const queries = rows + count * dimensions;
    match_t *const ranked = calloc(count + 1, sizeof(*ranked));
    match_t *matches[runs];
    size_t found[runs][query_count];
    random_rows(rows, count + query_count, dimensions);
    // Equal rows come in their order, and those with a NaN not at all.
    for (size_t row = 3; row < count; row += 3) memcpy(rows + row * dimensions, rows, dimensions * sizeof(float));
    for (size_t row = 4; row < count; row += 100) rows[row * dimensions] = NAN;
    for (size_t run = 0; run != runs; ++run) {
        matches[run] = calloc(query_count * top, sizeof(**matches));
        assert_true(
            matches_find_(rows, count, dimensions, queries, query_count, threads[run], top, matches[run], found[run]));
    }
    for (size_t query = 0; query != query_count; ++query) {
        size_t const kept = rank_rows(rows, count, dimensions, queries + query * dimensions, ranked);
        for (size_t run = 0; run != runs; ++run) {
            assert_int_equal(found[run][query], kept < top ? kept : top);
            for (size_t rank = 0; rank != found[run][query]; ++rank) {
                match_t const match = matches[run][query * top + rank];
                if (match.position != ranked[rank].position || match.score != ranked[rank].score)
                    fail_msg("%zu rows of %zu, query %zu, rank %zu", count, dimensions, query, rank);
            }
        }
    }
    for (size_t run = 0; run != runs; ++run) free(matches[run]);
    free(ranked), free(rows);
}

static void matches_are_the_best_rows(void **state) {
    (void)state;
    random_seed();
    static size_t const counts[] = {0, 1, 5, 300, 9000}, widths[] = {1, 16, 33}, tops[] = {1, 10, 6000};
    for (size_t which = 0; which != 5 * 3 * 3; ++which)
        // The largest are the same at every width.
        if (counts[which % 5] < 9000 || which / 5 % 3 == 2)
            expect_best_rows(counts[which % 5], widths[which / 5 % 3], tops[which / 15]);
}

static void scores_are_products(void **state) {
    (void)state;
    random_seed();
    for (size_t dimensions = 1; dimensions != 70; ++dimensions) {
        float rows[2 * 70];
        random_rows(rows, 2, dimensions);
        double expected = 0;
        for (size_t at = 0; at != dimensions; ++at) expected += (double)rows[at] * (double)rows[dimensions + at];
        assert_true(fabs((double)match_score_(rows, rows + dimensions, dimensions) - expected) < 1e-6);
    }
}

static void folders_give_their_pictures(void **state) {
    (void)state;
    static char const gif[] = "GIF89a", text[] = "words, words";
    static char const *const folders[] = {"tree", "tree/sub", "tree/sub/deep", "tree/.hidden", "tree/empty"};
    for (size_t row = 0; row != 5; ++row) assert_int_equal(mkdir(file(folders[row]), 0700), 0);
    // By their names, by what they hold, and those that are neither.
    static char const *const pictures[] = {"tree/a.JPG", "tree/b.jpeg", "tree/noname", "tree/sub/c.gif",
        "tree/sub/deep/d", "tree/sub/it's \"odd\" #1?\n.png", "tree/sub/\xFF.gif"};
    static char const *const others[] = {
        "tree/notes.txt", "tree/jpg", "tree/.jpg", "tree/sub/.x.gif", "tree/.hidden/e.gif"};
    for (size_t row = 0; row != 7; ++row) write_file(file(pictures[row]), gif, 6);
    for (size_t row = 0; row != 5; ++row) write_file(file(others[row]), row < 2 ? text : gif, 6);
    // A link around in a circle, one to a picture, one to nothing, and a pipe with a picture's name.
    assert_int_equal(symlink("..", file("tree/sub/loop")), 0);
    assert_int_equal(symlink("a.JPG", file("tree/z.jpg")), 0);
    assert_int_equal(symlink("nowhere", file("tree/gone.jpg")), 0);
    assert_int_equal(mkfifo(file("tree/pipe.png"), 0600), 0);
    static char const *const expected[] = {"tree/a.JPG", "tree/b.jpeg", "tree/noname", "tree/sub/c.gif",
        "tree/sub/deep/d", "tree/sub/it's \"odd\" #1?\n.png", "tree/sub/\xFF.gif", "tree/z.jpg"};
    paths_t paths = {0};
    show_messages(false);
    // A folder within another one is there once.
    assert_true(paths_add_(&paths, file("tree/sub")));
    assert_true(paths_add_(&paths, file("tree/")));
    show_messages(true);
    paths_sort_(&paths);
    assert_int_equal(paths.failed_count, 1);
    assert_int_equal(paths.count, 8);
    for (size_t row = 0; row != 8; ++row) assert_string_equal(paths.paths[row], file(expected[row]));
    paths_free_(&paths);
}

static void pictures_are_known_by_how_they_begin(void **state) {
    (void)state;
    static struct {
        char const *bytes;
        size_t length;
        bool is_picture;
    } const cases[] = {{"\xFF\xD8\xFF\xE0", 4, true}, {"\xFF\xD8", 2, false}, {"\x89PNG\r\n\x1A\n", 8, true},
        {"GIF87a", 6, true}, {"RIFF\0\0\0\0WEBPVP8 ", 16, true}, {"RIFF\0\0\0\0WAVEfmt ", 16, false},
        {"\0\0\0\x1C"
         "ftypavif",
            12, true},
        {"\0\0\0\x1C"
         "ftypmp42",
            12, false},
        {"II*\0", 4, true}, {"MM\0*", 4, true}, {"BM\0\0\0\0\0\0\0\0\0\0\0\0\x28\0\0\0", 18, true},
        {"BMW is a maker of cars", 22, false}, {"", 0, false}, {"<html>", 6, false}};
    for (size_t row = 0; row != sizeof(cases) / sizeof(cases[0]); ++row)
        if (begins_as_picture_((unsigned char const *)cases[row].bytes, cases[row].length) != cases[row].is_picture)
            fail_msg("case %zu", row);
}

int main(void) {
    if (!mkdtemp(folder)) return 1;
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(indexes_hold_what_was_put_in),
        cmocka_unit_test(a_graph_is_noted),
        cmocka_unit_test(broken_indexes_are_refused),
        cmocka_unit_test(files_are_replaced_whole),
        cmocka_unit_test(matches_are_the_best_rows),
        cmocka_unit_test(scores_are_products),
        cmocka_unit_test(folders_give_their_pictures),
        cmocka_unit_test(pictures_are_known_by_how_they_begin),
    };
    int const failed = cmocka_run_group_tests(tests, NULL, NULL);
    nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    return failed;
}
