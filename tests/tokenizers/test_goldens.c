/**
 *  Small tokenizers of every kind over hard texts, against the ids the `tokenizers` library gave.
 */
#include "tokenizer_test.h"

#include <string.h>

static void texts_get_the_library_s_ids(void **state) {
    (void)state;
    check_cases("cases.json", NULL);
}

static void subwords_get_the_library_s_ids(void **state) {
    (void)state;
    check_cases("subword_cases.json", NULL);
}

static void tokens_are_found_by_content(void **state) {
    (void)state;
    uform_tokenizer_t tokenizer = golden_tokenizer("overlaps", false);
    uint32_t id;
    assert_true(uform_tokenizer_id_(tokenizer, "[CLS]", 5, &id));
    assert_int_equal(id, 101);
    assert_true(uform_tokenizer_id_(tokenizer, "the", 3, &id)); // in the vocabulary, too
    assert_int_equal(id, 1996);
    assert_true(uform_tokenizer_id_(tokenizer, "abcd", 4, &id)); // only added
    assert_false(uform_tokenizer_id_(tokenizer, "abcde", 5, &id));
    assert_false(uform_tokenizer_id_(tokenizer, "the\0", 4, &id));
    assert_false(uform_tokenizer_id_(tokenizer, "", 0, &id));
    char long_token[1000];
    memset(long_token, 'x', sizeof(long_token));
    assert_false(uform_tokenizer_id_(tokenizer, long_token, sizeof(long_token), &id));
    uform_tokenizer_free_(tokenizer);
}

static void counts_and_limits_are_told(void **state) {
    (void)state;
    uform_tokenizer_t tokenizer = golden_tokenizer("truncated", false);
    assert_int_equal(uform_tokenizer_special_count_(tokenizer), 2);
    assert_true(uform_tokenizer_vocabulary_count_(tokenizer) > 40000);
    uform_tokenizer_free_(tokenizer);
    tokenizer = golden_tokenizer("small", false);
    assert_false(uform_tokenizer_truncates_left_(tokenizer));
    assert_int_equal(uform_tokenizer_vocabulary_count_(tokenizer), 14);
    uint32_t id;
    assert_true(uform_tokenizer_id_(tokenizer, "", 0, &id));
    assert_int_equal(id, 12);
    uform_tokenizer_free_(tokenizer);
    uform_tokenizer_free_(NULL);
}

static void truncation_is_told_and_needs_room_for_specials(void **state) {
    (void)state;
    uform_tokenizer_t tokenizer = golden_tokenizer("uncased", false);
    uform_tokenize_buffer_t buffer = {0};
    uform_tokenize_options_t options = {.max_tokens = 5};
    assert_int_equal(uform_tokenizer_run_(tokenizer, "the of and", 10, &options, &buffer), uform_status_ok_k);
    assert_int_equal(buffer.count, 5);
    assert_false(buffer.truncated);
    assert_int_equal(uform_tokenizer_run_(tokenizer, "the of and in", 13, &options, &buffer), uform_status_ok_k);
    assert_int_equal(buffer.count, 5);
    assert_true(buffer.truncated);
    assert_int_equal(uform_tokenizer_run_(tokenizer, NULL, 0, &options, &buffer), uform_status_ok_k);
    assert_int_equal(buffer.count, 2);
    options.max_tokens = 2;
    assert_int_equal(uform_tokenizer_run_(tokenizer, "the", 3, &options, &buffer), uform_status_ok_k);
    assert_int_equal(buffer.count, 2);
    assert_true(buffer.truncated);
    options.max_tokens = 1;
    assert_int_equal(uform_tokenizer_run_(tokenizer, "the", 3, &options, &buffer), uform_status_invalid_argument_k);
    assert_non_null(strstr(uform_last_detail(), "max_tokens"));
    uform_tokenize_buffer_free_(&buffer);
    uform_tokenizer_free_(tokenizer);
}

int main(void) {
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(texts_get_the_library_s_ids),
        cmocka_unit_test(subwords_get_the_library_s_ids),
        cmocka_unit_test(tokens_are_found_by_content),
        cmocka_unit_test(counts_and_limits_are_told),
        cmocka_unit_test(truncation_is_told_and_needs_room_for_specials),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
