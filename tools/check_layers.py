#!/usr/bin/env python3
"""Checks that includes point downward only.

    base < cpu, gpu < kernels < executor < tokenizers, images, models < training, mesh < cli

A file may include its own layer, any lower one, and public headers. Layers on one level don't see each other, except that
models use tokenizers and images. What stands outside the library (cli, examples, bench) uses public headers only.

    check_layers.py [ROOT]
"""
import os
import re
import sys

# A layer and what it may include besides itself, the layers below being listed in full: the table is the rule.
LAYERS = {
    "base": [],
    "cpu": ["base"],
    "gpu": ["base"],
    "kernels": ["base", "cpu"],
    "executor": ["base", "cpu", "gpu", "kernels"],
    "tokenizers": ["base", "cpu", "gpu", "kernels", "executor"],
    "images": ["base", "cpu", "gpu", "kernels", "executor"],
    "models": ["base", "cpu", "gpu", "kernels", "executor", "tokenizers", "images"],
    "training": ["base", "cpu", "gpu", "kernels", "executor", "tokenizers", "images", "models"],
    "mesh": ["base", "cpu", "gpu", "kernels", "executor", "tokenizers", "images", "models"],
}
OUTSIDE = ["cli", "examples", "bench"]
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def sources(root, folder):
    for path, _, names in os.walk(os.path.join(root, folder)):
        for name in names:
            if name.endswith((".c", ".h", ".inc")):
                yield os.path.join(path, name)


def includes(path):
    """Quoted includes of a file, as (line, text)."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for match in INCLUDE.finditer(text):
        yield text.count("\n", 0, match.start(1)) + 1, match.group(1)


def layer_of(root, path, included):
    """The layer an include leads to: None for a public header, "" for a file of the same folder."""
    if included.startswith("uform/"):
        return None
    beside = os.path.normpath(os.path.join(os.path.dirname(path), included))
    if os.path.exists(beside):
        parts = os.path.relpath(beside, root).split(os.sep)
        return parts[1] if parts[0] == "src" else ""
    return included.split("/")[0]


def main():
    root = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), ".."))
    faults, count = [], 0

    def fault(path, line, included, why):
        faults.append(f'{os.path.relpath(path, root)}:{line}: "{included}": {why}')

    for path in sources(root, "src"):
        layer = os.path.relpath(path, root).split(os.sep)[1]
        count += 1
        if layer not in LAYERS:
            fault(path, 1, layer, "no such layer")
            continue
        for line, included in includes(path):
            target = layer_of(root, path, included)
            if target is not None and target != layer and target not in LAYERS[layer]:
                fault(path, line, included, f"{layer} may include {', '.join(LAYERS[layer]) or 'nothing'} and public headers")
    for path in sources(root, "include"):
        count += 1
        for line, included in includes(path):
            if not included.startswith("uform/"):
                fault(path, line, included, "public headers include public headers only")
    for folder in OUTSIDE:
        for path in sources(root, folder):
            count += 1
            for line, included in includes(path):
                if layer_of(root, path, included) not in (None, ""):
                    fault(path, line, included, f"{folder} uses public headers only")
    print("\n".join(faults) if faults else f"{count} files include downward only")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
