/**
 *  The JSON reader: what it accepts, what it makes of it, what it refuses and where.
 */
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"

static uform_json_document_t parse(char const *text, size_t length) {
    uform_json_document_t document;
    if (uform_json_parse_(text, length, "test.json", &document)) fail_msg("%s: %s", text, uform_last_detail());
    return document;
}

static struct {
    char const *text;
    double number;
    bool integer;
} const numbers[] = {
    {"0", 0, true},
    {"-0", -0.0, true},
    {"7", 7, true},
    {" -12 ", -12, true},
    {"123456789012345", 123456789012345.0, true},
    {"9007199254740993", 9007199254740992.0, true},
    {"1000000000000000019884624838656", 1e30, true},
    {"1e-12", 1e-12, false},
    {"1E+2", 100, false},
    {"0.1", 0.1, false},
    {"-13.529801368713379", -13.529801368713379, false},
    {"5e-324", 5e-324, false},
    {"1.7976931348623157e308", 1.7976931348623157e308, false},
    {"1e999", INFINITY, false},
    {"0e0", 0, false},
    {"12.50", 12.5, false},
};

static void check_numbers(void) {
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); ++i) {
        uform_json_document_t document = parse(numbers[i].text, strlen(numbers[i].text));
        assert_int_equal(document.root->kind, uform_json_number_k);
        assert_memory_equal(&document.root->number, &numbers[i].number, sizeof(double));
        assert_int_equal(document.root->integer, numbers[i].integer);
        uform_json_close_(&document);
    }
}

static void numbers_are_exact(void **state) {
    (void)state;
    check_numbers();
}

/// Skipped where no locale with a decimal comma is installed, as on most build machines.
static void numbers_ignore_the_locale(void **state) {
    (void)state;
    static char const *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "ru_RU.UTF-8"};
    bool found = false;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !found; ++i) found = setlocale(LC_ALL, names[i]);
    check_numbers();
    setlocale(LC_ALL, "C");
    if (!found) skip();
}

static struct {
    char const *text, *value;
    size_t length;
} const strings[] = {
    {"\"\"", "", 0},
    {"\"abc\"", "abc", 3},
    {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t", 8},
    {"\"a\\u0000b\"", "a\0b", 3},
    {"\"\\u00e9\\u4e2d\\uD83D\\uDe00\"", "\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80", 9},
    {"\"\xc3\xa9\xf0\x9f\x98\x80\x7f\"", "\xc3\xa9\xf0\x9f\x98\x80\x7f", 7},
    {"\"\\uFFFF\\uE000\\uD7FF\"", "\xef\xbf\xbf\xee\x80\x80\xed\x9f\xbf", 9},
};

static void strings_are_unescaped(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof(strings) / sizeof(strings[0]); ++i) {
        uform_json_document_t document = parse(strings[i].text, strlen(strings[i].text));
        assert_int_equal(document.root->kind, uform_json_string_k);
        assert_int_equal(document.root->length, strings[i].length);
        assert_memory_equal(document.root->text, strings[i].value, strings[i].length + 1);
        uform_json_close_(&document);
    }
}

static void broken_texts_are_refused(void **state) {
    (void)state;
    static char const *const texts[] = {"", " ", "nul", "nulll", "tru", "True", "None", "NaN", "Infinity", "-Infinity",
        "-", "+1", "01", "-01", "1.", ".5", "1e", "1e+", "1.e3", "0x10", "1 2", "[", "]", "[1", "[1,", "[1,]", "[,1]",
        "[1 2]", "{", "}", "{\"a\"", "{\"a\":", "{\"a\":1", "{\"a\":1,", "{\"a\":1,}", "{a:1}", "{'a':1}", "{1:2}",
        "{\"a\" 1}", "{\"a\":1 \"b\":2}", "[1}", "{\"a\":1]", "\"", "\"a", "\"\\\"", "\"\\x\"", "\"\\u12\"",
        "\"\\u12g4\"", "\"\\ud800\"", "\"\\udc00\"", "\"\\ud800\\u0041\"", "\"\\ud800x\"", "\"\\ud800\\\"", "\"\n\"",
        "\"\t\"", "\"\x1f\"", "\"\xff\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"", "\"\xe2\x82\"",
        "\"\xe2\"", "\xef\xbb\xbf{}", "// comment\n1", "[1] x", "\v1", "{}{}", "\"a\" \"b\""};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); ++i) {
        uform_json_document_t document;
        if (!uform_json_parse_(texts[i], strlen(texts[i]), "test.json", &document)) fail_msg("accepted: %s", texts[i]);
        assert_null(document.root);
        assert_non_null(strstr(uform_last_detail(), "test.json: line "));
    }
    uform_json_document_t document;
    assert_int_equal(uform_json_parse_("[1]\0", 4, "test.json", &document), uform_status_malformed_k);
    assert_int_equal(uform_json_parse_("\"a\0b\"", 5, "test.json", &document), uform_status_malformed_k);
    assert_int_equal(uform_json_parse_("[1,\n  2,\n  x]", 13, "test.json", &document), uform_status_malformed_k);
    assert_string_equal(uform_last_detail(), "test.json: line 3, byte 3: expected a value");
}

static void trees_keep_their_order(void **state) {
    (void)state;
    static char const text[] =
        " { \"b\" : [ 1 , [ ] , { } , null ] , \"a\" : true , \"b\" : false , \"\\u0000\" : 1 } ";
    uform_json_document_t document = parse(text, sizeof(text) - 1);
    uform_json_t const *root = document.root;
    assert_int_equal(root->kind, uform_json_object_k);
    assert_int_equal(root->length, 4);
    assert_string_equal(root->first->key, "b");
    assert_int_equal(root->first->length, 4);
    assert_int_equal(root->first->first->next->kind, uform_json_array_k);
    assert_null(root->first->first->next->first);
    assert_int_equal(root->first->first->next->next->kind, uform_json_object_k);
    assert_int_equal(root->first->first->next->next->next->kind, uform_json_null_k);
    assert_null(root->first->first->next->next->next->next);
    assert_true(uform_json_find_(root, "a")->truth);
    assert_int_equal(uform_json_find_(root, "b")->kind, uform_json_boolean_k); // the last of duplicates
    assert_null(uform_json_find_(root, "c"));
    assert_null(uform_json_find_(root, ""));
    assert_null(uform_json_find_(NULL, "a"));
    assert_null(uform_json_find_(root->first, "a"));
    uform_json_close_(&document);
    uform_json_close_(&document);
}

static char *repeat(char const *open, char const *inner, char const *close, size_t times, size_t *length) {
    size_t const open_length = strlen(open), close_length = strlen(close);
    char *text = malloc(times * (open_length + close_length) + strlen(inner) + 1), *cursor = text;
    for (size_t i = 0; i < times; ++i) cursor = stpcpy(cursor, open);
    cursor = stpcpy(cursor, inner);
    for (size_t i = 0; i < times; ++i) cursor = stpcpy(cursor, close);
    *length = (size_t)(cursor - text);
    return text;
}

static void nesting_has_a_limit(void **state) {
    (void)state;
    for (size_t depth = 511; depth <= 513; ++depth) {
        size_t length;
        char *text = repeat("{\"a\":[", "", "]}", depth / 2, &length);
        uform_json_document_t document;
        uform_status_t const status = uform_json_parse_(text, length, "test.json", &document);
        assert_int_equal(status, uform_status_ok_k);
        uform_json_close_(&document);
        free(text);
        text = repeat("[", "", "]", depth, &length);
        assert_int_equal(uform_json_parse_(text, length, "test.json", &document),
            depth > 512 ? uform_status_malformed_k : uform_status_ok_k);
        uform_json_close_(&document);
        free(text);
    }
}

static void large_documents_are_read(void **state) {
    (void)state;
    size_t length;
    char *text = repeat("[1,\"x\",", "0", "]", 500, &length);
    uform_json_document_t document = parse(text, length);
    uform_json_close_(&document);
    free(text);
    enum { count_k = 200000 };
    text = malloc(count_k * 2 + 2);
    for (size_t i = 0; i < count_k; ++i) memcpy(text + 2 * i + 1, "7,", 2);
    text[0] = '[', text[2 * count_k] = ']';
    document = parse(text, 2 * count_k + 1);
    assert_int_equal(document.root->length, count_k);
    double sum = 0;
    for (uform_json_t const *item = document.root->first; item; item = item->next) sum += item->number;
    assert_true(sum == 7.0 * count_k);
    uform_json_close_(&document);
    free(text);
}

static void getters_say_what_they_expected(void **state) {
    (void)state;
    static char const text[] =
        "{\"size\": 12, \"half\": 0.5, \"text\": \"a\\u0000b\", \"no\": null, \"line\": \"a\\nb\", \"yes\": true,"
        "\"minus\": -3, \"long\": \"0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789\"}";
    uform_json_document_t document = parse(text, sizeof(text) - 1);
    uform_json_t const *root = document.root, *member = NULL;
    size_t size = 5, length;
    double number = 0;
    bool truth = false;
    char const *string = NULL;
    assert_int_equal(uform_json_size_(root, "f", "size", 1, 12, uform_json_required_k, &size), uform_status_ok_k);
    assert_int_equal(size, 12);
    assert_int_equal(uform_json_size_(root, "f", "absent", 1, 12, uform_json_optional_k, &size), uform_status_ok_k);
    assert_int_equal(uform_json_size_(root, "f", "no", 1, 12, uform_json_optional_k, &size), uform_status_ok_k);
    assert_int_equal(size, 12);
    assert_int_equal(
        uform_json_size_(root, "f", "size", 1, 11, uform_json_required_k, &size), uform_status_malformed_k);
    assert_string_equal(uform_last_detail(), "f: size: expected an integer from 1 to 11, found 12");
    assert_int_equal(
        uform_json_size_(root, "f", "absent", 1, 11, uform_json_required_k, &size), uform_status_malformed_k);
    assert_string_equal(uform_last_detail(), "f: absent: expected an integer from 1 to 11, found nothing");
    assert_int_equal(uform_json_size_(root, "f", "no", 1, 11, uform_json_required_k, &size), uform_status_malformed_k);
    assert_string_equal(uform_last_detail(), "f: no: expected an integer from 1 to 11, found null");
    assert_int_equal(
        uform_json_size_(root, "f", "half", 0, 11, uform_json_required_k, &size), uform_status_malformed_k);
    assert_string_equal(uform_last_detail(), "f: half: expected an integer from 0 to 11, found 0.5");
    assert_int_equal(
        uform_json_size_(root, "f", "minus", 0, 11, uform_json_required_k, &size), uform_status_malformed_k);
    assert_int_equal(uform_json_number_(root, "f", "half", uform_json_required_k, &number), uform_status_ok_k);
    assert_true(number == 0.5);
    assert_int_equal(uform_json_number_(root, "f", "yes", uform_json_optional_k, &number), uform_status_malformed_k);
    assert_string_equal(uform_last_detail(), "f: yes: expected a number, found true");
    assert_int_equal(uform_json_boolean_(root, "f", "yes", uform_json_required_k, &truth), uform_status_ok_k);
    assert_true(truth);
    assert_int_equal(uform_json_boolean_(root, "f", "size", uform_json_optional_k, &truth), uform_status_malformed_k);
    assert_int_equal(uform_json_string_(root, "f", "text", uform_json_required_k, &string, &length), uform_status_ok_k);
    assert_int_equal(length, 3);
    assert_int_equal(
        uform_json_string_(root, "f", "text", uform_json_required_k, &string, NULL), uform_status_malformed_k);
    assert_string_equal(uform_last_detail(), "f: text: expected a string without U+0000, found \"a\\u0000b\"");
    assert_int_equal(uform_json_size_(root, "f", "line", 0, 1, uform_json_required_k, &size), uform_status_malformed_k);
    assert_string_equal(uform_last_detail(), "f: line: expected an integer from 0 to 1, found \"a\\u000ab\"");
    assert_int_equal(uform_json_boolean_(root, "f", "long", uform_json_required_k, &truth), uform_status_malformed_k);
    assert_non_null(strstr(uform_last_detail(), "...\""));
    assert_int_equal(uform_json_member_(root, "f", "size", uform_json_array_k, uform_json_required_k, &member),
        uform_status_malformed_k);
    assert_string_equal(uform_last_detail(), "f: size: expected an array, found 12");
    assert_null(member);
    uform_json_close_(&document);
}

int main(void) {
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(numbers_are_exact),
        cmocka_unit_test(numbers_ignore_the_locale),
        cmocka_unit_test(strings_are_unescaped),
        cmocka_unit_test(broken_texts_are_refused),
        cmocka_unit_test(trees_keep_their_order),
        cmocka_unit_test(nesting_has_a_limit),
        cmocka_unit_test(large_documents_are_read),
        cmocka_unit_test(getters_say_what_they_expected),
    };
    return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
