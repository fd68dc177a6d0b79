/**
 *  Broken and hostile tokenizer.json files: a status and a detail
 *  that names the key, never a crash, a hang or a large allocation.
 */
#include "tokenizer_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { malformed_k = uform_status_malformed_k, unsupported_k = uform_status_unsupported_k };

// What a sound file is made of; each row below replaces one part of it.
#define MODEL_KEYS "\"unk_token\":\"[UNK]\",\"continuing_subword_prefix\":\"##\",\"max_input_chars_per_word\":100"
#define MODEL(keys) "{\"model\":{\"type\":\"WordPiece\"," keys "}}"
#define VOCABULARY(entries) MODEL(MODEL_KEYS ",\"vocab\":{" entries "}")
#define WITH(part) "{" part ",\"model\":{\"type\":\"WordPiece\"," MODEL_KEYS ",\"vocab\":{\"[UNK]\":0,\"a\":1}}}"
#define NORMALIZER(value) WITH("\"normalizer\":" value)
#define PRE_TOKENIZER(value) WITH("\"pre_tokenizer\":" value)
#define POST_PROCESSOR(value) WITH("\"post_processor\":" value)
#define TEMPLATE(single, specials)                                                                                     \
    POST_PROCESSOR("{\"type\":\"TemplateProcessing\",\"single\":" single ",\"special_tokens\":" specials "}")
#define FLAGS(n) "\"special\":false,\"single_word\":false,\"lstrip\":false,\"rstrip\":false,\"normalized\":" n
#define ADDED(token) WITH("\"added_tokens\":[" token "]")
#define BERT_SWITCHES "\"handle_chinese_chars\":true,\"strip_accents\":null,\"lowercase\":true"

#define MODEL_AFTER "},\"model\":{" MODEL_KEYS ",\"vocab\":{\"[UNK]\":0}}}"
#define GROWING "{\"type\":\"Replace\",\"pattern\":{\"String\":\"a\"},\"content\":\"aaaaaaaaa\"}"

static struct {
    char const *text;
    int status;
    char const *detail; ///< a part of it
} const broken[] = {
    {"", malformed_k, ""},
    {"[]", malformed_k, "expected an object"},
    {"{}", malformed_k, "model: expected an object, found nothing"},
    {"{\"model\":[]}", malformed_k, "model: expected an object"},
    {"{\"model\":{}}", malformed_k, "model: type"},
    {"{\"model\":{\"type\":\"WordLevel\"}}", unsupported_k,
        "model: type: expected one of BPE, WordPiece, Unigram, found \"WordLevel\""},
    {"{\"model\":{\"type\":3}}", malformed_k, "model: type"},
    {WITH("\"version\":\"2.0\""), malformed_k, "version"},
    {WITH("\"version\":1"), malformed_k, "version"},
    {MODEL(MODEL_KEYS), malformed_k, "model: vocab"},
    {MODEL(MODEL_KEYS ",\"vocab\":[]"), malformed_k, "model: vocab"},
    {VOCABULARY(""), malformed_k, "model: unk_token"},
    {VOCABULARY("\"a\":1"), malformed_k, "unk_token: expected a token of the vocabulary, found \"[UNK]\""},
    {VOCABULARY("\"[UNK]\":-1"), malformed_k,
        "model.vocab: \"[UNK]\": expected an integer from 0 to 2147483647, found -1"},
    {VOCABULARY("\"[UNK]\":1.5"), malformed_k, "found 1.5"},
    {VOCABULARY("\"[UNK]\":1.0"), malformed_k, "vocab"},
    {VOCABULARY("\"[UNK]\":1e3"), malformed_k, "vocab"},
    {VOCABULARY("\"[UNK]\":2147483648"), malformed_k, "found 2147483648"},
    {VOCABULARY("\"[UNK]\":4294967296"), malformed_k, "vocab"},
    {VOCABULARY("\"[UNK]\":18446744073709551616"), malformed_k, "vocab"},
    {VOCABULARY("\"[UNK]\":1e999"), malformed_k, "vocab"},
    {VOCABULARY("\"[UNK]\":\"0\""), malformed_k, "found \"0\""},
    {VOCABULARY("\"[UNK]\":null"), malformed_k, "found null"},
    {VOCABULARY("\"[UNK]\":{\"a\":1}"), malformed_k, "vocab"},
    {MODEL("\"vocab\":{}"), malformed_k, "model"},
    {MODEL("\"unk_token\":null,\"continuing_subword_prefix\":\"\",\"max_input_chars_per_word\":1,\"vocab\":{}"),
        malformed_k, "unk_token"},
    {MODEL("\"unk_token\":\"a\",\"continuing_subword_prefix\":null,\"max_input_chars_per_word\":1,\"vocab\":{\"a\":1}"),
        malformed_k, "continuing_subword_prefix"},
    {MODEL(
         "\"unk_token\":\"a\",\"continuing_subword_prefix\":\"\",\"max_input_chars_per_word\":-1,\"vocab\":{\"a\":1}"),
        malformed_k, "max_input_chars_per_word"},
    {MODEL(
         "\"unk_token\":\"a\",\"continuing_subword_prefix\":\"\",\"max_input_chars_per_word\":\"\",\"vocab\":{\"a\":1}"),
        malformed_k, "max_input_chars_per_word"},
    {NORMALIZER("3"), malformed_k, "normalizer: expected a normalizer, found 3"},
    {NORMALIZER("{}"), malformed_k, "normalizer: type"},
    {NORMALIZER("{\"type\":null}"), malformed_k, "normalizer: type"},
    {NORMALIZER("{\"type\":\"ByteLevel\"}"), unsupported_k, "normalizer: type"},
    {NORMALIZER("{\"type\":\"BertNormalizer\"}"), malformed_k, "normalizer: clean_text"},
    {NORMALIZER("{\"type\":\"BertNormalizer\",\"clean_text\":1," BERT_SWITCHES "}"), malformed_k, "clean_text"},
    {NORMALIZER("{\"type\":\"BertNormalizer\",\"clean_text\":null," BERT_SWITCHES "}"), malformed_k, "clean_text"},
    {NORMALIZER("{\"type\":\"Sequence\"}"), malformed_k, "normalizers"},
    {NORMALIZER("{\"type\":\"Sequence\",\"normalizers\":[null]}"), malformed_k, "normalizer.normalizers[0]"},
    {NORMALIZER("{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFC\"},{\"type\":\"Nmt\"}]}"), unsupported_k,
        "normalizer.normalizers[1]: type"},
    {NORMALIZER("{\"type\":\"Replace\",\"content\":\"\"}"), malformed_k, "pattern"},
    {NORMALIZER("{\"type\":\"Replace\",\"content\":\"\",\"pattern\":{\"Regex\":\"a|b\"}}"), unsupported_k,
        "pattern.Regex"},
    {NORMALIZER("{\"type\":\"Replace\",\"content\":\"\",\"pattern\":{\"String\":\"\"}}"), malformed_k,
        "pattern.String"},
    {NORMALIZER("{\"type\":\"Sequence\",\"normalizers\":[" GROWING "," GROWING "]}"), unsupported_k,
        "normalizer.normalizers[1]: content"},
    {PRE_TOKENIZER("[]"), malformed_k, "pre_tokenizer"},
    {PRE_TOKENIZER("{\"type\":\"UnicodeScripts\"}"), unsupported_k, "pre_tokenizer: type"},
    {PRE_TOKENIZER("{\"type\":\"Punctuation\",\"behavior\":\"Merged\"}"), malformed_k, "behavior"},
    {PRE_TOKENIZER("{\"type\":\"Sequence\",\"pretokenizers\":{}}"), malformed_k, "pretokenizers"},
    {POST_PROCESSOR("{\"type\":\"Fixed\"}"), unsupported_k, "post_processor: type"},
    {POST_PROCESSOR("\"x\""), malformed_k, "post_processor"},
    {POST_PROCESSOR("{\"type\":\"BertProcessing\",\"cls\":[\"a\",1]}"), malformed_k, "post_processor: sep"},
    {POST_PROCESSOR("{\"type\":\"BertProcessing\",\"cls\":[\"a\",-1],\"sep\":[\"a\",1]}"), malformed_k, "cls"},
    {POST_PROCESSOR("{\"type\":\"BertProcessing\",\"cls\":[\"a\"],\"sep\":[\"a\",1]}"), malformed_k, "cls"},
    {POST_PROCESSOR("{\"type\":\"Sequence\",\"processors\":[{}]}"), malformed_k, "post_processor.processors[0]: type"},
    {TEMPLATE("{}", "{}"), malformed_k, "single"},
    {TEMPLATE("[]", "[]"), malformed_k, "special_tokens"},
    {TEMPLATE("[3]", "{}"), malformed_k, "single[0]"},
    {TEMPLATE("[{}]", "{}"), malformed_k, "single[0]"},
    {TEMPLATE("[{\"SpecialToken\":{\"id\":\"a\",\"type_id\":0}}]", "{}"), malformed_k,
        "post_processor.special_tokens: a: expected an object, found nothing"},
    {TEMPLATE("[{\"SpecialToken\":{\"id\":\"a\",\"type_id\":0}}]", "{\"a\":{\"ids\":[-1]}}"), malformed_k, "ids"},
    {TEMPLATE("[{\"SpecialToken\":{\"id\":\"a\",\"type_id\":256}}]", "{\"a\":{\"ids\":[1]}}"), malformed_k, "type_id"},
    {TEMPLATE("[{\"Sequence\":{\"id\":\"B\",\"type_id\":0}}]", "{}"), malformed_k, "single[0]: id: expected \"A\""},
    {TEMPLATE("[{\"Sequence\":{\"id\":\"A\"}}]", "{}"), malformed_k, "type_id"},
    {WITH("\"added_tokens\":{}"), malformed_k, "added_tokens"},
    {ADDED("3"), malformed_k, "added_tokens[0]"},
    {ADDED("{\"id\":1,\"content\":\"x\"}"), malformed_k, "added_tokens[0]: special"},
    {ADDED("{\"id\":1.5,\"content\":\"x\"," FLAGS("true") "}"), malformed_k, "added_tokens[0]: id"},
    {ADDED("{\"id\":4294967296,\"content\":\"x\"," FLAGS("true") "}"), malformed_k, "added_tokens[0]: id"},
    {ADDED("{\"content\":\"x\"," FLAGS("true") "}"), malformed_k, "id"},
    {ADDED("{\"id\":1,\"content\":7," FLAGS("true") "}"), malformed_k, "content"},
    {ADDED("{\"id\":1,\"content\":\"x\"," FLAGS("0") "}"), malformed_k, "normalized"},
    {WITH("\"truncation\":[]"), malformed_k, "truncation"},
    {WITH("\"truncation\":{}"), malformed_k, "truncation: max_length"},
    {WITH("\"truncation\":{\"max_length\":-1}"), malformed_k, "max_length"},
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

// Odd, but the library reads them.
static char const *const sound[] = {
    WITH("\"version\":\"1.0\""),
    WITH("\"normalizer\":null,\"pre_tokenizer\":null,\"post_processor\":null,\"added_tokens\":[],\"truncation\":null"),
    NORMALIZER("{\"type\":\"Sequence\",\"normalizers\":[]}"),
    NORMALIZER("{\"type\":\"BertNormalizer\",\"clean_text\":true,\"handle_chinese_chars\":true,\"lowercase\":true}"),
    PRE_TOKENIZER("{\"type\":\"Sequence\",\"pretokenizers\":[]}"),
    PRE_TOKENIZER("{\"type\":\"Punctuation\"}"),
    TEMPLATE("[]", "{}"),
    ADDED("{\"id\":1,\"content\":\"\"," FLAGS("true") "}"),
    ADDED("{\"id\":1,\"content\":\"x\"," FLAGS("true") "},{\"id\":9,\"content\":\"x\"," FLAGS("false") "}"),
    "{\"model\":{" MODEL_KEYS ",\"vocab\":{\"[UNK]\":2147483647}}}", // no type, the largest id
    VOCABULARY("\"[UNK]\":7,\"[UNK]\":0,\"b\":0,\"\":5"),
};

static void odd_files_work(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof(sound) / sizeof(*sound); ++i) {
        uform_tokenizer_t tokenizer;
        if (tokenizer_from_text(sound[i], strlen(sound[i]), false, &tokenizer))
            fail_msg("%s: %s", sound[i], uform_last_detail());
        uform_tokenize_buffer_t buffer = {0};
        uform_tokenize_options_t const options = {0};
        assert_int_equal(uform_tokenizer_run_(tokenizer, "a x b", 5, &options, &buffer), uform_status_ok_k);
        uform_tokenize_buffer_free_(&buffer);
        uform_tokenizer_free_(tokenizer);
    }
}

static void check_nested(char const *opening, char const *middle, char const *closing, size_t depth) {
    size_t const length = (strlen(opening) + strlen(closing)) * depth + strlen(middle);
    char *const text = malloc(length + 1);
    assert_non_null(text);
    char *end = text;
    for (size_t i = 0; i < depth; ++i) end = stpcpy(end, opening);
    end = stpcpy(end, middle);
    for (size_t i = 0; i < depth; ++i) end = stpcpy(end, closing);
    uform_tokenizer_t tokenizer;
    uform_status_t const status = tokenizer_from_text(text, length, false, &tokenizer);
    assert_true(status == uform_status_malformed_k || status == uform_status_unsupported_k);
    free(text);
}

static void deep_nesting_is_refused(void **state) {
    (void)state;
    check_nested("[", "", "]", 1000000);
    check_nested("{\"normalizer\":", "null", "}", 1000000);
    for (size_t depth = 9; depth < 300; depth += 60) {
        char text[16384] = "{\"normalizer\":";
        for (size_t i = 0; i < depth; ++i) strcat(text, "{\"type\":\"Sequence\",\"normalizers\":[");
        strcat(text, "{\"type\":\"NFC\"}");
        for (size_t i = 0; i < depth; ++i) strcat(text, "]}");
        strcat(text, "}");
        uform_tokenizer_t tokenizer;
        assert_int_equal(tokenizer_from_text(text, strlen(text), false, &tokenizer), uform_status_unsupported_k);
    }
}

/// A list of many parts, each of which every text, or every part before it, would go through.
static void check_many(char const *before, char const *part, char const *after) {
    enum { parts_k = 100000 };
    char *const text = malloc(strlen(before) + parts_k * (strlen(part) + 1) + strlen(after) + 1);
    assert_non_null(text);
    char *end = stpcpy(text, before);
    for (size_t i = 0; i < parts_k; ++i) {
        if (i) *end++ = ',';
        end = stpcpy(end, part);
    }
    end = stpcpy(end, after);
    uform_tokenizer_t tokenizer;
    uform_status_t const status = tokenizer_from_text(text, (size_t)(end - text), false, &tokenizer);
    if (status != uform_status_unsupported_k) fail_msg("%s: %s", before, uform_last_detail());
    free(text);
}

static void many_parts_are_refused(void **state) {
    (void)state;
    check_many("{\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[", "{\"type\":\"NFC\"}", "]" MODEL_AFTER);
    check_many(
        "{\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[", "{\"type\":\"Whitespace\"}", "]" MODEL_AFTER);
    check_many("{\"post_processor\":{\"type\":\"Sequence\",\"processors\":[",
        "{\"type\":\"TemplateProcessing\",\"special_tokens\":{},\"single\":[]}", "]" MODEL_AFTER);
    check_many(
        "{\"post_processor\":{\"type\":\"TemplateProcessing\",\"special_tokens\":{\"a\":{\"ids\":[]}},\"single\":[",
        "{\"SpecialToken\":{\"id\":\"a\",\"type_id\":0}}", "]" MODEL_AFTER);
}

/// Every prefix of a sound file and every file with one byte changed: any status will do, as long as there is one.
static void damaged_files_end_in_a_status(void **state) {
    (void)state;
    static char const text[] = "{\"added_tokens\":[{\"id\":1,\"content\":\"x\"," FLAGS(
        "true") "}],\"normalizer\":{\"type\":\"BertNormalizer\","
                "\"clean_text\":true," BERT_SWITCHES
                "},\"post_processor\":{\"type\":\"BertProcessing\",\"cls\":[\"a\",1],\"sep\":[\"a\",1]},"
                "\"model\":{" MODEL_KEYS ",\"vocab\":{\"[UNK]\":0,\"a\":1,\"##b\":2}}}";
    char copy[sizeof(text)];
    uint64_t random = 7;
    size_t loaded = 0;
    for (size_t i = 0; i < sizeof(text); ++i) {
        uform_tokenizer_t tokenizer;
        loaded += tokenizer_from_text(text, i, false, &tokenizer) == uform_status_ok_k;
        uform_tokenizer_free_(tokenizer);
        memcpy(copy, text, sizeof(text));
        copy[i] = (char)random_below(&random, 256);
        loaded += tokenizer_from_text(copy, sizeof(text) - 1, true, &tokenizer) == uform_status_ok_k;
        uform_tokenizer_free_(tokenizer);
    }
    assert_true(loaded > 1 && loaded < sizeof(text));
}

static void a_missing_file_is_not_found(void **state) {
    (void)state;
    uform_tokenizer_t tokenizer = (uform_tokenizer_t)1;
    assert_int_equal(uform_tokenizer_load_("/nowhere/tokenizer.json", NULL, &tokenizer), uform_status_not_found_k);
    assert_null(tokenizer);
    assert_non_null(strstr(uform_last_detail(), "/nowhere/tokenizer.json"));
}

int main(void) {
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(broken_files_are_refused_by_key),
        cmocka_unit_test(odd_files_work),
        cmocka_unit_test(deep_nesting_is_refused),
        cmocka_unit_test(many_parts_are_refused),
        cmocka_unit_test(damaged_files_end_in_a_status),
        cmocka_unit_test(a_missing_file_is_not_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
