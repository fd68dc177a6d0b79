"""What the tests of pictures on the command line share: a picture, and the tool in a process of its own.

    test_X.py TOOL MODELS TEXT_MODEL STANDINS SANITIZED [unittest's own words]

MODELS is a folder of models with towers for images, TEXT_MODEL one for texts alone, STANDINS holds libraries that play
USearch, SANITIZED is 1 where memory can't be measured.
"""
import json
import math
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
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


class PictureTest(unittest.TestCase):
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


def main():
    unittest.main(argv=sys.argv[:1] + sys.argv[6:])
