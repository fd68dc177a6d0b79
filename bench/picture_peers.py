#!/usr/bin/env python3
"""The other engines' side of the benchmark of pictures: one process an engine, which obeys the same commands as uform_throughput.

    picture_peers.py ENGINE MODEL THREADS CACHE     answers lines on standard input, see bench/throughput.c
    picture_peers.py make FOLDER                    makes the models, their ONNX files and the JPEGs, once

Every engine gets JPEG bytes and gives unit vectors: Pillow decodes, the transformers image processor of the directory prepares (the one
of torchvision, which is several times faster than the one over Pillow), the engine runs the tower. Batches are of 32.
"""
import io
import json
import math
import os
import sys
import time

PICTURE_COUNT, WIDTH, HEIGHT, QUALITY = 64, 640, 480, 90
ROUGHNESS = 0.728  # of the noise, which makes files of about 77 kB


class Engine:
    """What engines share. `forward(pixels)` takes f32 [pictures, 3, height, width] and gives features."""

    def __init__(self, model, threads, cache):
        import torch
        from transformers import AutoImageProcessor

        torch.set_num_threads(threads)
        self.model, self.threads = model, threads
        self.processor = AutoImageProcessor.from_pretrained(model)

    def encode(self, files, batch):
        import numpy as np
        from PIL import Image

        rows = []
        for start in range(0, len(files), batch):
            pictures = [Image.open(io.BytesIO(file)).convert("RGB") for file in files[start : start + batch]]
            features = self.forward(self.processor(pictures, return_tensors="pt")["pixel_values"])
            rows.append(features / np.linalg.norm(features, axis=1, keepdims=True))
        return np.concatenate(rows)


class Torch(Engine):
    precision = "float32"

    def __init__(self, *arguments):
        super().__init__(*arguments)
        import torch
        from transformers import AutoModel

        self.torch = torch
        self.network = AutoModel.from_pretrained(self.model, dtype=getattr(torch, self.precision)).eval()

    def forward(self, pixels):
        with self.torch.inference_mode():
            return self.network.get_image_features(pixels.to(self.network.dtype)).pooler_output.float().numpy()


class TorchHalf(Torch):
    precision = "bfloat16"


class OnnxRuntime(Engine):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self.threads
        self.session = onnxruntime.InferenceSession(os.path.join(self.model, "tower.onnx"), options, providers=["CPUExecutionProvider"])

    def forward(self, pixels):
        return self.session.run(["features"], {"pixels": pixels.numpy()})[0]


class OpenVino(Engine):
    precision = "f32"

    def __init__(self, *arguments):
        super().__init__(*arguments)
        import openvino

        settings = {"INFERENCE_NUM_THREADS": self.threads, "INFERENCE_PRECISION_HINT": self.precision, "PERFORMANCE_HINT": "LATENCY"}
        self.request = openvino.Core().compile_model(os.path.join(self.model, "tower.onnx"), "CPU", settings).create_infer_request()

    def forward(self, pixels):
        return self.request.infer({"pixels": pixels.numpy()})[0]


class OpenVinoHalf(OpenVino):
    precision = "bf16"


# The name the results use, what serves it, the package whose version is reported.
ENGINES = {
    "torch f32": (Torch, "torch"),
    "torch bf16": (TorchHalf, "torch"),
    "ONNX Runtime f32": (OnnxRuntime, "onnxruntime"),
    "OpenVINO f32": (OpenVino, "openvino"),
    "OpenVINO bf16": (OpenVinoHalf, "openvino"),
}


def serve(name, model, threads, cache):
    import importlib.metadata

    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print must not mix with the answers

    def answer(**values):
        print(json.dumps(values), file=answers, flush=True)

    kind, package = ENGINES[name]
    start = time.perf_counter()
    engine = kind(model, threads, cache)
    answer(ready=f"{package} {importlib.metadata.version(package)}", load_seconds=time.perf_counter() - start)
    files, batch, rows = [], 0, None
    for line in sys.stdin:
        command, _, rest = line.rstrip("\n").partition(" ")
        if command == "images":
            size, _, path = rest.partition(" ")
            with open(path, encoding="utf-8") as listed:
                files = [open(name, "rb").read() for name in listed.read().split("\n")[:-1]]
            batch = int(size) or 32
            rows = engine.encode(files, batch)  # the warm-up
            answer(images=len(files), bytes=sum(map(len, files)))
        elif command == "run":
            begin = time.perf_counter()
            for _ in range(int(rest)):
                rows = engine.encode(files, batch)
            answer(seconds=time.perf_counter() - begin)
        elif command == "rows":
            import numpy as np

            rows.astype(np.float32).tofile(rest)
            answer(dimensions=rows.shape[1])
        else:
            raise SystemExit(f"unknown command {command}")


def make_picture(seed):
    """Noise of every size over one another, each half as long and weaker by the roughness: files as large as a photograph's."""
    import numpy as np
    from PIL import Image

    random = np.random.Generator(np.random.PCG64(seed))
    total, amplitude, cells = np.zeros((HEIGHT, WIDTH, 3), np.float32), 1.0, 2
    while cells < WIDTH:
        grid = random.standard_normal((cells * HEIGHT // WIDTH + 1, cells + 1, 3)).astype(np.float32)
        mix = random.standard_normal((3, 3)).astype(np.float32) * 0.4 + np.eye(3, dtype=np.float32) * 0.3 + 0.5
        layer = [np.asarray(Image.fromarray(grid[..., channel]).resize((WIDTH, HEIGHT), Image.BICUBIC)) for channel in range(3)]
        total += amplitude * (np.stack(layer, axis=-1) @ mix)
        amplitude, cells = amplitude * ROUGHNESS, cells * 2
    total = 128 + 58 * (total - total.mean()) / total.std()
    return Image.fromarray(np.clip(total, 0, 255).astype(np.uint8))


def make_pictures(folder):
    paths = [os.path.join(folder, f"{seed:03}.jpg") for seed in range(PICTURE_COUNT)]
    os.makedirs(folder, exist_ok=True)
    for seed, path in enumerate(paths):
        if not os.path.exists(path):
            make_picture(seed).save(path, quality=QUALITY)
    with open(os.path.join(folder, "list.txt"), "w", encoding="utf-8") as file:
        file.writelines(path + "\n" for path in paths)


def liven(model):
    """Weights under which attention looks around and vectors of different pictures differ, as trained ones do."""
    import torch

    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name, parameter in sorted(model.named_parameters()):
            if parameter.dim() > 1 and "embedding" not in name and "probe" not in name:
                behind = any(part in name for part in ("out_proj", "fc2"))
                gain = 0.45 if behind else 1.6 if "q_proj" in name or "k_proj" in name else 1.0
                parameter.copy_(gain * torch.randn(parameter.shape, generator=generator) / math.sqrt(parameter.shape[1:].numel()))
    return model.eval()


def make_model(folder, kind):
    import torch
    import transformers
    from tokenizers import pre_tokenizers

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokens = alphabet + [letter + "</w>" for letter in alphabet] + ["<|startoftext|>", "<|endoftext|>"]
    tokenizer = transformers.CLIPTokenizer(vocab={token: i for i, token in enumerate(tokens)}, merges=[], model_max_length=64,
                                           model_input_names=["input_ids"])
    half = {"image_mean": [0.5] * 3, "image_std": [0.5] * 3}
    if kind == "clip":
        config = transformers.CLIPConfig(text_config={"eos_token_id": len(tokens) - 1})
        network, processor = transformers.CLIPModel(config), transformers.CLIPImageProcessor()
    else:
        network = transformers.SiglipModel(transformers.SiglipConfig())
        processor = transformers.SiglipImageProcessor(**half)
    network = liven(network)
    tokenizer.save_pretrained(folder)
    network.save_pretrained(folder)
    processor.save_pretrained(folder)
    path = os.path.join(folder, "preprocessor_config.json")
    with open(path, encoding="utf-8") as file:
        options = json.load(file)
    options["image_processor_type"] += "Fast"  # the arithmetic of the one the peers use
    with open(path, "w", encoding="utf-8") as file:
        json.dump(options, file, indent=1)

    class Tower(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.network = network

        def forward(self, pixels):
            return self.network.get_image_features(pixels).pooler_output

    torch.onnx.export(Tower(), (torch.zeros(2, 3, 224, 224),), os.path.join(folder, "tower.onnx"), input_names=["pixels"],
                      output_names=["features"], opset_version=17, dynamo=False,
                      dynamic_axes={"pixels": {0: "pictures"}, "features": {0: "pictures"}})


def make(folder):
    make_pictures(os.path.join(folder, "pictures"))
    for kind in ("clip", "siglip"):
        final = os.path.join(folder, kind)
        if not os.path.exists(final):
            os.makedirs(final + ".part", exist_ok=True)
            make_model(final + ".part", kind)
            os.rename(final + ".part", final)


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(sys.argv[2])
    else:
        serve(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])
