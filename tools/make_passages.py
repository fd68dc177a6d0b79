#!/usr/bin/env python3
"""Makes examples/passages.txt: short definitions from the Jargon File, one a line, as "term: definition".

    apt-get install dict-jargon
    tools/make_passages.py examples/passages.txt      makes the definitions of the terms in that file again, in place
    tools/make_passages.py --all                      prints every definition that qualifies, to choose terms from

The Jargon File 4.4.7 (29 Dec 2003) is in the public domain, as the package's copyright file says. Of each entry the first paragraph
of its first sense is taken, if it has 120 to 600 characters and holds ASCII only once quotation marks and dashes are made plain.
Pronunciations, etymologies in brackets, the braces of links and closing references are left out.
"""
import argparse
import gzip
import re

DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
PLAIN = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "—": "-", "–": "-"})
PART_OF_SPEECH = r"^((n|adj|adv|v|vt|vi|interj|imp|prov|quant)\.,?\s+)+"


def number(digits):
    value = 0
    for digit in digits:
        value = value * 64 + DIGITS.index(digit)
    return value


def entries(stem):
    """Every article once, in the dictionary's order, as (term, text)."""
    with gzip.open(stem + ".dict.dz") as file:
        articles = file.read()
    places = set()
    with open(stem + ".index", encoding="utf-8") as file:
        for line in file:
            word, offset, length = line.rstrip("\n").split("\t")[:3]
            if not word.startswith("00"):
                places.add((number(offset), number(length)))
    for offset, length in sorted(places):
        term, _, text = articles[offset : offset + length].decode("utf-8").partition("\n")
        yield term.strip(), text


def definition(text):
    """The first paragraph of the first sense as one plain line, or None."""
    for paragraph in re.split(r"\n\s*\n", text):
        if not paragraph.startswith("    "):  # pronunciation and part of speech stand further left
            continue
        line = " ".join(paragraph.split()).replace("“ ", "“").translate(PLAIN).replace(" --", " -")
        line = re.sub(r"^\[[^]]*\]\s*", "", line)
        line = re.sub(PART_OF_SPEECH, "", re.sub(r"^1\.\s+", "", re.sub(PART_OF_SPEECH, "", line)))
        line = re.sub(r"^\[[^]]*\]\s*", "", line)
        line = re.sub(r"\{\s*([^}]*?)\s*\}", r"\1", line)
        line = re.sub(r"(\s|(?<=\())/[^/\d]*'[^/\d]*/,?", "", line)
        line = re.sub(r"\s*\((see|compare|See|Compare) [^()]*\)", "", line)
        line = re.sub(r"(?<=[.!?\")])\s+(See|Compare|Contrast|Cf\.|cf\.|Syn\.|Oppose|Antonym of) [^.]*\.?$", "", line)
        if line:
            return line
    return None


def qualifies(term, line):
    return (line is not None and 120 <= len(line) <= 600 and line.isascii() and term.isascii() and ":" not in term
            and re.match(r"[A-Z\"']", line) is not None and line.endswith((".", '."', ".)", "!", "?"))
            and re.search(r"https?:|www\.|ftp:|[|\\<>_{}\[\]]", line) is None)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("passages", nargs="?", help="file whose terms are made again")
    parser.add_argument("--all", action="store_true", help="print every definition that qualifies")
    parser.add_argument("--dictionary", default="/usr/share/dictd/jargon", help="path without .dict.dz")
    arguments = parser.parse_args()
    if arguments.all == bool(arguments.passages):
        parser.error("give either a file of passages or --all")

    lines = {}
    for term, text in entries(arguments.dictionary):
        line = definition(text)
        if qualifies(term, line):
            lines.setdefault(term, f"{term}: {line}\n")
    if arguments.all:
        print("".join(lines.values()), end="")
        return
    with open(arguments.passages, encoding="utf-8") as file:
        wanted = {line.split(":")[0] for line in file}
    missing = wanted - set(lines)
    if missing:
        raise SystemExit(f"not in the dictionary, or not plain enough: {', '.join(sorted(missing))}")
    with open(arguments.passages, "w", encoding="utf-8") as file:
        file.writelines(line for term, line in lines.items() if term in wanted)


if __name__ == "__main__":
    main()
