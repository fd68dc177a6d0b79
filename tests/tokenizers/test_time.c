/**
 *  Long texts and hostile vocabularies take linear time, and several
 *  threads share a tokenizer. `alarm` ends a program that hangs.
 */
#include "tokenizer_test.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    long_bytes_k = 1 << 19,
#else
    long_bytes_k = 10 << 20,
#endif
    time_limit_seconds_k = 60,
};

#define FLAGS "\"id\":9,\"special\":false,\"single_word\":false,\"normalized\":false"

// Vocabularies whose tokens share long beginnings make a search that starts anew at every letter slow.
static struct {
    char const *prefix, *unit; ///< of the long tokens: the unit repeated, then "!"
    size_t repeats;
    char const *rest;       ///< other entries
    char const *text;       ///< repeated to the length
    size_t tokens_per_mebi; ///< ids of 2^20 bytes, zero for one alone
} const rows[] = {
    {"##", "a", 200000, "\"a\":1,\"##a\":2", "a", 1 << 20},
    {"##", "ab", 100000, "\"a\":1,\"##a\":2,\"##b\":3", "ab", 1 << 20},
    {"", "a", 200000, "\"a\":1,\"##a\":2", "a", 1 << 20},
    {"##", "a", 200000, "\"a\":1", "a", 0},
    {"##", "a", 3, "\"a\":1,\"##a\":2,\"##aaaa\":4", "a", 0x40000 + 3},
};

static uform_tokenizer_t hostile_tokenizer(size_t row) {
    char const *const unit = rows[row].unit;
    char *const text = malloc(strlen(unit) * rows[row].repeats + 1000);
    assert_non_null(text);
    char *end = text + sprintf(text,
                           "{\"model\":{\"unk_token\":\"?\",\"continuing_subword_prefix\":\"##\","
                           "\"max_input_chars_per_word\":1000000000,\"vocab\":{\"?\":0,%s,\"%s",
                           rows[row].rest, rows[row].prefix);
    for (size_t i = 0; i < rows[row].repeats; ++i) end = stpcpy(end, unit);
    end = stpcpy(end, "!\":5}}}");
    uform_tokenizer_t tokenizer;
    if (tokenizer_from_text(text, (size_t)(end - text), false, &tokenizer)) fail_msg("%s", uform_last_detail());
    free(text);
    return tokenizer;
}

static char *repeated(char const *unit, size_t *length) {
    size_t const bytes = strlen(unit);
    *length = long_bytes_k / bytes * bytes;
    char *text = malloc(*length);
    assert_non_null(text);
    for (size_t i = 0; i < *length; i += bytes) memcpy(text + i, unit, bytes);
    return text;
}

static void long_words_take_linear_time(void **state) {
    (void)state;
    uform_tokenize_options_t const options = {0};
    for (size_t row = 0; row < sizeof(rows) / sizeof(*rows); ++row) {
        uform_tokenizer_t tokenizer = hostile_tokenizer(row);
        uform_tokenize_buffer_t buffer = {0};
        size_t length;
        char *const text = repeated(rows[row].text, &length);
        assert_int_equal(uform_tokenizer_run_(tokenizer, text, length, &options, &buffer), uform_status_ok_k);
        if (rows[row].tokens_per_mebi >= 1 << 20) assert_int_equal(buffer.count, length);
        else if (rows[row].tokens_per_mebi) assert_int_equal(buffer.count, 1 + (length - 1) / 4 + (length - 1) % 4);
        else assert_int_equal(buffer.count, 1);
        free(text);
        uform_tokenize_buffer_free_(&buffer);
        uform_tokenizer_free_(tokenizer);
    }
}

static void any_long_text_takes_linear_time(void **state) {
    (void)state;
    static char const *const units[] = {"a", "\u0301", "a\u0301\u0323\u0334", " ", ".", "\xFF", "\xE2\x80", "[CLS]",
        "[CLS", " [MASK] ", "Tok04 ", " \u00a0", "Tok3", "\u03a3\u0301", "\u4e00", "\uac00", "ab ", "\u1100\u1161"};
    static char const *const variants[] = {"uncased", "bare", "flags", "nfkc_lower", "nfkd_strip", "endless"};
    for (size_t v = 0; v < sizeof(variants) / sizeof(*variants); ++v) {
        uform_tokenizer_t tokenizer = golden_tokenizer(variants[v], v % 2);
        uform_tokenize_buffer_t buffer = {0};
        for (size_t u = 0; u < sizeof(units) / sizeof(*units); ++u) {
            uform_tokenize_options_t const options = {.max_tokens = 512, .truncate_left = u % 3 == 0};
            size_t length;
            char *const text = repeated(units[u], &length);
            assert_int_equal(uform_tokenizer_run_(tokenizer, text, length / 8, &options, &buffer), uform_status_ok_k);
            assert_true(buffer.count <= 512);
            free(text);
        }
        uform_tokenize_buffer_free_(&buffer);
        uform_tokenizer_free_(tokenizer);
    }
}

/// Words of a million letters and more, and a vocabulary in which every beginning of a long piece is a piece.
static void long_texts_of_subwords_take_about_linear_time(void **state) {
    (void)state;
    static char const *const units[] = {"a", "ab", "\u65e5", " ", "\u0301", "\xFF", "\n ", "a\u0301",
        "The quick brown fox. ", "<s>", "' s", "1", "\u2581", "\u1100\u1161"};
    static char const *const variants[] = {
        "gpt2", "bytes_whole", "llama3", "clip", "llama2", "prefixed", "xlmr_newer", "whole", "left"};
    uform_tokenize_options_t const options = {0};
    for (size_t v = 0; v < sizeof(variants) / sizeof(*variants); ++v) {
        uform_tokenizer_t tokenizer = golden_tokenizer(variants[v], false);
        uform_tokenize_buffer_t buffer = {0};
        for (size_t u = 0; u < sizeof(units) / sizeof(*units); ++u) {
            size_t length;
            char *const text = repeated(units[u], &length);
            assert_int_equal(uform_tokenizer_run_(tokenizer, text, length / 32, &options, &buffer), uform_status_ok_k);
            free(text);
        }
        uform_tokenize_buffer_free_(&buffer);
        uform_tokenizer_free_(tokenizer);
    }
}

static void pieces_that_begin_alike_take_bounded_time(void **state) {
    (void)state;
    enum { long_piece_k = 100000, pieces_k = 300 };
    char *const json = malloc(long_piece_k + pieces_k * (pieces_k + 20) + 1000);
    assert_non_null(json);
    char *end = json + sprintf(json, "{\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"?\",-9],[\"");
    memset(end, 'a', long_piece_k);
    end += long_piece_k;
    end = stpcpy(end, "!\",-1]");
    for (size_t i = 1; i <= pieces_k; ++i) {
        end = stpcpy(end, ",[\"");
        memset(end, 'a', i);
        end = stpcpy(end + i, "\",-2]");
    }
    end = stpcpy(end, "]}}");
    uform_tokenizer_t tokenizer;
    if (tokenizer_from_text(json, (size_t)(end - json), false, &tokenizer)) fail_msg("%s", uform_last_detail());
    free(json);
    uform_tokenize_options_t const options = {0};
    uform_tokenize_buffer_t buffer = {0};
    size_t length;
    char *const text = repeated("a", &length);
    length = length / 32 / pieces_k * pieces_k;
    assert_int_equal(uform_tokenizer_run_(tokenizer, text, length, &options, &buffer), uform_status_ok_k);
    assert_int_equal(buffer.count, length / pieces_k);
    free(text);
    uform_tokenize_buffer_free_(&buffer);
    uform_tokenizer_free_(tokenizer);
}

/// Added tokens that are the beginnings of one very long one, and tokens made of the white space others strip.
static void added_tokens_take_linear_time(void **state) {
    (void)state;
    enum { token_bytes_k = 100000 };
    char *const json = malloc(token_bytes_k + 2000);
    assert_non_null(json);
    char *end =
        json + sprintf(json, "{\"added_tokens\":[{\"content\":\" \",\"lstrip\":false,\"rstrip\":true," FLAGS "},"
                             "{\"content\":\"aa\",\"lstrip\":true,\"rstrip\":true," FLAGS "},"
                             "{\"lstrip\":false,\"rstrip\":false," FLAGS ",\"content\":\"");
    memset(end, 'a', token_bytes_k);
    end += token_bytes_k;
    end += sprintf(end, "!\"}],\"model\":{\"unk_token\":\"?\",\"continuing_subword_prefix\":\"##\","
                        "\"max_input_chars_per_word\":100,\"vocab\":{\"?\":0}}}");
    uform_tokenizer_t tokenizer;
    if (tokenizer_from_text(json, (size_t)(end - json), false, &tokenizer)) fail_msg("%s", uform_last_detail());
    free(json);
    static char const *const units[] = {"a", " ", "a ", "aa \u2003"};
    uform_tokenize_options_t const options = {0};
    uform_tokenize_buffer_t buffer = {0};
    for (size_t u = 0; u < sizeof(units) / sizeof(*units); ++u) {
        size_t length;
        char *const text = repeated(units[u], &length);
        assert_int_equal(uform_tokenizer_run_(tokenizer, text, length, &options, &buffer), uform_status_ok_k);
        assert_true(buffer.count > 0);
        free(text);
    }
    uform_tokenize_buffer_free_(&buffer);
    uform_tokenizer_free_(tokenizer);
}

typedef struct worker_t {
    uform_tokenizer_t tokenizer;
    uint64_t hash;
} worker_t;

static void *tokenize_repeatedly(void *argument) {
    worker_t *const worker = argument;
    uform_tokenize_buffer_t buffer = {0};
    uform_tokenize_options_t const options = {0};
    static char const text[] = "Unbelievable t\u00e9xts, the [MASK] of \u4e2d\u6587 and tokenizations";
    for (size_t i = 0; i < 500; ++i) {
        if (uform_tokenizer_run_(worker->tokenizer, text, sizeof(text) - 1 - i % 7, &options, &buffer)) return NULL;
        worker->hash = hash_ids(worker->hash, buffer.ids, buffer.count);
    }
    uform_tokenize_buffer_free_(&buffer);
    return NULL;
}

static void threads_share_a_tokenizer(void **state) {
    (void)state;
    enum { threads_k = 4 };
    uform_tokenizer_t tokenizer = golden_tokenizer("uncased", false);
    pthread_t threads[threads_k];
    worker_t workers[threads_k] = {{0}};
    for (size_t i = 0; i < threads_k; ++i) {
        workers[i].tokenizer = tokenizer;
        assert_int_equal(pthread_create(&threads[i], NULL, tokenize_repeatedly, &workers[i]), 0);
    }
    for (size_t i = 0; i < threads_k; ++i) pthread_join(threads[i], NULL);
    for (size_t i = 0; i < threads_k; ++i) assert_true(workers[i].hash && workers[i].hash == workers[0].hash);
    uform_tokenizer_free_(tokenizer);
}

int main(void) {
    alarm(time_limit_seconds_k);
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(long_words_take_linear_time),
        cmocka_unit_test(any_long_text_takes_linear_time),
        cmocka_unit_test(long_texts_of_subwords_take_about_linear_time),
        cmocka_unit_test(pieces_that_begin_alike_take_bounded_time),
        cmocka_unit_test(added_tokens_take_linear_time),
        cmocka_unit_test(threads_share_a_tokenizer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
