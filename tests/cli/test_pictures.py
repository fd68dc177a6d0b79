#!/usr/bin/env python3
"""Pictures on the command line: embed, pixels, info, bench and classify, over tiny models.

pictures.py tells what follows the program's name.
"""
import json
import math
import os
import struct
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True  # beside the sources
from pictures import (COSINES, DUAL, MODELS, ODD_NAMES, PAIRS, PictureTest, SANITIZED, TEXT, TOOL, VISION, main, png,
                      run)


class Pictures(PictureTest):
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
        for name, pooling, words in (
                ("pooling_all", "cls+max+mean+mean_sqrt_len+weightedmean+lasttoken", "first token + largest of "),
                ("dense_stack", "max+mean", "largest of every dimension + mean of the tokens (max+mean), then 2 dense layers (")):
            model = os.path.join(os.path.dirname(TEXT), name)
            facts = json.loads(run("info", "--json", "--model", model).output)["model"]
            self.assertEqual(facts["pooling"], pooling)
            self.assertIn(f"\npooling          {words}", run("info", "--model", model).output.decode())

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


if __name__ == "__main__":
    main()
