#!/usr/bin/env python3
"""Measures pictures, from JPEG bytes to unit vectors, beside the engines people use today; adds them to results.json and RESULTS.md.

    bench/pictures.py                   everything; wants bench/run.py's results.json, whose virtual environment it uses
    bench/pictures.py --venv DIR        uses an environment that has the packages of bench/requirements.txt already

Models are of CLIP ViT-B/32's and SigLIP base's size with random weights, pictures are JPEGs of 640x480 made by formula. Engines take
turns as in bench/run.py: limit, UForm, peer, UForm, next peer, ..., limit; figures are medians, ratios are taken within rounds. The
tower alone is UForm on raw pixels of the model's own size, which neither need decoding nor resizing.
"""
import argparse
import array
import datetime
import json
import math
import os
import statistics
import subprocess
import time

import report
import run

HERE, ROOT = run.HERE, run.ROOT
UFORMS = run.UFORMS
PEERS = ["OpenVINO bf16", "torch bf16", "OpenVINO f32", "ONNX Runtime f32", "torch f32"]
MODELS = [{"name": "clip", "title": "CLIP ViT-B/32", "side": 224}, {"name": "siglip", "title": "SigLIP base, patches of 16", "side": 224}]


class Worker(run.Worker):
    peers = "picture_peers.py"


def start_all(names, options, skipped):
    workers = {}
    for name in names:
        run.note(f"  loading {name}")
        try:
            workers[name] = Worker(name, 1, options)
        except RuntimeError as error:
            run.note(f"  left out: {error}")
            skipped[name] = str(error)
    return workers


def compare_rows(workers, options):
    """The smallest cosine of every engine's vectors to torch's in f32."""
    rows = {}
    for name, worker in workers.items():
        path = os.path.join(options.work, "rows.f32")
        dimensions = worker.ask(f"rows {path}")["dimensions"]
        rows[name] = array.array("f")
        with open(path, "rb") as file:
            rows[name].frombytes(file.read())
    if run.REFERENCE not in rows:
        return {}
    return {name: run.smallest_cosine(rows[run.REFERENCE], values, dimensions) for name, values in rows.items()}


class Rounds:
    """Takes turns and remembers: lists of one figure a run or a round."""

    def __init__(self, workers, images):
        self.workers, self.images = workers, images
        self.rates = {name: [] for name in workers}
        self.limits = {name: [] for name in workers if name in UFORMS}
        self.ratios = {name: {} for name in workers if name not in UFORMS}
        self.times = {name: math.ceil(run.RUN_SECONDS / worker.ask("run 1")["seconds"]) for name, worker in workers.items()}

    def run(self, name):
        seconds = self.workers[name].ask(f"run {self.times[name]}")["seconds"]
        self.rates[name].append(self.images * self.times[name] / seconds)
        return self.rates[name][-1]

    def limit(self, name):
        return self.workers[name].ask(f"limit {run.LIMIT_SECONDS}")["flops"]

    def round(self):
        before = {name: self.limit(name) for name in self.limits}
        for peer in self.ratios or [None]:
            rivals = [name for name in self.limits if not peer or peer.endswith("f32") or not name.endswith("f32")]
            rates = {name: self.run(name) for name in rivals}
            if peer:
                rate = self.run(peer)
                for name in rivals:
                    self.ratios[peer].setdefault(name, []).append(rates[name] / rate)
        for name in self.limits:
            self.limits[name].append((before[name] + self.limit(name)) / 2)


def measure_tower(workers, model, options):
    """Images/s of raw pixels of the model's size, and their share of the limit, a round each."""
    towers = {}
    for name, worker in workers.items():
        if name not in UFORMS:
            continue
        worker.ask(f"raw 0 {options.limit} {model['side']} {model['side']}")
        times = math.ceil(run.RUN_SECONDS / worker.ask("run 1")["seconds"])
        rates, shares = [], []
        for _ in range(options.repeats):
            before = worker.ask(f"limit {run.LIMIT_SECONDS}")["flops"]
            rates.append(options.limit * times / worker.ask(f"run {times}")["seconds"])
            limit = (before + worker.ask(f"limit {run.LIMIT_SECONDS}")["flops"]) / 2
            shares.append(rates[-1] * worker.details["flops_per_image"] / limit)
        towers[name] = {"images_per_second": statistics.median(rates), "share_of_limit": statistics.median(shares)}
    return towers


def measure(model, options, skipped):
    run.note(model["title"])
    options.model = os.path.join(options.work, model["name"])
    workers = start_all(UFORMS + options.chosen, options, skipped)
    counts = {name: worker.ask(f"images 0 {options.list}") for name, worker in workers.items()}
    if len({tuple(count.items()) for count in counts.values()}) != 1:
        raise SystemExit(f"the engines don't agree on the pictures: {counts}")
    images, size = next(iter(counts.values())).values()
    rounds = Rounds(workers, images)
    for index in range(options.repeats):
        begin = time.monotonic()
        rounds.round()
        run.note(f"  round {index + 1} of {options.repeats}: {time.monotonic() - begin:.0f} s")
    cosines, towers = compare_rows(workers, options), measure_tower(workers, model, options)
    result = dict(model, images=images, bytes=size, engines={})
    for name, worker in workers.items():
        if not rounds.rates[name]:
            continue
        engine = {"version": worker.version, "images_per_second": statistics.median(rounds.rates[name]), "samples": rounds.rates[name]}
        if name in cosines:
            engine["smallest_cosine"] = cosines[name]
        if name in towers:
            engine |= {"limit_flops": statistics.median(rounds.limits[name]), "tower": towers[name],
                       "flops_per_image": worker.details["flops_per_image"]}
        else:
            engine["uform_is_faster"] = {uform: statistics.median(values) for uform, values in rounds.ratios[name].items()}
        result["engines"][name] = engine
        worker.close()
    return result


def prepare(options):
    os.makedirs(options.work, exist_ok=True)
    options.venv = options.venv or os.path.join(ROOT, "build", "bench", "venv")
    options.python = os.path.join(options.venv, "bin", "python")
    run.note("making models and pictures in " + os.path.relpath(options.work, ROOT))
    with open(os.path.join(options.work, "prepare.log"), "w") as log:
        subprocess.run([options.python, os.path.join(HERE, "picture_peers.py"), "make", options.work], check=True, stdout=log, stderr=log)
    everything = os.path.join(options.work, "pictures", "list.txt")
    options.list = os.path.join(options.work, "chosen.txt")
    with open(everything, encoding="utf-8") as file, open(options.list, "w", encoding="utf-8") as chosen:
        chosen.writelines(file.readlines()[: options.limit])


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--venv", help="virtual environment with the peers")
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"), help="folder with uform_throughput")
    parser.add_argument("--work", default=os.path.join(ROOT, "build", "bench", "pictures"), help="folder for models and pictures")
    parser.add_argument("--output", default=HERE, help="folder of results.json and RESULTS.md")
    parser.add_argument("--repeats", type=int, default=5, help="rounds a model")
    parser.add_argument("--limit", type=int, default=32, help="pictures, at most 64")
    parser.add_argument("--peers", default=",".join(PEERS), help="comma-separated; the reference is " + run.REFERENCE)
    parser.add_argument("--models", default=",".join(model["name"] for model in MODELS))
    options = parser.parse_args()
    for name in ("build", "work", "output"):
        setattr(options, name, os.path.abspath(getattr(options, name)))
    options.chosen = [name for name in options.peers.split(",") if name]
    return options


def main():
    options = arguments()
    prepare(options)
    skipped = {}
    measured = {"date": datetime.date.today().isoformat(), "machine": run.machine(), "repeats": options.repeats, "models": [
        measure(model, options, skipped) for model in MODELS if model["name"] in options.models.split(",")], "skipped": skipped}
    path = os.path.join(options.output, "results.json")
    results = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            results = json.load(file)
    results["pictures"] = measured
    with open(path, "w", encoding="utf-8") as file:
        json.dump(results, file, indent=1)
        file.write("\n")
    if "scenarios" in results:
        report.write(results, options.output, os.path.join(ROOT, "docs", "figures", "throughput.svg"))
    else:
        print("\n\n".join(report.pictures(measured)))


if __name__ == "__main__":
    main()
