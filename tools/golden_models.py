#!/usr/bin/env python3
"""Makes the tiny random models of tests/golden/models and what sentence-transformers says of them, in tests/golden/expected.

Run it in an environment with exactly these packages, on a CPU, from anywhere:

    sentence-transformers==6.2.0 transformers==5.24.0 tokenizers==0.23.3 torch==2.13.0 safetensors==0.8.0 numpy

Every variant is one directory that tells one thing about how directories are read. Weights are random and large enough that every
activation, pooling mode and rounding shows; expected vectors are computed in f32, one text at a time. Where two variants share
a file, the second holds a symbolic link, as the caches of Hugging Face do.
"""
import json
import math
import os
import pathlib
import shutil

import torch
import transformers
from safetensors.torch import save_file
from sentence_transformers import SentenceTransformer
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden"
MODELS, EXPECTED = GOLDEN / "models", GOLDEN / "expected"

TEXTS = [
    "the quick brown fox jumps over the lazy dog",
    "Hello, World!",
    "",
    "a",
    "Crème brûlée costs 42 euros; naïve people pay twice.",
    "unknown 漢字 and \U0001F600 inside",
    "  spaces \t and\nlines  ",
    "see [SEP] Here, [sep] THERE and İSTANBUL",
    "a long text that does not fit into the limit of this tiny model and so has to lose its tail somewhere around here",
]

WORDS = "the of and to in is it for on with as text model people fox dog quick brown query passage search".split()
PIECES = "ing ed er ly es ck ow".split()
PUNCTUATION = list("!\"#$%&'()*+,-./:;<=>?@[]^_{|}~")
SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
LETTERS = list("abcdefghijklmnopqrstuvwxyz")
DIGITS = list("0123456789")
VOCABULARY = (SPECIALS + LETTERS + ["##" + letter for letter in LETTERS] + DIGITS + ["##" + digit for digit in DIGITS]
              + PUNCTUATION + WORDS + ["##" + piece for piece in PIECES])

CONFIG = {
    "model_type": "bert", "architectures": ["BertModel"], "vocab_size": len(VOCABULARY), "hidden_size": 32,
    "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64, "hidden_act": "gelu",
    "max_position_embeddings": 40, "type_vocab_size": 2, "layer_norm_eps": 1e-12, "pad_token_id": 0,
}

HIDDEN_ACTS = ["gelu", "gelu_10", "gelu_fast", "gelu_new", "gelu_python", "gelu_pytorch_tanh", "gelu_python_tanh",
               "gelu_accurate", "hardswish", "laplace", "leaky_relu", "linear", "mish", "quick_gelu", "relu", "relu2", "relu6",
               "sigmoid", "silu", "sqrtsoftplus", "swish", "tanh"]

DENSE_ACTIVATIONS = {"Identity": "linear", "Tanh": "activation", "GELU": "activation", "ReLU": "activation",
                     "SiLU": "activation", "Sigmoid": "activation", "Mish": "activation", "ELU": "activation",
                     "SELU": "activation", "LeakyReLU": "activation", "Softplus": "activation", "ReLU6": "activation",
                     "CELU": "activation", "Hardswish": "activation"}

POOLINGS = {"cls": "cls", "max": "max", "mean": "mean", "mean_sqrt_len": "mean_sqrt_len_tokens",
            "weightedmean": "weightedmean", "lasttoken": "lasttoken"}
SWITCHES = {"cls": "pooling_mode_cls_token", "max": "pooling_mode_max_tokens", "mean": "pooling_mode_mean_tokens",
            "mean_sqrt_len_tokens": "pooling_mode_mean_sqrt_len_tokens",
            "weightedmean": "pooling_mode_weightedmean_tokens", "lasttoken": "pooling_mode_lasttoken"}


def write_json(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1) + "\n")


def make_tokenizer(lowercase=True):
    tokenizer = Tokenizer(models.WordPiece({token: i for i, token in enumerate(VOCABULARY)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    cls, sep = VOCABULARY.index("[CLS]"), VOCABULARY.index("[SEP]")
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0", pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[("[CLS]", cls), ("[SEP]", sep)])
    tokenizer.add_special_tokens(SPECIALS)
    return tokenizer


def make_weights(config, seed=1):
    """Tensors by the names of a bare BertModel, without the pooler, which nothing here uses."""
    generator = torch.Generator().manual_seed(seed)
    width, inner = config["hidden_size"], config["intermediate_size"]
    random = lambda scale, *shape: torch.randn(*shape, generator=generator) * scale
    weights = {
        "embeddings.word_embeddings.weight": random(1.0, config["vocab_size"], width),
        "embeddings.position_embeddings.weight": random(0.5, config["max_position_embeddings"], width),
        "embeddings.token_type_embeddings.weight": random(0.5, config["type_vocab_size"], width),
    }

    def add_norm(stem):
        weights[stem + ".weight"] = 1 + random(0.2, width)
        weights[stem + ".bias"] = random(0.2, width)

    def add_linear(stem, outputs, inputs, scale):
        weights[stem + ".weight"] = random(scale / math.sqrt(inputs), outputs, inputs)
        weights[stem + ".bias"] = random(0.3, outputs)

    add_norm("embeddings.LayerNorm")
    for layer in range(config["num_hidden_layers"]):
        stem = f"encoder.layer.{layer}."
        for part in ("query", "key", "value"):
            add_linear(stem + "attention.self." + part, width, width, 1.5)
        add_linear(stem + "attention.output.dense", width, width, 1.0)
        add_norm(stem + "attention.output.LayerNorm")
        add_linear(stem + "intermediate.dense", inner, width, 4.0)  # wide enough to pass the bounds of gelu_10
        add_linear(stem + "output.dense", width, inner, 0.5)
        add_norm(stem + "output.LayerNorm")
    return weights


class Variant:
    """One directory in the making; `base` shares its unchanged files by links."""

    def __init__(self, name, base=None):
        self.name, self.path, self.base = name, MODELS / name, base
        self.oracle = None  # where sentence-transformers can't read the layout: a variant with the same vectors
        self.calls = [{}]
        self.texts = TEXTS
        self.path.mkdir(parents=True)

    def link(self, *names):
        for name in names:
            (self.path / name).symlink_to(os.path.join("..", self.base, name))
        return self

    def transformer(self, config=None, weights=None, folder="", lowercase=True, tokenizer_config=None):
        path = self.path / folder
        path.mkdir(parents=True, exist_ok=True)
        config = {**CONFIG, **(config or {})}
        write_json(path / "config.json", config)
        make_tokenizer(lowercase).save(str(path / "tokenizer.json"))
        write_json(path / "tokenizer_config.json", {"tokenizer_class": "BertTokenizer", "do_lower_case": lowercase,
                                                    "model_max_length": 512, **(tokenizer_config or {})})
        save_file(make_weights(config) if weights is None else weights, path / "model.safetensors")
        return self

    def shared(self, config=None):
        """The base's transformer, perhaps with another config.json."""
        self.link("model.safetensors", "tokenizer.json", "tokenizer_config.json")
        if config is None:
            return self.link("config.json")
        write_json(self.path / "config.json", {**CONFIG, **config})
        return self

    def modules(self, *modules, transformer="", package="sentence_transformers.models"):
        entries = [{"idx": 0, "name": "0", "path": transformer, "type": f"{package}.Transformer"}]
        for index, (kind, folder) in enumerate(modules, 1):
            entries.append({"idx": index, "name": str(index), "path": folder, "type": f"{package}.{kind}"})
        write_json(self.path / "modules.json", entries)
        return self

    def pooling(self, *active, width=32, **extra):
        switches = {key: mode in active for mode, key in SWITCHES.items()}
        write_json(self.path / "1_Pooling" / "config.json", {"word_embedding_dimension": width, **switches, **extra})
        return self

    def dense(self, folder, inputs, outputs, activation="Tanh", bias=True, seed=5):
        generator = torch.Generator().manual_seed(seed)
        place = DENSE_ACTIVATIONS[activation]
        write_json(self.path / folder / "config.json", {
            "in_features": inputs, "out_features": outputs, "bias": bias,
            "activation_function": f"torch.nn.modules.{place}.{activation}"})
        tensors = {"linear.weight": torch.randn(outputs, inputs, generator=generator) * 0.3}
        if bias:
            tensors["linear.bias"] = torch.randn(outputs, generator=generator) * 0.3
        save_file(tensors, self.path / folder / "model.safetensors")
        return self

    def sentence_transformers(self, **options):
        write_json(self.path / "config_sentence_transformers.json", {
            "__version__": {"sentence_transformers": "2.0.0", "transformers": "4.6.1", "pytorch": "1.8.1"}, **options})
        return self


def encode(model, text, call):
    options = {key: call[key] for key in ("prompt_name", "prompt") if key in call}
    if "dimensions" in call:
        options["truncate_dim"] = call["dimensions"]
    vector = model.encode([text], normalize_embeddings=bool(call.get("normalize")), show_progress_bar=False, **options)
    return [float(f"{value:.9g}") for value in vector[0]]


def expect(variant):
    oracle = variant.oracle or variant.path
    model = SentenceTransformer(str(oracle), device="cpu", local_files_only=True, model_kwargs={"dtype": torch.float32})
    model.eval()
    prompt = model.prompts.get(model.default_prompt_name) or ""
    ids = [model.tokenizer(prompt + text, truncation=True)["input_ids"] for text in variant.texts]
    calls = [{**call, "vectors": [encode(model, text, call) for text in variant.texts]} for call in variant.calls]
    lines = [f'{{"max_tokens": {min(model.max_seq_length, 1 << 30)},', ' "texts": [']
    lines.append(",\n".join("  " + json.dumps(text) for text in variant.texts) + "],")
    lines.append(' "ids": [\n' + ",\n".join("  " + json.dumps(row) for row in ids) + "],")
    blocks = []
    for call in calls:
        head = "".join(f"{json.dumps(key)}: {json.dumps(call[key])}, " for key in call if key != "vectors")
        rows = ",\n".join("   " + json.dumps(row) for row in call["vectors"])
        blocks.append(f'  {{{head}"vectors": [\n{rows}]}}')
    lines.append(' "calls": [\n' + ",\n".join(blocks) + "]}\n")
    (EXPECTED / f"{variant.name}.json").write_text("\n".join(lines))


def make_base():
    yield Variant("mean").transformer().modules(("Pooling", "1_Pooling")).pooling("mean")


def make_poolings():
    for name, mode in POOLINGS.items():
        yield Variant(f"pooling_{name}", "mean").shared().modules(("Pooling", "1_Pooling")).pooling(mode)
        new = Variant(f"pooling_{name}_new", "mean").shared().modules(
            ("Pooling", "1_Pooling"), package="sentence_transformers.sentence_transformer.modules")
        modules = json.loads((new.path / "modules.json").read_text())
        modules[0]["type"] = "sentence_transformers.base.modules.transformer.Transformer"
        modules[1]["type"] = "sentence_transformers.sentence_transformer.modules.pooling.Pooling"
        write_json(new.path / "modules.json", modules)
        write_json(new.path / "1_Pooling" / "config.json",
                   {"embedding_dimension": 32, "pooling_mode": mode, "include_prompt": True})
        yield new
    yield Variant("pooling_cls_max_mean", "mean").shared().modules(("Pooling", "1_Pooling")).pooling("mean", "cls", "max")
    yield Variant("pooling_all", "mean").shared().modules(("Pooling", "1_Pooling")).pooling(*POOLINGS.values())
    yield Variant("pooling_none_means_mean", "mean").shared().modules(("Pooling", "1_Pooling")).pooling()
    listed = Variant("pooling_list_order", "mean").shared().modules(("Pooling", "1_Pooling"))
    write_json(listed.path / "1_Pooling" / "config.json",
               {"embedding_dimension": 32, "pooling_mode": ["lasttoken", "mean", "cls"]})
    yield listed
    both = Variant("pooling_new_key_wins", "mean").shared().modules(("Pooling", "1_Pooling"))
    both.pooling("cls", pooling_mode="max")
    yield both


def make_activations():
    for name in HIDDEN_ACTS:
        yield Variant(f"act_{name}", "mean").shared({"hidden_act": name}).modules(("Pooling", "1_Pooling")).pooling("mean")
    for name in DENSE_ACTIVATIONS:
        variant = Variant(f"dense_{name.lower()}", "mean").shared()
        yield variant.modules(("Pooling", "1_Pooling"), ("Dense", "2_Dense")).pooling("mean").dense("2_Dense", 32, 20, name)


def make_names():
    weights = make_weights(CONFIG)
    same = {"": "bare", "bert.": "bert", "model.": "model", "0.auto_model.": "auto_model"}
    for prefix, name in same.items():
        variant = Variant(f"names_{name}").transformer(weights={prefix + key: value for key, value in weights.items()})
        variant.oracle = MODELS / "mean"
        yield variant.modules(("Pooling", "1_Pooling")).pooling("mean")
    old = {key.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): value
           for key, value in weights.items()}
    variant = Variant("names_gamma_beta").transformer(weights={"bert." + key: value for key, value in old.items()})
    variant.oracle = MODELS / "mean"
    yield variant.modules(("Pooling", "1_Pooling")).pooling("mean")
    masked = {"bert." + key: value for key, value in weights.items()}
    masked |= {"cls.predictions.bias": torch.zeros(len(VOCABULARY)),
               "cls.predictions.transform.dense.weight": torch.ones(32, 32),
               "bert.embeddings.position_ids": torch.arange(40).reshape(1, 40),
               "bert.pooler.dense.weight": torch.ones(32, 32), "flags": torch.tensor([True, False]),
               "bytes": torch.arange(5, dtype=torch.uint8), "small": torch.ones(4).to(torch.float8_e4m3fn)}
    variant = Variant("names_masked_language_model").transformer(
        {"architectures": ["BertForMaskedLM"]}, weights={key: value.contiguous() for key, value in masked.items()})
    yield variant.modules(("Pooling", "1_Pooling")).pooling("mean")


def make_dtypes():
    weights = {key: value.double() * (1 + 1e-9) for key, value in make_weights(CONFIG, seed=3).items()}
    kinds = {"f16": torch.float16, "bf16": torch.bfloat16, "f64": torch.float64}
    for name, dtype in kinds.items():
        variant = Variant(f"dtype_{name}").transformer(weights={key: value.to(dtype) for key, value in weights.items()})
        yield variant.modules(("Pooling", "1_Pooling")).pooling("mean")
    turn = [torch.float16, torch.bfloat16, torch.float64, torch.float32]
    mixed = {key: value.to(turn[i % 4]) for i, (key, value) in enumerate(weights.items())}
    yield Variant("dtype_mixed").transformer(weights=mixed).modules(("Pooling", "1_Pooling")).pooling("mean")
    tiny = {key: value * 2.0**-20 if "query.weight" in key else value for key, value in weights.items()}
    tiny = {key: value.half() for key, value in tiny.items()}  # subnormal numbers of f16
    yield Variant("dtype_f16_subnormal").transformer(weights=tiny).modules(("Pooling", "1_Pooling")).pooling("mean")


def make_shards():
    variant = Variant("sharded").transformer().modules(("Pooling", "1_Pooling")).pooling("mean")
    weights = make_weights(CONFIG)
    keys = list(weights)
    parts = {"model-00001-of-00002.safetensors": keys[::2], "model-00002-of-00002.safetensors": keys[1::2]}
    for file, names in parts.items():
        save_file({name: weights[name] for name in names}, variant.path / file)
    write_json(variant.path / "model.safetensors.index.json", {
        "metadata": {"total_size": 1}, "weight_map": {name: file for file, names in parts.items() for name in names}})
    save_file(make_weights(CONFIG, seed=99), variant.path / "model.safetensors")  # stray: the index must win
    variant.oracle = MODELS / "mean"
    yield variant


def make_chains():
    one, two = ("Pooling", "1_Pooling"), ("Normalize", "2_Normalize")
    normalize = Variant("normalize", "mean").shared().modules(one, two).pooling("mean")
    normalize.calls = [{}, {"dimensions": 8, "normalize": True}]
    yield normalize
    plain = Variant("plain_calls", "mean").shared().modules(one).pooling("mean")
    plain.calls = [{}, {"normalize": True}, {"dimensions": 8}, {"dimensions": 8, "normalize": True},
                   {"prompt": "search: "}]
    yield plain
    stack = Variant("dense_stack", "mean").shared().pooling("mean", "max")
    stack.modules(one, ("Dense", "2_Dense_1024"), ("Dropout", "3_Dropout"), ("Dense", "odd folder/projection"),
                  ("Normalize", "5_Normalize"))
    write_json(stack.path / "3_Dropout" / "config.json", {"dropout": 0.5})
    yield stack.dense("2_Dense_1024", 64, 24).dense("odd folder/projection", 24, 50, "Identity", bias=False, seed=6)
    inner = Variant("normalize_before_dense", "mean").shared().pooling("mean")
    inner.modules(one, two, ("Dense", "3_Dense")).dense("3_Dense", 32, 16)
    yield inner
    halves = Variant("dense_bf16", "mean").shared().pooling("mean").modules(one, ("Dense", "2_Dense"))
    halves.dense("2_Dense", 32, 16)
    save_file({"linear.weight": torch.randn(16, 32, generator=torch.Generator().manual_seed(8)).bfloat16(),
               "linear.bias": torch.randn(16, generator=torch.Generator().manual_seed(9)).half()},
              halves.path / "2_Dense" / "model.safetensors")
    yield halves
    bare = Variant("no_modules", "mean").shared()
    bare.sentence_transformers(prompts={"query": "query: "}, default_prompt_name="query")
    write_json(bare.path / "sentence_bert_config.json", {"max_seq_length": 7})
    yield bare  # both files are ignored without modules.json
    cut = Variant("truncate_dim", "mean").shared().modules(one).pooling("mean")
    yield cut.sentence_transformers(truncate_dim=8)
    cut = Variant("truncate_dim_normalized", "mean").shared().modules(one, ("Normalize", "2_Normalize")).pooling("mean")
    cut.calls = [{}, {"normalize": True}]
    yield cut.sentence_transformers(truncate_dim=8)


def make_prompts():
    prompts = {"query": "query: ", "passage": "passage: ", "empty": ""}
    for name, active, include in (("prompts", ["mean"], True), ("prompts_excluded", ["mean"], False),
                                  ("prompts_excluded_all", list(POOLINGS.values()), False)):
        variant = Variant(name, "mean").shared().modules(("Pooling", "1_Pooling")).pooling(*active, include_prompt=include)
        variant.calls = [{}, {"prompt_name": "passage"}, {"prompt_name": "empty"}, {"prompt": "search the text "}]
        yield variant.sentence_transformers(prompts=prompts, default_prompt_name="query", similarity_fn_name="cosine")


    # A prompt's own special token at its end counts as the template's, which this tokenizer.json lacks.
    bare = Variant("prompts_excluded_special", "mean").link("model.safetensors", "config.json")
    tokenizer = make_tokenizer()
    tokenizer.post_processor = processors.Sequence([])
    tokenizer.save(str(bare.path / "tokenizer.json"))
    write_json(bare.path / "tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": "[PAD]",
                                                     "sep_token": "[SEP]", "model_max_length": 40})
    bare.calls = [{}, {"prompt": "query[SEP]"}, {"prompt": "[SEP]"}, {"prompt": "search"}]
    yield bare.sentence_transformers(prompts={"query": "query: "}, default_prompt_name="query").modules(
        ("Pooling", "1_Pooling")).pooling("mean", "cls", include_prompt=False)


def make_limits():
    one = ("Pooling", "1_Pooling")
    for name, file in (("limit_sentence_bert", "sentence_bert_config.json"),
                       ("limit_sentence_roberta", "sentence_roberta_config.json")):
        variant = Variant(name, "mean").shared().modules(one).pooling("mean")
        write_json(variant.path / file, {"max_seq_length": 16, "do_lower_case": False})
        yield variant
    tokenizer = Variant("limit_tokenizer_config", "mean").link("model.safetensors", "tokenizer.json", "config.json")
    write_json(tokenizer.path / "tokenizer_config.json",
               {"tokenizer_class": "BertTokenizer", "do_lower_case": True, "model_max_length": 12})
    yield tokenizer.modules(one).pooling("mean")
    endless = Variant("limit_positions", "mean").link("model.safetensors", "tokenizer.json", "config.json")
    write_json(endless.path / "tokenizer_config.json",
               {"tokenizer_class": "BertTokenizer", "model_max_length": 1000000000000000019884624838656})
    write_json(endless.path / "sentence_bert_config.json", {"max_seq_length": None})
    yield endless.modules(one).pooling("mean")
    lower = Variant("lower_case").transformer(lowercase=False).modules(one).pooling("mean")
    write_json(lower.path / "sentence_bert_config.json", {"max_seq_length": 30, "do_lower_case": True})
    yield lower
    cased = Variant("cased").transformer(lowercase=False).modules(one).pooling("mean")
    yield cased
    # Switches of tokenizer_config.json that differ from BertTokenizer's defaults go before tokenizer.json's.
    for name, switches in (("switch_do_lower_case", {"do_lower_case": False}), ("switch_strip_accents", {"strip_accents": False}),
                           ("switch_chinese_chars", {"tokenize_chinese_chars": False})):
        switched = Variant(name, "mean").link("model.safetensors", "tokenizer.json", "config.json")
        write_json(switched.path / "tokenizer_config.json",
                   {"tokenizer_class": "BertTokenizer", "model_max_length": 40} | switches)
        yield switched.modules(one).pooling("mean")
    for name, limit in (("truncation_side", 6), ("truncation_side_right", 6)):
        side = Variant(name, "mean").link("model.safetensors", "tokenizer.json", "config.json")
        write_json(side.path / "tokenizer_config.json", {"tokenizer_class": "BertTokenizer", "model_max_length": limit,
                                                         "truncation_side": name.partition("side_")[2] or "left"})
        yield side.modules(one).pooling("mean")


def make_tokens():
    """Tokens and settings that stand in the files beside tokenizer.json."""
    one = ("Pooling", "1_Pooling")
    flags = {"lstrip": False, "rstrip": False, "normalized": False, "single_word": False, "special": False}
    size = len(VOCABULARY)
    classes = {"tokenizer_class": "BertTokenizer", "model_max_length": 40}
    decoder = Variant("tokens_decoder").transformer({"vocab_size": size + 8}, tokenizer_config={"added_tokens_decoder": {
        str(size + 1): {**flags, "content": "EUROS", "normalized": True, "single_word": True},
        str(size): {**flags, "content": "fox jumps", "lstrip": True, "special": True},
        "4": {**flags, "content": "[MASK]", "special": True}},
        "mask_token": "[MASK]", "cls_token": "[CLS]", "additional_special_tokens": ["people", "World"]})
    yield decoder.modules(one).pooling("mean")
    older = Variant("tokens_older_files", "tokens_decoder").link("model.safetensors", "tokenizer.json", "config.json")
    write_json(older.path / "tokenizer_config.json", {**classes, "mask_token": "[MASK]", "eos_token": "limit"})
    write_json(older.path / "added_tokens.json", {"World": size + 2, "lazy dog": size, "Crème": size + 1})
    write_json(older.path / "special_tokens_map.json", {
        "mask_token": {**{key: flags[key] for key in flags if key != "special"}, "content": "brown", "rstrip": True},
        "eos_token": "limit", "unk_token": "[UNK]", "additional_special_tokens": ["World", "[SEP]"]})
    yield older.modules(one).pooling("mean")
    literal = Variant("tokens_literal", "mean").link("model.safetensors", "tokenizer.json", "config.json")
    write_json(literal.path / "tokenizer_config.json", {**classes, "split_special_tokens": True})
    yield literal.modules(one).pooling("mean")
    for name, options in (
            ("arguments_left", {"max_seq_length": 8, "tokenizer_args": {"truncation_side": "left", "use_fast": True}}),
            ("arguments_switches", {"processor_kwargs": {"do_lower_case": False, "tokenize_chinese_chars": False}}),
            ("arguments_tokens", {"tokenizer_args": {"strip_accents": False, "split_special_tokens": False,
                                                     "additional_special_tokens": ["quick", "over"]}})):
        base = "tokens_decoder" if name == "arguments_tokens" else "mean"
        variant = Variant(name, base).link("model.safetensors", "tokenizer.json", "config.json")
        write_json(variant.path / "tokenizer_config.json", {**classes, "do_lower_case": True, "truncation_side": "right"})
        write_json(variant.path / "sentence_bert_config.json", options)
        yield variant.modules(one).pooling("mean")


def make_vocabularies():
    """What BERT's directories had before tokenizer.json."""
    for name, text, tokenizer_config in (
            ("vocabulary_file", "\n".join(VOCABULARY) + "\n", None),
            ("vocabulary_file_cased", " \r\n".join([*VOCABULARY[:-3], "the", "World", 'qu"\\']),
             {"do_lower_case": False, "sep_token": "[MASK]", "additional_special_tokens": ["brown fox"]})):
        variant = Variant(name, "tokens_decoder").link("model.safetensors", "config.json")
        (variant.path / "vocab.txt").write_text(text, newline="")
        if tokenizer_config is not None:
            write_json(variant.path / "tokenizer_config.json", tokenizer_config)
        yield variant.modules(("Pooling", "1_Pooling")).pooling("mean")


def make_sizes():
    one = ("Pooling", "1_Pooling")
    for name, config in (
            ("size_heads_of_16", {"hidden_size": 48, "num_attention_heads": 3, "intermediate_size": 100}),
            ("size_heads_of_9", {"hidden_size": 36, "num_attention_heads": 4, "intermediate_size": 70}),
            ("size_two_layers", {"hidden_size": 40, "num_attention_heads": 1, "num_hidden_layers": 2, "type_vocab_size": 1}),
            ("size_large_epsilon", {"hidden_size": 24, "num_attention_heads": 8, "layer_norm_eps": 0.1, "vocab_size": 200})):
        yield Variant(name).transformer(config).modules(one).pooling("mean", width=config["hidden_size"])


def make_layouts():
    old = Variant("layout_old").transformer(folder="0_Transformer").pooling("mean")
    write_json(old.path / "0_Transformer" / "sentence_bert_config.json", {"max_seq_length": 20})
    yield old.modules(("Pooling", "1_Pooling"), transformer="0_Transformer")
    new = Variant("layout_new")
    from sentence_transformers.base.modules import Dense, Normalize, Transformer
    from sentence_transformers.sentence_transformer.modules import Pooling
    torch.manual_seed(4)
    modules = [Transformer(str(MODELS / "mean"), model_kwargs={"dtype": torch.float32}),
               Pooling(32, pooling_mode=("cls", "mean")), Dense(64, 12), Normalize()]
    SentenceTransformer(modules=modules, prompts={"query": "search "}, device="cpu").save(
        str(new.path), create_model_card=False)
    (new.path / "model.safetensors").unlink()
    new.base = "mean"
    yield new.link("model.safetensors")


CORPUS = ["the quick brown fox jumps over the lazy dog", "people search a text with a query or a passage", "naïve café, 42 euros!"]


def make_bytes_tokenizer():
    """Byte-level BPE as RoBERTa's."""
    specials = ["<s>", "<pad>", "</s>", "<unk>"]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(CORPUS, trainers.BpeTrainer(
        vocab_size=360, special_tokens=specials, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True)])
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    return tokenizer


def make_pieces_tokenizer(specials):
    """Unigram as XLM-RoBERTa's and CamemBERT's, without the map of characters."""
    pieces = [(token, 0.0) for token in specials] + [("\u2581", -4.0)]
    words = sorted(set(" ".join(CORPUS).split()))
    pieces += [("\u2581" + word, -6.0 - i / 10) for i, word in enumerate(words)]
    pieces += [(letter, -8.0 - i / 100) for i, letter in enumerate(sorted(set("".join(words)) | set(map(chr, range(33, 127)))))]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=specials.index("<unk>"), byte_fallback=False))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(replacement="\u2581", prepend_scheme="always")])
    tokenizer.add_special_tokens([token for token in specials if not token.endswith("NOTUSED")] + [AddedToken("<mask>", lstrip=True)])
    ends = [(token, specials.index(token)) for token in ("<s>", "</s>")]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=ends)
    return tokenizer


def make_modern_tokenizer():
    """Byte-level BPE between BERT's ends, as ModernBERT's."""
    specials = ["[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, trim_offsets=True, use_regex=True)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(CORPUS, trainers.BpeTrainer(
        vocab_size=360, special_tokens=specials, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    tokenizer.add_tokens([AddedToken("   ", normalized=True), AddedToken("  ", normalized=True)])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0", pair="[CLS]:0 $A:0 [SEP]:0 $B:0 [SEP]:0", special_tokens=[("[CLS]", 1), ("[SEP]", 2)])
    return tokenizer


def make_mpnet_tokenizer():
    """WordPiece between RoBERTa's ends."""
    words = ["<s>", "<pad>", "</s>", "[UNK]"] + VOCABULARY[len(SPECIALS):] + ["<mask>"]
    tokenizer = Tokenizer(models.WordPiece({token: i for i, token in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), True, False)
    tokenizer.add_special_tokens(["<s>", "<pad>", "</s>", "[UNK]", AddedToken("<mask>", lstrip=True)])
    return tokenizer


QWEN_SPLIT = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")


def make_qwen_tokenizer():
    """Byte-level BPE with Qwen's split, and an end of text behind every text, as in models for embeddings."""
    end = "<|endoftext|>"
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(QWEN_SPLIT), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(CORPUS, trainers.BpeTrainer(
        vocab_size=340, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    tokenizer.add_special_tokens([AddedToken(token, normalized=False) for token in (end, "<|im_start|>", "<|im_end|>")])
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"$A {end}", pair=f"$A $B {end}", special_tokens=[(end, tokenizer.token_to_id(end))])
    return tokenizer


def random_weights(model, seed=11):
    """Weights large enough for every part to show: norms near one, tables and biases wide."""
    generator = torch.Generator().manual_seed(seed)
    weights = {}
    for name, tensor in model.state_dict().items():
        if not tensor.is_floating_point() or ".pooler." in "." + name:
            continue
        noise = torch.randn(tensor.shape, generator=generator)
        norm = "norm" in name.lower() and name.endswith("weight")
        scale = 0.2 if norm else 0.3 if tensor.dim() == 1 else 0.7 if "embeddings" in name else 1.2 / math.sqrt(tensor.shape[-1])
        weights[name] = ((1 if norm else 0) + noise * scale).contiguous()
    return weights


def published_nomic_names(weights):
    """NomicBERT's tensors as the files on the hub have them."""
    names = {"embeddings.LayerNorm": "emb_ln", "self_attn.o_proj": "attn.out_proj", "up_proj": "fc11", "gate_proj": "fc12",
             "down_proj": "fc2", "post_attention_layernorm": "norm1", "post_mlp_layernorm": "norm2"}
    renamed = {}
    for name, value in weights.items():
        for new, old in names.items():
            name = name.replace(new, old)
        name = name.replace("layers.", "encoder.layers.")
        if "self_attn.q_proj" in name:
            parts = [weights[name.replace("encoder.", "").replace("q_proj", part)] for part in ("q_proj", "k_proj", "v_proj")]
            renamed[name.replace("self_attn.q_proj", "attn.Wqkv")] = torch.cat(parts)
        elif "self_attn" not in name:
            renamed[name] = value
    return renamed


def make_families():
    """What other families do differently: names, positions, token types, tokenizers."""
    sizes = {"hidden_size": 40, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 72}
    short = {"dim": 40, "n_layers": 2, "n_heads": 2, "hidden_dim": 72}
    xlm = make_pieces_tokenizer(["<s>", "<pad>", "</s>", "<unk>"])
    camembert = make_pieces_tokenizer(["<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>", "<unk>NOTUSED", "<s>", "</s>"])
    plain = make_tokenizer()
    plain.post_processor = processors.BertProcessing(
        ("[SEP]", VOCABULARY.index("[SEP]")), ("[CLS]", VOCABULARY.index("[CLS]")))
    rows = [  # name, configuration, tokenizer's class, tokenizer, prefix of its tensors, pooling
        ("roberta", transformers.RobertaConfig(**sizes, max_position_embeddings=42, type_vocab_size=1, layer_norm_eps=1e-5),
         "RobertaTokenizer", make_bytes_tokenizer(), "roberta.", "mean"),
        ("roberta_cls", transformers.RobertaConfig(**sizes, max_position_embeddings=34, type_vocab_size=2, hidden_act="gelu_new"),
         "RobertaTokenizer", make_bytes_tokenizer(), "", "cls"),
        ("xlm_roberta", transformers.XLMRobertaConfig(**sizes, max_position_embeddings=42, type_vocab_size=1, layer_norm_eps=1e-5),
         "XLMRobertaTokenizer", xlm, "", "mean"),
        ("camembert", transformers.CamembertConfig(**sizes, max_position_embeddings=42, type_vocab_size=1, layer_norm_eps=1e-5),
         "CamembertTokenizer", camembert, "roberta.", "mean"),
        ("distilbert", transformers.DistilBertConfig(**short, max_position_embeddings=40, pad_token_id=0),
         "DistilBertTokenizer", plain, "distilbert.", "mean"),
        ("distilbert_relu", transformers.DistilBertConfig(**short, max_position_embeddings=40, activation="relu", sinusoidal_pos_embds=True),
         "DistilBertTokenizer", plain, "", "cls"),
    ]
    for name, prefix, pooling in (("mpnet", "", "mean"), ("mpnet_last", "mpnet.", "lasttoken")):
        rows.append((name, transformers.MPNetConfig(**sizes, max_position_embeddings=152, layer_norm_eps=1e-5), "MPNetTokenizer",
                     make_mpnet_tokenizer(), prefix, pooling))
    modern = make_modern_tokenizer()
    windows = sizes | {"num_hidden_layers": 5, "local_attention": 9, "max_position_embeddings": 160, "norm_eps": 1e-5, "pad_token_id": 3}
    bases = {"full_attention": {"rope_type": "default", "rope_theta": 500.0}, "sliding_attention": {"rope_type": "default", "rope_theta": 30.0}}
    every = ["full_attention", "sliding_attention"] * 2 + ["full_attention"]
    rows += [
        ("modernbert", transformers.ModernBertConfig(**windows), "PreTrainedTokenizerFast", modern, "", "mean"),
        ("modernbert_biases", transformers.ModernBertConfig(
            **windows, attention_bias=True, mlp_bias=True, norm_bias=True, rope_parameters=bases, layer_types=every),
         "PreTrainedTokenizerFast", modern, "model.", "cls"),
        ("modernbert_old_config", transformers.ModernBertConfig(**windows), "PreTrainedTokenizerFast", modern, "", "mean"),
    ]
    rows += [(name, transformers.NomicBertConfig(**sizes, max_position_embeddings=40, rope_parameters=rope), "BertTokenizer", plain, "", pooling)
             for name, rope, pooling in (("nomic_bert", {"rope_type": "default", "rope_theta": 50.0}, "mean"),
                                         ("nomic_bert_published", None, "cls"))]
    for name, config, tokenizer_class, tokenizer, prefix, pooling in rows:
        config.vocab_size = tokenizer.get_vocab_size() + 3  # tables are often padded
        model = transformers.AutoModel.from_config(config)
        variant = Variant(name)
        by_distance = config.model_type in ("mpnet", "modernbert")  # texts longer than the farthest distance that is told apart
        if by_distance:
            variant.texts = TEXTS + ["a fox, " * 60, "the model of people " * 30]
        config.architectures = [type(model).__name__]
        config.save_pretrained(variant.path)
        if name == "modernbert_old_config":  # as the files on the hub spell it
            values = json.loads((variant.path / "config.json").read_text())
            values = {key: value for key, value in values.items() if key not in ("layer_types", "rope_parameters")}
            write_json(variant.path / "config.json", values | {
                "global_attn_every_n_layers": 2, "global_rope_theta": 700.0, "local_rope_theta": 20.0, "rope_scaling": None,
                "position_embedding_type": "absolute"})
        if name == "distilbert_relu":  # other families' names for its sizes
            written = json.loads((variant.path / "config.json").read_text())
            names = {"dim": "hidden_size", "n_layers": "num_hidden_layers", "n_heads": "num_attention_heads"}
            write_json(variant.path / "config.json", {names.get(key, key): value for key, value in written.items()})
        tokenizer.save(str(variant.path / "tokenizer.json"))
        tokens = {"bos_token": "<s>", "eos_token": "</s>", "cls_token": "<s>", "sep_token": "</s>", "unk_token": "<unk>",
                  "pad_token": "<pad>", "mask_token": "<mask>"}
        if config.model_type == "mpnet":
            tokens["unk_token"] = "[UNK]"
        if tokenizer is plain:
            tokens = {"do_lower_case": True}
        if tokenizer is modern:
            tokens = {"unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]", "mask_token": "[MASK]",
                      "model_input_names": ["input_ids", "attention_mask"]}
        write_json(variant.path / "tokenizer_config.json", {"tokenizer_class": tokenizer_class, "model_max_length": 150 if by_distance else 32} | tokens)
        weights = random_weights(model)
        if name == "nomic_bert_published":
            weights = published_nomic_names(weights)
        save_file(weights, variant.path / "model.safetensors")
        yield variant.modules(("Pooling", "1_Pooling")).pooling(pooling, width=40)


def make_generative():
    """Encoders that once were to generate: Qwen's and Gemma's."""
    sizes = {"hidden_size": 40, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 72, "max_position_embeddings": 64}
    tokenizer = make_qwen_tokenizer()
    rows = [  # name, configuration, prefix of its tensors, pooling
        ("qwen3", transformers.Qwen3Config(**sizes, num_key_value_heads=2, head_dim=18), "", "lasttoken"),
        ("qwen3_biases", transformers.Qwen3Config(
            **sizes, num_key_value_heads=1, head_dim=64, attention_bias=True, rms_norm_eps=1e-2,
            rope_parameters={"rope_type": "default", "rope_theta": 100.0}), "model.", "mean"),
        ("qwen3_both_ways", transformers.Qwen3Config(**sizes, num_key_value_heads=4, head_dim=10, is_causal=False), "", "lasttoken"),
        ("qwen2", transformers.Qwen2Config(**sizes, num_key_value_heads=2), "", "lasttoken"),
        ("qwen2_old_config", transformers.Qwen2Config(**sizes, num_key_value_heads=4), "model.", "mean"),
    ]
    windows = sizes | {"num_hidden_layers": 5, "max_position_embeddings": 160, "num_key_value_heads": 2, "head_dim": 18, "sliding_window": 8}
    some = ["sliding_attention", "full_attention"] * 2 + ["sliding_attention"]
    rows += [
        ("gemma3", transformers.Gemma3TextConfig(**windows, use_bidirectional_attention=True, layer_types=some), "", "mean"),
        ("gemma3_causal", transformers.Gemma3TextConfig(
            **windows, layer_types=some, attention_bias=True, query_pre_attn_scalar=30, hidden_activation="silu"), "model.", "lasttoken"),
        ("gemma3_old_config", transformers.Gemma3TextConfig(**windows, use_bidirectional_attention=True), "", "mean"),
        ("gemma3_not_causal", transformers.Gemma3TextConfig(
            **windows | {"num_hidden_layers": 2}, layer_types=some[:2], is_causal=False), "", "mean"),
    ]
    for name, config, prefix, pooling in rows:
        config.vocab_size = tokenizer.get_vocab_size() + 5
        model = transformers.AutoModel.from_config(config)
        variant = Variant(name)
        config.architectures = [type(model).__name__]
        config.save_pretrained(variant.path)
        if name == "qwen2_old_config":  # as the files on the hub spell it
            values = json.loads((variant.path / "config.json").read_text())
            values = {key: value for key, value in values.items() if key not in ("layer_types", "rope_parameters")}
            write_json(variant.path / "config.json", values | {"rope_theta": 300.0, "rope_scaling": None, "use_sliding_window": False})
        if name == "gemma3_old_config":
            values = json.loads((variant.path / "config.json").read_text())
            values = {key: value for key, value in values.items() if key not in ("layer_types", "rope_parameters")}
            write_json(variant.path / "config.json", values | {
                "rope_theta": 700.0, "rope_local_base_freq": 20.0, "rope_scaling": None, "sliding_window_pattern": 2})
        if config.model_type == "gemma3_text":  # texts longer than windows and stretches
            variant.texts = TEXTS + ["a fox, " * 30, "the model of people " * 14]
        tokenizer.save(str(variant.path / "tokenizer.json"))
        write_json(variant.path / "tokenizer_config.json", {
            "tokenizer_class": "Qwen2Tokenizer", "model_max_length": 150 if config.model_type == "gemma3_text" else 48, "eos_token": "<|im_end|>", "pad_token": "<|endoftext|>",
            "padding_side": "left"})
        save_file({prefix + key: value for key, value in random_weights(model).items()}, variant.path / "model.safetensors")
        variant.sentence_transformers(prompts={"query": "Instruct: find\nQuery:"}, default_prompt_name=None)
        variant.calls = [{}, {"prompt_name": "query", "normalize": True}]
        yield variant.modules(("Pooling", "1_Pooling")).pooling(pooling, width=40)


def make_longer():
    """A limit beyond the positions that rotations were trained for."""
    variant = Variant("qwen3_longer", "qwen3").link("model.safetensors", "tokenizer.json", "config.json", "tokenizer_config.json")
    variant.texts = ["a fox, " * 22, "the model of people " * 40]
    write_json(variant.path / "sentence_bert_config.json", {"max_seq_length": 100, "do_lower_case": False})
    yield variant.modules(("Pooling", "1_Pooling")).pooling("lasttoken", width=40)


def make_t5():
    """T5's encoders: the first version, the gated one, and the encoder out of a file with both halves."""
    tokenizer = make_pieces_tokenizer(["<pad>", "</s>", "<unk>", "<s>"])
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)])
    sizes = {"d_model": 40, "d_kv": 18, "d_ff": 72, "num_layers": 3, "num_heads": 2, "pad_token_id": 0, "eos_token_id": 1}
    rows = [
        ("t5", transformers.T5Config(**sizes), transformers.T5EncoderModel),
        ("t5_gated", transformers.T5Config(**sizes, feed_forward_proj="gated-gelu", layer_norm_epsilon=1e-3), transformers.T5Model),
        ("mt5", transformers.MT5Config(**sizes, feed_forward_proj="gated-silu"), transformers.MT5EncoderModel),
        ("t5_other_names", transformers.T5Config(**sizes | {"num_layers": 1}), transformers.T5EncoderModel),
    ]
    for name, config, kind in rows:
        config.vocab_size = tokenizer.get_vocab_size() + 3
        model = kind(config)
        variant = Variant(name)
        variant.texts = TEXTS + ["a fox, " * 60, "the model of people " * 30]
        config.architectures = [kind.__name__]
        config.save_pretrained(variant.path)
        tokenizer.save(str(variant.path / "tokenizer.json"))
        write_json(variant.path / "tokenizer_config.json", {
            "tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 150, "eos_token": "</s>", "pad_token": "<pad>",
            "unk_token": "<unk>", "model_input_names": ["input_ids", "attention_mask"]})
        tables = ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight")
        weights = {key: value for key, value in random_weights(model).items() if key not in tables}
        if name == "t5_other_names":  # which count more than its own: other families' for sizes, what it makes of one key, both tables
            values = json.loads((variant.path / "config.json").read_text())
            write_json(variant.path / "config.json", values | {
                "num_layers": 3, "num_hidden_layers": 1, "feed_forward_proj": "gated-silu", "dense_act_fn": "gelu_new"})
            weights[tables[0]] = weights["shared.weight"].flip(0).contiguous()
        save_file(weights, variant.path / "model.safetensors")
        yield variant.modules(("Pooling", "1_Pooling")).pooling("mean", width=40)


def make_spaces():
    """tokenizer_config.json on the space before a text, otherwise than tokenizer.json."""
    for base, space in (("roberta", True), ("xlm_roberta", False), ("qwen3", True)):
        variant = Variant(f"{base}_space", base).link("model.safetensors", "tokenizer.json", "config.json")
        tokenizer_config = json.loads((MODELS / base / "tokenizer_config.json").read_text())
        write_json(variant.path / "tokenizer_config.json", {**tokenizer_config, "add_prefix_space": space})
        yield variant.modules(("Pooling", "1_Pooling")).pooling("mean", width=40)


def main():
    for path in (MODELS, EXPECTED):
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
    makers = [make_base, make_poolings, make_activations, make_names, make_dtypes, make_shards, make_chains, make_prompts,
              make_limits, make_tokens, make_vocabularies, make_sizes, make_layouts, make_families,
              make_generative, make_longer, make_t5, make_spaces]
    for maker in makers:
        for variant in maker():
            expect(variant)
            print(variant.name, flush=True)


if __name__ == "__main__":
    main()
