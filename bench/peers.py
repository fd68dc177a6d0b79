#!/usr/bin/env python3
"""The other engines' side of the benchmark: one process an engine, which stays loaded and obeys the same commands as uform_throughput.

    peers.py ENGINE MODEL THREADS CACHE     answers lines on standard input, see bench/throughput.c
    peers.py convert MODEL CACHE            makes the ONNX and CTranslate2 files the engines read, once
    peers.py corpora MODEL PASSAGES FOLDER  makes natural.txt, fixed128.txt and fixed16.txt out of passages

Every engine gets texts and gives unit vectors: tokenizing, mean pooling and normalising count. Texts of a batch are padded to its
longest; batches are filled longest first, as sentence-transformers does, so that little is padded. Runs in the virtual environment
that run.py makes of requirements.txt.
"""
import json
import os
import re
import sys
import time

MAX_TOKENS = 256


def read_texts(path):
    with open(path, encoding="utf-8", newline="\n") as file:
        return file.read().split("\n")[:-1]


def load_tokenizer(model):
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(os.path.join(model, "tokenizer.json"))
    tokenizer.enable_truncation(MAX_TOKENS)
    tokenizer.no_padding()
    return tokenizer


def pool(hidden, mask):
    """Mean over real tokens, then length one: hidden [texts, tokens, width], mask [texts, tokens] -> [texts, width]."""
    import numpy as np

    weights = mask[:, :, None].astype(np.float32)
    rows = (hidden.astype(np.float32) * weights).sum(axis=1) / weights.sum(axis=1)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


class Engine:
    """What engines with a plain forward pass share. `forward(ids, mask)` takes int64 [texts, tokens] and gives hidden states."""

    def __init__(self, model, threads, cache):
        self.model, self.threads, self.cache = model, threads, cache
        self.tokenizer = load_tokenizer(model)
        self.tokenizer.enable_padding()

    def encode_batch(self, texts):
        import numpy as np

        encodings = self.tokenizer.encode_batch(texts)
        ids = np.array([encoding.ids for encoding in encodings], np.int64)
        mask = np.array([encoding.attention_mask for encoding in encodings], np.int64)
        return pool(self.forward(ids, mask), mask)

    def encode(self, texts, batch):
        rows = [None] * len(texts)
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]), reverse=True)
        for start in range(0, len(order), batch):
            chosen = order[start : start + batch]
            for i, row in zip(chosen, self.encode_batch([texts[i] for i in chosen])):
                rows[i] = row
        return rows


class Torch(Engine):
    precision = "float32"

    def __init__(self, *arguments):
        super().__init__(*arguments)
        import torch
        from transformers import AutoModel

        torch.set_num_threads(self.threads)
        self.torch = torch
        self.network = AutoModel.from_pretrained(self.model, dtype=getattr(torch, self.precision)).eval()

    def forward(self, ids, mask):
        with self.torch.inference_mode():
            output = self.network(input_ids=self.torch.from_numpy(ids), attention_mask=self.torch.from_numpy(mask))
            return output.last_hidden_state.float().numpy()


class TorchHalf(Torch):
    precision = "bfloat16"


class OnnxRuntime(Engine):
    file = "model.onnx"

    def __init__(self, *arguments):
        super().__init__(*arguments)
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self.threads
        self.session = onnxruntime.InferenceSession(os.path.join(self.cache, self.file), options, providers=["CPUExecutionProvider"])

    def forward(self, ids, mask):
        return self.session.run(["hidden"], {"input_ids": ids, "attention_mask": mask})[0]


class OnnxRuntimeInt8(OnnxRuntime):
    file = "model-int8.onnx"


class OpenVino(Engine):
    precision = "f32"

    def __init__(self, *arguments):
        super().__init__(*arguments)
        import openvino

        settings = {"INFERENCE_NUM_THREADS": self.threads, "INFERENCE_PRECISION_HINT": self.precision, "PERFORMANCE_HINT": "LATENCY"}
        compiled = openvino.Core().compile_model(os.path.join(self.cache, "model.onnx"), "CPU", settings)
        self.request = compiled.create_infer_request()

    def forward(self, ids, mask):
        return self.request.infer({"input_ids": ids, "attention_mask": mask})[0]


class OpenVinoHalf(OpenVino):
    precision = "bf16"


class CTranslate2(Engine):
    precision = "float32"

    def __init__(self, *arguments):
        super().__init__(*arguments)
        import ctranslate2

        self.tokenizer.no_padding()  # it takes ragged lists and pads by itself
        self.encoder = ctranslate2.Encoder(os.path.join(self.cache, "ctranslate2"), device="cpu", compute_type=self.precision,
                                           inter_threads=1, intra_threads=self.threads)

    def encode_batch(self, texts):
        import numpy as np

        ids = [encoding.ids for encoding in self.tokenizer.encode_batch(texts)]
        hidden = np.array(self.encoder.forward_batch(ids).last_hidden_state)
        lengths = np.array([len(row) for row in ids])
        return pool(hidden, np.arange(hidden.shape[1]) < lengths[:, None])


class CTranslate2Int8(CTranslate2):
    precision = "int8"


class SentenceTransformers:
    def __init__(self, model, threads, cache):
        import torch
        from sentence_transformers import SentenceTransformer

        torch.set_num_threads(threads)
        self.network = SentenceTransformer(model, device="cpu")

    def encode(self, texts, batch):
        return self.network.encode(texts, batch_size=batch, normalize_embeddings=True, show_progress_bar=False)


# The name the results use, what serves it, the package whose version is reported, and the modules importing which isn't loading.
ENGINES = {
    "torch f32": (Torch, "torch", ["torch", "transformers.models.bert.modeling_bert", "tokenizers"]),
    "torch bf16": (TorchHalf, "torch", ["torch", "transformers.models.bert.modeling_bert", "tokenizers"]),
    "sentence-transformers f32": (SentenceTransformers, "sentence-transformers", ["sentence_transformers", "transformers.models.bert.modeling_bert"]),
    "ONNX Runtime f32": (OnnxRuntime, "onnxruntime", ["onnxruntime", "tokenizers", "numpy"]),
    "ONNX Runtime int8": (OnnxRuntimeInt8, "onnxruntime", ["onnxruntime", "tokenizers", "numpy"]),
    "OpenVINO f32": (OpenVino, "openvino", ["openvino", "tokenizers", "numpy"]),
    "OpenVINO bf16": (OpenVinoHalf, "openvino", ["openvino", "tokenizers", "numpy"]),
    "CTranslate2 f32": (CTranslate2, "ctranslate2", ["ctranslate2", "tokenizers", "numpy"]),
    "CTranslate2 int8": (CTranslate2Int8, "ctranslate2", ["ctranslate2", "tokenizers", "numpy"]),
}


def serve(name, model, threads, cache):
    import importlib
    import importlib.metadata

    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print must not mix with the answers

    def answer(**values):
        print(json.dumps(values), file=answers, flush=True)

    kind, package, modules = ENGINES[name]
    for module in modules:
        importlib.import_module(module)
    start = time.perf_counter()
    engine = kind(model, threads, cache)
    engine.encode(["hello"], 1)
    answer(ready=f"{package} {importlib.metadata.version(package)}", load_seconds=time.perf_counter() - start)

    tokenizer, texts, batch, rows = load_tokenizer(model), [], 0, None
    for line in sys.stdin:
        command, _, rest = line.rstrip("\n").partition(" ")
        if command == "texts":
            size, _, path = rest.partition(" ")
            texts = read_texts(path)
            batch = int(size) or 32
            rows = engine.encode(texts, batch)  # the warm-up
            answer(texts=len(texts), tokens=sum(len(encoding.ids) for encoding in tokenizer.encode_batch(texts)))
        elif command == "run":
            begin = time.perf_counter()
            for _ in range(int(rest)):
                rows = engine.encode(texts, batch)
            answer(seconds=time.perf_counter() - begin)
        elif command == "rows":
            import numpy as np

            matrix = np.stack(list(rows)).astype(np.float32)
            matrix.tofile(rest)
            answer(dimensions=matrix.shape[1])
        else:
            raise SystemExit(f"unknown command {command}")


def convert(model, cache):
    import shutil
    import subprocess

    import torch
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from transformers import AutoModel

    class Hidden(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.network = AutoModel.from_pretrained(model, attn_implementation="eager").eval()

        def forward(self, input_ids, attention_mask):
            return self.network(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state

    plain = os.path.join(cache, "model.onnx")
    names = ["input_ids", "attention_mask"]
    if not os.path.exists(plain):
        example = torch.ones(2, 7, dtype=torch.long)
        torch.onnx.export(Hidden(), (example, example), plain + ".part", input_names=names, output_names=["hidden"], opset_version=17,
                          dynamo=False, dynamic_axes={name: {0: "texts", 1: "tokens"} for name in names + ["hidden"]})
        os.rename(plain + ".part", plain)
    small = os.path.join(cache, "model-int8.onnx")
    if not os.path.exists(small):
        quantize_dynamic(plain, small + ".part", weight_type=QuantType.QInt8)
        os.rename(small + ".part", small)
    folder = os.path.join(cache, "ctranslate2")
    if not os.path.exists(folder):
        converter = os.path.join(os.path.dirname(sys.executable), "ct2-transformers-converter")
        shutil.rmtree(folder + ".part", ignore_errors=True)
        subprocess.run([converter, "--model", model, "--output_dir", folder + ".part"], check=True, stdout=sys.stderr)
        os.rename(folder + ".part", folder)


def make_corpora(model, passages, folder):
    """natural.txt: every passage, its first sentence, and its head word, in turn. fixedN.txt: texts of exactly N tokens."""
    tokenizer = load_tokenizer(model)
    lines = read_texts(passages)
    natural = []
    for line in lines:
        term, _, definition = line.partition(": ")
        natural += [line, re.split(r"(?<=[.!?])\s", definition)[0], f"What does {term} mean?"]
    with open(os.path.join(folder, "natural.txt"), "w", encoding="utf-8") as file:
        file.writelines(text + "\n" for text in natural)

    words = " ".join(lines).split()
    for length in (16, 128):
        texts, text, count = [], [], 2  # two special tokens; a word's tokens don't depend on its neighbours
        for word in words:
            tokens = len(tokenizer.encode(word, add_special_tokens=False).ids)
            if count + tokens > length:
                continue
            text.append(word)
            count += tokens
            if count == length:
                texts.append(" ".join(text))
                text, count = [], 2
        assert all(len(encoding.ids) == length for encoding in tokenizer.encode_batch(texts))
        with open(os.path.join(folder, f"fixed{length}.txt"), "w", encoding="utf-8") as file:
            file.writelines(line + "\n" for line in texts)


if __name__ == "__main__":
    if sys.argv[1] == "convert":
        convert(*sys.argv[2:])
    elif sys.argv[1] == "corpora":
        make_corpora(*sys.argv[2:])
    else:
        serve(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])
