/**
 *  The rules of Unicode Standard Annex 29 for boundaries of grapheme clusters, read from the start of a cluster on.
 */
#include "tokenizers/clusters.h"

#include "tokenizers/unicode.h"

enum {
    other_k = uform_unicode_cluster_other_k,
    control_k = uform_unicode_cluster_control_k,
    extend_k = uform_unicode_cluster_extend_k,
    extend_only_k = uform_unicode_cluster_extend_only_k,
    linker_k = uform_unicode_cluster_linker_k,
    joiner_k = uform_unicode_cluster_joiner_k,
    spacing_k = uform_unicode_cluster_spacing_k,
    prepend_k = uform_unicode_cluster_prepend_k,
    leading_k = uform_unicode_cluster_leading_k,
    vowel_k = uform_unicode_cluster_vowel_k,
    trailing_k = uform_unicode_cluster_trailing_k,
    pictographic_k = uform_unicode_cluster_pictographic_k,
    consonant_k = uform_unicode_cluster_consonant_k,
    two_parts_k, ///< a Hangul syllable without a trailing consonant
    three_parts_k,
};

#define BIT_(kind) (UINT32_C(1) << (kind))

/// Whatever is before them, unless it is a control.
static uint32_t const extending =
    BIT_(extend_k) | BIT_(extend_only_k) | BIT_(linker_k) | BIT_(joiner_k) | BIT_(spacing_k);

/// What may stand between a pictograph and a joiner.
static uint32_t const pictograph_extending = BIT_(extend_k) | BIT_(extend_only_k) | BIT_(linker_k);

/// What may stand between consonants besides a linker.
static uint32_t const consonant_extending = BIT_(extend_k) | BIT_(linker_k) | BIT_(joiner_k);

static uint32_t const anything = UINT32_MAX & ~BIT_(control_k);

/// The kinds that join a kind before them.
static uint32_t const joined[] = {
    [control_k] = 0,
    [prepend_k] = anything,
    [leading_k] = extending | BIT_(leading_k) | BIT_(vowel_k) | BIT_(two_parts_k) | BIT_(three_parts_k),
    [vowel_k] = extending | BIT_(vowel_k) | BIT_(trailing_k),
    [two_parts_k] = extending | BIT_(vowel_k) | BIT_(trailing_k),
    [trailing_k] = extending | BIT_(trailing_k),
    [three_parts_k] = extending | BIT_(trailing_k),
    [other_k] = extending,
    [extend_k] = extending,
    [extend_only_k] = extending,
    [linker_k] = extending,
    [joiner_k] = extending,
    [spacing_k] = extending,
    [pictographic_k] = extending,
    [consonant_k] = extending,
};

static unsigned kind_at(char const *text, size_t *bytes) {
    uint32_t const code_point = uform_unicode_decode_(text, bytes);
    if (!uform_unicode_is_hangul_(code_point)) return uform_unicode_record_(code_point)->cluster;
    uint32_t parts[3];
    return uform_unicode_hangul_parts_(code_point, parts) == 2 ? two_parts_k : three_parts_k;
}

size_t uform_cluster_end_(char const *text, size_t start, size_t length) {
    size_t bytes, end = start;
    unsigned before = kind_at(text + start, &bytes);
    bool pictograph = before == pictographic_k;             ///< one, and what extends it
    bool consonant = before == consonant_k, linked = false; ///< one, and what extends it, a linker among it
    for (end += bytes; end < length; end += bytes) {
        unsigned const kind = kind_at(text + end, &bytes);
        bool joins = joined[before] & BIT_(kind);
        joins |= text[end] == '\n' && text[end - 1] == '\r';
        joins |= pictograph && before == joiner_k && kind == pictographic_k;
        joins |= consonant && linked && kind == consonant_k;
        if (!joins) break;
        pictograph = kind == pictographic_k ||
                     (pictograph && before != joiner_k && (kind == joiner_k || pictograph_extending & BIT_(kind)));
        linked = kind != consonant_k && (linked || kind == linker_k);
        consonant = kind == consonant_k || (consonant && consonant_extending & BIT_(kind));
        before = kind;
    }
    return end;
}
