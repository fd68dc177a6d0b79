/**
 *  MiniLM's own tokenizer against the ids the `tokenizers` library gave, and how fast it is:
 *
 *      test_tokenizers_minilm DIRECTORY [--bench FILE]     FILE has one text a line
 */
#include "tokenizer_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/file.h"

static void texts_get_the_library_s_ids(void **state) {
    check_cases("minilm.json", *state);
}

static void the_file_s_limit_is_told(void **state) {
    assert_false(uform_tokenizer_truncates_left_(*state));
    assert_int_equal(uform_tokenizer_special_count_(*state), 2);
    assert_int_equal(uform_tokenizer_vocabulary_count_(*state), 30522);
}

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/// Tokens of all lines, or zero after a failure.
static size_t tokenize_lines(
    uform_tokenizer_t tokenizer, char const *text, size_t length, uform_tokenize_buffer_t *buffer) {
    uform_tokenize_options_t const options = {0};
    size_t tokens = 0;
    for (size_t start = 0; start < length;) {
        char const *const end = memchr(text + start, '\n', length - start);
        size_t const bytes = end ? (size_t)(end - text) - start : length - start;
        if (uform_tokenizer_run_(tokenizer, text + start, bytes, &options, buffer)) return 0;
        tokens += buffer->count, start += bytes + 1;
    }
    return tokens;
}

static int bench(char const *tokenizer_path, char const *path) {
    enum { repeats_k = 20 };
    double const begun = seconds_now();
    uform_tokenizer_t tokenizer;
    char *text;
    size_t length;
    if (uform_tokenizer_load_(tokenizer_path, NULL, &tokenizer)) return fprintf(stderr, "%s\n", uform_last_detail()), 2;
    double const loaded = seconds_now();
    if (uform_file_read_(path, (size_t)1 << 30, &text, &length)) return fprintf(stderr, "%s\n", uform_last_detail()), 2;
    uform_tokenize_buffer_t buffer = {0};
    double best = 1e9;
    size_t tokens = 0;
    for (size_t i = 0; i < repeats_k; ++i) {
        double const start = seconds_now();
        tokens = tokenize_lines(tokenizer, text, length, &buffer);
        double const taken = seconds_now() - start;
        if (taken < best) best = taken;
    }
    printf("loaded in %.1f ms; %zu tokens in %.2f ms, %.1f M tokens/s\n", 1e3 * (loaded - begun), tokens, 1e3 * best,
        1e-6 * (double)tokens / best);
    uform_tokenize_buffer_free_(&buffer);
    uform_tokenizer_free_(tokenizer);
    free(text);
    return 0;
}

int main(int argument_count, char **arguments) {
    char path[4096];
    if (argument_count < 2) return fprintf(stderr, "usage: %s DIRECTORY [--bench FILE]\n", arguments[0]), 2;
    snprintf(path, sizeof(path), "%s/tokenizer.json", arguments[1]);
    if (argument_count == 4 && !strcmp(arguments[2], "--bench")) return bench(path, arguments[3]);
    uform_tokenizer_t tokenizer;
    if (uform_tokenizer_load_(path, NULL, &tokenizer)) return fprintf(stderr, "%s\n", uform_last_detail()), 1;
    struct CMUnitTest const tests[] = {
        cmocka_unit_test_prestate(texts_get_the_library_s_ids, tokenizer),
        cmocka_unit_test_prestate(the_file_s_limit_is_told, tokenizer),
    };
    int const failures = cmocka_run_group_tests(tests, NULL, NULL);
    uform_tokenizer_free_(tokenizer);
    return failures;
}
