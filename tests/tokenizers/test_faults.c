/**
 *  Memory that runs out at every allocation in turn, while a tokenizer is loaded and while it runs.
 */
#include "tokenizer_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "faults/allocation.h"

static char const wordpiece[] =
    "{\"added_tokens\":[{\"id\":1,\"content\":\"[X]\",\"special\":true,\"single_word\":false,\"lstrip\":true,"
    "\"rstrip\":true,\"normalized\":false},{\"id\":7,\"content\":\"\u00c9\",\"special\":false,\"single_word\":true,"
    "\"lstrip\":true,\"rstrip\":true,\"normalized\":true}],"
    "\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Replace\",\"pattern\":{\"String\":\"q\"},"
    "\"content\":\"ab\"},{\"type\":\"NFKC\"},{\"type\":\"BertNormalizer\",\"clean_text\":true,"
    "\"handle_chinese_chars\":true,\"strip_accents\":null,\"lowercase\":true}]},"
    "\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},"
    "\"post_processor\":{\"type\":\"Sequence\",\"processors\":[{\"type\":\"BertProcessing\",\"cls\":[\"a\",1],"
    "\"sep\":[\"a\",1]},{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"c\",\"type_id\":1}},"
    "{\"Sequence\":{\"id\":\"A\",\"type_id\":0}}],\"special_tokens\":{\"c\":{\"id\":\"c\",\"ids\":[1,2]}}}]},"
    "\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"[UNK]\",\"continuing_subword_prefix\":\"##\","
    "\"max_input_chars_per_word\":100,\"vocab\":{\"[UNK]\":0,\"a\":1,\"##b\":2,\"ab\":3,\"##ba\":4}}}";

// Long replacements and words make every buffer grow.
#define SUBWORDS(model)                                                                                                \
    "{\"added_tokens\":[{\"id\":1,\"content\":\"[X]\",\"special\":true,\"single_word\":false,\"lstrip\":true,"         \
    "\"rstrip\":true,\"normalized\":false}],\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":"         \
    "\"Precompiled\",\"precompiled_charsmap\":\"BAAAAAAAAAA=\"},{\"type\":\"Prepend\",\"prepend\":\"a\"},"             \
    "{\"type\":\"Replace\",\"pattern\":{\"Regex\":\" {2,}\"},\"content\":\" \"},{\"type\":\"Strip\",\"strip_left\":"   \
    "true,\"strip_right\":true}]},\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":"              \
    "\"Metaspace\",\"replacement\":\"_\"},{\"type\":\"ByteLevel\",\"add_prefix_space\":true}]},\"model\":" model "}"

static char const bpe[] =
    SUBWORDS("{\"type\":\"BPE\",\"unk_token\":\"?\",\"continuing_subword_prefix\":\"#\",\"end_of_word_suffix\":\"/\","
             "\"byte_fallback\":true,\"vocab\":{\"?\":0,\"a\":1,\"#b\":2,\"ab\":3,\"#a/\":4},\"merges\":[\"a #b\"]}");
static char const unigram[] = SUBWORDS("{\"type\":\"Unigram\",\"unk_id\":0,\"byte_fallback\":true,\"vocab\":[[\"?\",0],"
                                       "[\"a\",-1],[\"ab\",-3],[\"b\",-1],[\"<0xC4>\",-1],[\"<0xA0>\",-1]]}");

static uform_tokenizer_settings_t const lowering = {.lower_case = true};

static void loading_survives_every_failure(void **state) {
    char const *const path = *state;
    for (size_t nth = 1;; ++nth) {
        uform_tokenizer_t tokenizer;
        faults_arm(nth, nth % 2);
        uform_status_t const status = uform_tokenizer_load_(path, &lowering, &tokenizer);
        if (!faults_disarm()) {
            assert_int_equal(status, uform_status_ok_k);
            uform_tokenizer_free_(tokenizer);
            assert_true(nth > 20);
            return;
        }
        assert_int_equal(status, uform_status_out_of_memory_k);
        assert_null(tokenizer);
    }
}

static void running_survives_every_failure(void **state) {
    char const *const path = *state;
    uform_tokenizer_t tokenizer;
    assert_int_equal(uform_tokenizer_load_(path, &lowering, &tokenizer), uform_status_ok_k);
    enum { text_bytes_k = 6000 };
    static char const unit[] =
        "abba [X] \xFFq\u00e9 \u4e00a\u0301\u0323\u0334. "; // and marks too many to be sorted in place
    char *const text = malloc(text_bytes_k);
    assert_non_null(text);
    size_t length = 0;
    for (; length + 200 < text_bytes_k / 2; length += sizeof(unit) - 1) memcpy(text + length, unit, sizeof(unit) - 1);
    for (; length + 2 <= text_bytes_k; length += 2) memcpy(text + length, length % 4 ? "\u0301" : "\u0323", 2);
    uform_tokenize_options_t const options = {.prefix = "ab", .prefix_length = 2};
    for (size_t nth = 1;; ++nth) {
        uform_tokenize_buffer_t buffer = {0};
        faults_arm(nth, false);
        uform_status_t const status = uform_tokenizer_run_(tokenizer, text, length, &options, &buffer);
        bool const failed = faults_disarm();
        if (!failed) assert_int_equal(status, uform_status_ok_k);
        else {
            // The buffer stays usable.
            assert_int_equal(status, uform_status_out_of_memory_k);
            assert_int_equal(buffer.count, 0);
            assert_int_equal(uform_tokenizer_run_(tokenizer, text, length, &options, &buffer), uform_status_ok_k);
        }
        assert_true(buffer.count > 100);
        uform_tokenize_buffer_free_(&buffer);
        if (!failed) {
            assert_true(nth > 10);
            break;
        }
    }
    free(text);
    uform_tokenizer_free_(tokenizer);
}

static int check_file(char const *json, size_t length) {
    char path[] = "/tmp/uform_tokenizer_faults_XXXXXX";
    int const descriptor = mkstemp(path);
    if (descriptor < 0 || write(descriptor, json, length) != (ssize_t)length) return 1;
    close(descriptor);
    struct CMUnitTest const tests[] = {
        cmocka_unit_test_prestate(loading_survives_every_failure, path),
        cmocka_unit_test_prestate(running_survives_every_failure, path),
    };
    int const failures = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return failures;
}

int main(void) {
    return check_file(wordpiece, sizeof(wordpiece) - 1) + check_file(bpe, sizeof(bpe) - 1) +
           check_file(unigram, sizeof(unigram) - 1);
}
