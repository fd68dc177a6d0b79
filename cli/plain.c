/**
 *  Text is rewritten over itself: what is written, one byte for a character at least as long, never overtakes what is
 *  read.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plain.h"

/// Code points that aren't shown: controls, and those that break lines or change the direction of what follows.
static struct range_t {
    uint32_t first, last;
} const hidden[] = {{0x00, 0x1F}, {0x7F, 0x9F}, {0x2028, 0x202E}, {0x2066, 0x2069}};

static bool is_hidden(uint32_t point) {
    for (size_t row = 0; row != sizeof(hidden) / sizeof(hidden[0]); ++row)
        if (point >= hidden[row].first && point <= hidden[row].last) return true;
    return false;
}

/// The bytes of the character that `words` begin with, or zero if it isn't valid UTF-8. A zero byte ends the words.
static size_t decode(unsigned char const *words, uint32_t *point) {
    // The smallest code point that needs so many bytes; a longer spelling than needed is invalid.
    static uint32_t const smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char const lead = words[0];
    size_t const length = lead < 0x80 ? 1 : lead < 0xC0 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF8 ? 4 : 0;
    *point = length > 1 ? lead & (0x7Fu >> length) : lead;
    for (size_t at = 1; at < length; ++at) {
        if ((words[at] & 0xC0) != 0x80) return 0;
        *point = *point << 6 | (words[at] & 0x3Fu);
    }
    bool const surrogate = *point >= 0xD800 && *point <= 0xDFFF;
    return length && *point >= smallest[length] && *point <= 0x10FFFF && !surrogate ? length : 0;
}

void make_plain_(char *words) {
    char *written = words;
    for (char const *read = words; *read;) {
        uint32_t point = 0;
        size_t const length = decode((unsigned char const *)read, &point);
        if (!length || is_hidden(point)) {
            *written++ = '?';
            read += length ? length : 1;
            continue;
        }
        memmove(written, read, length);
        written += length;
        read += length;
    }
    *written = '\0';
}

bool is_utf8_(char const *words) {
    uint32_t point = 0;
    size_t length = 1;
    for (; length && *words; words += length) length = decode((unsigned char const *)words, &point);
    return length != 0;
}

void print_plain_(char const *words) {
    char *const copy = strdup(words);
    if (copy) make_plain_(copy);
    fputs(copy ? copy : "?", stdout);
    free(copy);
}

void print_json_(FILE *stream, char const *words) {
    putc('"', stream);
    for (char const *read = words; *read;) {
        uint32_t point = 0;
        unsigned char const byte = (unsigned char)*read;
        size_t const length = decode((unsigned char const *)read, &point);
        if (!length) fprintf(stream, "\\udc%02x", byte);
        else if (byte == '"' || byte == '\\') fprintf(stream, "\\%c", byte);
        else if (byte < 0x20 || byte == 0x7F) fprintf(stream, "\\u%04x", byte);
        else fwrite(read, 1, length, stream);
        read += length ? length : 1;
    }
    putc('"', stream);
}
