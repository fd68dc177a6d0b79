#!/usr/bin/env python3
"""Writes the goldens of BPE and Unigram beside those of WordPiece: see golden_tokenizers.py, whose files these resemble.

    python3 tools/golden_subwords.py

Needs tokenizers==0.23.3. The tokenizers are small: trained here by the library's trainers, or written out. In
subword_variants.json the string "@name" stands for the file name.json.
"""
import json

import tokenizers
from charsmap import encode_charsmap
from golden_tokenizers import (HARD_TEXTS, INVALID_BYTES, LONG_TEXTS, OUTPUT, VERSION, make_run, random_bytes, random_digests,
                               random_text, sweep, write)
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

CORPUS = [
    "The quick brown fox jumps over the lazy dog. A photo of a cat's hat, isn't it? We'll see what they've done; I'm sure you'd agree.",
    "Texts become vectors: words, numbers like 1, 23, 456 and 7890, and signs (brackets) [too] {here} - all of them - are divided.",
    "def function(argument):\n    return argument + 1  # four spaces\n\n\tif x == 1:\n\t\tpass\r\n",
    "Hey my friend, how are you? Unbelievable tokenizations of supercalifragilistic words and internationalization.",
    "Привет, мир! Как дела? Это короткий текст. Ελληνικά γράμματα εδώ. Café crème brûlée in São Paulo, naïve résumé.",
    "日本語のテキスト、漢字と仮名。안녕하세요 세계. किसानों के लिए. สวัสดีครับ. مَرْحَبًا بالعالم. שָׁלוֹם עולם. Việt Nam đặc biệt.",
    "aaaa aaaaaaa abab ababab aab abb bbb the the the of of of and and and in in in to to to",
] * 3

CLIP = r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
CLIP_MARKED = r"<\|startoftext\|>|<\|endoftext\|>|" + CLIP
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LINES = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|%s| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"

# What a charsmap of SentencePiece's nmt_nfkc holds, in small: compatible forms, compositions, white space, controls.
CHARSMAP = {"\t": " ", "\n": " ", "\r": " ", "\u00a0": " ", "\u3000": " ", "\u2028": " ", "\u0001": "", "\u007f": "",
            "\u200b": " ", "\ufeff": "", "\u00ad": "", "ﬁ": "fi", "ﬀ": "ff", "Ⅷ": "VIII", "①": "1", "½": "1\u20442", "K": "K", "Å": "Å",
            "㎏": "kg", "ﷺ": "صلى الله عليه وسلم", "㍿": "株式会社", "ｶﾞ": "ガ", "ｶ": "カ", "e\u0301": "é", "a\u0300": "à", "…": "...", "™": "TM",
            "\u0958": "क\u093c", "ザ": "ザ", "で": "で", "\u1100\u1161": "가", "가": "가", "𝐀": "A", "𝟘": "0", "！": "!", "Ａ": "A", "\u0301": "",
            "🙂": ":)", "©": "(c)"}


def own(token, **switches):
    return {"id": 0, "content": token, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True, **switches}


def train(model, trainer, normalizer=None, pre_tokenizer=None):
    """The `model` of a tokenizer trained on the corpus."""
    tokenizer = Tokenizer(model)
    if normalizer:
        tokenizer.normalizer = normalizer
    if pre_tokenizer:
        tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.train_from_iterator(CORPUS, trainer)
    return json.loads(tokenizer.to_str())["model"]


def sequence(kind, *steps):
    return {"type": "Sequence", kind: list(steps)}


def around(model, opening, closing):
    vocabulary = model["vocab"]
    ids = vocabulary if isinstance(vocabulary, dict) else {token: i for i, (token, _) in enumerate(vocabulary)}
    return {"type": "TemplateProcessing", "pair": [],
            "single": [{"SpecialToken": {"id": opening, "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
                       {"SpecialToken": {"id": closing, "type_id": 0}}],
            "special_tokens": {token: {"id": token, "ids": [ids[token]], "tokens": [token]} for token in (opening, closing)}}


def named(model, name, **keys):
    """A trained model with the names of the files its vocabulary and merges go to."""
    files = {"vocab": f"@{name}_vocabulary", "merges": f"@{name}_merges"}
    return {**model, **{key: file for key, file in files.items() if key in model}, **keys}


def tokenizer_json(model, normalizer=None, pre_tokenizer=None, post_processor=None, added=()):
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": list(added), "normalizer": normalizer,
            "pre_tokenizer": pre_tokenizer, "post_processor": post_processor, "decoder": None, "model": model}


def byte_level(space=False, regex=True):
    return {"type": "ByteLevel", "add_prefix_space": space, "trim_offsets": True, "use_regex": regex}


def split(pattern, behavior="Isolated", invert=False):
    return {"type": "Split", "pattern": pattern, "behavior": behavior, "invert": invert}


def metaspace(scheme="always", divide=True, **keys):
    return {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": divide, **keys}


def spaced(model):
    """Merges as older files spell them."""
    return ["#version: 0.2"] + [" ".join(merge) for merge in model["merges"]]


def make_byte_level():
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    model = train(models.BPE(), trainers.BpeTrainer(vocab_size=700, initial_alphabet=alphabet, show_progress=False,
                  special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>", "<|endoftext|>"]), pre_tokenizer=pre_tokenizers.ByteLevel(add_prefix_space=False))
    keep = named(model, "bytes")
    specials = [own("<s>"), own("</s>"), own("<unk>"), own("<mask>", lstrip=True), own("<|endoftext|>", rstrip=True)]
    roberta = {"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 0], "trim_offsets": True, "add_prefix_space": False}
    lines = lambda numbers: sequence("pretokenizers", split({"Regex": LINES % numbers}), byte_level(regex=False))
    digits = sequence("pretokenizers", {"type": "Digits", "individual_digits": True}, byte_level())
    runs = sequence("pretokenizers", {"type": "Digits", "individual_digits": False}, {"type": "Punctuation", "behavior": "Contiguous"}, byte_level(regex=False))
    return {
        "gpt2": tokenizer_json(keep, None, byte_level(), {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False}, specials),
        "roberta_bytes": tokenizer_json(named(model, "bytes", merges=spaced(model)), None, byte_level(space=True), roberta, specials),
        "bytes_whole": tokenizer_json(named(model, "bytes", dropout=0.0), {"type": "NFC"}, byte_level(space=True, regex=False), None, specials),
        "llama3": tokenizer_json(named(model, "bytes", ignore_merges=True), None, lines(r"\p{N}{1,3}"), around(model, "<s>", "</s>"), specials),
        "qwen2": tokenizer_json(keep, {"type": "NFC"}, lines(r"\p{N}"), None, specials),
        "split_gpt2": tokenizer_json(keep, None, sequence("pretokenizers", split({"Regex": GPT2}, "Removed", True), byte_level(regex=False)), None, specials),
        "digits": tokenizer_json(keep, None, digits, None, specials),
        "runs": tokenizer_json(keep, None, runs, None, specials),
    }, model


def make_clip():
    normalizer = sequence("normalizers", {"type": "NFC"}, {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "}, {"type": "Lowercase"})
    trained = normalizers.Sequence([normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()])
    pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(CLIP), "removed", invert=True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    model = train(models.BPE(end_of_word_suffix="</w>", unk_token="<|endoftext|>"),
                  trainers.BpeTrainer(vocab_size=900, initial_alphabet=alphabet, end_of_word_suffix="</w>", show_progress=False,
                                      special_tokens=["<|startoftext|>", "<|endoftext|>"] + [c + "</w>" for c in alphabet]), trained, pre_tokenizer)
    model["end_of_word_suffix"], model["unk_token"] = "</w>", "<|endoftext|>"
    model["continuing_subword_prefix"] = ""
    specials = [own("<|startoftext|>", normalized=True), own("<|endoftext|>")]
    roberta = {"type": "RobertaProcessing", "sep": ["<|endoftext|>", 1], "cls": ["<|startoftext|>", 0], "trim_offsets": False, "add_prefix_space": False}
    steps = lambda pattern: sequence("pretokenizers", split({"Regex": pattern}, "Removed", True), byte_level())
    keep = named(model, "clip")
    return {"clip": tokenizer_json(keep, normalizer, steps(CLIP_MARKED), roberta, specials),
            "clip_plain": tokenizer_json(keep, normalizer, steps(CLIP), roberta),
            "clip_unescaped": tokenizer_json(keep, normalizer, steps("<|startoftext|>|<|endoftext|>|" + CLIP), roberta)}, model


def make_pieces():
    """BPE of characters, with bytes for those it lacks, as SentencePiece makes it."""
    byte_tokens = [f"<0x{byte:02X}>" for byte in range(256)]
    model = train(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True), trainers.BpeTrainer(vocab_size=620, show_progress=False,
                  limit_alphabet=60, special_tokens=["<unk>", "<s>", "</s>", *byte_tokens]), normalizers.Replace(" ", "▁"),
                  pre_tokenizers.Metaspace())
    model.update(unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    specials = [own("<unk>"), own("<s>"), own("</s>", rstrip=True)]
    legacy = sequence("normalizers", {"type": "Prepend", "prepend": "▁"}, {"type": "Replace", "pattern": {"String": " "}, "content": "▁"})
    start = around(model, "<s>", "</s>")
    prefixed = {token: i for i, token in enumerate(["?", "a", "b", "c", "##a", "##b", "##c", "ab", "##ab", "##bc", "abab", "##cab", "<0xC3>", "<0xA9>", "<0x23>", "<0xCC>", "<0x81>"])}
    prefix = {"type": "BPE", "dropout": None, "unk_token": "?", "continuing_subword_prefix": "##", "end_of_word_suffix": None, "fuse_unk": False,
              "byte_fallback": True, "ignore_merges": False, "vocab": prefixed,
              "merges": ["#version: 0.2", "a ##b", "##b ##c", "##a ##b", "ab ##ab", "##c ##ab"]}
    gemma = sequence("normalizers", {"type": "Replace", "pattern": {"String": " "}, "content": "▁"})
    keep = named(model, "pieces")
    return {"llama2": tokenizer_json(keep, legacy, None, start, specials),
            "llama2_first": tokenizer_json(keep, None, metaspace("first", False), start, specials),
            "gemma": tokenizer_json(keep, gemma, split({"String": " "}, "MergedWithPrevious"), None, specials),
            "unfused": tokenizer_json(dict(keep, fuse_unk=False, byte_fallback=False), None, metaspace("never"), None, specials),
            "fused": tokenizer_json(dict(keep, byte_fallback=False), None, metaspace("first"), None, specials),
            "unknown_dropped": tokenizer_json(dict(keep, byte_fallback=False, unk_token=None), None, metaspace(), None, specials),
            "prefixed": tokenizer_json(prefix, None, {"type": "Whitespace"})}, model


def make_unigram():
    """Unigram after Precompiled, with the template of XLM-R."""
    charsmap = {"type": "Precompiled", "precompiled_charsmap": encode_charsmap(CHARSMAP)}
    model = train(models.Unigram(), trainers.UnigramTrainer(vocab_size=500, show_progress=False, special_tokens=["<s>", "<pad>", "</s>", "<unk>"],
                  unk_token="<unk>"), pre_tokenizer=pre_tokenizers.Metaspace())
    bytes_model = dict(model, vocab=model["vocab"] + [[f"<0x{byte:02X}>", 0.0] for byte in range(256) if byte not in (0xE0, 0x09)], byte_fallback=True)
    specials = [own("<s>"), own("</s>"), own("<unk>"), own("<mask>", lstrip=True, id=500), own("<text>", normalized=True, special=False)]
    squeezed = lambda content: {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": content}
    both = sequence("normalizers", charsmap, squeezed(" "))
    stripped = sequence("normalizers", charsmap, {"type": "Strip", "strip_left": False, "strip_right": True}, squeezed("▁"))
    left = sequence("normalizers", {"type": "Strip", "strip_left": True, "strip_right": False},
                    {"type": "Replace", "pattern": {"Regex": r"\s{2,}"}, "content": "-"}, {"type": "Replace", "pattern": {"Regex": " +"}, "content": " "},
                    {"type": "StripAccents"})
    white = sequence("pretokenizers", {"type": "WhitespaceSplit"}, metaspace())
    small = {"type": "Unigram", "unk_id": 0, "byte_fallback": True, "vocab": [["<unk>", 0.0], ["a", -1.0], ["b", -1.0], ["<0x0A>", -2.0], ["ab", -2.0],
             ["aab", -3.0], ["ba", -2.0], ["abab", -4.0], ["xy", -30.0], ["a", -1.5], ["", -1.0], ["<0xC3>", 0.0], ["<0xA9>", 0.0], ["b", -1]]}
    template = around(model, "<s>", "</s>")
    keep = named(model, "unigram")
    return {"xlmr": tokenizer_json(keep, both, sequence("pretokenizers", {"type": "WhitespaceSplit"}, metaspace()), template, specials),
            "xlmr_newer": tokenizer_json(keep, both, metaspace(), template, specials),
            "t5": tokenizer_json(bytes_model, stripped, metaspace("first"), None, specials),
            "never": tokenizer_json(keep, charsmap, metaspace("never", add_prefix_space=False), None, specials),
            "left": tokenizer_json(keep, left, metaspace("first"), None, specials),
            "whole": tokenizer_json(bytes_model, None, metaspace("always", False), None, specials),
            "no_scheme": tokenizer_json(keep, None, {"type": "Metaspace", "replacement": "▁", "add_prefix_space": True}, None, specials),
            "merged_next": tokenizer_json(keep, None, split({"String": "a"}, "MergedWithNext"), None, specials),
            "merged_previous": tokenizer_json(keep, None, split({"String": " "}, "MergedWithPrevious", True), None, specials),
            "contiguous": tokenizer_json(keep, None, split({"String": "ab"}, "Contiguous"), None, specials),
            "bytes_small": tokenizer_json(small), "unfused_small": tokenizer_json(dict(small, byte_fallback=False))}, model


def make_observers():
    """Tokenizers that show what stages before the model do: one unknown token for each word, and bytes of the text."""
    unknown = {"type": "BPE", "dropout": None, "unk_token": "?", "continuing_subword_prefix": None, "end_of_word_suffix": None, "fuse_unk": True,
               "byte_fallback": False, "ignore_merges": False, "vocab": {"?": 0, "a": 1, "b": 2, "é": 3}, "merges": []}
    bytes_only = dict(unknown, byte_fallback=True, vocab={"?": 256, **{f"<0x{byte:02X}>": byte for byte in range(256)}})
    probes = {probe: "Z" for probe in ("a", "x", "\u0301", "\u0345", "\u0334", "\u0915", "\u1161", "\u11a8", "\u1100", "\u2122", "\u0958", "A\u03a3", "b")}
    patterns = {"words_gpt2": GPT2, "words_clip": CLIP, "words_llama3": LINES % r"\p{N}{1,3}", "words_qwen2": LINES % r"\p{N}"}
    observers = {name: tokenizer_json(unknown, None, split({"Regex": pattern}, "Removed" if pattern == CLIP else "Isolated", pattern == CLIP))
                 for name, pattern in patterns.items()}
    digits = {"type": "Digits", "individual_digits": True}
    observers["words_digits"] = tokenizer_json(unknown, None, digits)
    observers["clusters"] = tokenizer_json(bytes_only, {"type": "Precompiled", "precompiled_charsmap": encode_charsmap(probes)})
    return observers


def make():
    """{name: tokenizer.json}, and the files they name: {name: vocabulary or merges}."""
    variants, files = make_observers(), {}
    for name, function in (("bytes", make_byte_level), ("clip", make_clip), ("pieces", make_pieces), ("unigram", make_unigram)):
        made, model = function()
        variants.update(made)
        files.update({f"{name}_{part}": model[key] for part, key in (("vocabulary", "vocab"), ("merges", "merges")) if key in model})
    return variants, files


def spliced(variant, files):
    """The text of a tokenizer.json with its files in place."""
    text = json.dumps(variant)
    for name, content in files.items():
        text = text.replace(f'"@{name}"', json.dumps(content))
    return text


TEXTS = HARD_TEXTS + [
    "Hey my friend <s>how are you", "Hey my friend <s> how are you", " two leading", "  two leading", "<text></s> text", "<text></s>text", "<text> x",
    "▁", "▁a", " ▁ a", "▁▁a", "a\n\nb", "A <mask> sentence.", "A \t\u00a0<mask> x", "A\u200b<mask>", "<mask><mask>", "   <|endoftext|> <s>   </s>  ",
    "A   PHOTO\tof  a CAT's  hat!!", "A CAFÉ'S <|endoftext|> typed, <|STARTOFTEXT|>", "    return x", "\t\treturn", "def f():\r\n\r\n  return 1", "hello\n\n\n world",
    "hello \n \n  world \n", "see <s> here </S> <s>", "I'LL WE'VE it's 'S 'ſ 'T 'x '", "1 12 123 1234 12345 ½² Ⅷ", "a\u00adb\ufeffc\u200bd", "ﬁ ﷺ ㍿ ｶﾞ 𝐀𝟘 … ™\u0301",
    "\u00a9\u200d™\u0301 क्\u0958\u0301", "\r\n\u0301 a\u0300\u0301", "aab abab ababab aaab", "xyxy é\u00e9 日本", "ab##c abc cab #c é", "\u0301", "e\u0301e\u0301", "x\u3000y"]
LONG = [{"text": "The quick brown fox jumps over the lazy dog. ", "times": 2000}, {"text": "日本", "times": 3000}, {"text": "\u00ff", "times": 3000},
        {"text": " ", "times": 5000}, {"text": "\n ", "times": 3000}, {"text": "abab", "times": 5000}]
SWEEPS = ("words_gpt2", "words_clip", "words_llama3", "words_digits", "clusters", "clip", "t5")
RANDOMS = SWEEPS + ("words_qwen2", "gpt2", "roberta_bytes", "llama3", "qwen2", "digits", "runs", "llama2", "gemma", "fused", "prefixed", "xlmr_newer", "left", "merged_next")


def make_cases(by_name):
    texts = TEXTS + LONG_TEXTS + LONG + [{"hex": text} for text in INVALID_BYTES]
    observers = make_observers()
    groups = [{"texts": texts, "runs": [make_run(tokenizer, name, texts) for name, tokenizer in by_name.items() if name not in observers]}]
    short = ["", " ", "a photo of a cat", "the of and in to the of and in to", "see <s> here <|endoftext|>", "  two"]
    runs = [make_run(by_name[name], name, short, literal=True) for name in ("gpt2", "clip", "llama2", "xlmr")]
    for name in ("roberta_bytes", "clip", "llama3", "llama2_first", "xlmr"):
        runs += [make_run(by_name[name], name, short, max_tokens=most, left=left) for most in (2, 3, 6) for left in (False, True)]
        runs += [make_run(by_name[name], name, short, prefix="query: ")]
    return groups + [{"texts": short, "runs": runs}]


def main():
    assert tokenizers.__version__ == VERSION, f"tokenizers=={VERSION} is needed, found {tokenizers.__version__}"
    variants, files = make()
    by_name = {name: Tokenizer.from_str(spliced(variant, files)) for name, variant in variants.items()}
    for name, content in files.items():
        write(f"{name}.json", content)
    write("subword_variants.json", variants)
    write("subword_cases.json", make_cases(by_name))
    run = lambda name, function, *inputs: {"variant": name, "digests": function(by_name[name], *inputs)}
    write("subword_digests.json", {"sweeps": [run(name, sweep) for name in SWEEPS],
                                   "texts": [run(name, random_digests, random_text) for name in RANDOMS],
                                   "bytes": [run(name, random_digests, random_bytes) for name in ("gpt2", "llama2", "t5")]})


if __name__ == "__main__":
    main()
