/**
 *  What words from files and arguments become before they are shown: one line of valid UTF-8 that steers no terminal.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../../cli/plain.h"

static void words_become_plain(void **state) {
    (void)state;
    static struct {
        char const *words, *plain;
    } const cases[] = {
        {"", ""},
        {"plain words", "plain words"},
        {"\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80", "\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80"},
        {"two\nlines\r\tand \033[31m\x7F", "two?lines??and ?[31m?"},
        {"\xC2\x80\xC2\x9B\xC2\x9F\xC2\xA0", "???\xC2\xA0"},                                // C1 controls
        {"\xE2\x80\xA8\xE2\x80\xAA\xE2\x80\xAE\xE2\x80\xAF", "???\xE2\x80\xAF"},            // U+2028, 202A, 202E, 202F
        {"\xE2\x81\xA5\xE2\x81\xA6\xE2\x81\xA9\xE2\x81\xAA", "\xE2\x81\xA5??\xE2\x81\xAA"}, // U+2065, 2066, 2069, 206A
        {"\xFF\x80 lone", "?? lone"},
        {"cut \xE2\x82", "cut ??"},
        {"cut \xF0\x9F\x98", "cut ???"},
        {"\xE2\x82\x41", "??A"},
        {"\xC0\x80\xC1\xBF", "????"},                     // longer than needed
        {"\xE0\x80\xAF\xF0\x80\x80\xAF", "???????"},      // longer than needed
        {"\xED\xA0\x80", "???"},                          // half of a surrogate pair
        {"\xF4\x90\x80\x80\xF8\x88\x80\x80", "????????"}, // beyond Unicode
        {"\xF4\x8F\xBF\xBF\xED\x9F\xBF\xEE\x80\x80", "\xF4\x8F\xBF\xBF\xED\x9F\xBF\xEE\x80\x80"},
    };
    for (size_t row = 0; row != sizeof(cases) / sizeof(cases[0]); ++row) {
        char words[64];
        strcpy(words, cases[row].words);
        make_plain_(words);
        assert_string_equal(words, cases[row].plain);
        assert_true(is_utf8_(cases[row].plain));
    }
}

static void text_is_told_from_bytes(void **state) {
    (void)state;
    static char const *const broken[] = {"\xFF\xD8\xFF", "good, then \x80", "cut \xE2\x82", "\xED\xA0\x80", "\xC0\x80"};
    for (size_t row = 0; row != sizeof(broken) / sizeof(broken[0]); ++row) assert_false(is_utf8_(broken[row]));
    assert_true(is_utf8_("two\nlines\t\033"));
}

int main(void) {
    struct CMUnitTest const tests[] = {cmocka_unit_test(words_become_plain), cmocka_unit_test(text_is_told_from_bytes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
