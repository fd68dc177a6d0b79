/**
 *  SentencePiece's compiled replacements.
 *
 *  Memory: four bytes of the trie's size, little-endian, the trie, and the replacements. The trie is a double array as
 *  darts-clone writes it, of units of four bytes, little-endian: from the unit at p a byte c leads to p ^ offset ^ c,
 *  whose label has to be c, and p ^ offset is the value if the unit has one, an offset into the replacements. A file may hold
 *  any numbers, so every step is checked.
 */
#include "tokenizers/charsmap.h"

#include "base/detail.h"
#include "base/memory.h"
#include "tokenizers/clusters.h"
#include "tokenizers/unicode.h"

static uint32_t unit_value(uint32_t unit) {
    return unit & 0x7FFFFFFFu;
}

static bool unit_has_value(uint32_t unit) {
    return unit >> 8 & 1;
}

/// The byte a unit is reached by; of a value, more than any byte.
static uint32_t unit_label(uint32_t unit) {
    return unit & 0x800000FFu;
}

static uint32_t unit_offset(uint32_t unit) {
    return (unit >> 10) << (unit >> 6 & 8);
}

static uint32_t read_unit(char const *bytes) {
    unsigned char const *const unit = (unsigned char const *)bytes;
    return unit[0] | (uint32_t)unit[1] << 8 | (uint32_t)unit[2] << 16 | (uint32_t)unit[3] << 24;
}

static int base64_digit(char c) {
    static char const digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char const *const found = c ? strchr(digits, c) : NULL;
    return found ? (int)(found - digits) : -1;
}

/// Decodes base64 with its padding. `bytes` has room for three quarters of the length.
static bool decode_base64(char const *text, size_t length, char *bytes, size_t *count) {
    *count = 0;
    if (length % 4) return false;
    size_t padding = 0;
    while (padding < 2 && padding < length && text[length - 1 - padding] == '=') ++padding;
    uint32_t group = 0;
    for (size_t i = 0; i < length - padding; ++i) {
        int const digit = base64_digit(text[i]);
        if (digit < 0) return false;
        group = group << 6 | (uint32_t)digit;
        if (i % 4 == 0) continue;
        unsigned const rest = 2 * (3 - i % 4); // bits of the digit that belong to the next byte
        bytes[(*count)++] = (char)(group >> rest & 0xFF);
    }
    unsigned const unused = padding == 2 ? 0xF : padding ? 0x3 : 0;
    return !(group & unused);
}

static uform_status_t read_blob(char const *blob, size_t length, char const *where, uform_charsmap_t *charsmap) {
    size_t const header = sizeof(uint32_t);
    size_t const trie = length >= header ? read_unit(blob) : 0;
    if (length < header || trie % sizeof(uint32_t) || !trie || trie > length - header)
        return uform_fail_(uform_status_malformed_k,
            "%s: precompiled_charsmap: expected the size of a trie, the trie and replacements", where);
    char const *const replacements = blob + header + trie;
    charsmap->unit_count = trie / sizeof(uint32_t);
    charsmap->replacements_length = length - header - trie;
    charsmap->units = uform_allocate_(charsmap->unit_count, sizeof(*charsmap->units));
    charsmap->replacements = charsmap->units ? uform_allocate_(charsmap->replacements_length, 1) : NULL;
    if (!charsmap->replacements) return uform_status_out_of_memory_k;
    for (size_t i = 0; i < charsmap->unit_count; ++i)
        charsmap->units[i] = read_unit(blob + header + i * sizeof(uint32_t));
    memcpy(charsmap->replacements, replacements, charsmap->replacements_length);
    if (uform_unicode_valid_prefix_(replacements, charsmap->replacements_length) < charsmap->replacements_length)
        return uform_fail_(uform_status_malformed_k, "%s: precompiled_charsmap: expected replacements in UTF-8", where);
    for (size_t i = 0, start = 0; i <= charsmap->replacements_length; ++i) {
        if (i < charsmap->replacements_length && replacements[i]) continue;
        if (i - start > charsmap->longest) charsmap->longest = i - start;
        start = i + 1;
    }
    return uform_status_ok_k;
}

uform_status_t uform_charsmap_load_(char const *text, size_t length, char const *where, uform_charsmap_t *charsmap) {
    *charsmap = (uform_charsmap_t){0};
    char *const blob = uform_allocate_(length / 4 * 3 + 1, 1);
    if (!blob) return uform_status_out_of_memory_k;
    size_t count;
    uform_status_t status = uform_status_ok_k;
    if (!decode_base64(text, length, blob, &count))
        status = uform_fail_(uform_status_malformed_k, "%s: precompiled_charsmap: expected base64", where);
    if (status == uform_status_ok_k) status = read_blob(blob, count, where, charsmap);
    uform_free_(blob);
    if (status != uform_status_ok_k) uform_charsmap_free_(charsmap);
    return status;
}

void uform_charsmap_free_(uform_charsmap_t *charsmap) {
    uform_free_(charsmap->units);
    uform_free_(charsmap->replacements);
    *charsmap = (uform_charsmap_t){0};
}

/// What the shortest known beginning of a text becomes; false when none is known.
static bool find_replacement(
    uform_charsmap_t const *charsmap, char const *text, size_t length, char const **replacement, size_t *bytes) {
    size_t at = unit_offset(charsmap->units[0]);
    for (size_t i = 0; i < length && text[i]; ++i) {
        at ^= (unsigned char)text[i];
        if (at >= charsmap->unit_count) return false;
        uint32_t const unit = charsmap->units[at];
        if (unit_label(unit) != (unsigned char)text[i]) return false;
        at ^= unit_offset(unit);
        if (at >= charsmap->unit_count) return false;
        if (!unit_has_value(unit)) continue;
        size_t const start = unit_value(charsmap->units[at]);
        if (start >= charsmap->replacements_length) return false;
        *replacement = charsmap->replacements + start;
        if (((unsigned char)**replacement & 0xC0) == 0x80) return false;
        *bytes = strnlen(*replacement, charsmap->replacements_length - start);
        return true;
    }
    return false;
}

/// A cluster as short as this is replaced whole by what its beginning becomes, a longer one character by character.
/// SentencePiece does neither, but the library whose ids count does.
enum { short_cluster_k = 5 };

bool uform_charsmap_append_(uform_charsmap_t const *charsmap, char const *text, size_t length, uform_bytes_t *output) {
    char const *replacement = NULL;
    size_t bytes, replacement_bytes = 0;
    for (size_t done = 0; done < length;) {
        size_t const end = uform_cluster_end_(text, done, length);
        if (end - done <= short_cluster_k &&
            find_replacement(charsmap, text + done, end - done, &replacement, &replacement_bytes)) {
            if (!uform_bytes_append_(output, replacement, replacement_bytes)) return false;
            done = end;
        }
        for (; done < end; done += bytes) {
            uform_unicode_decode_(text + done, &bytes);
            bool const known = find_replacement(charsmap, text + done, bytes, &replacement, &replacement_bytes);
            if (!uform_bytes_append_(output, known ? replacement : text + done, known ? replacement_bytes : bytes))
                return false;
        }
    }
    return true;
}
