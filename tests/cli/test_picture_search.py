#!/usr/bin/env python3
"""Pictures made searchable on the command line, and found: index, search and its page, over tiny models.

pictures.py tells what follows the program's name.
"""
import html.parser
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import urllib.parse

sys.dont_write_bytecode = True  # beside the sources
from pictures import (COSINES, DUAL, ODD_NAMES, OTHER, PictureTest, TEXT, TOOL, VISION, main, png, run, standin)


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


class Search(PictureTest):
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
    main()
