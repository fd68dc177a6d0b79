#!/usr/bin/env python3
"""Makes tests/preprocess/expected: what Pillow, torchvision, transformers' image processors and UForm 3's make of pictures.

Run it in an environment with exactly these packages, on an x86-64 CPU with AVX2, from anywhere:

    Pillow==13.0.0 torch==2.13.0 torchvision==0.28.0 transformers==5.24.0 uform==3.1.3 numpy

The pictures are computed, here and in tests/preprocess/pictures.c, by the same formula, so none is stored. Exact results are stored
as CRC-32 of their bytes, tensors as little-endian f32, [3, height, width]; of those that are exact to a tolerance only, the numbers
themselves are stored in tensors.f32.
"""
import json
import pathlib
import random
import tempfile
import warnings
import zlib

import numpy as np
import torch
import transformers
from PIL import Image
from torchvision.transforms import InterpolationMode
from torchvision.transforms.v2 import functional
from transformers import AutoImageProcessor
from uform.torch_processors import ImageProcessor

EXPECTED = pathlib.Path(__file__).resolve().parent.parent / "tests" / "preprocess" / "expected"
FILTERS = {"nearest": 0, "lanczos": 1, "bilinear": 2, "bicubic": 3, "box": 4, "hamming": 5}
TENSOR_FILTERS = {0: InterpolationMode.NEAREST_EXACT, 1: InterpolationMode.LANCZOS, 2: InterpolationMode.BILINEAR,
                  3: InterpolationMode.BICUBIC}
KINDS = ["noise", "extremes", "checkers", "ramp"]


def picture(kind, width, height, seed):
    """[height, width, 3]: noise, noise of 0 and 255, a checkerboard of single pixels, or each channel a slope of its own."""
    y, x, c = np.meshgrid(np.arange(height, dtype=np.uint64), np.arange(width, dtype=np.uint64),
                          np.arange(3, dtype=np.uint64), indexing="ij")
    mask = np.uint64(0xFFFFFFFF)
    h = (x * np.uint64(0x9E3779B1) ^ y * np.uint64(0x85EBCA77) ^ c * np.uint64(0xC2B2AE3D) ^ np.uint64(seed)) & mask
    h = ((h ^ h >> np.uint64(15)) * np.uint64(0x2C1B3C6D)) & mask
    h = ((h ^ h >> np.uint64(12)) * np.uint64(0x297A2D39)) & mask
    h ^= h >> np.uint64(15)
    if kind == "noise":
        return (h >> np.uint64(24)).astype(np.uint8)
    if kind == "extremes":
        return ((h >> np.uint64(31)) * np.uint64(255)).astype(np.uint8)
    if kind == "checkers":
        return ((x + y) % np.uint64(2) * np.uint64(255)).astype(np.uint8)
    return (x * (c + np.uint64(1)) + y * (np.uint64(3) - c)).astype(np.uint8)


def resize(arithmetic, number, pixels, width, height):
    if arithmetic == "pillow":
        return np.asarray(Image.fromarray(pixels).resize((width, height), number))
    tensor = torch.from_numpy(pixels).permute(2, 0, 1).contiguous()
    if arithmetic == "tensor":
        tensor = tensor * (1 / 255)
    resized = functional.resize(tensor, [height, width], interpolation=TENSOR_FILTERS[number], antialias=True)
    return resized.permute(1, 2, 0).contiguous().numpy()


def resizes():
    """One line a case: arithmetic, filter, picture, size, CRC-32."""
    generator = random.Random(5)
    shapes = [(640, 480, 298, 224), (480, 640, 224, 298), (640, 480, 224, 224), (640, 480, 512, 512), (1000, 1000, 224, 224),
              (2, 2, 224, 224), (1, 1, 7, 5), (1, 300, 5, 3), (300, 1, 3, 5), (3, 7, 3, 7), (65535, 1, 20, 2), (2, 5000, 3, 4),
              (37, 41, 37, 20), (37, 41, 20, 41), (100, 100, 97, 60), (100, 100, 60, 97), (7, 4, 6, 5), (999, 3, 998, 40)]
    for limit in (6, 6, 40, 40, 40, 200, 200):
        shapes.append(tuple(generator.randint(1, limit) for _ in range(4)))
    # Around the bound at which Pillow turns the order of its passes.
    for difference in (-2, -1, 0, 1, 2):
        shapes.append((90, 80, 90 - 15 + difference, 50))
    # What lies between the passes is larger than a band of it: very tall, very wide, and merely large.
    shapes += [(1, 20000, 224, 224), (20000, 1, 224, 224), (2, 9000, 900, 7), (700, 900, 640, 800), (3000, 700, 2900, 60)]
    lines = []
    for arithmetic, numbers in (("pillow", range(6)), ("torch", range(4))):
        for number in numbers:
            for index, (width, height, new_width, new_height) in enumerate(shapes):
                if arithmetic == "torch" and (new_width, new_height) == (1, 1):
                    continue  # an internal assertion of torch's fails
                kind, seed = KINDS[(index + number) % len(KINDS)], 1000 * number + index
                pixels = resize(arithmetic, number, picture(kind, width, height, seed), new_width, new_height)
                lines.append(f"{arithmetic} {number} {kind} {seed} {width} {height} {new_width} {new_height} "
                             f"{zlib.crc32(pixels.tobytes()):08x}")
    return lines


def tensors(numbers):
    """Resized f32: as above, with the place of the numbers, [height, width, 3], instead of a checksum."""
    lines = []
    for number in (1, 2, 3):
        for width, height, new_width, new_height in ((40, 30, 14, 12), (9, 8, 17, 16), (200, 150, 12, 12), (20, 20, 20, 9), (20, 20, 9, 20),
                                                     (3, 6000, 12, 48), (6000, 3, 48, 12)):
            pixels = resize("tensor", number, picture("noise", width, height, number), new_width, new_height)
            lines.append(f"tensor {number} noise {number} {width} {height} {new_width} {new_height} {len(numbers)}")
            numbers.extend(pixels.astype("<f4").ravel())
    return lines


CLIP = {"image_mean": [0.48145466, 0.4578275, 0.40821073], "image_std": [0.26862954, 0.26130258, 0.27577711]}
HALF = {"image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5]}
IMAGENET = {"image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225]}
PUBLIC = [  # as models on the hub have them
    {"crop_size": 224, "do_center_crop": True, "do_normalize": True, "do_resize": True,
     "feature_extractor_type": "CLIPFeatureExtractor", "resample": 3, "size": 224, **CLIP},
    {"crop_size": {"height": 224, "width": 224}, "do_center_crop": True, "do_convert_rgb": True, "do_normalize": True,
     "do_rescale": True, "do_resize": True, "image_processor_type": "CLIPImageProcessor", "resample": 3,
     "rescale_factor": 0.00392156862745098, "size": {"shortest_edge": 224}, **CLIP},
    {"do_normalize": True, "do_rescale": True, "do_resize": True, "image_processor_type": "SiglipImageProcessor",
     "processor_class": "SiglipProcessor", "resample": 3, "rescale_factor": 0.00392156862745098,
     "size": {"height": 224, "width": 224}, **HALF},
    {"do_convert_rgb": None, "do_normalize": True, "do_rescale": True, "do_resize": True,
     "image_processor_type": "SiglipImageProcessorFast", "resample": 2, "rescale_factor": 0.00392156862745098,
     "size": {"height": 224, "width": 224}, "crop_size": None, "do_center_crop": None, "device": None, **HALF},
    {"do_normalize": True, "do_resize": True, "feature_extractor_type": "ViTFeatureExtractor", "resample": 2, "size": 224, **HALF},
    {"crop_size": {"height": 224, "width": 224}, "do_center_crop": True, "do_convert_rgb": True, "do_normalize": True,
     "do_rescale": True, "do_resize": True, "image_processor_type": "BitImageProcessor", "resample": 3,
     "rescale_factor": 0.00392156862745098, "size": {"shortest_edge": 256}, **IMAGENET},
    {"image_processor_type": "Siglip2ImageProcessor", "max_num_patches": 256, "patch_size": 16, "resample": 2, **HALF},
    {"image_processor_type": "Siglip2ImageProcessorFast", "max_num_patches": 256, "patch_size": 16, "resample": 2, **HALF},
    {"image_processor_type": "BlipImageProcessor", "size": {"height": 384, "width": 384}, "resample": 3, **CLIP},
    {"crop_size": 224, "do_center_crop": True, "do_normalize": True, "do_resize": True,
     "feature_extractor_type": "DeiTFeatureExtractor", "resample": 3, "size": 256, **IMAGENET},
    {"crop_pct": 0.875, "do_normalize": True, "do_resize": True, "feature_extractor_type": "ConvNextFeatureExtractor",
     "resample": 3, "size": 224, **IMAGENET},
    {"image_processor_type": "CLIPImageProcessorFast"},
    {"image_processor_type": "CLIPImageProcessor", "use_square_size": True},
]
DINOV3 = {"image_processor_type": "DINOv3ViTImageProcessorFast", "resample": 2, **IMAGENET}
CLASSES = ["CLIP", "ChineseCLIP", "Siglip", "Siglip2", "ViT", "DeiT", "Bit", "Blip", "ConvNext"]


def odd(generator, index):
    """A configuration at random, of keys at random."""
    name = CLASSES[index % len(CLASSES)]
    fast = generator.random() < 0.5
    config = {"image_processor_type": name + "ImageProcessor" + ("Fast" if fast else "")}
    edge = lambda limit: generator.randint(1, limit)
    shortest = [{"shortest_edge": edge(90)}, {"shortest_edge": 400}]
    sizes = shortest if name == "ConvNext" else shortest + [
        {"height": edge(80), "width": edge(80)}, edge(80), [edge(80), edge(80)],
        {"shortest_edge": 10 + edge(50), "longest_edge": 20 + edge(70)}, {"max_height": 10 + edge(70), "max_width": 10 + edge(70)}]
    choices = [
        ("size", 0.7, sizes), ("resample", 0.4, list(range(4 if fast else 6))),
        ("crop_size", 0.6, [edge(90), {"height": edge(90), "width": edge(90)}]), ("do_resize", 0.2, [True, False]),
        ("do_rescale", 0.2, [True, False]), ("do_normalize", 0.2, [True, False]), ("rescale_factor", 0.2, [1 / 127.5, 0.5]),
        ("image_mean", 0.2, [[0.1, 0.2, 0.3], 0.5]), ("image_std", 0.2, [[0.1, 0.2, 0.3], 0.25]),
        ("default_to_square", 0.2, [True, False]), ("crop_pct", 0.2, [0.9, 1.0]), ("do_pad", 0.2, [True])]
    for key, share, values in choices:
        if generator.random() < share:
            config[key] = generator.choice(values)
    if name != "ConvNext" and "crop_size" in config and generator.random() < 0.6:
        config["do_center_crop"] = True
    if "do_pad" in config:
        config["pad_size"] = {"height": 420, "width": 424}
    if name == "Siglip2":
        config.update(patch_size=generator.choice([8, 14, 16]), max_num_patches=generator.choice([1, 16, 64]), do_resize=True)
    return config


def unpatch(features, patch):
    """The picture that NaFlex's patches were cut from."""
    rows, columns = (int(count) for count in features["spatial_shapes"][0])
    patches = np.asarray(features["pixel_values"][0])[:rows * columns].reshape(rows, columns, patch, patch, 3)
    return patches.transpose(4, 0, 2, 1, 3).reshape(3, rows * patch, columns * patch)


def process(config, pixels):
    torch_wanted = config.get("image_processor_type", "").endswith("Fast")
    written = dict(config)
    if "feature_extractor_type" in written:  # which transformers 5 does not know by this key alone
        written["image_processor_type"] = written.pop("feature_extractor_type").replace("FeatureExtractor", "ImageProcessor")
    with tempfile.TemporaryDirectory() as directory:
        (pathlib.Path(directory) / "preprocessor_config.json").write_text(json.dumps(written))
        processor = AutoImageProcessor.from_pretrained(directory, backend="torchvision" if torch_wanted else "pil")
    features = processor(Image.fromarray(pixels), return_tensors="pt" if torch_wanted else "np")
    if "spatial_shapes" in features:
        return unpatch(features, processor.patch_size)
    return np.asarray(features["pixel_values"][0]).astype(np.float32)


def processors(numbers):
    generator = random.Random(7)
    shapes = [(640, 480), (300, 200), (200, 300), (333, 500), (1000, 10), (225, 224), (227, 224), (229, 224), (224, 231),
              (3, 3), (2, 3), (100, 101)]
    cases = [(config, shapes[(3 * i + j) % len(shapes)]) for i, config in enumerate(PUBLIC) for j in range(3)]
    # Odd margins, wider and narrower than what is cut out.
    for ending in ("", "Fast"):
        for size in ((224, 225), (224, 227), (224, 229), (231, 224), (219, 220), (3, 3), (3, 300)):
            cases.append(({"image_processor_type": "CLIPImageProcessor" + ending, "do_resize": False}, size))
    for index in range(150):
        limit = generator.choice([12, 90, 240])
        cases.append((odd(generator, index), (generator.randint(2, limit), generator.randint(2, limit))))
    lines, seed = [], 0
    for config, (width, height) in cases:
        seed += 1
        pixels = picture(KINDS[seed % 4], width, height, seed)
        try:
            tensor = process(config, pixels)
        except (ValueError, TypeError, RuntimeError):
            continue  # nothing to compare with
        lines.append({"config": config, "picture": KINDS[seed % 4], "seed": seed, "width": width, "height": height,
                      "shape": list(tensor.shape), "crc32": f"{zlib.crc32(tensor.astype('<f4').tobytes()):08x}"})
    for extra, (width, height) in (({"size": {"height": 12, "width": 12}}, (40, 30)), ({"size": 16, "resample": 3}, (11, 15)),
                                   ({"size": 20, "crop_size": 13, "do_center_crop": True}, (50, 40)),
                                   ({"size": 9, "crop_size": 12, "do_center_crop": True}, (50, 40)),
                                   ({"do_resize": False}, (9, 7)), ({"size": 10, "resample": 0, "do_normalize": False}, (30, 20))):
        pixels = picture("noise", width, height, 1)
        tensor = process({**DINOV3, **extra}, pixels)
        lines.append({"config": {**DINOV3, **extra}, "picture": "noise", "seed": 1, "width": width, "height": height,
                      "shape": list(tensor.shape), "numbers": len(numbers)})
        numbers.extend(tensor.astype("<f4").ravel())
    return lines


def encoders():
    """UForm 3's own processor."""
    lines = []
    for size in (224, 33):
        config = {"image_size": size, "normalization_means": CLIP["image_mean"], "normalization_deviations": CLIP["image_std"]}
        for seed, (width, height) in enumerate(((640, 480), (227, 224), (33, 36), (36, 33), (33, 40), (300, 20), (7, 9))):
            pixels = picture(KINDS[seed % 4], width, height, seed)
            tensor = ImageProcessor({"image_encoder": config})(Image.fromarray(pixels))["images"][0].numpy()
            lines.append({"encoder": config, "picture": KINDS[seed % 4], "seed": seed, "width": width, "height": height,
                          "shape": list(tensor.shape), "crc32": f"{zlib.crc32(tensor.astype('<f4').tobytes()):08x}"})
    return lines


def main():
    warnings.filterwarnings("ignore")
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    numbers = []
    lines = resizes() + tensors(numbers)
    cases = processors(numbers) + encoders()
    EXPECTED.mkdir(parents=True, exist_ok=True)
    (EXPECTED / "resizes.txt").write_text("".join(line + "\n" for line in lines))
    (EXPECTED / "processors.json").write_text("[\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]\n")
    np.asarray(numbers, dtype="<f4").tofile(EXPECTED / "tensors.f32")
    print(len(lines), "resizes,", len(cases), "tensors")


if __name__ == "__main__":
    main()
