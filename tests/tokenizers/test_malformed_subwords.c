/**
 *  Broken files of BPE and Unigram, and of the stages around them: a status and a detail that names the key.
 */
#include "tokenizer_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { malformed_k = uform_status_malformed_k, unsupported_k = uform_status_unsupported_k };

#define MODEL(type, keys) "{\"model\":{\"type\":\"" type "\"," keys "}}"
#define BPE(keys) MODEL("BPE", keys)
#define MERGES(merges) BPE("\"vocab\":{\"a\":0,\"b\":1,\"ab\":2},\"merges\":" merges)
#define UNIGRAM(keys) MODEL("Unigram", keys)
#define PIECES(pieces) UNIGRAM("\"unk_id\":0,\"vocab\":" pieces)
#define WITH(part) "{" part ",\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[]}}"
#define NORMALIZER(value) WITH("\"normalizer\":" value)
#define PRE_TOKENIZER(value) WITH("\"pre_tokenizer\":" value)
#define CHARSMAP(text) NORMALIZER("{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"" text "\"}")
#define SPLIT(pattern, behavior)                                                                                       \
    "{\"type\":\"Split\",\"pattern\":" pattern ",\"behavior\":" behavior ",\"invert\":false}"
#define BYTES "{\"type\":\"ByteLevel\",\"add_prefix_space\":true}"
#define LONG_TEXT "0123456789abcdef0123456789abcdef0"

static struct {
    char const *text;
    int status;
    char const *detail; ///< a part of it
} const broken[] = {
    {BPE("\"merges\":[]"), malformed_k, "model: vocab"},
    {BPE("\"vocab\":[],\"merges\":[]"), malformed_k, "model: vocab"},
    {BPE("\"vocab\":{\"a\":-1},\"merges\":[]"), malformed_k, "model.vocab: \"a\""},
    {BPE("\"vocab\":{}"), malformed_k, "model: merges"},
    {MERGES("{}"), malformed_k, "model: merges"},
    {MERGES("[3]"), malformed_k, "model: merges[0]: expected two tokens, found 3"},
    {MERGES("[\"ab\"]"), malformed_k, "merges[0]: expected two tokens, found \"ab\""},
    {MERGES("[\"a b\",\"a b a\"]"), malformed_k, "merges[1]"},
    {MERGES("[[\"a\"]]"), malformed_k, "merges[0]"},
    {MERGES("[[\"a\",1]]"), malformed_k, "merges[0]"},
    {MERGES("[[\"a\",\"c\"]]"), malformed_k, "merges[0]: expected tokens of the vocabulary that make one"},
    {MERGES("[[\"b\",\"a\"]]"), malformed_k, "merges[0]"},
    {MERGES("[[\"a\",\"b\"]],\"continuing_subword_prefix\":\"##\""), malformed_k,
        "merges[0]: expected a second token with the prefix"},
    {MERGES("[],\"continuing_subword_prefix\":\"" LONG_TEXT "\""), unsupported_k, "continuing_subword_prefix"},
    {MERGES("[],\"end_of_word_suffix\":\"" LONG_TEXT "\""), unsupported_k, "end_of_word_suffix"},
    {MERGES("[],\"end_of_word_suffix\":3"), malformed_k, "end_of_word_suffix"},
    {MERGES("[],\"dropout\":0.1"), unsupported_k, "dropout: expected null or 0, found 0.1"},
    {MERGES("[],\"dropout\":\"0\""), malformed_k, "dropout"},
    {MERGES("[],\"fuse_unk\":1"), malformed_k, "fuse_unk"},
    {MERGES("[],\"byte_fallback\":1"), malformed_k, "byte_fallback"},
    {MERGES("[],\"ignore_merges\":\"x\""), malformed_k, "ignore_merges"},
    {MERGES("[],\"unk_token\":7"), malformed_k, "unk_token"},
    {UNIGRAM("\"unk_id\":0"), malformed_k, "model: vocab"},
    {UNIGRAM("\"vocab\":[[\"a\",0]]"), malformed_k, "model: unk_id"},
    {UNIGRAM("\"unk_id\":null,\"vocab\":[[\"a\",0]]"), malformed_k, "model: unk_id"},
    {UNIGRAM("\"unk_id\":1,\"vocab\":[[\"a\",0]]"), malformed_k, "unk_id"},
    {UNIGRAM("\"unk_id\":0,\"vocab\":[[\"a\",0]],\"byte_fallback\":0"), malformed_k, "byte_fallback"},
    {PIECES("{}"), malformed_k, "vocab"},
    {PIECES("[]"), malformed_k, "unk_id"},
    {PIECES("[3]"), malformed_k, "vocab[0]: expected a list of a token and its score, found 3"},
    {PIECES("[[\"a\",0],[\"a\"]]"), malformed_k, "vocab[1]"},
    {PIECES("[[\"a\",\"0\"]]"), malformed_k, "vocab[0]"},
    {PIECES("[[0,\"a\"]]"), malformed_k, "vocab[0]"},
    {PIECES("[[\"a\",1e999]]"), malformed_k, "vocab[0]"},
    {PIECES("[[\"a\",0,1]]"), malformed_k, "vocab[0]"},
    {NORMALIZER("{\"type\":\"Prepend\"}"), malformed_k, "normalizer: prepend"},
    {NORMALIZER("{\"type\":\"Prepend\",\"prepend\":\"" LONG_TEXT "\"}"), unsupported_k, "prepend"},
    {NORMALIZER("{\"type\":\"Strip\",\"strip_left\":true}"), malformed_k, "strip_right"},
    {NORMALIZER("{\"type\":\"Replace\",\"content\":\"\",\"pattern\":{\"Regex\":3}}"), malformed_k, "pattern.Regex"},
    {NORMALIZER("{\"type\":\"Replace\",\"content\":\"\",\"pattern\":{\"Regex\":\"[^a]\"}}"), unsupported_k,
        "pattern.Regex"},
    {NORMALIZER("{\"type\":\"Replace\",\"content\":\"\",\"pattern\":{\"Regex\":\"[]\"}}"), unsupported_k,
        "pattern.Regex"},
    {NORMALIZER("{\"type\":\"Replace\",\"content\":\"\",\"pattern\":{\"Regex\":\"[\"}}"), unsupported_k,
        "pattern.Regex"},
    {NORMALIZER("{\"type\":\"Replace\",\"content\":\"\",\"pattern\":{\"Regex\":\"[a\"}}"), unsupported_k,
        "pattern.Regex"},
    {NORMALIZER("{\"type\":\"Replace\",\"content\":\"\",\"pattern\":{\"Regex\":\"[b-a]\"}}"), unsupported_k,
        "pattern.Regex"},
    {NORMALIZER("{\"type\":\"Replace\",\"content\":\"\",\"pattern\":{\"Regex\":\"[a-\"}}"), unsupported_k,
        "pattern.Regex"},
    {NORMALIZER("{\"type\":\"Replace\",\"content\":\"\",\"pattern\":{\"Regex\":\"[a]{2}\"}}"), unsupported_k,
        "pattern.Regex"},
    {NORMALIZER("{\"type\":\"Replace\",\"content\":\"\",\"pattern\":{\"Regex\":\"[a]+b\"}}"), unsupported_k,
        "pattern.Regex"},
    {NORMALIZER("{\"type\":\"Replace\",\"content\":\"\",\"pattern\":{\"Regex\":\"[[:punct:]]\"}}"), unsupported_k,
        "pattern.Regex"},
    {NORMALIZER("{\"type\":\"Replace\",\"content\":\"\",\"pattern\":{\"Regex\":\"[a&&b]\"}}"), unsupported_k,
        "pattern.Regex"},
    {NORMALIZER("{\"type\":\"Replace\",\"content\":\"\",\"pattern\":{\"Regex\":\"[\\\\d]\"}}"), unsupported_k,
        "pattern.Regex"},
    {NORMALIZER("{\"type\":\"Replace\",\"content\":\"\",\"pattern\":{\"Regex\":\"[\\\\\"}}"), unsupported_k,
        "pattern.Regex"},
    {NORMALIZER("{\"type\":\"Replace\",\"content\":\"\",\"pattern\":{\"Regex\":\"[é]\"}}"), unsupported_k,
        "pattern.Regex"},
    {NORMALIZER("{\"type\":\"Replace\",\"content\":\"\",\"pattern\":{\"Regex\":\"[a\\u0000]\"}}"), unsupported_k,
        "pattern.Regex"},
    {NORMALIZER("{\"type\":\"Precompiled\"}"), malformed_k, "precompiled_charsmap"},
    {NORMALIZER("{\"type\":\"Precompiled\",\"precompiled_charsmap\":null}"), malformed_k, "precompiled_charsmap"},
    {CHARSMAP(""), malformed_k, "precompiled_charsmap: expected the size of a trie"},
    {CHARSMAP("AAAA"), malformed_k, "the size of a trie"},
    {CHARSMAP("AAAAAA=="), malformed_k, "the size of a trie"},
    {CHARSMAP("BAAAAA=="), malformed_k, "the size of a trie"},
    {CHARSMAP("////fw=="), malformed_k, "the size of a trie"},
    {CHARSMAP("AgAAAAAA"), malformed_k, "the size of a trie"},
    {CHARSMAP("BAAAAAAAAAD/"), malformed_k, "expected replacements in UTF-8"},
    {CHARSMAP("BAAA"), malformed_k, "precompiled_charsmap"},
    {CHARSMAP("A"), malformed_k, "expected base64"},
    {CHARSMAP("AA*A"), malformed_k, "expected base64"},
    {CHARSMAP("AA=A"), malformed_k, "expected base64"},
    {CHARSMAP("AAB="), malformed_k, "expected base64"},
    {PRE_TOKENIZER("{\"type\":\"ByteLevel\"}"), malformed_k, "pre_tokenizer: add_prefix_space"},
    {PRE_TOKENIZER("{\"type\":\"ByteLevel\",\"add_prefix_space\":true,\"use_regex\":1}"), malformed_k, "use_regex"},
    {PRE_TOKENIZER("{\"type\":\"Sequence\",\"pretokenizers\":[" BYTES "," BYTES "," BYTES "]}"), unsupported_k,
        "pre_tokenizer.pretokenizers[2]: expected at most 8 pre-tokenizers"},
    {PRE_TOKENIZER("{\"type\":\"Metaspace\"}"), malformed_k, "replacement"},
    {PRE_TOKENIZER("{\"type\":\"Metaspace\",\"replacement\":\"\"}"), malformed_k, "replacement: expected some text"},
    {PRE_TOKENIZER("{\"type\":\"Metaspace\",\"replacement\":\"ab\"}"), malformed_k,
        "replacement: expected one character"},
    {PRE_TOKENIZER("{\"type\":\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":\"last\"}"), malformed_k,
        "prepend_scheme"},
    {PRE_TOKENIZER(
         "{\"type\":\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":\"first\",\"add_prefix_space\":false}"),
        malformed_k, "prepend_scheme: expected never"},
    {PRE_TOKENIZER("{\"type\":\"Digits\"}"), malformed_k, "individual_digits"},
    {PRE_TOKENIZER("{\"type\":\"Split\"}"), malformed_k, "pre_tokenizer: pattern"},
    {PRE_TOKENIZER(SPLIT("{}", "\"Removed\"")), malformed_k, "pre_tokenizer.pattern: String"},
    {PRE_TOKENIZER(SPLIT("{\"String\":\"\"}", "\"Removed\"")), malformed_k, "String: expected some text"},
    {PRE_TOKENIZER(SPLIT("{\"String\":\"" LONG_TEXT "\"}", "\"Removed\"")), unsupported_k, "String"},
    {PRE_TOKENIZER(SPLIT("{\"String\":\"a\"}", "\"Dropped\"")), malformed_k, "behavior"},
    {PRE_TOKENIZER(SPLIT("{\"Regex\":7}", "\"Removed\"")), malformed_k, "Regex"},
    {PRE_TOKENIZER(SPLIT("{\"Regex\":\"[a-z]+\"}", "\"Removed\"")), unsupported_k, "found \"[a-z]+\""},
};

static void broken_files_are_refused_by_key(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof(broken) / sizeof(*broken); ++i) {
        uform_tokenizer_t tokenizer = (uform_tokenizer_t)1;
        uform_status_t const status = tokenizer_from_text(broken[i].text, strlen(broken[i].text), false, &tokenizer);
        if ((int)status != broken[i].status || !strstr(uform_last_detail(), broken[i].detail))
            fail_msg("%s: %s, %s", broken[i].text, uform_status_name(status), uform_last_detail());
        assert_null(tokenizer);
    }
}

// Odd, but read. The last ones are charsmaps whose units lead anywhere.
static char const *const sound[] = {
    "{\"model\":{\"vocab\":{\"a\":2147483647},\"merges\":[]}}",
    "{\"model\":{\"vocab\":[[\"a\",-1]],\"unk_id\":0}}",
    BPE("\"vocab\":{},\"merges\":[],\"unk_token\":\"?\""),
    MERGES("[\"#version: 0.2\",\"a b\",[\"a\",\"b\"]],\"continuing_subword_prefix\":null,\"dropout\":0"),
    PIECES("[[\"\",-1e-400],[\"a\",-123456789012345678901234567890.5],[\"b\",1e-320],[\"a\",3]]"),
    PRE_TOKENIZER("{\"type\":\"Metaspace\",\"replacement\":\"_\",\"add_prefix_space\":false}"),
    PRE_TOKENIZER(SPLIT("{\"String\":\"a\"}", "\"Contiguous\"")),
    NORMALIZER("{\"type\":\"Prepend\",\"prepend\":\"\"}"),
    NORMALIZER("{\"type\":\"Strip\",\"strip_left\":true,\"strip_right\":true}"),
    CHARSMAP("BAAAAAAAAAA="),
    CHARSMAP("BAAAAP////8="),
    CHARSMAP("BAAAAAABAAA="),
};

static void run_texts(uform_tokenizer_t tokenizer) {
    static char const *const texts[] = {"", "a x b", "ab aab", "  ", "\xFF", "a\u0301\u00e9"};
    uform_tokenize_buffer_t buffer = {0};
    uform_tokenize_options_t const options = {0};
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); ++i)
        assert_int_equal(
            uform_tokenizer_run_(tokenizer, texts[i], strlen(texts[i]), &options, &buffer), uform_status_ok_k);
    uform_tokenize_buffer_free_(&buffer);
}

static void odd_files_work(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof(sound) / sizeof(*sound); ++i) {
        uform_tokenizer_t tokenizer;
        if (tokenizer_from_text(sound[i], strlen(sound[i]), false, &tokenizer))
            fail_msg("%s: %s", sound[i], uform_last_detail());
        run_texts(tokenizer);
        uform_tokenizer_free_(tokenizer);
    }
}

/// Every prefix of a sound file and every file with one byte changed: any status will do, and what loads works.
static void check_damaged(char const *text, size_t length) {
    char *const copy = malloc(length);
    assert_non_null(copy);
    uint64_t random = 7;
    size_t loaded = 0;
    for (size_t i = 0; i < length; ++i) {
        uform_tokenizer_t tokenizer;
        assert_int_not_equal(tokenizer_from_text(text, i, false, &tokenizer), uform_status_ok_k);
        memcpy(copy, text, length);
        copy[i] = (char)(33 + random_below(&random, 94));
        if (copy[i] == '@') copy[i] = '!'; // which would stand for a file
        if (tokenizer_from_text(copy, length, false, &tokenizer) != uform_status_ok_k) continue;
        ++loaded;
        run_texts(tokenizer);
        uform_tokenizer_free_(tokenizer);
    }
    assert_true(loaded > 1 && loaded < length);
    free(copy);
}

/// In base64, a charsmap that replaces "a" by "bc" and U+00E9 by "e".
static void write_charsmap(char *text) {
    enum { units_k = 512, first_base_k = 1, second_base_k = 256, a_value_k = 400, e_value_k = 402 };
    static char const digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t units[units_k] = {[0] = first_base_k << 10};
    uint32_t const a = first_base_k ^ 'a', lead = first_base_k ^ 0xC3, trail = second_base_k ^ 0xA9;
    units[a] = 'a' | 1u << 8 | (a ^ a_value_k) << 10;
    units[a_value_k] = 1u << 31;
    units[lead] = 0xC3 | (lead ^ second_base_k) << 10;
    units[trail] = 0xA9 | 1u << 8 | (trail ^ e_value_k) << 10;
    units[e_value_k] = 1u << 31 | 3;
    unsigned char blob[4 + sizeof(units) + 6] = {sizeof(units) & 255, sizeof(units) >> 8};
    for (size_t i = 0; i < sizeof(units); ++i) blob[4 + i] = (unsigned char)(units[i / 4] >> 8 * (i % 4));
    memcpy(blob + 4 + sizeof(units), "bc\0e\0", 6);
    for (size_t i = 0; i < sizeof(blob) / 3 * 3; i += 3) {
        uint32_t const group = (uint32_t)blob[i] << 16 | (uint32_t)blob[i + 1] << 8 | blob[i + 2];
        for (unsigned k = 0; k < 4; ++k) *text++ = digits[group >> (18 - 6 * k) & 63];
    }
    *text = 0;
}

static void damaged_files_end_in_a_status(void **state) {
    (void)state;
    static char const bpe[] =
        "{\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Prepend\",\"prepend\":\"_\"},{\"type\":\"Replace\","
        "\"pattern\":{\"Regex\":\"\\\\s+\"},\"content\":\" \"}]},\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":["
        "{\"type\":\"Split\",\"pattern\":{\"String\":\"b\"},\"behavior\":\"MergedWithNext\",\"invert\":false},"
        "{\"type\":\"ByteLevel\",\"add_prefix_space\":true}]},\"model\":{\"type\":\"BPE\",\"unk_token\":\"b\",\"byte_fallback\":true,"
        "\"end_of_word_suffix\":\"/\",\"vocab\":{\"a\":0,\"b\":1,\"ab\":2,\"a/\":3},\"merges\":[\"a b\",[\"a\",\"b\"]]}}";
    static char const unigram[] =
        "{\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"@charsmap\"},\"pre_tokenizer\":{\"type\":\"Metaspace\","
        "\"replacement\":\"_\",\"prepend_scheme\":\"first\"},\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"byte_fallback\":true,"
        "\"vocab\":[[\"?\",0],[\"a\",-1.5],[\"ab\",-2e0],[\"_\",-3]]}}";
    check_damaged(bpe, sizeof(bpe) - 1);
    char charsmap[3000], whole[4000];
    write_charsmap(charsmap);
    char const *const mark = strstr(unigram, "@charsmap");
    snprintf(whole, sizeof(whole), "%.*s%s%s", (int)(mark - unigram), unigram, charsmap, mark + strlen("@charsmap"));
    uform_tokenizer_t tokenizer;
    assert_int_equal(tokenizer_from_text(whole, strlen(whole), false, &tokenizer), uform_status_ok_k);
    uform_tokenize_buffer_t buffer = {0};
    uform_tokenize_options_t const options = {0};
    assert_int_equal(uform_tokenizer_run_(tokenizer, "a_\u00e9", 4, &options, &buffer), uform_status_ok_k);
    assert_int_equal(buffer.count, 4); // "_", "bc" together, "_", "e"
    assert_int_equal(buffer.ids[0], 3);
    assert_int_equal(buffer.ids[1], 0);
    uform_tokenize_buffer_free_(&buffer);
    uform_tokenizer_free_(tokenizer);
    check_damaged(whole, strlen(whole));
}

int main(void) {
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(broken_files_are_refused_by_key),
        cmocka_unit_test(odd_files_work),
        cmocka_unit_test(damaged_files_end_in_a_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
