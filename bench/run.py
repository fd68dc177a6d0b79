#!/usr/bin/env python3
"""Measures UForm beside the engines people use today, on the same texts, model, cores and minutes; writes results.json, RESULTS.md
and the README's picture.

    bench/run.py                        everything; makes a virtual environment in build/bench on first use (several gigabytes)
    bench/run.py --venv DIR             uses an environment that has the packages of bench/requirements.txt already
    bench/run.py --natural FILE ...     measures texts of your own, one a line, in place of those made of examples/passages.txt
    bench/run.py --beside ...           adds its tables behind those of results.json, for other texts or another machine

Shared machines change their speed from minute to minute, so only what ran side by side is compared. Every engine is a process that
stays loaded; they take turns in rounds: limit, UForm, peer, UForm, next peer, ..., limit. Figures are medians over all runs; a ratio
is the median over the rounds of a peer's run against the UForm run right before it; a share of the limit is taken of the mean of the
limits around a round. The limit is what one core can multiply at most in that precision, measured by the library.

Wants build/release (cmake --preset release && cmake --build --preset release) and the model (scripts/quickstart.sh brings both).
"""
import argparse
import array
import datetime
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import time

import report

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
UFORMS = ["UForm bf16", "UForm f32", "UForm i8"]
PEERS = ["torch bf16", "OpenVINO bf16", "ONNX Runtime int8", "CTranslate2 int8", "torch f32", "OpenVINO f32", "ONNX Runtime f32",
         "CTranslate2 f32", "sentence-transformers f32"]
REFERENCE = "torch f32"
ONE_THREAD = "UForm bf16, one thread"
SCENARIOS = [
    {"name": "natural", "corpus": "natural", "title": "Natural texts", "take": 200, "batch": 32, "threads": 1},
    {"name": "fixed128", "corpus": "fixed128", "title": "128-token texts", "take": 64, "batch": 32, "threads": 1},
    {"name": "fixed16", "corpus": "fixed16", "title": "16 tokens, one at a time", "take": 96, "batch": 1, "threads": 1},
    {"name": "natural2", "corpus": "natural", "title": "Natural texts, two threads", "take": 200, "batch": 32, "threads": 2},
    {"name": "fixed16two", "corpus": "fixed16", "title": "16 tokens, one at a time, two threads", "take": 96, "batch": 1, "threads": 2},
]
RUN_SECONDS = 0.5
LIMIT_SECONDS = 0.5
LOADS = 5


def note(text):
    print(text, file=sys.stderr, flush=True)


class Worker:
    """An engine in a process of its own, kept on the first cores, that answers every command with one line of JSON."""

    peers = "peers.py"  # who serves the engines that aren't UForm

    def __init__(self, name, threads, options):
        self.name = name
        if name.startswith("UForm"):
            arguments = [os.path.join(options.build, "uform_throughput"), options.model, name.split()[1].rstrip(","), str(threads)]
        else:
            arguments = [options.python, os.path.join(HERE, self.peers), name, options.model, str(threads), options.work]
        cores = sorted(os.sched_getaffinity(0))[:threads]
        if len(cores) < threads:
            raise RuntimeError(f"{threads} threads want as many cores")
        environment = dict(os.environ, OMP_NUM_THREADS=str(threads), RAYON_NUM_THREADS=str(threads), HF_HUB_OFFLINE="1",
                           TOKENIZERS_PARALLELISM="true" if threads > 1 else "false")
        self.log = os.path.join(options.work, name.replace(" ", "-") + ".log")
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
                                            env=environment, preexec_fn=lambda: os.sched_setaffinity(0, cores))
        self.details = self.answer()
        self.version, self.load_seconds = self.details["ready"], self.details["load_seconds"]

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            self.process.wait()
            with open(self.log) as log:
                raise RuntimeError(f"{self.name} stopped: {log.read().strip().splitlines()[-1:]}")
        return json.loads(line)

    def ask(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return self.answer()

    def peak_bytes(self):
        with open(f"/proc/{self.process.pid}/status") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def start_all(names, threads, options, skipped):
    """Starts the engines one after the other; those that can't are noted and left out. UForm must start in one precision at least."""
    workers = {}
    for name in names:
        note(f"  loading {name}")
        try:
            workers[name] = Worker(name, 1 if name == ONE_THREAD else threads, options)
        except RuntimeError as error:
            note(f"  left out: {error}")
            skipped[name] = str(error)
    return workers


def subset(options, scenario):
    """Writes the scenario's texts, taken evenly from its corpus so that lengths keep their distribution; gives their path."""
    with open(options.corpora[scenario["corpus"]], encoding="utf-8", newline="\n") as file:
        texts = file.read().split("\n")[:-1]
    take = min(options.limit or scenario["take"], len(texts))
    path = os.path.join(options.work, f"texts-{scenario['name']}.txt")
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.writelines(texts[i * len(texts) // take] + "\n" for i in range(take))
    return path


def smallest_cosine(reference, rows, dimensions):
    def row(values, i):
        return values[i * dimensions : (i + 1) * dimensions]

    def cosine(a, b):
        dot, aa, bb = (sum(x * y for x, y in zip(p, q)) for p, q in ((a, b), (a, a), (b, b)))
        return dot / (aa * bb) ** 0.5

    return min(cosine(row(reference, i), row(rows, i)) for i in range(len(reference) // dimensions))


def compare_rows(workers, scenario, options):
    """The smallest cosine of every engine's vectors to those of the reference."""
    rows, dimensions = {}, 0
    for name, worker in workers.items():
        path = os.path.join(options.work, "rows.f32")
        dimensions = worker.ask(f"rows {path}")["dimensions"]
        rows[name] = array.array("f")
        with open(path, "rb") as file:
            rows[name].frombytes(file.read())
    if REFERENCE not in rows:
        return {}
    return {name: smallest_cosine(rows[REFERENCE], values, dimensions) for name, values in rows.items()}


def measure(scenario, workers, options):
    """Rounds of one scenario; every list holds one figure a run or a round."""
    path, counts = subset(options, scenario), {}
    for name, worker in workers.items():  # UForm pads nothing, so all texts go in one call unless one at a time is asked for
        batch = scenario["batch"] if scenario["batch"] == 1 or name not in UFORMS else 0
        counts[name] = worker.ask(f"texts {batch} {path}")
    if len({tuple(count.items()) for count in counts.values()}) != 1:
        raise SystemExit(f"the engines don't agree on texts and tokens: {counts}")
    texts, tokens = counts[REFERENCE if REFERENCE in counts else UFORMS[0]].values()
    uforms = [name for name in UFORMS if name in workers]
    peers = [name for name in workers if name not in uforms]
    rates = {name: [] for name in workers}
    limits = {name: [] for name in uforms}
    shares = {name: [] for name in uforms}
    ratios = {name: {} for name in peers}

    # A fast engine encodes the texts several times in a run: short bursts would escape what others do to the machine.
    times = {name: math.ceil(RUN_SECONDS / worker.ask("run 1")["seconds"]) for name, worker in workers.items()}

    def run(name):
        rates[name].append(tokens * times[name] / workers[name].ask(f"run {times[name]}")["seconds"])
        return rates[name][-1]

    def limit(uform):
        return workers[uform].ask(f"limit {LIMIT_SECONDS}")["flops"]

    for index in range(options.repeats):
        begin = time.monotonic()
        ends = {uform: [limit(uform)] for uform in uforms}
        round_rates = {uform: [] for uform in uforms}
        for name in peers or [None]:
            rivals = [uform for uform in uforms if name is None or name.endswith("f32") or not uform.endswith("f32")]
            before = {uform: run(uform) for uform in rivals}
            rate = run(name) if name else None
            for uform in rivals:
                round_rates[uform].append(before[uform])
                if name:
                    ratios[name].setdefault(uform, []).append(before[uform] / rate)
        for uform in uforms:
            ends[uform].append(limit(uform))
            limits[uform].append(sum(ends[uform]) / 2)
            if round_rates[uform]:
                flops = statistics.mean(round_rates[uform]) * workers[uform].details["flops_per_token"]
                shares[uform].append(flops / limits[uform][-1] / scenario["threads"])
        note(f"  round {index + 1} of {options.repeats}: {time.monotonic() - begin:.0f} s")

    cosines = compare_rows(workers, scenario, options)
    given = getattr(options, scenario["corpus"])
    source = os.path.basename(given) if given else "those made of examples/passages.txt"
    result = dict(scenario, source=source, texts=texts, tokens=tokens, engines={})
    for name in workers:
        if not rates[name]:
            continue
        median = statistics.median(rates[name])
        engine = {"tokens_per_second": median, "texts_per_second": median * texts / tokens, "samples": rates[name]}
        if name in cosines:
            engine["smallest_cosine"] = cosines[name]
        if name in uforms:
            engine["limit_flops"], engine["share_of_limit"] = statistics.median(limits[name]), statistics.median(shares[name])
        else:
            engine["uform_is_faster"] = {uform: statistics.median(values) for uform, values in ratios[name].items()}
        result["engines"][name] = engine
    return result


def measure_loads(options, results):
    """UForm's time from the beginning of loading to the first vector, over fresh processes."""
    for name in [name for name in UFORMS if name in results["engines"]]:
        seconds = []
        for _ in range(LOADS):
            worker = Worker(name, 1, options)
            seconds.append(worker.load_seconds)
            worker.close()
        results["engines"][name]["load_seconds"] = statistics.median(seconds)


def machine():
    with open("/proc/cpuinfo") as file:
        processor = next((line.split(":")[1].strip() for line in file if line.startswith("model name")), platform.machine())
    return {"processor": processor, "cores": len(os.sched_getaffinity(0)), "kernel": platform.release()}


def prepare(options):
    """The virtual environment, the peers' model files and the corpora, all kept in build/bench."""
    os.makedirs(options.work, exist_ok=True)
    if not options.venv:
        options.venv = os.path.join(options.work, "venv")
        if not os.path.exists(os.path.join(options.venv, "ready")):
            note("making a virtual environment with the peers; this downloads several gigabytes once")
            subprocess.run([sys.executable, "-m", "venv", options.venv], check=True)
            pip = [os.path.join(options.venv, "bin", "python"), "-m", "pip", "install"]
            subprocess.run(pip + ["-r", os.path.join(HERE, "requirements.txt")], check=True)
            open(os.path.join(options.venv, "ready"), "w").close()
    options.python = os.path.join(options.venv, "bin", "python")
    peers = [options.python, os.path.join(HERE, "peers.py")]
    with open(os.path.join(options.work, "prepare.log"), "w") as log:
        note("preparing model files and texts in " + os.path.relpath(options.work, ROOT))
        subprocess.run(peers + ["convert", options.model, options.work], check=True, stdout=log, stderr=log)
        passages = os.path.join(ROOT, "examples", "passages.txt")
        subprocess.run(peers + ["corpora", options.model, passages, options.work], check=True, stdout=log, stderr=log)
    options.corpora = {
        name: os.path.abspath(getattr(options, name) or os.path.join(options.work, name + ".txt"))
        for name in ("natural", "fixed128", "fixed16")
    }


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--venv", help="virtual environment with the peers")
    parser.add_argument("--model", default=os.path.join(ROOT, "model", "all-minilm-l6-v2"), help="model directory")
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"), help="folder with uform_throughput")
    parser.add_argument("--work", default=os.path.join(ROOT, "build", "bench"), help="folder for what the peers need")
    parser.add_argument("--output", default=HERE, help="folder for results.json and RESULTS.md")
    parser.add_argument("--picture", default=os.path.join(ROOT, "docs", "figures", "throughput.svg"))
    parser.add_argument("--natural", help="texts of natural lengths, one a line")
    parser.add_argument("--fixed128", help="texts of 128 tokens")
    parser.add_argument("--fixed16", help="texts of 16 tokens")
    parser.add_argument("--beside", action="store_true", help="keep what results.json holds, and add this run's tables to it")
    parser.add_argument("--repeats", type=int, default=5, help="rounds a scenario")
    parser.add_argument("--limit", type=int, help="texts a scenario, taken evenly from its file")
    parser.add_argument("--peers", default=",".join(PEERS), help="comma-separated; the first reference is " + REFERENCE)
    parser.add_argument("--scenarios", default=",".join(scenario["name"] for scenario in SCENARIOS))
    options = parser.parse_args()
    for name in ("model", "build", "work", "output", "picture"):
        setattr(options, name, os.path.abspath(getattr(options, name)))
    return options


def command_line(options):
    """The command as a reader would repeat it: paths of this machine are cut to their last part."""
    words = ["bench/run.py"]
    for name in ("natural", "fixed128", "fixed16"):
        if getattr(options, name):
            words += ["--" + name, os.path.basename(getattr(options, name))]
    if options.scenarios != ",".join(scenario["name"] for scenario in SCENARIOS):
        words += ["--scenarios", options.scenarios]
    if options.repeats != 5:
        words += ["--repeats", str(options.repeats)]
    if options.limit:
        words += ["--limit", str(options.limit)]
    if options.peers != ",".join(PEERS):
        words += ["--peers", f'"{options.peers}"']
    return " ".join(words)


def main():
    options, begin = arguments(), time.monotonic()
    prepare(options)
    results = {"date": datetime.date.today().isoformat(), "command": command_line(options), "machine": machine(), "repeats": options.repeats,
               "skipped": {}, "engines": {}, "scenarios": []}
    peers = [name for name in options.peers.split(",") if name]
    chosen = [scenario for scenario in SCENARIOS if scenario["name"] in options.scenarios.split(",")]
    for threads in sorted({scenario["threads"] for scenario in chosen}):
        note(f"engines on {threads} thread{'s' if threads > 1 else ''}")
        names = UFORMS + ([ONE_THREAD] if threads > 1 else []) + peers
        workers = start_all(names, threads, options, results["skipped"])
        if not any(name in workers for name in UFORMS):
            raise SystemExit("UForm did not start: " + "; ".join(results["skipped"].values()))
        for scenario in chosen:
            if scenario["threads"] != threads:
                continue
            note(f"{scenario['title']} ({time.monotonic() - begin:.0f} s so far)")
            results["scenarios"].append(measure(scenario, workers, options))
            if threads == 1 and "peak_bytes" not in results["engines"].get(UFORMS[0], {}):
                for name, worker in workers.items():
                    results["engines"][name] = {"version": worker.version, "load_seconds": worker.load_seconds,
                                                "peak_bytes": worker.peak_bytes(), "class": worker.details.get("class")}
        for worker in workers.values():
            worker.close()
    measure_loads(options, results)
    path = os.path.join(options.output, "results.json")
    if options.beside:
        with open(path, encoding="utf-8") as file:
            first = json.load(file)
        run = {name: results[name] for name in ("date", "command", "machine", "repeats", "scenarios")}
        first.setdefault("more", []).append(run)
        results = first
    with open(path, "w", encoding="utf-8") as file:
        json.dump(results, file, indent=1)
        file.write("\n")
    report.write(results, options.output, options.picture)
    note(f"done in {time.monotonic() - begin:.0f} s: {os.path.relpath(options.output, ROOT)}/RESULTS.md")


if __name__ == "__main__":
    main()
