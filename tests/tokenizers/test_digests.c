/**
 *  Every code point in several contexts, seeded random texts and random bytes, against hashes of the ids the
 *  `tokenizers` library gave. Sanitizers are too slow for all of it; they get every eighth block of the sweeps.
 */
#include "tokenizer_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

enum {
    sweep_chunk_k = 64,
    sweep_block_k = 8192,
    random_block_k = 500,
    code_points_k = 0x110000,
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    sweep_stride_k = 8,
#else
    sweep_stride_k = 1,
#endif
};

// The same table stands in tools/golden_tokenizers.py.
static struct {
    uint32_t low, high;
} const ranges[] = {{0x20, 0x7F}, {0x61, 0x7B}, {0x0, 0x21}, {0xA0, 0x250}, {0x300, 0x370}, {0x370, 0x530},
    {0x590, 0x700}, {0x900, 0xE80}, {0x1100, 0x1200}, {0x1B00, 0x1C00}, {0x1E00, 0x2070}, {0x3000, 0x3100},
    {0x4E00, 0x5000}, {0xAC00, 0xAD00}, {0xF900, 0xFB50}, {0x1D160, 0x1D170}, {0x2B800, 0x2B930}, {0x20, 0x21},
    {0x2000, 0x2800}, {0x10000, 0x11200}};

static unsigned char const bytes[] = {0x61, 0x41, 0x20, 0x41, 0x20, 0xC2, 0xC3, 0xE0, 0xE1, 0xE2, 0xEC, 0xED, 0xEE,
    0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xA9, 0xBF, 0xAD};

static char const *digests; ///< the golden file

static size_t random_text(uint64_t *state, char *text) {
    enum { ranges_count_k = sizeof(ranges) / sizeof(*ranges) };
    size_t const count = random_below(state, 25);
    size_t const first = random_below(state, ranges_count_k), second = random_below(state, ranges_count_k);
    size_t length = 0;
    for (size_t i = 0; i < count; ++i) {
        size_t const range = random_below(state, 2) ? first : second;
        uint64_t const offset = random_below(state, ranges[range].high - ranges[range].low);
        length += uform_utf8_encode_(ranges[range].low + (uint32_t)offset, text + length);
    }
    return length;
}

static size_t random_bytes(uint64_t *state, char *text) {
    size_t const length = random_below(state, 20);
    for (size_t i = 0; i < length; ++i) text[i] = (char)bytes[random_below(state, sizeof(bytes))];
    return length;
}

/// `"a{0}b {0} {0}\u0301 x\u0345{0}\u0334 A\u03a3{0} "` for every code point of a chunk.
static size_t chunk_text(uint32_t first, char *text) {
    static char const *const between[] = {"a", "b ", " ", "\u0301 x\u0345", "\u0334 A\u03A3", " "};
    size_t length = 0;
    for (uint32_t code = first; code < first + sweep_chunk_k; ++code) {
        if (code >= 0xD800 && code < 0xE000) continue;
        for (size_t i = 0; i < sizeof(between) / sizeof(*between); ++i) {
            size_t const bytes_between = strlen(between[i]);
            memcpy(text + length, between[i], bytes_between);
            length += bytes_between;
            if (i < 5) length += uform_utf8_encode_(code, text + length);
        }
    }
    return length;
}

static uint64_t hash_of(uform_tokenizer_t tokenizer, uint64_t hash, char const *text, size_t length,
    uform_tokenize_options_t const *options, uform_tokenize_buffer_t *buffer) {
    // A copy of just this length, so that the address sanitizer sees what is read beyond it.
    char *const copy = malloc(length ? length : 1);
    assert_non_null(copy);
    memcpy(copy, text, length);
    if (uform_tokenizer_run_(tokenizer, copy, length, options, buffer)) fail_msg("%s", uform_last_detail());
    free(copy);
    return hash_ids(hash, buffer->ids, buffer->count);
}

static void check_digest(uform_json_t const *run, uform_json_t const *digest, size_t block, uint64_t hash) {
    char text[32];
    snprintf(text, sizeof(text), "%016llx", (unsigned long long)hash);
    if (strcmp(text, digest->text)) fail_msg("%s: block %zu differs", uform_json_find_(run, "variant")->text, block);
}

static void every_code_point(void **state) {
    (void)state;
    uform_json_document_t document = golden_open(digests);
    char *const text = malloc((size_t)sweep_chunk_k * 64);
    assert_non_null(text);
    for (uform_json_t const *run = uform_json_find_(document.root, "sweeps")->first; run; run = run->next) {
        uform_tokenizer_t tokenizer = golden_run_tokenizer(run);
        uform_tokenize_options_t const options = golden_options(run);
        uform_tokenize_buffer_t buffer = {0};
        uform_json_t const *digest = uform_json_find_(run, "digests")->first;
        for (uint32_t block = 0; block < code_points_k / sweep_block_k; ++block, digest = digest->next) {
            uint64_t hash = 0;
            if (block % sweep_stride_k) continue;
            for (uint32_t chunk = 0; chunk < sweep_block_k; chunk += sweep_chunk_k) {
                size_t const length = chunk_text(block * sweep_block_k + chunk, text);
                hash = hash_of(tokenizer, hash, text, length, &options, &buffer);
            }
            check_digest(run, digest, block, hash);
        }
        uform_tokenize_buffer_free_(&buffer);
        uform_tokenizer_free_(tokenizer);
    }
    free(text);
    uform_json_close_(&document);
}

static void check_random(char const *key, size_t (*make)(uint64_t *state, char *text)) {
    uform_json_document_t document = golden_open(digests);
    for (uform_json_t const *run = uform_json_find_(document.root, key)->first; run; run = run->next) {
        uform_tokenizer_t tokenizer = golden_run_tokenizer(run);
        uform_tokenize_options_t const options = golden_options(run);
        uform_tokenize_buffer_t buffer = {0};
        uint64_t random = 2026;
        size_t block = 0;
        for (uform_json_t const *digest = uform_json_find_(run, "digests")->first; digest;
             digest = digest->next, ++block) {
            uint64_t hash = 0;
            for (size_t i = 0; i < random_block_k; ++i) {
                char text[256];
                size_t const length = make(&random, text);
                hash = hash_of(tokenizer, hash, text, length, &options, &buffer);
            }
            check_digest(run, digest, block, hash);
        }
        uform_tokenize_buffer_free_(&buffer);
        uform_tokenizer_free_(tokenizer);
    }
    uform_json_close_(&document);
}

static void random_texts(void **state) {
    (void)state;
    check_random("texts", random_text);
}

static void random_invalid_bytes(void **state) {
    (void)state;
    check_random("bytes", random_bytes);
}

int main(int count, char **arguments) {
    digests = count > 1 ? arguments[1] : "digests.json";
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(every_code_point),
        cmocka_unit_test(random_texts),
        cmocka_unit_test(random_invalid_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
