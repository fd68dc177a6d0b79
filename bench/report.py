#!/usr/bin/env python3
"""Writes RESULTS.md and the README's picture from results.json. run.py calls it; alone it draws the same figures again.

    bench/report.py [results.json]
"""
import html
import json
import os
import sys

COLUMNS = ("natural", "fixed128", "fixed16")  # the scenarios in the picture, one column each
HIGHLIGHT, PLAIN = "#d9480f", "#748ca3"


def number(value):
    """Three significant digits, with thousands separated."""
    if value >= 100:
        digits = len(str(int(value)))
        return f"{round(value, 3 - digits):,.0f}"
    return f"{value:.3g}"


def megabytes(value):
    return f"{value / 2**20:,.0f} MB"


def seconds(value):
    return f"{value * 1000:.0f} ms" if value < 1 else f"{value:.1f} s"


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "| " + " | ".join(["---"] + ["---:"] * (len(header) - 1)) + " |"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def order(scenario):
    """Engines, the fastest first."""
    return sorted(scenario["engines"], key=lambda name: -scenario["engines"][name]["tokens_per_second"])


def rivals(engines):
    """UForm's precisions that others were compared with."""
    return sorted({uform for engine in engines.values() for uform in engine.get("uform_is_faster", {})})


def faster_by(engine, uforms):
    faster = engine.get("uform_is_faster", {})
    return [f"{faster[uform]:.1f}x" if uform in faster else "" for uform in uforms]


def faster_headers(uforms):
    return [f"{uform} is faster by" for uform in uforms]


def scenario_table(scenario):
    rows, uforms = [], rivals(scenario["engines"])
    for name in order(scenario):
        engine = scenario["engines"][name]
        rows.append([
            f"**{name}**" if name.startswith("UForm") else name,
            number(engine["tokens_per_second"]),
            number(engine["texts_per_second"]),
            f"{engine['smallest_cosine']:.5f}" if "smallest_cosine" in engine else "",
            f"{engine['share_of_limit'] * 100:.0f} %" if "share_of_limit" in engine else "",
        ] + faster_by(engine, uforms))
    header = ["engine", "tokens/s", "texts/s", "smallest cosine to torch f32", "share of the cores' limit"]
    return table(header + faster_headers(uforms), rows)


def scenario_parts(scenarios):
    parts = []
    for scenario in scenarios:
        one = "one at a time" if scenario["batch"] == 1 else "peers in batches of 32"
        threads = "one core" if scenario["threads"] == 1 else f"{scenario['threads']} threads on as many cores"
        parts += [f"## {scenario['title']}",
                  f"{scenario['texts']} texts of {scenario['source']}, {scenario['tokens']:,} tokens, {one}, {threads}.",
                  scenario_table(scenario)]
    return parts


def executors(measured):
    """What `bench/executors.py` added."""
    lines = measured["lines"]
    gaps = sorted({line["idle_us"] for line in lines if "idle_us" in line})
    rows = []
    for kind in ("direct call", "deferred call"):
        for mood in dict.fromkeys(line["mood"] for line in lines if line["measure"] == kind):
            found = {line["idle_us"]: line["p50_us"] for line in lines if (line["measure"], line.get("mood")) == (kind, mood)}
            rows.append([f"{kind}, {'no executor' if mood == 'none' else mood}"] + [f"{found[gap]:.1f} µs" if gap in found else "" for gap in gaps])
    parts = ["## Executors", f"By `bench/executors.py`. A call that computes nothing on {measured['threads']} threads, from submission to return, "
             "by mood and by how long the executor was idle before; medians of 1,000. Deferred calls are awaited.",
             table(["call"] + [f"after {gap:g} µs" for gap in gaps], rows)]
    idling = ", ".join(f"{line['processor_ms_per_second']:.2f} ms in `{line['mood']}`" for line in lines if line["measure"] == "idling")
    parts.append(f"Processor time of a process whose executor is idle, per second: {idling}.")
    for line in lines:
        if line["measure"] == "two models":
            parts.append(f"Two models in turn on one executor reach {line['share_of_both_alone'] * 100:.0f} % of what both reach alone.")
    quota = measured.get("quota")
    if quota:
        parts.append(f"Under a cgroup quota of one core, zero threads took {quota['threads']} and reached {quota['share'] * 100:.0f} % of the rate of one "
                     f"thread by hand without a quota ({number(quota['tokens_per_second'])} tokens/s), in pairs of runs.")
    return parts


def pictures(measured):
    """What `bench/pictures.py` added."""
    machine = measured["machine"]
    parts = ["## Pictures", f"By `bench/pictures.py`, on {measured['date']} on {machine['processor']} ({machine['cores']} cores): JPEG bytes to unit "
             f"vectors on one core, medians of {measured['repeats']} rounds in which the engines took turns. The peers decode with Pillow, prepare "
             "with the transformers image processor and take batches of 32. The tower alone is UForm on raw pixels of the model's own size; its "
             "share is of what one core can multiply at most."]
    for model in measured["models"]:
        engines, rows = model["engines"], []
        uforms = rivals(engines)
        for name in sorted(engines, key=lambda name: -engines[name]["images_per_second"]):
            engine = engines[name]
            tower = engine.get("tower")
            rows.append([f"**{name}**" if name.startswith("UForm") else name, number(engine["images_per_second"]),
                         f"{engine['smallest_cosine']:.5f}" if "smallest_cosine" in engine else "",
                         f"{number(tower['images_per_second'])} ({tower['share_of_limit'] * 100:.0f} %)" if tower else ""]
                        + faster_by(engine, uforms))
        parts += [f"### {model['title']}", f"{model['images']} pictures of 640x480, {model['bytes'] / model['images'] / 1000:.0f} kB each.",
                  table(["engine", "images/s", "smallest cosine to torch f32", "tower alone, images/s"] + faster_headers(uforms), rows)]
    return parts + [f"Left out: {name} ({reason})." for name, reason in measured["skipped"].items()]


def described(machine):
    return f"{machine['processor']} ({machine['cores']} cores, Linux {machine['kernel']})"


def markdown(results):
    parts = [
        "# Results",
        f"Measured on {results['date']} on {described(results['machine'])} with\n\n"
        f"    {results['command']}",
        f"Medians of {results['repeats']} rounds in which the engines took turns; the machine is shared, so figures of different days don't "
        "compare, and ratios say more than rates. Every engine gets texts and gives unit vectors: tokenizing, pooling and normalising "
        "count. Peers get batches of 32, longest texts first; UForm gets all texts in one call. Its bf16 rows and theirs keep weights and "
        "activations in 16 bits; UForm's i8 multiplies integers of 8 bits, and int8 rows are the engines' own dynamic quantization. "
        "`bench/run.py` says how ratios and limits are taken.",
    ]
    parts += scenario_parts(results["scenarios"])
    limits = next(({name: engine["limit_flops"] for name, engine in scenario["engines"].items() if "limit_flops" in engine}
                   for scenario in results["scenarios"]), {})
    if limits:
        parts.append("One core's limit in the first scenario: " + ", ".join(
            f"{flops / 1e9:,.0f} G{'OP' if name.endswith('i8') else 'FLOP'}/s in {name.split()[1]}" for name, flops in limits.items()) + ".")
    if results["engines"]:
        parts += ["## Loading and memory",
                  "From the beginning of loading to the first vector, files in the page cache. UForm: the median of five fresh processes. "
                  "Peers: one load, imports of Python modules not counted. Peak memory is the whole process's after the first scenario, "
                  "Python and mapped files included.",
                  table(["engine", "version", "to the first vector", "peak memory"],
                        [[name, engine["version"], seconds(engine["load_seconds"]), megabytes(engine["peak_bytes"])]
                         for name, engine in results["engines"].items()])]
    for run in results.get("more", []):
        parts += [f"# On other texts or machines\n\nMeasured on {run['date']} on {described(run['machine'])} with\n\n    {run['command']}"]
        parts += scenario_parts(run["scenarios"])
    if "pictures" in results:
        parts += pictures(results["pictures"])
    if "executors" in results:
        parts += executors(results["executors"])
    for name, reason in results["skipped"].items():
        parts.append(f"Left out: {name} ({reason}).")
    return "\n\n".join(parts) + "\n"


def picture(results):
    """Bars in small multiples: a row an engine, a column a scenario, each column on its own scale."""
    scenarios = [scenario for name in COLUMNS for scenario in results["scenarios"] if scenario["name"] == name]
    if not scenarios:
        return None
    names = order(scenarios[0])
    names = [name for name in names if name.startswith("UForm")] + [name for name in names if not name.startswith("UForm")]
    label, column, bar, row, top = 192, 208, 132, 24, 58
    width, height = label + column * len(scenarios) + 8, top + row * len(names) + 30
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" '
        'aria-label="Tokens per second of UForm and other engines on one core">',
        "<style>text{font:12px system-ui,'Segoe UI','DejaVu Sans',sans-serif;fill:#6e7b88}.strong{font-weight:600}.small{font-size:11px}"
        "@media(prefers-color-scheme:dark){text{fill:#b8c1cb}}</style>",
    ]
    for index, scenario in enumerate(scenarios):
        x = label + index * column
        engines = scenario["engines"]
        most = max(engine["tokens_per_second"] for engine in engines.values())
        lines.append(f'<text class="strong" x="{x}" y="20">{scenario["title"]}</text>')
        lines.append(f'<text class="small" x="{x}" y="38">tokens/s, one core</text>')
        for position, name in enumerate(names):
            y = top + position * row
            strong = name.startswith("UForm")
            style = ' class="strong"' if strong else ""
            if index == 0:
                lines.append(f'<text{style} x="{label - 10}" y="{y + 12}" text-anchor="end">{name}</text>')
            if name not in engines:
                continue
            rate = engines[name]["tokens_per_second"]
            length = max(1.0, bar * rate / most)
            lines.append(f'<rect x="{x}" y="{y}" width="{length:.1f}" height="16" rx="2" fill="{HIGHLIGHT if strong else PLAIN}"/>')
            lines.append(f'<text{style} x="{x + length + 6:.1f}" y="{y + 12}">{number(rate)}</text>')
    machine = html.escape(results["machine"]["processor"])
    lines.append(f'<text class="small" x="{label}" y="{height - 8}">all-MiniLM-L6-v2, tokenizing included; {machine}, {results["date"]}; '
                 "bench/RESULTS.md</text>")
    return "\n".join(lines + ["</svg>"]) + "\n"


def write(results, folder, picture_path):
    with open(os.path.join(folder, "RESULTS.md"), "w", encoding="utf-8") as file:
        file.write(markdown(results))
    drawn = picture(results)
    if drawn:
        os.makedirs(os.path.dirname(picture_path), exist_ok=True)
        with open(picture_path, "w", encoding="utf-8") as file:
            file.write(drawn)


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    with open(sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "results.json"), encoding="utf-8") as file:
        results = json.load(file)
    write(results, here, os.path.join(here, "..", "docs", "figures", "throughput.svg"))


if __name__ == "__main__":
    main()
