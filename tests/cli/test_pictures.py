#!/usr/bin/env python3
"""Pictures on the command line: embed, pixels, info, bench, classify, index and search, over tiny models.

    test_pictures.py TOOL MODELS TEXT_MODEL STANDINS SANITIZED [unittest's own words]

MODELS is a folder of models with towers for images, TEXT_MODEL one for texts alone, STANDINS holds libraries that play
USearch, SANITIZED is 1 where memory can't be measured.
"""
import html.parser
import json
import math
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.parse
import zlib

TOOL, MODELS, TEXT, STANDINS, SANITIZED = sys.argv[1:6]
DUAL = os.path.join(MODELS, "clip")  # chooses among texts
PAIRS = os.path.join(MODELS, "siglip_gemma")  # judges pairs
COSINES = os.path.join(MODELS, "uform_bert")  # tells no scale
OTHER = os.path.join(MODELS, "uform_roberta")
VISION = os.path.join(MODELS, "vit")
ODD_NAMES = [b"plain.png", b"two words.png", b"it's \"odd\" #1 100%?&amp;<b>.png", b"new\nline.png", b"\xff\xc3.png",
             b"-dash.png", b"sub/deep/caf\xc3\xa9.png", b"a:b;c=d+e,f.png", b"%41\\.png"]


def png(seed, width=40, height=30):
    """A picture of a few blobs: smooth enough that every resize sees what it is."""
    numbers = random.Random(seed)
    waves = [(numbers.uniform(0, .4), numbers.uniform(0, .4), numbers.uniform(0, 6)) for _ in range(3)]
    rows = b"".join(b"\0" + bytes(
        int(127 + 120 * math.sin(wave[0] * x + wave[1] * y + wave[2])) for x in range(width) for wave in waves)
        for y in range(height))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


class Result:
    def __init__(self, status, output, messages, peak):
        self.status, self.output, self.messages, self.peak = status, output, messages, peak

    def rows(self):
        return [json.loads(line) for line in self.output.splitlines()]

    def lines(self):
        return self.messages.decode("utf-8").splitlines()


def run(*words, input=b"", folder=None, **environment):
    """Runs the tool. Standard streams are files, so that no pipe can fill up."""
    surroundings = {key: value for key, value in os.environ.items() if key != "UFORM_USEARCH_LIBRARY"}
    surroundings.update(environment)
    with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as messages:
        source.write(input)
        source.seek(0)
        process = subprocess.Popen([TOOL, *words], stdin=source, stdout=output, stderr=messages, cwd=folder,
                                   env=surroundings)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        messages.seek(0)
        return Result(process.returncode, output.read(), messages.read(), usage.ru_maxrss)


def standin(name):
    return {"UFORM_USEARCH_LIBRARY": os.path.join(STANDINS, name + ".so")}


class Page(html.parser.HTMLParser):
    """What a browser sees of a contact sheet; elements have to nest."""

    def __init__(self, path):
        super().__init__(convert_charrefs=True)
        self.open, self.links, self.pictures, self.texts, self.tags = [], [], [], [], []
        with open(path, encoding="utf-8") as file:
            self.feed(file.read())
        self.close()
        assert not self.open, self.open
        base = os.fsencode(os.path.dirname(path))
        self.files = [os.path.join(base, urllib.parse.unquote_to_bytes(link)) for link in self.links]

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.tags.append(tag)
        if tag == "img":
            self.pictures.append(attributes)
            self.links.append(attributes["src"])
        if "href" in attributes:
            self.links.append(attributes["href"])
        if tag not in ("img", "meta"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (tag, self.open)
        self.open.pop()

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style",) and data.strip():
            self.texts.append(data.strip())


class Pictures(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="uform-pictures-")
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, data):
        path = os.path.join(os.fsencode(self.folder), os.fsencode(name))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)
        return path

    def expect(self, result, status, *parts):
        """One message a part, in order, each with the part in it."""
        self.assertEqual(result.status, status, result.messages)
        lines = result.lines()
        self.assertEqual(len(lines), len(parts), result.messages)
        for line, part in zip(lines, parts):
            self.assertIn(part, line)

    def make_pictures(self, names=ODD_NAMES, within="pictures"):
        for number, name in enumerate(names):
            self.write(os.path.join(os.fsencode(within), name), png(number))

    # embed

    def test_texts_and_pictures_mix(self):
        self.make_pictures([b"a.png", b"b.png", b"c.png"], ".")
        texts = run("embed", "--model", DUAL, input=b"a cat\na dog\n").rows()
        pictures = run("embed", "--model", DUAL, "--format", "images", input=b"a.png\nb.png\r\nc.png",
                       folder=self.folder).rows()
        self.assertEqual(len({json.dumps(row) for row in texts + pictures}), 5)
        items = [({"image": "b.png"}, pictures[1]), ({"text": "a cat"}, texts[0]), ("a dog", texts[1]),
                 ({"image": "a.png", "id": 7}, pictures[0]), ({"image": self.path("c.png")}, pictures[2])] * 120
        lines = "\n".join(json.dumps(item) for item, _ in items).encode()
        for threads in ("1", "3"):
            result = run("embed", "--model", DUAL, "--format", "jsonl", "--threads", threads, input=lines,
                         folder=self.folder)
            self.expect(result, 0)
            self.assertEqual(result.rows(), [row for _, row in items])

    def test_broken_items_have_null_rows_and_numbers(self):
        self.make_pictures([b"good.png"], ".")
        os.mkfifo(self.path("pipe.png"))
        self.write("empty.png", b"")
        self.write("page.jpg", b"<html><body>not found</body></html>")
        self.write("cut.png", png(0)[:60])
        with open(self.path("huge.png"), "wb") as file:
            file.truncate(3 << 30)
        items = [({"image": "good.png"}, None), ({"image": "gone.png"}, "gone.png: not_found: No such file"),
                 ({"image": "."}, ".: io_failed: expected a file, found a directory"),
                 ({"image": "pipe.png"}, "pipe.png: io_failed: expected a file"),
                 ({"image": "/dev/zero"}, "/dev/zero: io_failed: expected a file"),
                 ({"image": "empty.png"}, "empty.png: malformed: "),
                 ({"image": "page.jpg"}, "page.jpg: "), ({"text": "a cat"}, None), ({"image": "cut.png"}, "cut.png: malformed: "),
                 ({"image": "huge.png"}, "huge.png: unsupported: expected a picture of at most 1073741824 bytes"),
                 ({"image": 7}, "malformed: image: expected the path of a file, found a number"),
                 ({"image": "", "id": 1}, "malformed: image: expected a path, found nothing"),
                 ({"image": "a\0b"}, "malformed: image: a NUL byte in a path"),
                 ({"image": "good.png", "text": "a cat"}, "expected either text or image, found both"),
                 ({"words": "a cat"}, "text: expected a string, found nothing"), ({"image": "good.png"}, None)]
        lines = "\n".join(json.dumps(item) for item, _ in items).encode()
        result = run("embed", "--model", DUAL, "--format", "jsonl", input=lines, folder=self.folder)
        expected = [(number, problem) for number, (_, problem) in enumerate(items, 1) if problem]
        self.expect(result, 1, *(problem for _, problem in expected))
        for line, (number, problem) in zip(result.lines(), expected):
            self.assertTrue(line.startswith(f"uform: standard input: item {number}: "
                                            f"{'malformed: ' if 'text' in problem else problem}"), line)
            self.assertNotIn("image 0", line)
        rows = result.rows()
        self.assertEqual([row is None for row in rows], [problem is not None for _, problem in items])
        self.assertEqual(rows[0], rows[-1])

    def test_lines_may_be_paths(self):
        self.make_pictures([name for name in ODD_NAMES if b"\n" not in name], ".")
        names = [name for name in ODD_NAMES if b"\n" not in name]
        result = run("embed", "--model", VISION, "--format", "images", input=b"\n".join(names) + b"\n\n",
                     folder=self.folder)
        self.expect(result, 1, f"item {len(names) + 1}: malformed: image: expected a path, found nothing")
        self.assertEqual([row is None for row in result.rows()], [False] * len(names) + [True])
        # The end of a path makes room for what is wrong with it.
        long = run("embed", "--model", VISION, "--format", "images", input=b"x" * 100000)
        self.expect(long, 1, "x...: io_failed: File name too long")

    def test_a_tower_that_isnt_there_is_told(self):
        self.make_pictures([b"a.png"], ".")
        lines = b'{"image": "a.png"}\n{"text": "a cat"}\n'
        result = run("embed", "--model", VISION, "--format", "jsonl", input=lines, folder=self.folder)
        self.expect(result, 1, "item 2: unsupported: text: the model has no text tower")
        self.assertEqual([row is None for row in result.rows()], [False, True])
        result = run("embed", "--model", TEXT, "--format", "jsonl", input=lines, folder=self.folder)
        self.expect(result, 1, "item 1: a.png: unsupported: image: the model has no image tower")
        self.assertEqual([row is None for row in result.rows()], [True, False])
        for words in (["embed", "--model", VISION], ["embed", "--model", TEXT, "--format", "images"],
                      ["tokenize", "--model", VISION], ["pixels", "--model", TEXT, "--image", "a.png"],
                      ["index", "--model", TEXT, "--output", "i", "."], ["bench", "--model", VISION],
                      ["classify", "--model", VISION, "--labels", "a,b", "a.png"]):
            self.expect(run(*words, input=b"x\n", folder=self.folder), 2, "tower, which this needs")
        self.expect(run("tokenize", "--model", DUAL, "--format", "jsonl", input=lines), 1,
                    "item 1: a.png: unsupported: image: only texts have tokens")

    def test_rows_that_saturate_are_told(self):
        self.make_pictures([b"a.png"], ".")
        for model, words, told in ((VISION, [], True), (VISION, ["--normalize", "on"], False), (DUAL, [], False),
                                   (DUAL, ["--normalize", "off"], True), (DUAL, ["--dimensions", "8"], False)):
            for scalar in ("i8", "f32", "b1"):
                result = run("embed", "--model", model, "--scalar", scalar, "--format", "images", *words,
                             input=b"a.png\na.png", folder=self.folder)
                self.expect(result, 0, *["uform: --scalar: i8 holds -1 to 1, and rows of "] * (told and scalar == "i8"))
        # What can't be read isn't reason enough.
        self.expect(run("embed", "--model", VISION, "--scalar", "i8", "--format", "images", "--input", "gone"), 2,
                    "--input: gone: ")

    @unittest.skipIf(SANITIZED == "1", "sanitizers keep freed memory")
    def test_memory_is_bounded_by_what_waits(self):
        for number in range(60):
            with open(self.path(f"{number}.bmp"), "wb") as file:
                file.truncate(8 << 20)
        lines = b"".join(b"%d.bmp\n" % number for number in range(60))
        words = ["embed", "--model", VISION, "--format", "images", "--threads", "1"]
        small = run(*words, input=lines[:6], folder=self.folder)
        large = run(*words, input=lines, folder=self.folder)
        self.assertEqual(large.output, b"null\n" * 60)
        self.assertLess(large.peak - small.peak, 100 * 1024)

    def test_a_picture_is_no_output(self):
        self.make_pictures([b"a.png"], ".")
        for words in (["embed", "--model", DUAL, "--format", "images"], ["tokenize", "--model", DUAL],
                      ["pixels", "--model", DUAL, "--image", "a.png"], ["index", "--model", DUAL, "a.png"]):
            self.expect(run(*words, "--output", "a.png", folder=self.folder), 2, "--output: a.png: is a picture")
            for name in ("new.png", "new.JPG", "empty.tif"):
                self.write("empty.tif", b"")
                self.expect(run(*words, "--output", name, folder=self.folder), 2,
                            f"--output: {name}: is named like a picture, and none is written")
        with open(self.path("a.png"), "rb") as file:
            self.assertEqual(file.read(), png(0))
        self.assertEqual(sorted(os.listdir(self.folder)), ["a.png", "empty.tif"])

    # pixels, info, bench

    def test_pixels_are_a_tensor(self):
        self.make_pictures([b"a.png"], ".")
        result = run("pixels", "--model", DUAL, "--image", "a.png", "--output", "a.npy", folder=self.folder)
        self.expect(result, 0)
        with open(self.path("a.npy"), "rb") as file:
            data = file.read()
        header = data[10:10 + struct.unpack("<H", data[8:10])[0]].decode()
        shape = eval(header, {})["shape"]
        self.assertEqual((len(shape), shape[0], eval(header, {})["descr"]), (3, 3, "<f4"))
        values = struct.unpack(f"<{math.prod(shape)}f", data[10 + len(header):])
        self.assertGreater(len(set(values)), 100)
        self.assertEqual(run("pixels", "--model", DUAL, "--image", self.path("a.png")).output, data)
        piped = subprocess.run([TOOL, "pixels", "--model", DUAL, "--image", self.path("a.png")], stdout=subprocess.PIPE,
                               check=True)
        self.assertEqual(piped.stdout, data)
        self.write("broken.png", b"\x89PNG")
        self.expect(run("pixels", "--model", DUAL, "--image", "broken.png", folder=self.folder), 1,
                    "--image: broken.png: malformed: ")
        self.expect(run("pixels", "--model", DUAL, "--image", "gone.png", folder=self.folder), 1,
                    "--image: gone.png: not_found: ")
        self.expect(run("pixels", "--model", DUAL, "--image", "a.png", "--image-pixel-limit", "100", folder=self.folder),
                    1, "a.png: ")

    def test_info_tells_the_towers_apart(self):
        for model, texts, images, scale in ((DUAL, True, True, True), (PAIRS, True, True, True),
                                            (COSINES, True, True, False), (VISION, False, True, False),
                                            (TEXT, True, False, False)):
            facts = json.loads(run("info", "--json", "--model", model).output)["model"]
            self.assertEqual((facts["encodes_texts"], facts["encodes_images"]), (texts, images))
            self.assertEqual(facts["logit_scale"] is not None, scale, model)
            self.assertEqual("vocabulary_count" in facts, texts)
            self.assertEqual("patch_size" in facts, images)
            words = run("info", "--model", model).output
            self.assertEqual((b"\ntexts  " in words, b"\nimages  " in words, b"\nlogits  " in words),
                             (texts, images, scale))

    def test_info_tells_which_vector_comes_out(self):
        for name, pooling, dense_count, words in (
                ("vit", "cls", 1, "first token (cls), then 1 dense layer (projection or pooler)\n"),
                ("dinov2", "cls", 0, "first token (cls), no projection or pooler behind it"),
                ("clip_vision", "cls", 0, "first token (cls), no projection or pooler behind it"),
                ("clip_vision_projection", "cls", 1, "first token (cls), then 1 dense layer (projection or pooler)\n"),
                ("clip_text", "lasttoken", 0, "last token (lasttoken), no projection or pooler behind it"),
                ("siglip_vision", "attention", 0, "attention over all tokens (attention), no projection or pooler"),
                ("clip", "lasttoken", 1, "of texts, last token (lasttoken), then 1 dense layer (projection or pooler)\n")):
            model = os.path.join(MODELS, name)
            facts = json.loads(run("info", "--json", "--model", model).output)["model"]
            self.assertEqual((facts["pooling"], facts["dense_count"]), (pooling, dense_count), name)
            self.assertIn(f"\npooling          {words}", run("info", "--model", model).output.decode())
        models = os.path.dirname(TEXT)
        for name, pooling, words in (("pooling_all", "cls+max+mean+mean_sqrt_len+weightedmean+lasttoken", "first token + "),
                                     ("dense_stack", "max+mean", "largest of every dimension + mean of the tokens (max+mean), then 2 d")):
            facts = json.loads(run("info", "--json", "--model", os.path.join(models, name)).output)["model"]
            self.assertEqual(facts["pooling"], pooling)
            self.assertIn(f"\npooling          {words}", run("info", "--model", os.path.join(models, name)).output.decode())

    def test_bench_takes_pictures(self):
        self.make_pictures([b"a.png", b"b.png"], ".")
        result = run("bench", "--model", DUAL, "--format", "images", "--repeats", "3", "--json", input=b"a.png\nb.png",
                     folder=self.folder)
        self.expect(result, 0)
        facts = json.loads(result.output)
        self.assertEqual((facts["images"], len(facts["images_per_second_runs"])), (2, 3))
        for key in ("images_per_second", "flops_per_image", "limit_flops", "share_of_limit", "first_vector_seconds"):
            self.assertGreater(facts[key], 0, key)
        words = run("bench", "--model", DUAL, "--format", "jsonl", "--repeats", "1", "--batch", "1",
                    input=b'{"image": "a.png"}', folder=self.folder)
        self.assertIn(b"images/s", words.output)
        self.expect(run("bench", "--model", DUAL, "--format", "jsonl", input=b'{"image": "a.png"}\n"a cat"',
                        folder=self.folder), 1, "item 2: unsupported: expected texts alone or pictures alone")
        self.expect(run("bench", "--model", DUAL, "--format", "images", input=b"gone.png", folder=self.folder), 1,
                    "item 1: gone.png: not_found: ")
        self.write("broken.png", b"\x89PNG")
        for lines, number, batch in ((b"a.png\nb.png\nbroken.png\na.png", 3, "2"), (b"broken.png", 1, "1")):
            self.expect(run("bench", "--model", DUAL, "--format", "images", "--batch", batch, input=lines,
                            folder=self.folder), 1, f"uform: standard input: item {number}: broken.png: malformed: exp")

    # classify

    def test_labels_get_probabilities(self):
        self.make_pictures([b"a.png", b"b.png"], ".")
        labels = ["cat", "dog", "a \"cup\" of tea"]
        self.write("labels.txt", "\n".join(labels + [""]).encode())
        words = ["classify", "--output-format", "jsonl", "--labels"]
        for model, alone in ((DUAL, False), (PAIRS, True), (COSINES, None)):
            notes = ["tells no scale of its scores"] if alone is None else []
            result = run(*words, "labels.txt", "--model", model, "a.png", "b.png", folder=self.folder)
            self.expect(result, 0, *notes)
            for row, name in zip(result.rows(), ("a.png", "b.png")):
                self.assertEqual(row["image"], name)
                self.assertEqual(sorted(answer["label"] for answer in row["labels"]), sorted(labels))
                cosines = [answer["cosine"] for answer in row["labels"]]
                self.assertEqual(cosines, sorted(cosines, reverse=True))
                chances = [answer["probability"] for answer in row["labels"]]
                facts = json.loads(run("info", "--json", "--model", model).output)["model"]
                if alone is None:
                    self.assertEqual(chances, [None] * 3)
                    continue
                logits = [facts["logit_scale"] * cosine + (facts["logit_bias"] or 0) for cosine in cosines]
                expected = [1 / (1 + math.exp(-logit)) for logit in logits] if alone else [
                    math.exp(logit) / sum(map(math.exp, logits)) for logit in logits]
                for chance, wanted in zip(chances, expected):
                    self.assertAlmostEqual(chance, wanted, 5)
            listed = run(*words, ",".join(labels), "--model", model, "a.png", "b.png", folder=self.folder)
            self.assertEqual(listed.output, result.output)
            piped = run(*words, "-", "--model", model, "a.png", "b.png", folder=self.folder,
                        input="\n".join(labels).encode())
            self.assertEqual(piped.output, result.output)
            first = run(*words, "labels.txt", "--model", model, "--top", "1", "a.png", folder=self.folder).rows()[0]
            self.assertEqual(first["labels"], result.rows()[0]["labels"][:1])

    def test_templates_surround_labels(self):
        self.make_pictures([b"a.png"], ".")
        words = ["classify", "--model", DUAL, "--output-format", "jsonl", "a.png", "--labels"]
        plain = run(*words, "a photo of a cat,a photo of a dog", "--template", "{}", folder=self.folder).rows()[0]
        default = run(*words, "cat, dog ,", folder=self.folder).rows()[0]
        self.assertEqual([answer["cosine"] for answer in plain["labels"]],
                         [answer["cosine"] for answer in default["labels"]])
        one = run(*words, "cat,", folder=self.folder).rows()[0]["labels"]
        self.assertEqual((len(one), one[0]["probability"]), (1, 1.0))

    def test_classify_tells_what_it_cant_read(self):
        self.make_pictures([b"a.png", b"-b.png"], ".")
        self.write("broken.png", b"\x89PNG")
        result = run("classify", "--model", DUAL, "--labels", "cat,dog", "--output-format", "jsonl", "gone.png", "a.png",
                     "broken.png", "--", "-b.png", folder=self.folder)
        self.expect(result, 1, "uform: gone.png: not_found: No such", "uform: broken.png: malformed: ")
        self.assertEqual([row and row["image"] for row in result.rows()], [None, "a.png", None, "-b.png"])
        words = run("classify", "--model", DUAL, "--labels", "cat,dog", "a.png", folder=self.folder)
        self.assertRegex(words.output.decode(), r"^a\.png\n( +\d+\.\d\d %  (cat|dog)\n){2}$")
        for words, part in ((["--labels", "cat,dog"], "expected pictures, found nothing"),
                            (["a.png"], "--labels: expected labels or the path of a file, found nothing"),
                            (["--labels", "cat", "a.png"], "--labels: expected a file, or labels separated by commas"),
                            (["--labels", ",", "a.png"], "--labels: expected labels, found none"),
                            (["--labels", "a,b", "--template", "a photo", "a.png"], "--template: expected a text with {}"),
                            (["--labels", "a,b", "--top", "0", "a.png"], "--top"), (["-x", "a.png"], "'-x'")):
            self.expect(run("classify", "--model", DUAL, *words, folder=self.folder), 2, part)

    def test_labels_are_text(self):
        self.make_pictures([b"a.png"], ".")
        for data, line, found in ((png(0), 1, "bytes that aren't"), (b"cat\n\ndo\0g\n", 3, "a NUL byte"),
                                  (b"cat\ndog\nk\xc3", 3, "bytes that aren't"), ("cat\n".encode("utf-16-be"), 1, "a NUL byte")):
            self.write("labels", data)
            for labels, name, piped in (("labels", "labels", b""), ("-", "standard input", data)):
                result = run("classify", "--model", DUAL, "--labels", labels, "a.png", input=piped, folder=self.folder)
                self.expect(result, 2, f"uform: --labels: {name}: line {line}: expected a label in UTF-8, found {found}")
                self.assertEqual(result.output, b"")
        self.expect(run("classify", "--model", DUAL, "--labels", ".", "a.png", folder=self.folder), 2,
                    "uform: --labels: .: expected a file, found a directory")
        self.write("labels", "\ufeffcaf\u00e9\r\n\n\U0001f408".encode())
        row = run("classify", "--model", DUAL, "--labels", "labels", "--output-format", "jsonl", "a.png",
                  folder=self.folder).rows()[0]
        self.assertEqual({answer["label"] for answer in row["labels"]}, {"caf\u00e9", "\U0001f408"})

    # index and search

    def index(self, *words, model=DUAL, status=0, **environment):
        result = run("index", "--model", model, "--output", self.path("photos.index"), *words, folder=self.folder,
                     **environment)
        self.assertEqual(result.status, status, result.messages)
        return result

    def search(self, *words, model=DUAL, folder=None, index=None, **environment):
        return run("search", "--model", model, "--index", index or self.path("photos.index"), *words,
                   folder=folder or self.folder, **environment)

    def test_a_picture_finds_itself(self):
        self.make_pictures()
        self.index("pictures")
        for number, name in enumerate(ODD_NAMES):
            path = os.fsdecode(b"pictures/" + name)
            result = self.search("--image", path, "--output-format", "jsonl", "--top", "3")
            self.expect(result, 0)
            row = result.rows()[0]
            matches = row["matches"]
            # Names of any bytes come back as they are.
            self.assertEqual((row["image"], len(matches), matches[0]["path"]), (path, 3, self.path(path)))
            self.assertAlmostEqual(matches[0]["score"], 1, 4)
            scores = [match["score"] for match in matches]
            self.assertEqual(scores, sorted(scores, reverse=True))
            words = self.search("--image", path, "--top", "1")
            self.assertEqual(words.output, b"  1.0000  " + os.fsencode(self.path(path)) + b"\n")
        texts = self.search("--text", "a cat", "--output-format", "jsonl").rows()[0]
        self.assertEqual((texts["text"], len(texts["matches"])), ("a cat", len(ODD_NAMES)))
        vectors = run("embed", "--model", DUAL, input=b"a cat").rows() + run(
            "embed", "--model", DUAL, "--format", "images", input=b"pictures/plain.png", folder=self.folder).rows()
        cosine = sum(left * right for left, right in zip(*vectors))
        score = next(match["score"] for match in texts["matches"] if match["path"].endswith("/plain.png"))
        self.assertAlmostEqual(score, cosine, 4)

    def test_an_index_moves_with_its_pictures(self):
        self.make_pictures([b"a.png", b"b.png"], "album/sub")
        self.make_pictures([b"c.png"], "elsewhere")
        os.symlink("album", self.path("link"))
        run("index", "--model", DUAL, "--output", "album/photos.index", "link", "elsewhere/c.png", "album/sub",
            folder=self.folder)
        found = self.search("--text", "a cat", "--output-format", "jsonl", index="album/photos.index").rows()[0]
        self.assertEqual({match["path"] for match in found["matches"]},
                         {"album/sub/a.png", "album/sub/b.png", os.path.realpath(self.path("elsewhere/c.png"))})
        os.rename(self.path("album"), self.path("moved"))
        found = self.search("--text", "a cat", "--output-format", "jsonl", index="photos.index",
                            folder=self.path("moved")).rows()[0]
        self.assertEqual({match["path"] for match in found["matches"]},
                         {"sub/a.png", "sub/b.png", os.path.realpath(self.path("elsewhere/c.png"))})

    def test_pictures_that_cant_be_read_are_left_out(self):
        self.make_pictures([b"a.png", b"z.png"])
        self.write("pictures/broken.png", b"\x89PNG")
        self.write("pictures/page.jpg", b"<html>")
        self.write("pictures/notes.txt", b"words")
        result = self.index("pictures", status=1)
        self.assertEqual(len(result.lines()), 2)
        self.assertIn("uform: pictures/broken.png: malformed: ", result.lines()[0])
        self.assertIn("uform: pictures/page.jpg: ", result.lines()[1])
        self.assertEqual(len(self.search("--text", "a", "--output-format", "jsonl").rows()[0]["matches"]), 2)
        # A word that is mistyped costs nothing.
        before = os.stat(self.path("photos.index"))
        self.expect(self.index("pictures", "pictres", status=2), 2, "index: pictres: No such file or directory")
        os.mkdir(self.path("empty"))
        self.expect(self.index("empty", status=2), 2, "expected pictures, found none in empty")
        self.assertEqual(before, os.stat(self.path("photos.index")))
        self.assertEqual(sorted(os.listdir(self.folder)), ["empty", "photos.index", "pictures"])

    def test_what_cant_be_replaced_is_told_before_the_walk(self):
        self.make_pictures([b"a.png"])
        os.symlink("nowhere.png", self.path("pictures/gone.png"))
        self.write("notes.txt", b"words")
        for output, problem in (("notes.txt", "exists and isn't a file that this command wrote"), ("pictures", "expected a file"),
                                ("gone/photos.index", "No such file or directory")):
            self.expect(run("index", "--model", DUAL, "--output", output, "pictures", folder=self.folder), 2, problem)
        self.assertEqual(sorted(os.listdir(self.folder)), ["notes.txt", "pictures"])
        self.index("pictures", status=1)

    def test_a_file_may_stand_for_a_folder(self):
        self.write("picture", png(1))
        self.write("words.txt", b"words")
        self.index("picture")
        found = self.search("--text", "a", "--output-format", "jsonl").rows()[0]["matches"]
        self.assertEqual([match["path"] for match in found], [self.path("picture")])
        self.expect(self.index("picture", "words.txt", status=1), 1, "uform: words.txt: ")

    def test_an_interrupted_index_leaves_nothing(self):
        self.make_pictures([b"%d.png" % number for number in range(300)])
        self.index("pictures/1.png")
        before = os.stat(self.path("photos.index"))
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            process = subprocess.Popen([TOOL, "index", "--model", DUAL, "--threads", "1", "--output", "photos.index"] +
                                       ["pictures"], cwd=self.folder, stderr=subprocess.DEVNULL)
            while process.poll() is None and len(os.listdir(self.folder)) == 2:
                time.sleep(0.001)
            process.send_signal(number)
            status = process.wait(60)
            self.assertIn(status, (-number, 0))
            self.assertEqual(sorted(os.listdir(self.folder)), ["photos.index", "pictures"])
            if status == -number:
                self.assertEqual(before, os.stat(self.path("photos.index")))
            before = os.stat(self.path("photos.index"))

    def test_progress_counts_pictures(self):
        self.make_pictures([b"a.png", b"b.png"])
        self.assertRegex(self.index("pictures", "--progress", "on").lines()[-1], r"2 pictures in \d+\.\d\d s: \d+ pictures/s")
        result = run("embed", "--model", DUAL, "--format", "jsonl", "--progress", "on", folder=self.folder,
                     input=b'"a cat"\n{"image": "pictures/a.png"}')
        self.assertRegex(result.lines()[-1], r"1 texts, \d+ tokens, 1 pictures in ")

    def test_many_queries_are_answered_in_order(self):
        self.make_pictures()
        self.index("pictures")
        lines = [{"text": f"query {number % 7}"} for number in range(150)]
        lines[3] = {"image": "pictures/plain.png"}
        lines[77] = {"image": "gone.png"}
        result = self.search("--input", "-", "--format", "jsonl", "--output-format", "jsonl", "--top", "2",
                             input="\n".join(map(json.dumps, lines)).encode())
        self.expect(result, 1, "standard input: item 78: gone.png: not_found: ")
        rows = result.rows()
        self.assertEqual(len(rows), 150)
        for line, row in zip(lines, rows):
            if line.get("image") == "gone.png":
                self.assertIsNone(row)
            else:
                self.assertEqual({key: row[key] for key in row if key != "matches"}, line)
        self.assertEqual(rows[0], rows[7])
        alone = self.search("--text", "query 5", "--top", "2", "--output-format", "jsonl").rows()[0]
        self.assertEqual(rows[5], alone)
        words = self.search("--input", "-", "--top", "1", input=b"query 1\nquery 2").output.decode(
            errors="surrogateescape")
        self.assertRegex(words, r"^query 1\n +-?\d\.\d{4}  [^\0]+\n\nquery 2\n +-?\d\.\d{4}  [^\0]+\n\n$")

    def test_usearch_answers_as_comparing_does(self):
        names = [b"%d.png" % number for number in range(40)]
        self.make_pictures(names)
        queries = ["--input", "-", "--output-format", "jsonl", "--top", "5"]
        texts = b"a cat\na dog\na house\n"
        result = self.index("pictures", "--verbose")
        self.expect(result, 0, "USearch: no graph: libusearch_c.so isn't installed")
        exact = self.search(*queries, input=texts)
        self.expect(exact, 0)
        self.expect(self.index("pictures", "--verbose", **standin("usearch")), 0, "USearch: made a graph of ")
        graph = self.path("photos.index.usearch")
        self.assertTrue(os.path.exists(graph))
        for way, library, note in (("auto", standin("usearch"), "through USearch 2.99.1"),
                                   ("off", standin("usearch"), "through USearch 2.99.1"),
                                   ("on", standin("usearch"), "comparing with every picture"),
                                   ("auto", standin("usearch_early"), "through USearch 2"),
                                   ("auto", {}, "libusearch_c.so isn't installed"),
                                   ("auto", standin("usearch_version_3"), "expected version 2, found 3.0.0"),
                                   ("auto", standin("usearch_cut"), "has no usearch_view_buffer")):
            result = self.search(*queries, "--exact", way, "--verbose", input=texts, **library)
            self.expect(result, 0, note)
            self.assertEqual(result.output, exact.output)
        for library, notes in (("usearch_fails", ["search failed"]), ("usearch_lies", ["found 1 of 5 matches"])):
            result = self.search(*queries, input=texts, **standin(library))
            self.expect(result, 0, *notes)
            self.assertEqual(result.output, exact.output)
            self.assertEqual(self.search(*queries, "--exact", "off", input=texts, **standin(library)).status, 1)
        self.expect(self.search(*queries, "--exact", "off", input=texts), 2,
                    "--exact: USearch can't be used: libusearch_c.so isn't installed")
        # A graph of another index is left alone.
        with open(graph, "r+b") as file:
            file.write(b"\xff")
        result = self.search(*queries, input=texts, **standin("usearch"))
        self.expect(result, 0, "isn't the graph that was made with the index")
        self.assertEqual(result.output, exact.output)
        self.index("pictures", "--exact", "off", status=1)
        self.index("pictures", "--exact", "on", **standin("usearch"))
        self.expect(self.search(*queries, "--verbose", input=texts, **standin("usearch")), 0, "was made without it")

    def test_another_model_is_refused(self):
        self.make_pictures([b"a.png"])
        self.index("pictures", model=COSINES)
        for model in (OTHER, DUAL, VISION):
            self.expect(self.search("--image", "pictures/a.png", model=model), 2, "")
        for precision in ("f32", "bf16"):
            self.expect(self.search("--image", "pictures/a.png", "--precision", precision, model=COSINES), 0)
        # By what it makes of pictures, not by what it is called.
        shutil.copytree(COSINES, self.path("renamed"))
        self.expect(self.search("--image", "pictures/a.png", model=self.path("renamed")), 0)
        self.expect(self.search("--text", "a cat", model=TEXT), 2, "tower, which this needs")

    def test_a_model_without_texts_searches_by_pictures(self):
        self.make_pictures([b"a.png", b"b.png"])
        self.index("pictures", model=VISION)
        self.expect(self.search("--image", "pictures/a.png", model=VISION), 0)
        self.expect(self.search("--text", "a cat", model=VISION), 1, "--text: unsupported: text: the model has no text")
        cut = run("index", "--model", VISION, "--output", "cut.index", "--dimensions", "3", "pictures", folder=self.folder)
        self.expect(cut, 0)
        found = self.search("--image", "pictures/a.png", "--top", "1", index="cut.index", model=VISION)
        self.assertEqual(found.output, b"  1.0000  pictures/a.png\n")

    def test_broken_indexes_end_in_words(self):
        self.make_pictures([b"a.png", b"b.png"])
        self.index("pictures")
        with open(self.path("photos.index"), "rb") as file:
            whole = file.read()
        numbers = random.Random(int(os.environ.get("UFORM_TEST_SEED", "1")))
        for turn in range(60):
            broken = bytearray(whole[:numbers.randrange(len(whole))] if turn % 4 == 0 else whole)
            for _ in range(numbers.randrange(1, 4)):
                if broken:
                    broken[numbers.randrange(min(len(broken), 128) if turn % 2 else len(broken))] = numbers.randrange(256)
            self.write("broken.index", broken)
            result = self.search("--text", "a cat", index="broken.index")
            self.assertIn(result.status, (0, 2), (turn, result.messages))
            self.assertEqual(len(result.lines()), result.status // 2, result.messages)
        self.expect(self.search("--text", "a", index="pictures/a.png"), 2, "--index: pictures/a.png: isn't an index")
        self.expect(self.search("--text", "a", index="gone"), 2, "--index: gone: No such file or directory")
        self.expect(self.search(), 2, "expected one of --text, --image and --input, found none")
        self.expect(self.search("--text", "a", "--image", "pictures/a.png"), 2, "found several")
        self.write("broken.png", b"\x89PNG")
        for name, problem in (("gone.png", "not_found: No such"), ("broken.png", "malformed: ")):
            self.expect(self.search("--image", name), 1, f"uform: --image: {name}: {problem}")
            self.expect(self.search("--input", "-", "--format", "images", input=b"pictures/a.png\n" + name.encode()), 1,
                        f"uform: standard input: item 2: {name}: {problem}")

    # the page

    def test_the_page_links_every_picture(self):
        self.make_pictures()
        os.makedirs(self.path("pages/inner"))
        self.index("pictures")
        for page in ("found.html", "pages/inner/found.html", "pictures/found.html"):
            text = "cats & \"dogs\" <script>alert('x')</script>"
            self.expect(self.search("--text", text, "--html", page), 0)
            seen = Page(self.path(page))
            self.assertEqual(len(seen.pictures), len(ODD_NAMES))
            # A picture and a link to it, each to the file.
            expected = sorted(os.path.realpath(os.path.join(os.fsencode(self.folder), b"pictures", name))
                              for name in ODD_NAMES for _ in range(2))
            self.assertEqual(sorted(map(os.path.realpath, seen.files)), expected)
            self.assertTrue(all(picture["alt"] for picture in seen.pictures))
            self.assertTrue(all(not link.startswith("/") and ":" not in link for link in seen.links))
            self.assertIn(text, seen.texts)
            self.assertNotIn("script", seen.tags)
            scores = [words.split()[1] for words in seen.texts if words[0].isdigit() and words.split()[0][-1] == "."]
            self.assertEqual(len(scores), len(ODD_NAMES))
        # Of a picture, the page shows it too; of several queries, a section each.
        self.expect(self.search("--image", "pictures/plain.png", "--html", "found.html", "--top", "2"), 0)
        self.assertEqual(len(Page(self.path("found.html")).pictures), 3)
        self.expect(self.search("--input", "-", "--html", "found.html", "--top", "2", input=b"a\nb\nc"), 0)
        seen = Page(self.path("found.html"))
        self.assertEqual((len(seen.pictures), seen.tags.count("section")), (6, 3))

    def test_the_page_replaces_only_pages(self):
        self.make_pictures([b"a.png"])
        self.index("pictures")
        for name, data in (("notes.txt", b"words"), ("pictures/a.png", png(0))):
            self.write(name, data)
            self.expect(self.search("--text", "a", "--html", name), 2, "isn't a file that this command wrote")
            with open(self.path(name), "rb") as file:
                self.assertEqual(file.read(), data)
        self.expect(self.search("--text", "a", "--html", "gone/found.html"), 2, "No such file or directory")
        self.expect(self.search("--text", "a", "--html", "/dev/null"), 2, "expected a file")
        self.expect(self.search("--image", "gone.png", "--html", "found.html"), 1, "--image: ")
        self.assertEqual(sorted(os.listdir(self.folder)), ["notes.txt", "photos.index", "pictures"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[6:])
