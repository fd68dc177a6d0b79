/**
 *  A float has less than 7.3 significant digits, so nine digits leave room for a careless last one: scaling by a
 *  power of ten in double precision errs by 1e-16, the ninth digit by at most half of 1e-8, and neighbouring floats
 *  are at least 5.9e-8 apart. So one multiplication finds the digits.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "numbers.h"

enum { smallest_exponent_k = -5, largest_exponent_k = 7, digit_count_k = 9 };

/// The powers of ten from the smallest exponent to the largest, and what brings each to nine digits before the point.
static double const powers[] = {1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7};
static double const scales[] = {1e13, 1e12, 1e11, 1e10, 1e9, 1e8, 1e7, 1e6, 1e5, 1e4, 1e3, 1e2, 1e1};

/// [200]: the hundred pairs of digits.
static char const pairs[] =
    "0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546474849"
    "5051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899";

static void write_digits(uint32_t number, char *digits) {
    for (size_t pair = digit_count_k / 2; pair-- > 0; number /= 100)
        memcpy(digits + 1 + 2 * pair, pairs + 2 * (number % 100), 2);
    digits[0] = (char)('0' + number);
}

size_t number_from_float_(float value, char *text) {
    if (!isfinite(value)) return memcpy(text, "null", 4), 4;
    size_t length = 0;
    if (signbit(value)) text[length++] = '-';
    double const magnitude = fabs((double)value);
    if (magnitude == 0) return memcpy(text + length, "0.0", 3), length + 3;
    if (magnitude < 1e-5 || magnitude >= 1e8) {
        int const printed = snprintf(text + length, (size_t)number_text_bytes_k - length, "%.8e", magnitude);
        return length + (size_t)printed;
    }
    int exponent = smallest_exponent_k;
    while (exponent < largest_exponent_k && magnitude >= powers[exponent + 1 - smallest_exponent_k]) ++exponent;
    uint32_t number = (uint32_t)(magnitude * scales[exponent - smallest_exponent_k] + 0.5);
    if (number == 1000000000u) number = 100000000u, ++exponent;
    char digits[digit_count_k];
    write_digits(number, digits);
    size_t kept = digit_count_k;
    size_t const whole = exponent >= 0 ? (size_t)exponent + 1 : 0;
    while (kept > whole + 1 && digits[kept - 1] == '0') --kept;
    if (!whole) {
        memcpy(text + length, "0.0000", 6);
        length += (size_t)(1 - exponent);
        memcpy(text + length, digits, kept);
        return length + kept;
    }
    memcpy(text + length, digits, whole);
    length += whole;
    text[length++] = '.';
    memcpy(text + length, digits + whole, kept - whole);
    return length + kept - whole;
}

size_t number_from_unsigned_(uint32_t value, char *text) {
    char digits[10];
    size_t count = 0;
    do digits[count++] = (char)('0' + value % 10);
    while (value /= 10);
    for (size_t at = 0; at != count; ++at) text[at] = digits[count - 1 - at];
    return count;
}

float float_from_bf16_(uint16_t bits) {
    uint32_t const wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof(value));
    return value;
}

float float_from_f16_(uint16_t bits) {
    int const exponent = bits >> 10 & 31;
    int const fraction = bits & 1023;
    float const magnitude = exponent == 31  ? fraction ? NAN : INFINITY
                            : exponent == 0 ? ldexpf((float)fraction, -24)
                                            : ldexpf((float)(1024 + fraction), exponent - 25);
    return bits & 0x8000 ? -magnitude : magnitude;
}
