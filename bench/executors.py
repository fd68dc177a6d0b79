#!/usr/bin/env python3
"""What executors cost, added to results.json and RESULTS.md: calls by mood, idling, two models on one executor, and a cgroup quota of
one core against one thread by hand. About a minute; making a cgroup needs root, and without it that row is left out.

    bench/executors.py [--model DIR] [--build DIR] [--texts FILE] [--threads N] [--output DIR]
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile

import report

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
ROUNDS = 5


class Quota:
    """A cgroup of one core, version 2 or 1, whichever the system has; processes started by `run` live in it."""

    def __init__(self):
        self.folder = None
        for parent, writes in (("/sys/fs/cgroup", [("cpu.max", "100000 100000")]),
                               ("/sys/fs/cgroup/cpu", [("cpu.cfs_period_us", "100000"), ("cpu.cfs_quota_us", "100000")])):
            if not os.path.exists(os.path.join(parent, "cgroup.procs")):
                continue
            try:
                self.folder = tempfile.mkdtemp(prefix="uform-bench-", dir=parent)
                for name, text in writes:
                    with open(os.path.join(self.folder, name), "w", encoding="ascii") as file:
                        file.write(text)
                return
            except OSError:
                self.close()

    def enter(self):
        with open(os.path.join(self.folder, "cgroup.procs"), "w", encoding="ascii") as file:
            file.write(str(os.getpid()))

    def close(self):
        if self.folder:
            os.rmdir(self.folder)
        self.folder = None


def rate(options, threads, quota):
    command = [os.path.join(options.build, "uform"), "bench", "--model", options.model, "--input", options.texts, "--threads",
               str(threads), "--repeats", "3", "--json"]
    done = subprocess.run(command, check=True, capture_output=True, timeout=120, preexec_fn=quota.enter if quota else None)
    return json.loads(done.stdout)


def measure_quota(options):
    quota = Quota()
    if not quota.folder:
        return None
    rates = {"quota": [], "by_hand": []}
    try:
        for _ in range(ROUNDS):
            inside = rate(options, 0, quota)
            rates["quota"].append(inside["tokens_per_second"])
            rates["by_hand"].append(rate(options, 1, None)["tokens_per_second"])
    finally:
        quota.close()
    return {"threads": inside["threads"], "share": statistics.median(a / b for a, b in zip(rates["quota"], rates["by_hand"])),
            "tokens_per_second": statistics.median(rates["quota"])}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default=os.path.join(ROOT, "model", "all-minilm-l6-v2"), help="model directory")
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"), help="folder with uform and uform_executor")
    parser.add_argument("--texts", default=os.path.join(ROOT, "examples", "passages.txt"))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--output", default=HERE, help="folder of results.json")
    return parser.parse_args()


def main():
    options = arguments()
    lines = subprocess.run([os.path.join(options.build, "uform_executor"), options.model, str(options.threads)], check=True,
                           capture_output=True, timeout=300).stdout.splitlines()
    path = os.path.join(options.output, "results.json")
    with open(path, encoding="utf-8") as file:
        results = json.load(file)
    results["executors"] = {"threads": options.threads, "lines": [json.loads(line) for line in lines],
                            "quota": measure_quota(options)}
    with open(path, "w", encoding="utf-8") as file:
        json.dump(results, file, indent=1)
        file.write("\n")
    report.write(results, options.output, os.path.join(ROOT, "docs", "figures", "throughput.svg"))


if __name__ == "__main__":
    main()
