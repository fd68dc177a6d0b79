/**
 *  Numbers as text: every float reads back as itself, by a reader of floats and by one of doubles, and the narrow
 * floats are what their bits mean.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../cli/numbers.h"

enum { random_count_k = 300000 };

static float float_from_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static void check_round_trip(uint32_t bits) {
    float const value = float_from_bits(bits);
    char text[number_text_bytes_k + 1];
    memset(text, '#', sizeof(text));
    size_t const length = number_from_float_(value, text);
    assert_true(length <= number_text_bytes_k);
    assert_int_equal(text[number_text_bytes_k], '#');
    text[length] = '\0';
    if (!isfinite(value)) {
        assert_string_equal(text, "null");
        return;
    }
    float const as_float = strtof(text, NULL), as_double = (float)strtod(text, NULL);
    if (memcmp(&as_float, &value, 4) != 0 || memcmp(&as_double, &value, 4) != 0)
        fail_msg("0x%08x, %.9g, was written as %s", (unsigned)bits, (double)value, text);
    // JSON's numbers: a digit before the point and one behind it.
    char const *const digits = text + (text[0] == '-');
    char const *const point = strchr(digits, '.');
    assert_non_null(point);
    assert_true(point > digits && point[1] >= '0' && point[1] <= '9');
    assert_true(digits[0] != '0' || point == digits + 1);
}

static void floats_read_back(void **state) {
    (void)state;
    uint64_t random = 0x9E3779B97F4A7C15u;
    for (size_t round = 0; round != random_count_k; ++round) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        check_round_trip((uint32_t)(random >> 32));
        // Most embeddings lie in -1 to 1: exponents 2^-24 to 2^0.
        check_round_trip((uint32_t)(random >> 32 & 0x807FFFFF) | (uint32_t)(103 + (random >> 8) % 25) << 23);
    }
}

static void floats_around_powers_of_ten_read_back(void **state) {
    (void)state;
    for (int exponent = -45; exponent <= 38; ++exponent) {
        float const power = (float)pow(10, exponent);
        uint32_t bits;
        memcpy(&bits, &power, sizeof(bits));
        for (uint32_t near = bits > 3 ? bits - 3 : 0; near != bits + 4; ++near)
            check_round_trip(near), check_round_trip(near | 1u << 31);
    }
    check_round_trip(0), check_round_trip(1u << 31), check_round_trip(1), check_round_trip(0x7F7FFFFF);
    check_round_trip(0x7F800000), check_round_trip(0xFF800000), check_round_trip(0x7FC00000);
}

static void short_floats_are_short(void **state) {
    (void)state;
    static struct {
        float value;
        char const *text;
    } const cases[] = {{0.0f, "0.0"}, {-0.0f, "-0.0"}, {1.0f, "1.0"}, {-0.5f, "-0.5"}, {0.0625f, "0.0625"},
        {10.0f, "10.0"}, {100.25f, "100.25"}, {12345678.0f, "12345678.0"}};
    for (size_t row = 0; row != sizeof(cases) / sizeof(cases[0]); ++row) {
        char text[number_text_bytes_k + 1];
        text[number_from_float_(cases[row].value, text)] = '\0';
        assert_string_equal(text, cases[row].text);
    }
}

static void integers_are_decimal(void **state) {
    (void)state;
    static uint32_t const values[] = {0, 7, 10, 99, 101, 30522, 4294967295u};
    for (size_t row = 0; row != sizeof(values) / sizeof(values[0]); ++row) {
        char text[number_text_bytes_k + 1], expected[16];
        text[number_from_unsigned_(values[row], text)] = '\0';
        snprintf(expected, sizeof(expected), "%u", (unsigned)values[row]);
        assert_string_equal(text, expected);
    }
}

static void narrow_floats_mean_their_bits(void **state) {
    (void)state;
    // Sign, exponent and fraction by the definition, in double precision.
    for (uint32_t bits = 0; bits != 65536; ++bits) {
        int const exponent = (int)(bits >> 10 & 31), fraction = (int)(bits & 1023);
        double const sign = bits & 0x8000 ? -1 : 1;
        double const expected =
            sign * (exponent ? (1 + fraction / 1024.0) * pow(2, exponent - 15) : fraction / 1024.0 * pow(2, -14));
        float const value = float_from_f16_((uint16_t)bits);
        if (exponent == 31) assert_true(fraction ? isnan(value) : isinf(value) && (value < 0) == (sign < 0));
        else assert_true((double)value == expected);
        float const wide = float_from_bits(bits << 16), brain = float_from_bf16_((uint16_t)bits);
        assert_memory_equal(&wide, &brain, sizeof(wide));
    }
}

int main(void) {
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(floats_read_back),
        cmocka_unit_test(floats_around_powers_of_ten_read_back),
        cmocka_unit_test(short_floats_are_short),
        cmocka_unit_test(integers_are_decimal),
        cmocka_unit_test(narrow_floats_mean_their_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
