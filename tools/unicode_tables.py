#!/usr/bin/env python3
"""Writes src/tokenizers/unicode_tables.c by asking the `tokenizers` library about every code point.

Ids have to equal that library's, whose parts follow different Unicode versions (its decompositions, its categories and its
lowercase each come from another one), so no released Unicode data and no other library says the same. Whatever a code point
does is therefore observed, not looked up.

    python3 tools/unicode_tables.py > src/tokenizers/unicode_tables.c

Needs tokenizers==0.23.3.
"""
import sys
import unicodedata

import tokenizers
from charsmap import make_charsmap
from tokenizers import Regex, normalizers, pre_tokenizers

VERSION = "0.23.3"
BLOCK = 128
LIMIT = 0x110000
HANGUL = range(0xAC00, 0xAC00 + 11172)

# In the order of the flags in unicode.h.
FLAGS = ("white", "removed", "punctuation", "mark", "chinese", "word", "combining", "letter", "number", "numeric")

# In the order of the clusters in unicode.h.
CLUSTERS = ("other", "control", "extend", "extend_only", "linker", "joiner", "spacing", "prepend", "leading", "vowel", "trailing",
            "pictographic", "consonant")


def code_points():
    return (code for code in range(LIMIT) if not 0xD800 <= code < 0xE000)


def observe_flags():
    """[code] -> bits of FLAGS."""
    white = pre_tokenizers.WhitespaceSplit().pre_tokenize_str
    bert = pre_tokenizers.BertPreTokenizer().pre_tokenize_str
    punctuation = pre_tokenizers.Punctuation().pre_tokenize_str
    words = pre_tokenizers.Whitespace().pre_tokenize_str
    switches = dict(clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=False)
    clean = normalizers.BertNormalizer(**{**switches, "clean_text": True}).normalize_str
    chinese = normalizers.BertNormalizer(**{**switches, "handle_chinese_chars": True}).normalize_str
    strip = normalizers.BertNormalizer(**{**switches, "strip_accents": True}).normalize_str
    combining = normalizers.StripAccents().normalize_str
    removed = lambda pattern: pre_tokenizers.Split(Regex(pattern), "removed").pre_tokenize_str
    letter, number, regex_white = removed(r"\p{L}"), removed(r"\p{N}"), removed(r"\s")
    digits = pre_tokenizers.Digits(individual_digits=True).pre_tokenize_str
    result = {}
    for code in code_points():
        c = chr(code)
        between = "a" + c + "b"
        is_white = len(white(between)) == 2
        is_punctuation = len(bert(between)) == 3
        assert is_punctuation == (len(punctuation(between)) == 3), hex(code)
        cleaned = clean(c)
        assert cleaned in ("", " ", c) and (cleaned != " " or is_white), hex(code)
        assert is_white <= (cleaned in (" ", "")), hex(code)
        assert is_white == (not regex_white(c)), hex(code)
        bits = (is_white, cleaned == "", is_punctuation, strip(c) == "", chinese(c) == f" {c} ",
                words("a" + c) == [("a" + c, (0, 2))], combining(c) == "",
                not letter(c), not number(c), len(digits(between)) == 3)
        result[code] = sum(1 << i for i, bit in enumerate(bits) if bit)
    return result


def observe_clusters():
    """[code] -> index in CLUSTERS: how it takes part in grapheme clusters, which Precompiled looks at.

    Precompiled replaces all of a cluster of less than six bytes by what its beginning becomes, so a mark that is lost tells that
    the probe before it began a cluster, and one that is kept that the probe joined what is before. Flags' halves aren't told from
    others: their clusters are too long to matter."""
    mark, joiner, virama, ka, vowel, trailing, trade = "\u0301", "\u200d", "\u094d", "\u0915", "\u1161", "\u11a8", "\u2122"
    probes = {probe: normalizers.Precompiled(make_charsmap({probe: "Z"})).normalize_str
              for probe in ("a", mark, ka, vowel, trailing, "\u1100", trade)}
    joins = lambda before, probe: probes[probe](before + probe + mark).endswith(mark)
    extends = lambda c: probes["a"]("a" + c) == "Z"
    result = {}
    for code in code_points():
        c = chr(code)
        if extends(c):
            if c == joiner:
                kind = "joiner"
            elif joins(ka + c, ka):
                kind = "linker"
            elif joins(ka + c + virama, ka):
                kind = "extend"
            else:
                kind = "extend_only" if joins("\u00a9" + c + joiner, trade) else "spacing"
        elif joins(c, "a"):
            kind = "prepend"
        elif not probes[mark](c + mark + "\u0302").endswith("\u0302"):
            kind = "control"
        elif joins(c + joiner, trade):
            kind = "pictographic"
        elif joins(c + virama, ka):
            kind = "consonant"
        else:
            kind = {(True, True, False): "leading", (False, True, True): "vowel", (False, False, True): "trailing"}.get(
                (joins(c, "\u1100"), joins(c, vowel), joins(c, trailing)), "other")
        if kind != "other" and code not in HANGUL:
            result[code] = CLUSTERS.index(kind)
    return result


def observe_mapping(function, skip=()):
    """[code] -> code points it becomes, without those it leaves alone."""
    return {code: tuple(map(ord, mapped)) for code in code_points() if code not in skip
            for mapped in (function(chr(code)),) if mapped != chr(code)}


def observe_combining_classes(nfd):
    """[code] -> canonical combining class, from the order in which pairs come out of NFD."""
    moves = lambda first, second: first != second and nfd(chr(first) + chr(second)) == chr(second) + chr(first)
    lowest, highest = 0x0334, 0x0345  # classes 1 and 240, the ends of the order
    assert moves(highest, lowest)
    ordered = [code for code in code_points()
               if nfd(chr(code)) == chr(code) and (moves(code, lowest) or moves(highest, code))]
    representatives = {1: lowest, 240: highest}
    for code in ordered:
        if unicodedata.combining(chr(code)):
            representatives.setdefault(unicodedata.combining(chr(code)), code)
    values = sorted(representatives)
    for lower, upper in zip(values, values[1:]):  # the library orders the representatives as their classes say
        assert moves(representatives[upper], representatives[lower]), (lower, upper)
        assert not moves(representatives[lower], representatives[upper]), (lower, upper)
    result = {lowest: 1, highest: 240}
    for code in ordered:
        equal = [value for value in values
                 if not moves(code, representatives[value]) and not moves(representatives[value], code)]
        assert len(equal) == 1, (hex(code), equal)
        result[code] = equal[0]
    return result


def observe_compositions(nfd, nfc, canonical):
    """Sorted (first, second, composite), Hangul aside."""
    result = set()
    for code, parts in canonical.items():
        if len(parts) < 2 or nfc(chr(code)) != chr(code):
            continue
        first = nfc("".join(map(chr, parts[:-1])))
        assert len(first) == 1 and nfc(first + chr(parts[-1])) == chr(code), hex(code)
        result.add((ord(first), parts[-1], code))
    return sorted(result)


class Pool:
    """Sequences of code points, each after its length, found again by content."""

    def __init__(self):
        self.items, self.offsets = [0], {}

    def add(self, parts):
        if parts is None:
            return 0
        if parts not in self.offsets:
            self.offsets[parts] = len(self.items)
            self.items += [len(parts), *parts]
        return self.offsets[parts]


def print_array(declaration, values, render=str):
    print(f"\n{declaration} = {{")
    line = "   "
    for value in values:
        text = " " + render(value) + ","
        if len(line) + len(text) > 120:
            print(line)
            line = "   "
        line += text
    print(line + "\n};")


def main():
    assert tokenizers.__version__ == VERSION, f"tokenizers=={VERSION} is needed, found {tokenizers.__version__}"
    nfd, nfkd = normalizers.NFD().normalize_str, normalizers.NFKD().normalize_str
    nfc = normalizers.NFC().normalize_str
    flags, clusters = observe_flags(), observe_clusters()
    canonical = observe_mapping(nfd, HANGUL)
    compatible = observe_mapping(nfkd, HANGUL)
    lower = observe_mapping(normalizers.Lowercase().normalize_str)
    classes = observe_combining_classes(nfd)
    compositions = observe_compositions(nfd, nfc, canonical)

    pool, records, blocks = Pool(), {}, {}
    record_of = lambda code: (flags.get(code, 0), classes.get(code, 0), clusters.get(code, 0), pool.add(canonical.get(code)),
                              pool.add(compatible.get(code)), pool.add(lower.get(code)))
    index = []
    for start in range(0, LIMIT, BLOCK):
        block = tuple(records.setdefault(record_of(code), len(records)) for code in range(start, start + BLOCK))
        index.append(blocks.setdefault(block, len(blocks)))
    assert max(len(pool.items), len(records), len(blocks)) < 65536

    print(f"""/**
 *  What every code point does in the `tokenizers` library {VERSION}.
 *
 *  Generated by tools/unicode_tables.py: do not edit. utf8proc and its like are no substitute: their Unicode version is not the
 *  library's, which follows several at once. A code point's block is found in the index, its record's number in the block; a
 *  record's mappings are offsets into the pool, zero for none, where the length stands before the code points.
 */
#include "tokenizers/unicode.h"

// clang-format off""")
    print_array(f"uint16_t const uform_unicode_index_[{len(index)}]", index)
    print_array(f"uint16_t const uform_unicode_blocks_[{len(blocks) * BLOCK}]", [n for block in blocks for n in block])
    print_array(f"uform_unicode_record_t const uform_unicode_records_[{len(records)}]", records,
                lambda record: "{" + ", ".join(map(str, record)) + "}")
    print_array(f"uint32_t const uform_unicode_pool_[{len(pool.items)}]", pool.items)
    print_array(f"uform_unicode_composition_t const uform_unicode_compositions_[{len(compositions)}]", compositions,
                lambda pair: "{" + ", ".join(map(str, pair)) + "}")
    print(f"\nsize_t const uform_unicode_compositions_count_ = {len(compositions)};")
    print("// clang-format on")


if __name__ == "__main__":
    main()
