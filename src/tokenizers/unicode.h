/**
 *  What code points are and become in the `tokenizers` library, which ids have to follow: see tools/unicode_tables.py.
 *
 *  One record serves many code points; it is found through two stages, blocks of 128 code points. Text is UTF-8 known
 *  to be valid: `uform_unicode_decode_` checks nothing.
 */
#ifndef UFORM_TOKENIZERS_UNICODE_H
#define UFORM_TOKENIZERS_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tokenizers/buffers.h"

/// In the order of FLAGS in tools/unicode_tables.py.
typedef enum uform_unicode_flag_t {
    uform_unicode_white_k = 1 << 0,       ///< White_Space
    uform_unicode_removed_k = 1 << 1,     ///< dropped by BertNormalizer's clean_text
    uform_unicode_punctuation_k = 1 << 2, ///< stands alone in BertPreTokenizer and Punctuation
    uform_unicode_mark_k = 1 << 3,        ///< dropped by BertNormalizer's strip_accents
    uform_unicode_chinese_k = 1 << 4,     ///< gets spaces around it by handle_chinese_chars
    uform_unicode_word_k = 1 << 5,        ///< `\w` of the library's regular expressions
    uform_unicode_combining_k = 1 << 6,   ///< dropped by the StripAccents normalizer
    uform_unicode_letter_k = 1 << 7,      ///< `\p{L}` of the library's regular expressions
    uform_unicode_number_k = 1 << 8,      ///< `\p{N}` of them
    uform_unicode_numeric_k = 1 << 9,     ///< found by the Digits pre-tokenizer
} uform_unicode_flag_t;

/// How a character takes part in grapheme clusters. Halves of flags count as others: nothing asks for what they join. In
/// the order of CLUSTERS in tools/unicode_tables.py.
typedef enum uform_unicode_cluster_t {
    uform_unicode_cluster_other_k, ///< Hangul syllables, too
    uform_unicode_cluster_control_k,
    uform_unicode_cluster_extend_k,
    uform_unicode_cluster_extend_only_k, ///< ends the search for what consonants join across
    uform_unicode_cluster_linker_k,      ///< extends, and joins consonants
    uform_unicode_cluster_joiner_k,
    uform_unicode_cluster_spacing_k,
    uform_unicode_cluster_prepend_k,
    uform_unicode_cluster_leading_k,
    uform_unicode_cluster_vowel_k,
    uform_unicode_cluster_trailing_k,
    uform_unicode_cluster_pictographic_k,
    uform_unicode_cluster_consonant_k,
} uform_unicode_cluster_t;

typedef struct uform_unicode_record_t {
    uint16_t flags;          ///< of uform_unicode_flag_t
    uint8_t combining_class; ///< canonical combining class
    uint8_t cluster;         ///< of uform_unicode_cluster_t
    uint16_t canonical;      ///< NFD, Hangul syllables aside: an offset into the pool, or zero
    uint16_t compatible;     ///< NFKD, likewise
    uint16_t lower;          ///< the library's lowercase, likewise
} uform_unicode_record_t;

typedef struct uform_unicode_composition_t {
    uint32_t first, second, composite;
} uform_unicode_composition_t;

extern uint16_t const uform_unicode_index_[];
extern uint16_t const uform_unicode_blocks_[];
extern uform_unicode_record_t const uform_unicode_records_[];
extern uint32_t const uform_unicode_pool_[];
extern uform_unicode_composition_t const uform_unicode_compositions_[]; ///< sorted by first, then second
extern size_t const uform_unicode_compositions_count_;

static inline uform_unicode_record_t const *uform_unicode_record_(uint32_t code_point) {
    enum { block_bits_k = 7 };
    size_t const block = uform_unicode_index_[code_point >> block_bits_k];
    return &uform_unicode_records_[uform_unicode_blocks_[(block << block_bits_k) | (code_point & 127)]];
}

/// The code point at `text`, of valid UTF-8, and its length in bytes.
static inline uint32_t uform_unicode_decode_(char const *text, size_t *length) {
    unsigned char const *const bytes = (unsigned char const *)text;
    if (bytes[0] < 0x80) return *length = 1, bytes[0];
    if (bytes[0] < 0xE0) return *length = 2, ((bytes[0] & 0x1Fu) << 6) | (bytes[1] & 0x3Fu);
    if (bytes[0] < 0xF0)
        return *length = 3, ((bytes[0] & 0x0Fu) << 12) | ((bytes[1] & 0x3Fu) << 6) | (bytes[2] & 0x3Fu);
    return *length = 4,
           ((bytes[0] & 0x07u) << 18) | ((bytes[1] & 0x3Fu) << 12) | ((bytes[2] & 0x3Fu) << 6) | (bytes[3] & 0x3Fu);
}

/// Start of the character that ends before `end`, in valid UTF-8 that begins at or before `text`.
static inline size_t uform_unicode_before_(char const *text, size_t end) {
    do --end;
    while (((unsigned char)text[end] & 0xC0) == 0x80);
    return end;
}

/// Flags of the character at `text`, and its length in bytes.
static inline uint16_t uform_unicode_flags_(char const *text, size_t *length) {
    return uform_unicode_record_(uform_unicode_decode_(text, length))->flags;
}

/// Bytes of the longest prefix of `text` that is valid UTF-8.
size_t uform_unicode_valid_prefix_(char const *text, size_t length);

/// Appends `text` with U+FFFD for every maximal invalid part, as Python's `bytes.decode("utf-8", "replace")` does.
bool uform_unicode_append_replaced_(uform_bytes_t *output, char const *text, size_t length);

/// Appends valid UTF-8 that is canonically decomposed and ordered,
/// composed: NFC of NFD, NFKC of NFKD. `marks` is scratch.
bool uform_unicode_append_composed_(uform_bytes_t *output, uform_marks_t *marks, char const *text, size_t length);

static inline bool uform_unicode_is_hangul_(uint32_t code_point) {
    return code_point - 0xAC00u < 11172u;
}

/// The two or three jamo of a Hangul syllable; returns how many.
size_t uform_unicode_hangul_parts_(uint32_t syllable, uint32_t parts[3]);

#endif
