/**
 *  USearch as the tool meets it: absent, early, of another version, broken, and a graph that isn't the index's. A
 *  stand-in plays the library; with UFORM_USEARCH_LIBRARY in the environment, the real one is tried as well.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../cli/index_file.h"
#include "../../cli/matches.h"
#include "../../cli/usearch.h"
#include "random.h"

enum { count_k = 500, dimensions_k = 24, top_k = 10 };

static char const *standins;
static char *given_library;
static char index_path[] = "/tmp/uform-usearch-XXXXXX", graph_path[64];
static size_t shown_count;

static void shown(void *context, size_t added) {
    (void)context;
    shown_count = added;
}

static void choose(char const *name) {
    char path[512];
    snprintf(path, sizeof(path), "%s/%s.so", standins, name);
    assert_int_equal(setenv("UFORM_USEARCH_LIBRARY", path, 1), 0);
}

/// Writes an index of random vectors and opens it.
static void make_index(index_t *index) {
    float *const rows = calloc(count_k, dimensions_k * sizeof(float));
    index_writer_t writer;
    random_rows(rows, count_k, dimensions_k);
    truncate(index_path, 0);
    assert_true(index_create_(&writer, index_path, rows, dimensions_k));
    for (size_t row = 0; row != count_k; ++row) assert_true(index_add_(&writer, rows + row * dimensions_k, "x", 1));
    assert_true(index_finish_(&writer, "clip"));
    free(rows);
    assert_true(index_open_(index, index_path));
}

static usearch_outcome_t build(index_t *index, char *reason) {
    index_graph_t graph;
    usearch_outcome_t const outcome =
        usearch_build_(index_path, index->vectors, count_k, dimensions_k, shown, NULL, &graph, reason);
    if (outcome != usearch_ready_k) {
        assert_int_equal(graph.bytes, 0);
        return outcome;
    }
    assert_int_equal(shown_count, count_k);
    assert_true(index_set_graph_(index_path, graph));
    index_close_(index);
    assert_true(index_open_(index, index_path));
    return outcome;
}

/// An index of random vectors, its graph made by a library, and that graph opened.
static usearch_t make_and_open(index_t *index) {
    char reason[usearch_reason_bytes_k] = "";
    usearch_t usearch = NULL;
    make_index(index);
    if (build(index, reason) != usearch_ready_k) fail_msg("%s", reason);
    if (usearch_open_(index, &usearch, reason) != usearch_ready_k) fail_msg("%s", reason);
    return usearch;
}

/// The graph's answers are those of comparing with every row, at least `wanted` of them over all queries.
static void expect_same(usearch_t usearch, index_t const *index, size_t queries, size_t wanted) {
    size_t same = 0;
    for (size_t query = 0; query != queries; ++query) {
        float vector[dimensions_k];
        char reason[usearch_reason_bytes_k] = "";
        match_t found[top_k], expected[top_k];
        size_t found_count = 0, expected_count = 0;
        random_rows(vector, 1, dimensions_k);
        if (!usearch_find_(usearch, index, vector, top_k, found, &found_count, reason)) fail_msg("%s", reason);
        assert_true(
            matches_find_(index->vectors, count_k, dimensions_k, vector, 1, 1, top_k, expected, &expected_count));
        assert_int_equal(found_count, expected_count);
        for (size_t rank = 0; rank != found_count; ++rank)
            same += found[rank].position == expected[rank].position && found[rank].score == expected[rank].score;
    }
    if (same < wanted) fail_msg("%zu of %zu matches", same, queries * top_k);
}

static void a_graph_finds_what_comparing_finds(void **state) {
    (void)state;
    random_seed();
    static char const *const libraries[] = {"usearch", "usearch_early"}, *const versions[] = {"2.99.1", "2"};
    for (size_t row = 0; row != 2; ++row) {
        index_t index;
        choose(libraries[row]);
        usearch_t const usearch = make_and_open(&index);
        assert_string_equal(usearch_version_words_(usearch), versions[row]);
        expect_same(usearch, &index, 20, 20 * top_k);
        usearch_close_(usearch);
        index_close_(&index);
    }
    if (!given_library) return;
    index_t index;
    setenv("UFORM_USEARCH_LIBRARY", given_library, 1);
    usearch_t const usearch = make_and_open(&index);
    print_message("USearch %s\n", usearch_version_words_(usearch));
    expect_same(usearch, &index, 100, 990);
    usearch_close_(usearch);
    index_close_(&index);
}

static void unusable_libraries_are_told(void **state) {
    (void)state;
    static struct {
        char const *library, *part;
    } const cases[] = {{"usearch_version_3", "expected version 2, found 3.0.0"},
        {"usearch_cut", "has no usearch_view_buffer"}, {"nowhere", "UFORM_USEARCH_LIBRARY: "}};
    char reason[usearch_reason_bytes_k] = "";
    index_t index;
    usearch_t usearch = NULL;
    unlink(graph_path);
    make_index(&index);
    for (size_t row = 0; row != sizeof(cases) / sizeof(cases[0]); ++row) {
        choose(cases[row].library);
        assert_int_equal(build(&index, reason), usearch_failed_k);
        if (!strstr(reason, cases[row].part)) fail_msg("%s: %s", cases[row].library, reason);
        assert_int_equal(access(graph_path, F_OK), -1);
    }
    // An index without a graph needs no library.
    assert_int_equal(usearch_open_(&index, &usearch, reason), usearch_absent_k);
    assert_null(usearch);
    choose("usearch");
    if (build(&index, reason) != usearch_ready_k) fail_msg("%s", reason);
    for (size_t row = 0; row != sizeof(cases) / sizeof(cases[0]); ++row) {
        choose(cases[row].library);
        assert_int_equal(usearch_open_(&index, &usearch, reason), usearch_failed_k);
        assert_null(usearch);
        if (!strstr(reason, cases[row].part)) fail_msg("%s: %s", cases[row].library, reason);
    }
    index_close_(&index);
}

static void answers_that_cant_be_are_refused(void **state) {
    (void)state;
    static char const *const libraries[] = {"usearch_fails", "usearch_lies"};
    static char const *const parts[] = {"search failed", "found 1 of 10"};
    for (size_t row = 0; row != 2; ++row) {
        char reason[usearch_reason_bytes_k] = "";
        index_t index;
        choose(libraries[row]);
        usearch_t const usearch = make_and_open(&index);
        match_t matches[top_k];
        size_t found = 0;
        assert_false(usearch_find_(usearch, &index, index.probe, top_k, matches, &found, reason));
        if (!strstr(reason, parts[row])) fail_msg("%s", reason);
        usearch_close_(usearch);
        index_close_(&index);
    }
}

static void only_its_own_graph_is_opened(void **state) {
    (void)state;
    char reason[usearch_reason_bytes_k] = "";
    index_t index;
    usearch_t usearch = NULL;
    choose("usearch");
    make_index(&index);
    if (build(&index, reason) != usearch_ready_k) fail_msg("%s", reason);
    // Any byte of it that is another, or one that is missing.
    size_t const length = index.graph.bytes;
    for (size_t round = 0; round != 200; ++round) {
        FILE *file = fopen(graph_path, "r+b");
        long const place = (long)random_below(length);
        fseek(file, place, SEEK_SET);
        int const byte = fgetc(file);
        fseek(file, place, SEEK_SET);
        fputc(byte ^ (int)(1 + random_below(255)), file);
        fclose(file);
        assert_int_equal(usearch_open_(&index, &usearch, reason), usearch_failed_k);
        assert_non_null(strstr(reason, "isn't the graph that was made with the index"));
        file = fopen(graph_path, "r+b");
        fseek(file, place, SEEK_SET);
        fputc(byte, file);
        fclose(file);
    }
    assert_int_equal(usearch_open_(&index, &usearch, reason), usearch_ready_k);
    usearch_close_(usearch);
    assert_int_equal(truncate(graph_path, (off_t)length - 1), 0);
    assert_int_equal(usearch_open_(&index, &usearch, reason), usearch_failed_k);
    assert_int_equal(truncate(graph_path, 0), 0);
    assert_int_equal(usearch_open_(&index, &usearch, reason), usearch_failed_k);
    unlink(graph_path);
    assert_int_equal(usearch_open_(&index, &usearch, reason), usearch_failed_k);
    assert_non_null(strstr(reason, "No such file"));
    index_close_(&index);
}

int main(int argument_count, char **arguments) {
    if (argument_count != 2 || mkstemp(index_path) < 0) return 1;
    standins = arguments[1];
    given_library = getenv("UFORM_USEARCH_LIBRARY") ? strdup(getenv("UFORM_USEARCH_LIBRARY")) : NULL;
    snprintf(graph_path, sizeof(graph_path), "%s.usearch", index_path);
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(a_graph_finds_what_comparing_finds),
        cmocka_unit_test(unusable_libraries_are_told),
        cmocka_unit_test(answers_that_cant_be_are_refused),
        cmocka_unit_test(only_its_own_graph_is_opened),
    };
    unlink(graph_path);
    int const failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(graph_path);
    unlink(index_path);
    free(given_library);
    return failed;
}
