/**
 *  UTF-8 as Python reads it, and canonical composition. Nothing here recurses, all of it is linear.
 */
#include "tokenizers/unicode.h"

#include "base/utf8.h"

enum {
    hangul_base_k = 0xAC00,
    leading_base_k = 0x1100,
    vowel_base_k = 0x1161,
    trailing_base_k = 0x11A7, ///< one before the first trailing consonant: zero means none
    leading_count_k = 19,
    vowel_count_k = 21,
    trailing_count_k = 28,
};

enum { utf8_bytes_k = 4 }; ///< at most, of one code point

/// Bytes until the first that isn't ASCII.
static size_t ascii_prefix(char const *text, size_t length) {
    size_t done = 0;
    for (; length - done >= 8; done += 8) {
        uint64_t word;
        memcpy(&word, text + done, sizeof(word));
        if (word & UINT64_C(0x8080808080808080)) break;
    }
    while (done < length && !((unsigned char)text[done] & 0x80)) ++done;
    return done;
}

size_t uform_unicode_valid_prefix_(char const *text, size_t length) {
    size_t done = 0;
    for (;;) {
        done += ascii_prefix(text + done, length - done);
        size_t const bytes = done < length ? uform_utf8_valid_length_(text + done, length - done) : 0;
        if (!bytes) return done;
        done += bytes;
    }
}

/// Bytes of the invalid part at `text` one U+FFFD stands for: as many as could begin a valid character, at least one.
static size_t invalid_part(char const *text, size_t length) {
    unsigned char const *const bytes = (unsigned char const *)text;
    unsigned char const lead = bytes[0];
    if (lead < 0xC2 || lead > 0xF4 || length < 2) return 1;
    unsigned char const lowest = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    unsigned char const highest = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (bytes[1] < lowest || bytes[1] > highest) return 1;
    size_t const expected = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    size_t part = 2;
    while (part < expected && part < length && (bytes[part] & 0xC0) == 0x80) ++part;
    return part;
}

bool uform_unicode_append_replaced_(uform_bytes_t *output, char const *text, size_t length) {
    for (size_t done = 0; done < length;) {
        size_t const valid = uform_unicode_valid_prefix_(text + done, length - done);
        if (!uform_bytes_append_(output, text + done, valid)) return false;
        done += valid;
        if (done == length) break;
        if (!uform_bytes_append_(output, "\xEF\xBF\xBD", 3)) return false;
        done += invalid_part(text + done, length - done);
    }
    return true;
}

static bool append_code_point(uform_bytes_t *output, uint32_t code_point) {
    if (!uform_bytes_reserve_(output, utf8_bytes_k)) return false;
    output->length += uform_utf8_encode_(code_point, output->data + output->length);
    return true;
}

size_t uform_unicode_hangul_parts_(uint32_t syllable, uint32_t parts[3]) {
    uint32_t const index = syllable - hangul_base_k;
    parts[0] = leading_base_k + index / (vowel_count_k * trailing_count_k);
    parts[1] = vowel_base_k + index / trailing_count_k % vowel_count_k;
    parts[2] = trailing_base_k + index % trailing_count_k;
    return index % trailing_count_k ? 3 : 2;
}

/// The composite of two characters, or zero.
static uint32_t compose(uint32_t first, uint32_t second) {
    if (first - leading_base_k < leading_count_k && second - vowel_base_k < vowel_count_k)
        return hangul_base_k + ((first - leading_base_k) * vowel_count_k + (second - vowel_base_k)) * trailing_count_k;
    if (uform_unicode_is_hangul_(first) && !((first - hangul_base_k) % trailing_count_k) &&
        second - trailing_base_k - 1 < trailing_count_k - 1)
        return first + (second - trailing_base_k);
    size_t low = 0, high = uform_unicode_compositions_count_;
    while (low < high) {
        size_t const middle = (low + high) / 2;
        uform_unicode_composition_t const *const pair = &uform_unicode_compositions_[middle];
        if (pair->first == first && pair->second == second) return pair->composite;
        if (pair->first < first || (pair->first == first && pair->second < second)) low = middle + 1;
        else high = middle;
    }
    return 0;
}

static bool flush_composed(uform_bytes_t *output, uform_marks_t *marks) {
    for (size_t i = 0; i < marks->count; ++i)
        if (!append_code_point(output, marks->data[i].code_point)) return false;
    marks->count = 0;
    return true;
}

bool uform_unicode_append_composed_(uform_bytes_t *output, uform_marks_t *marks, char const *text, size_t length) {
    // `marks` holds the starter characters combine with, if there is one, and the characters that didn't.
    bool has_starter = false;
    marks->count = 0;
    size_t bytes;
    for (size_t done = 0; done < length; done += bytes) {
        uint32_t const code_point = uform_unicode_decode_(text + done, &bytes);
        uint8_t const combining_class = uform_unicode_record_(code_point)->combining_class;
        if (has_starter) {
            uform_mark_t const *const last = &marks->data[marks->count - 1];
            bool const blocked = marks->count > 1 && last->combining_class >= combining_class;
            uint32_t const composite = blocked ? 0 : compose(marks->data[0].code_point, code_point);
            if (composite) {
                marks->data[0].code_point = composite;
                continue;
            }
        }
        if (!combining_class) {
            if (!flush_composed(output, marks)) return false;
            has_starter = true;
        }
        if (!uform_marks_push_(marks, code_point, combining_class)) return false;
    }
    return flush_composed(output, marks);
}
