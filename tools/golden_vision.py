#!/usr/bin/env python3
"""Makes the tiny random models of tests/golden/vision/models and what transformers says of them, in tests/golden/vision/expected.

Run it in an environment with exactly these packages, on a CPU, from anywhere:

    transformers==5.24.0 tokenizers==0.23.3 torch==2.13.0 torchvision==0.28.0 pillow==13.0.0 safetensors==0.8.0 uform==3.1.3

Every variant is one directory of a vision tower, a text tower, or both. Expected vectors are computed in f32, one item at a time, from
texts through the tokenizer and from 8-bit pixels through the image processor: Pillow's one where the directory names the processor
plainly, torchvision's where the name ends in "Fast". Pictures are a formula of place and channel that the test repeats. Vectors are
not normalised: features, as `get_text_features`, `get_image_features` and `pooler_output` give them.
"""
import json
import math
import os
import pathlib
import re
import shutil
import string

import numpy as np
import torch
import transformers
from PIL import Image
from safetensors.torch import load_file, save_file
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers.models.auto.image_processing_auto import get_image_processor_class_from_name

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden" / "vision"
MODELS, EXPECTED = GOLDEN / "models", GOLDEN / "expected"

TEXTS = [
    "a photo of a cat",
    "",
    "A   PHOTO\tof  a CAT's  hat!!",
    "two dogs on the beach, it's 2024.",
    "see <|endoftext|> here",
    "crème brûlée: naïve CAFÉ",
    "漢字 and \U0001F600",
    "dogs!",
    "<|startoftext|> a cat <|extra|> at night",
    "a photo of the dog on the beach with a hat and the cat and the dog and two more dogs and a photo of the beach at night",
]
CORPUS = ["a photo of a cat and a dog", "two dogs on the beach at night with a hat", "the dog and the cat see more photos here"]
PICTURES = [(40, 30), (33, 57), (24, 24), (90, 21)]  # width and height; none is a size any model here was made for
PIXEL_STEP = 37  # every how manieth number of a pixel tensor is kept


def make_picture(width, height):
    """[height, width, 3] of u8: ramps that wrap, a product that ripples, and a chequer. In C: unsigned arithmetic, low eight bits."""
    y, x = np.mgrid[0:height, 0:width].astype(np.uint32)
    channels = [(x * (5 + 4 * c) + y * (3 + 2 * c) + (x * y >> 3) * (c + 1) + ((x // 5 + y // 7) & 1) * 60 + 40 * c) & 255
                for c in range(3)]
    return np.stack(channels, axis=-1).astype(np.uint8)


def write_json(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1) + "\n")


def make_clip_tokenizer():
    """Byte-level BPE as CLIP's: what transformers' CLIPTokenizer saves, with few merges."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = []  # every word of the corpus, letter by letter
    for word in sorted(set(" ".join(CORPUS).split())):
        letters = list(word[:-1]) + [word[-1] + "</w>"]
        merges += [("".join(letters[:i]), letters[i]) for i in range(1, len(letters))]
    merges = list(dict.fromkeys(merges))
    words = alphabet + [letter + "</w>" for letter in alphabet] + [left + right for left, right in merges]
    tokens = list(dict.fromkeys(words)) + ["<|startoftext|>", "<|endoftext|>"]
    tokenizer = transformers.CLIPTokenizer(vocab={token: i for i, token in enumerate(tokens)}, merges=merges, model_max_length=77)
    tokenizer.add_tokens([AddedToken("<|extra|>", special=True)], special_tokens=True)  # an id above the end's
    return tokenizer


def make_siglip_tokenizer(path):
    """Unigram as of SigLIP's tokenizer.json: lower case, no punctuation, one space, `</s>` behind and as padding."""
    pieces = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("▁", -3.0)]
    words = sorted(set(" ".join(CORPUS).split()))
    pieces += [("▁" + word, -4.0 - 0.1 * i) for i, word in enumerate(words)]
    pieces += [(piece, -5.0 - 0.1 * i) for i, piece in enumerate(["s", "ing", "ed", "er", "ème", "e", "at", "ho"])]
    pieces += [(letter, -8.0 - 0.01 * i) for i, letter in enumerate("abcdfghijklmnopqrtuvwxyzéèû0123456789")]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=2))
    tokenizer.normalizer = normalizers.Sequence([
        normalizers.Lowercase(), normalizers.Replace(Regex("[" + re.escape(string.punctuation) + "]"), ""),
        normalizers.Replace(Regex(r"\s+"), " "), normalizers.Strip()])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)])
    tokenizer.add_special_tokens([AddedToken("</s>", normalized=False), AddedToken("<unk>", normalized=False)])
    tokenizer.save(str(path / "tokenizer.json"))
    write_json(path / "tokenizer_config.json", {
        "tokenizer_class": "SiglipTokenizer", "do_lower_case": True, "model_input_names": ["input_ids"], "model_max_length": 64,
        "pad_token": "</s>", "eos_token": "</s>", "unk_token": "<unk>"})
    return len(pieces)


def make_gemma_tokenizer(path):
    """BPE with byte fallback as Gemma's, `<eos>` behind. The file doesn't lower the case."""
    tokens = ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    tokens += list("▁abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,!'éèû")
    merges = [("▁", "a"), ("▁", "t"), ("o", "t"), ("h", "ot"), ("hot", "o"), ("a", "t"), ("c", "at"), ("▁t", "h"), ("▁th", "e"),
              ("d", "o"), ("do", "g"), ("C", "A"), ("CA", "T"), ("▁", "dog")]
    tokens += [left + right for left, right in merges]
    tokenizer = Tokenizer(models.BPE({token: i for i, token in enumerate(tokens)}, merges, unk_token="<unk>", fuse_unk=True,
                                     byte_fallback=True))
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    tokenizer.post_processor = processors.TemplateProcessing(single="$A <eos>", pair="$A <eos> $B <eos>",
                                                             special_tokens=[("<eos>", 1)])
    tokenizer.add_special_tokens(tokens[:5])
    tokenizer.save(str(path / "tokenizer.json"))
    write_json(path / "tokenizer_config.json", {
        "tokenizer_class": "GemmaTokenizer", "model_max_length": 1000000000000000019884624838656, "padding_side": "right",
        "pad_token": "<pad>", "eos_token": "<eos>", "bos_token": "<bos>", "unk_token": "<unk>", "add_bos_token": False,
        "add_eos_token": True, "model_input_names": ["input_ids"]})
    return len(tokens)


def make_bert_tokenizer(path, roberta=False):
    specials = ["<s>", "<pad>", "</s>", "<unk>"] if roberta else ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    letters = list("abcdefghijklmnopqrstuvwxyz0123456789")
    tokens = specials + letters + ["##" + letter for letter in letters] + list("!,.:<>|'")
    tokens += sorted(word for word in set(" ".join(CORPUS).split()) if len(word) > 1)
    tokenizer = Tokenizer(models.WordPiece({token: i for i, token in enumerate(tokens)}, unk_token=specials[3 if roberta else 1]))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    first, last = (specials[0], specials[2]) if roberta else (specials[2], specials[3])
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{first} $A {last}", special_tokens=[(first, tokens.index(first)), (last, tokens.index(last))])
    tokenizer.add_special_tokens(specials)
    tokenizer.save(str(path / "tokenizer.json"))
    return len(tokens)


def fill(model, seed, gain=1.0):
    """Random weights under which every part of a model shows in its output. `model` is a module."""
    generator = torch.Generator().manual_seed(seed)
    random = lambda shape: torch.randn(shape, generator=generator)
    with torch.no_grad():
        for name, parameter in sorted(model.named_parameters()):
            shape = parameter.shape
            if "logit_scale" in name:
                value = torch.full(shape, 2.5)
            elif "logit_bias" in name:
                value = torch.full(shape, -7.25)
            elif "lambda1" in name or "gamma" in name:
                value = 0.6 + 0.2 * random(shape)
            elif "norm" in name and name.endswith("weight"):
                value = 1 + 0.2 * random(shape)
            elif name.endswith("bias"):
                value = 0.2 * random(shape)
            elif "embedding" in name and "patch" not in name and "projection" not in name or "pos_embed" in name:
                value = 0.7 * random(shape)
            elif len(shape) > 1 and "token" not in name and "probe" not in name:
                value = gain * random(shape) / math.sqrt(shape[1:].numel())
            else:
                value = random(shape)
            parameter.copy_(value)
    return model.eval()


class Variant:
    """One directory in the making."""

    def __init__(self, name, base=None):
        self.name, self.path, self.base = name, MODELS / name, base
        self.path.mkdir(parents=True)
        self.folder = self.path      # where the transformers model lies
        self.limit = None            # tokens a text may have
        self.pad = None              # the id that fills texts up to that limit
        self.pads_left = False
        self.last_token = False      # modules.json pools the last token
        self.oracle = None           # another directory whose weights transformers can read under the same names
        self.model_class = None
        self.expected = {}

    def link(self, *names):
        for name in names:
            (self.path / name).symlink_to(os.path.join("..", self.base, name))
        return self

    def save(self, model, dtype=torch.bfloat16, **options):
        self.model_class = type(model)
        model.to(dtype).save_pretrained(self.path, **options)
        return self

    def processor(self, kind, **options):
        write_json(self.path / "preprocessor_config.json", {"image_processor_type": kind, **options})
        return self


def picture_processor(folder):
    """The class the directory asks for: torchvision's where its name ends in Fast, Pillow's otherwise."""
    plain, nested = folder / "preprocessor_config.json", folder / "processor_config.json"
    config = json.loads(plain.read_text()) if plain.exists() else json.loads(nested.read_text())["image_processor"]
    kind = config.pop("image_processor_type", None) or config.pop("feature_extractor_type").replace("FeatureExtractor", "ImageProcessor")
    name = kind.removesuffix("Fast") if kind.endswith("Fast") else kind + "Pil"
    return get_image_processor_class_from_name(name)(**config)


def unpatch(inputs, processor):
    """[3, height, width] of the patches that NaFlex's processor gives."""
    rows, columns = inputs["spatial_shapes"][0].tolist()
    patches = inputs["pixel_values"][0, : rows * columns]
    side = processor.patch_size
    return patches.reshape(rows, columns, side, side, 3).permute(4, 0, 2, 1, 3).reshape(3, rows * side, columns * side)


def numbers(tensor):
    return [float(f"{value:.8g}") for value in tensor.flatten().tolist()]


def text_vector(variant, model, ids):
    if variant.pad is not None:  # to the trained length, and no mask: padding takes part
        padding = [variant.pad] * (variant.limit - len(ids))
        ids = padding + ids if variant.pads_left else ids + padding
    options = {"input_ids": torch.tensor([ids])}
    if hasattr(model, "get_text_features"):
        return model.get_text_features(**options).pooler_output
    output = model(**options)
    if variant.last_token:
        return output.last_hidden_state[:, -1]
    return output.text_embeds if "text_embeds" in output else output.pooler_output


def image_vector(model, inputs):
    if hasattr(model, "get_image_features"):
        return model.get_image_features(**inputs).pooler_output
    output = getattr(model, "vit", model)(**inputs)
    if "image_embeds" in output:
        return output.image_embeds
    return output.last_hidden_state[:, 0] if output.pooler_output is None else output.pooler_output


def token_ids(variant, tokenizer, text):
    if isinstance(tokenizer, Tokenizer):
        tokenizer.enable_truncation(variant.limit)
        return tokenizer.encode(text).ids
    return tokenizer(text, truncation=True, max_length=variant.limit)["input_ids"]


def describe_pixels(tensor):
    return {"shape": list(tensor.shape), "step": PIXEL_STEP, "values": numbers(tensor.flatten()[::PIXEL_STEP])}


@torch.no_grad()
def expect(variant, tokenizer=None, pictures=True):
    model = variant.model_class.from_pretrained(variant.oracle or variant.folder, dtype=torch.float32,
                                                attn_implementation="eager").eval()
    expected = variant.expected
    if tokenizer is not None:
        expected["texts"] = TEXTS
        expected["max_tokens"] = variant.limit
        expected["ids"] = [token_ids(variant, tokenizer, text) for text in TEXTS]
        expected["text_vectors"] = [numbers(text_vector(variant, model, ids)) for ids in expected["ids"]]
    if pictures:
        processor = picture_processor(variant.folder)
        expected["pictures"], expected["image_vectors"], expected["pixels"] = [list(size) for size in PICTURES], [], []
        for size in PICTURES:
            inputs = processor(Image.fromarray(make_picture(*size)), return_tensors="pt")
            expected["image_vectors"].append(numbers(image_vector(model, inputs)))
            naflex = "spatial_shapes" in inputs
            expected["pixels"].append(describe_pixels(unpatch(inputs, processor) if naflex else inputs["pixel_values"][0]))
    for name in ("logit_scale", "logit_bias"):
        if hasattr(model, name):
            expected[name] = getattr(model, name).item()
    write_expected(variant)


def write_expected(variant):
    lines = []
    for key, value in variant.expected.items():
        if isinstance(value, list):
            rows = ",\n".join("  " + json.dumps(row, ensure_ascii=False) for row in value)
            lines.append(f" {json.dumps(key)}: [\n{rows}]")
        else:
            lines.append(f" {json.dumps(key)}: {json.dumps(value)}")
    EXPECTED.mkdir(parents=True, exist_ok=True)
    (EXPECTED / f"{variant.name}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(variant.name, flush=True)


CLIP_TOKENIZER = make_clip_tokenizer()
END = CLIP_TOKENIZER.eos_token_id
CLIP_TEXT = {"vocab_size": len(CLIP_TOKENIZER), "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2,
             "num_attention_heads": 2, "max_position_embeddings": 22, "bos_token_id": END - 1, "eos_token_id": END,
             "pad_token_id": 1, "projection_dim": 28}
CLIP_VISION = {"hidden_size": 48, "intermediate_size": 80, "num_hidden_layers": 2, "num_attention_heads": 3, "image_size": 32,
               "patch_size": 8, "projection_dim": 28}
CLIP_PICTURES = {"size": {"shortest_edge": 32}, "crop_size": {"height": 32, "width": 32}, "do_center_crop": True,
                 "do_convert_rgb": True, "do_normalize": True, "do_rescale": True, "do_resize": True, "resample": 3,
                 "rescale_factor": 1 / 255, "image_mean": [0.48145466, 0.4578275, 0.40821073],
                 "image_std": [0.26862954, 0.26130258, 0.27577711]}
HALF = {"image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5], "do_normalize": True, "do_rescale": True, "do_resize": True,
        "rescale_factor": 1 / 255}
IMAGENET = {**HALF, "image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225]}


def clip_config(text={}, vision={}, dimensions=28):
    return transformers.CLIPConfig(text_config={**CLIP_TEXT, **text}, vision_config={**CLIP_VISION, **vision},
                                   projection_dim=dimensions)


def make_clip():
    base = Variant("clip").save(fill(transformers.CLIPModel(clip_config()), 1)).processor("CLIPImageProcessor", **CLIP_PICTURES)
    CLIP_TOKENIZER.save_pretrained(base.path)
    base.limit = 22
    expect(base, CLIP_TOKENIZER)
    config = json.loads((base.path / "config.json").read_text())
    shared = ("model.safetensors", "tokenizer.json", "tokenizer_config.json", "preprocessor_config.json")

    def variant(name, change, *links):
        result = Variant(name, "clip").link(*(links or shared))
        result.limit, result.model_class = 22, transformers.CLIPModel
        write_json(result.path / "config.json", change(json.loads(json.dumps(config))))
        return result

    def end_2(changed):
        for part in ("text_config", "vision_config"):
            changed[part]["hidden_act"] = "gelu"
        changed["text_config"]["eos_token_id"] = 2
        return changed
    expect(variant("clip_end_is_2", end_2), CLIP_TOKENIZER)

    def complete(changed):  # a dictionary beside text_config rules over all of it, with the class's defaults for what it leaves out
        changed["text_config_dict"] = {key: value for key, value in changed["text_config"].items() if key not in ("hidden_act",)}
        changed["text_config_dict"]["layer_norm_eps"] = 0.01
        changed["text_config"]["hidden_act"] = "gelu"
        changed["vision_config_dict"] = None
        return changed
    expect(variant("clip_text_config_dict", complete), CLIP_TOKENIZER)

    def minimal(changed):  # everything that has the class's default is left out, as older files do
        defaults = {"text_config": transformers.CLIPTextConfig().to_dict(), "vision_config": transformers.CLIPVisionConfig().to_dict()}
        for part, values in defaults.items():
            changed[part] = {key: value for key, value in changed[part].items() if values.get(key) != value}
        return {key: changed[key] for key in ("architectures", "model_type", "projection_dim", "text_config", "vision_config")}
    fast = variant("clip_minimal_fast", minimal, *shared[:3])
    expect(fast.processor("CLIPImageProcessorFast", **CLIP_PICTURES), CLIP_TOKENIZER)

    nested = variant("clip_processor_config", lambda same: same, *shared[:3])
    write_json(nested.path / "processor_config.json", {
        "image_processor": {"image_processor_type": "CLIPImageProcessor", **CLIP_PICTURES}, "processor_class": "CLIPProcessor"})
    expect(nested, CLIP_TOKENIZER)

    old = Variant("clip_sharded", "clip").link("config.json", *shared[1:])
    old.limit, old.model_class = 22, transformers.CLIPModel
    weights = load_file(base.path / "model.safetensors")
    weights["text_model.embeddings.position_ids"] = torch.arange(22).reshape(1, 22)
    weights["vision_model.embeddings.position_ids"] = torch.arange(17).reshape(1, 17)
    names, place = sorted(weights), {}
    for index, part in enumerate((names[::2], names[1::2])):
        file = f"model-{index + 1:05}-of-00002.safetensors"
        save_file({name: weights[name].contiguous() for name in part}, old.path / file, metadata={"format": "pt"})
        place |= {name: file for name in part}
    write_json(old.path / "model.safetensors.index.json", {"metadata": {}, "weight_map": place})
    expect(old, CLIP_TOKENIZER)

    # The tokenizer as it was saved before there was tokenizer.json, special tokens with the flags they had in old files.
    older = variant("clip_old_tokenizer", lambda same: same, "model.safetensors", "preprocessor_config.json")
    model = json.loads(CLIP_TOKENIZER.backend_tokenizer.to_str())["model"]
    write_json(older.path / "vocab.json", model["vocab"])
    (older.path / "merges.txt").write_text("#version: 0.2\n" + "".join(" ".join(pair) + "\n" for pair in model["merges"]))
    token = lambda content: {"content": content, "single_word": False, "lstrip": False, "rstrip": False, "normalized": True}
    write_json(older.path / "special_tokens_map.json", {
        "bos_token": token("<|startoftext|>"), "eos_token": token("<|endoftext|>"), "unk_token": token("<|endoftext|>"),
        "pad_token": "!"})
    write_json(older.path / "added_tokens.json", {"<|extra|>": len(CLIP_TOKENIZER) - 1})
    write_json(older.path / "tokenizer_config.json", {"tokenizer_class": "CLIPTokenizer", "do_lower_case": True,
                                                      "errors": "replace", "model_max_length": 77})
    expect(older, transformers.AutoTokenizer.from_pretrained(older.path))

    # As sentence-transformers lays CLIP out: one module, whose folder is the transformers directory.
    placed = Variant("clip_modules", "clip")
    placed.folder, placed.limit, placed.model_class = placed.path / "0_CLIPModel", 22, transformers.CLIPModel
    placed.folder.mkdir()
    for name in ("config.json", *shared):
        (placed.folder / name).symlink_to(os.path.join("..", "..", "clip", name))
    write_json(placed.path / "modules.json", [{"idx": 0, "name": "0", "path": "0_CLIPModel",
                                               "type": "sentence_transformers.models.CLIPModel"}])
    placed.expected["raw_by_default"] = True
    expect(placed, CLIP_TOKENIZER)


def make_clip_heads():
    for name, text, vision, dtype, kind in (
            ("clip_heads_40_24", {"hidden_size": 40, "num_attention_heads": 1, "num_hidden_layers": 1},
             {"hidden_size": 72, "num_attention_heads": 3, "num_hidden_layers": 1, "patch_size": 10, "image_size": 35},
             torch.float16, "CLIPImageProcessorFast"),
            ("clip_heads_24_96", {"hidden_size": 24, "num_attention_heads": 1, "num_hidden_layers": 1, "hidden_act": "gelu"},
             {"hidden_size": 96, "num_attention_heads": 1, "num_hidden_layers": 1, "patch_size": 16, "intermediate_size": 64},
             torch.bfloat16, "CLIPImageProcessor")):
        variant = Variant(name).save(fill(transformers.CLIPModel(clip_config(text, vision)), 2), dtype)
        side = vision.get("image_size", 32)
        variant.processor(kind, **{**CLIP_PICTURES, "size": {"shortest_edge": side + 3}, "crop_size": {"height": side, "width": side}})
        CLIP_TOKENIZER.save_pretrained(variant.path)
        variant.limit = 22
        expect(variant, CLIP_TOKENIZER)


def make_clip_towers():
    whole = transformers.CLIPModel.from_pretrained(MODELS / "clip", dtype=torch.bfloat16)

    def towers(name, model_class, part, projection, prefix=None):
        variant = Variant(name, "clip")
        model = model_class(whole.config.text_config if part == "text_model" else whole.config.vision_config)
        tensors = {key: value for key, value in whole.state_dict().items() if key.startswith(part) or key == projection + ".weight"}
        if projection == "none":
            tensors = {key.removeprefix(part + "."): value for key, value in tensors.items()}
        model.load_state_dict(tensors)
        variant.save(model)
        if prefix:  # as transformers 4 saved a bare tower
            file = variant.path / "model.safetensors"
            save_file({f"{prefix}.{key}": value for key, value in load_file(file).items()}, file, metadata={"format": "pt"})
        if part == "text_model":
            variant.link("tokenizer.json", "tokenizer_config.json").limit = 22
            expect(variant, CLIP_TOKENIZER, pictures=False)
        else:
            expect(variant.link("preprocessor_config.json"))

    towers("clip_vision", transformers.CLIPVisionModel, "vision_model", "none")
    towers("clip_vision_prefixed", transformers.CLIPVisionModel, "vision_model", "none", "vision_model")
    towers("clip_vision_projection", transformers.CLIPVisionModelWithProjection, "vision_model", "visual_projection")
    towers("clip_text", transformers.CLIPTextModel, "text_model", "none")
    towers("clip_text_projection", transformers.CLIPTextModelWithProjection, "text_model", "text_projection")


def make_clip_pooling():
    """A Pooling behind the text tower takes what it says, not the first end token, which may be typed in a text."""
    variant = Variant("clip_text_pooling", "clip_text").link("model.safetensors", "config.json", "tokenizer.json", "tokenizer_config.json")
    package = "sentence_transformers.models."
    write_json(variant.path / "modules.json", [{"idx": 0, "name": "0", "path": "", "type": package + "Transformer"},
                                               {"idx": 1, "name": "1", "path": "1_Pooling", "type": package + "Pooling"}])
    write_json(variant.path / "1_Pooling" / "config.json", {
        "word_embedding_dimension": 32, "pooling_mode_mean_tokens": False, "pooling_mode_lasttoken": True})
    variant.limit, variant.last_token, variant.model_class = 22, True, transformers.CLIPTextModel
    variant.expected["raw_by_default"] = True
    expect(variant, CLIP_TOKENIZER, pictures=False)


def siglip_parts(vocabulary, vision):
    text = {"vocab_size": vocabulary, "hidden_size": 40, "intermediate_size": 72, "num_hidden_layers": 1, "num_attention_heads": 2,
            "max_position_embeddings": 18, "projection_size": vision.get("hidden_size")}
    return {"text_config": text, "vision_config": {"num_hidden_layers": 1, "intermediate_size": 64, **vision}}


def make_siglip():
    vision = {"hidden_size": 36, "num_attention_heads": 3, "image_size": 24, "patch_size": 8}
    base = Variant("siglip")
    config = transformers.SiglipConfig(**siglip_parts(make_siglip_tokenizer(base.path), vision))
    base.save(fill(transformers.SiglipModel(config), 3)).processor(
        "SiglipImageProcessor", size={"height": 24, "width": 24}, resample=3, **HALF)
    base.limit, base.pad = 18, 1
    expect(base, Tokenizer.from_file(str(base.path / "tokenizer.json")))

    # Fixed-size SigLIP 2: the same classes with Gemma's tokenizer. Sides that the patch does not divide, heads of 72.
    vision = {"hidden_size": 72, "num_attention_heads": 1, "image_size": 30, "patch_size": 7}
    second = Variant("siglip_gemma")
    config = transformers.SiglipConfig(**siglip_parts(make_gemma_tokenizer(second.path), vision))
    second.save(fill(transformers.SiglipModel(config), 4)).processor(
        "SiglipImageProcessorFast", size={"height": 30, "width": 30}, resample=2, **HALF)
    second.limit, second.pad = 18, 0
    expect(second, Tokenizer.from_file(str(second.path / "tokenizer.json")))

    # The same as transformers' fifth version saves it: its class lowers the case and pads left, where files don't say otherwise.
    renamed = Variant("siglip_renamed", "siglip_gemma").link("config.json", "model.safetensors", "preprocessor_config.json", "tokenizer.json")
    write_json(renamed.path / "tokenizer_config.json", {"tokenizer_class": "Siglip2Tokenizer", "model_max_length": 18})
    write_json(renamed.path / "special_tokens_map.json", {"pad_token": {"content": "<mask>", "lstrip": False, "rstrip": False}})
    tokenizer = transformers.AutoTokenizer.from_pretrained(renamed.path)
    renamed.model_class, renamed.limit, renamed.pad = transformers.SiglipModel, 18, tokenizer.pad_token_id
    renamed.pads_left = tokenizer.padding_side == "left"
    assert type(tokenizer).__name__ == "Siglip2Tokenizer" and renamed.pad == 4 and renamed.pads_left
    expect(renamed, tokenizer)

    whole = transformers.SiglipModel.from_pretrained(base.path, dtype=torch.bfloat16)
    vision = Variant("siglip_vision", "siglip").link("preprocessor_config.json")
    expect(vision.save(whole.vision_model))
    text = Variant("siglip_text_prefixed", "siglip").link("tokenizer.json", "tokenizer_config.json").save(whole.text_model)
    file = text.path / "model.safetensors"
    save_file({"text_model." + key: value for key, value in load_file(file).items()}, file, metadata={"format": "pt"})
    text.limit, text.pad = 18, 1
    expect(text, Tokenizer.from_file(str(text.path / "tokenizer.json")), pictures=False)


def make_siglip2():
    base = Variant("siglip2")
    vision = {"hidden_size": 40, "num_attention_heads": 5, "patch_size": 6, "num_patches": 25}
    config = transformers.Siglip2Config(**siglip_parts(make_gemma_tokenizer(base.path), vision))
    base.save(fill(transformers.Siglip2Model(config), 5)).processor(
        "Siglip2ImageProcessor", patch_size=6, max_num_patches=30, resample=2, **HALF)
    tokenizer = transformers.AutoTokenizer.from_pretrained(base.path)  # Siglip2Tokenizer, which lowers the case
    assert type(tokenizer).__name__ == "Siglip2Tokenizer" and tokenizer.padding_side == "right"
    base.limit, base.pad = 18, tokenizer.pad_token_id
    expect(base, tokenizer)
    fast = Variant("siglip2_fast", "siglip2").link("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json")
    fast.model_class, fast.limit, fast.pad = transformers.Siglip2Model, 18, base.pad
    fast.processor("Siglip2ImageProcessorFast", patch_size=6, max_num_patches=11, resample=2, **HALF)
    expect(fast, tokenizer)


def make_vit():
    sizes = {"hidden_size": 32, "intermediate_size": 72, "num_hidden_layers": 1, "num_attention_heads": 2, "patch_size": 8}
    square = {"size": {"height": 24, "width": 24}, "resample": 2, **HALF}
    vit = Variant("vit").save(fill(transformers.ViTModel(transformers.ViTConfig(image_size=24, **sizes)), 6))
    expect(vit.processor("ViTImageProcessor", **square))
    config = transformers.ViTConfig(image_size=24, qkv_bias=False, layer_norm_eps=0.01, **sizes)
    head = Variant("vit_classifier").save(fill(transformers.ViTForImageClassification(config), 7))
    write_json(head.path / "preprocessor_config.json", {  # as transformers named it at first
        "feature_extractor_type": "ViTFeatureExtractor", "size": 24, "resample": 2, "do_normalize": True, "do_resize": True,
        "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5]})
    expect(head)
    # transformers 5's own names, a picture that isn't square, a pooler of its own width
    config = transformers.ViTConfig(image_size=[16, 40], pooler_output_size=20, hidden_act="gelu_new", **sizes)
    new = Variant("vit_new_names").save(fill(transformers.ViTModel(config), 8), save_original_format=False)
    expect(new.processor("ViTImageProcessorFast", size={"height": 16, "width": 40}, resample=3, **HALF))
    config = transformers.DeiTConfig(image_size=24, **sizes)
    deit = Variant("deit").save(fill(transformers.DeiTModel(config), 9))
    expect(deit.processor("DeiTImageProcessor", size={"height": 26, "width": 26}, crop_size={"height": 24, "width": 24},
                          do_center_crop=True, resample=3, **IMAGENET))


def make_dinov2():
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "patch_size": 7}
    pictures = lambda height, width: {"size": {"shortest_edge": 44}, "crop_size": {"height": height, "width": width}, "resample": 3,
                                      "do_center_crop": True, "do_convert_rgb": True, **IMAGENET}
    base = Variant("dinov2").save(fill(transformers.Dinov2Model(transformers.Dinov2Config(image_size=42, **sizes)), 10))
    expect(base.processor("BitImageProcessor", **pictures(42, 42)))
    for name, height, width in (("dinov2_larger", 77, 63), ("dinov2_smaller", 28, 21), ("dinov2_uneven", 30, 41)):
        other = Variant(name, "dinov2").link("config.json", "model.safetensors")
        other.model_class = transformers.Dinov2Model
        expect(other.processor("BitImageProcessor", **pictures(height, width)))
    sizes["num_hidden_layers"] = 1
    config = transformers.Dinov2Config(image_size=28, use_swiglu_ffn=True, qkv_bias=False, use_mask_token=False, **sizes)
    swiglu = Variant("dinov2_swiglu").save(fill(transformers.Dinov2Model(config), 11), torch.float16)
    expect(swiglu.processor("BitImageProcessorFast", **pictures(28, 28)))
    renamed = Variant("dinov2_new_names")  # as transformers' fifth version calls tensors in memory, the gate apart from what it gates
    renamed.save(fill(transformers.Dinov2Model(config), 17), torch.float16, save_original_format=False)
    expect(renamed.processor("BitImageProcessor", **pictures(28, 28)))
    config = transformers.Dinov2WithRegistersConfig(image_size=42, num_register_tokens=3, mlp_ratio=2, **sizes)
    registers = Variant("dinov2_registers").save(fill(transformers.Dinov2WithRegistersModel(config), 12))
    expect(registers.processor("BitImageProcessor", **pictures(28, 35)))
    larger = Variant("dinov2_registers_larger", "dinov2_registers").link("config.json", "model.safetensors")
    larger.model_class = transformers.Dinov2WithRegistersModel
    expect(larger.processor("BitImageProcessor", **pictures(56, 63)))


def make_dinov3():
    sizes = {"hidden_size": 48, "intermediate_size": 80, "num_hidden_layers": 2, "num_attention_heads": 2, "patch_size": 8}
    config = transformers.DINOv3ViTConfig(num_register_tokens=4, image_size=32, **sizes)
    plain = Variant("dinov3").save(fill(transformers.DINOv3ViTModel(config), 13))
    expect(plain.processor("DINOv3ViTImageProcessorFast", size={"height": 32, "width": 32}, resample=2, **IMAGENET))
    config = transformers.DINOv3ViTConfig(use_gated_mlp=True, hidden_act="silu", key_bias=True, query_bias=False, rope_theta=50.0,
                                          mlp_bias=False, image_size=32, **{**sizes, "num_hidden_layers": 1, "hidden_size": 32})
    gated = Variant("dinov3_gated").save(fill(transformers.DINOv3ViTModel(config), 14))
    expect(gated.processor("DINOv3ViTImageProcessorFast", size={"height": 24, "width": 40}, resample=3, **IMAGENET))


@torch.no_grad()
def expect_uform(variant, text, image, config):
    from uform.torch_processors import ImageProcessor, TextProcessor
    tokens = TextProcessor(config, str(variant.path / "tokenizer.json"))
    pictures = ImageProcessor(config)
    encoded = [tokens(item) for item in TEXTS]
    expected = variant.expected
    expected["texts"], expected["max_tokens"] = TEXTS, variant.limit
    expected["ids"] = [row["input_ids"][0, : int(row["attention_mask"].sum())].tolist() for row in encoded]
    expected["text_vectors"] = [numbers(text(row["input_ids"], row["attention_mask"])) for row in encoded]
    expected["pictures"], expected["image_vectors"], expected["pixels"] = [list(size) for size in PICTURES], [], []
    for size in PICTURES:
        pixels = pictures(Image.fromarray(make_picture(*size)))["images"]
        expected["image_vectors"].append(numbers(image(pixels)))
        expected["pixels"].append(describe_pixels(pixels[0]))
    write_expected(variant)


def make_uform():
    from uform.torch_encoders import ImageEncoder, TextEncoder
    for name, kind, pooling, registers, positions in (("uform_bert", "bert", "cls", 0, 20), ("uform_roberta", "roberta", "mean", 2, 64)):
        variant = Variant(name)
        roberta = kind == "roberta"
        config = {
            "text_encoder": {
                "model_type": kind, "dim": 32, "context_dim": 48 if roberta else 32, "vocab_size": make_bert_tokenizer(variant.path, roberta),
                "padding_idx": 1 if roberta else 0, "num_layers": 3, "num_heads": 2, "embedding_dim": 24, "multimodal_layers_ids": [2],
                "head_one_neuron": roberta, "pooling": pooling, "max_position_embeddings": positions, "dropout_prob": 0.1},
            "image_encoder": {
                "dim": 48, "patch_size": 8, "image_size": 32, "num_layers": 2 if roberta else 1, "num_heads": 3, "embedding_dim": 24,
                "pooling": pooling, "num_reg_tokens": registers, "normalization_means": [0.48145466, 0.4578275, 0.40821073],
                "normalization_deviations": [0.26862954, 0.26130258, 0.27577711]}}
        write_json(variant.path / ("torch_config.json" if roberta else "config.json"), config)
        fields = {key: value for key, value in config["image_encoder"].items() if not key.startswith("normalization")}
        text, image = fill(TextEncoder(**config["text_encoder"]), 15), fill(ImageEncoder(**fields), 16)
        weights = {"text_encoder": text.state_dict(), "image_encoder": image.state_dict()}
        weights = {part: {key: value.bfloat16() for key, value in tensors.items()} for part, tensors in weights.items()}
        if roberta:  # both in one file
            save_file({f"{part}.{key}": value for part, tensors in weights.items() for key, value in tensors.items()},
                      variant.path / "model.safetensors")
        else:
            for part, tensors in weights.items():
                save_file(tensors, variant.path / f"{part}.safetensors")
        text.load_state_dict(weights["text_encoder"])
        image.load_state_dict(weights["image_encoder"])
        variant.limit = positions - 2 if roberta else positions
        expect_uform(variant, text, image, config)


def main():
    transformers.logging.set_verbosity_error()
    shutil.rmtree(GOLDEN, ignore_errors=True)
    for maker in (make_clip, make_clip_heads, make_clip_towers, make_clip_pooling, make_siglip, make_siglip2, make_vit, make_dinov2, make_dinov3, make_uform):
        maker()


if __name__ == "__main__":
    main()
