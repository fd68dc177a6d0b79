#!/usr/bin/env python3
"""Makes the small odd pictures of tests/pictures/corpus and the table of what they have to decode to.

Run it in an environment with exactly these packages, from anywhere, with `cjpeg` and `jpegtran` of libjpeg-turbo 2.1.5
(Debian: libjpeg-turbo-progs) in PATH:

    pillow==13.0.0 numpy imagecodecs==2026.3.6

tests/pictures/corpus.txt has a line a case: file, options, and either WIDTHxHEIGHT and the CRC-32 of the RGB pixels or the name of a
status. Options are `-`, `flatten` (transparent pixels over white) and `stored` (orientation ignored). Pixels are those of Pillow's
`convert("RGB")` after `ImageOps.exif_transpose`, also where libraries' versions differ: with Debian 12's they are the same, those
of lossy formats included. Where Pillow clips, inverts or refuses without need, they are computed here, and the case says so.
"""
import io
import pathlib
import shutil
import struct
import subprocess
import warnings
import zlib

import imagecodecs
import numpy
from PIL import Image, ImageOps

CORPUS = pathlib.Path(__file__).resolve().parent.parent / "tests" / "pictures" / "corpus"
WIDTH, HEIGHT = 19, 13
OUR_OWN = "our own"  # pixels are given by the case

cases = []


# Pictures to encode.

def scene(width=WIDTH, height=HEIGHT):
    """Waves, checks and a ramp: smooth, sharp and odd-sized."""
    y, x = numpy.mgrid[0:height, 0:width]
    channels = [128 + 100 * numpy.sin(x / 3 + y / 5), 255 * ((x // 4 + y // 4) % 2), (x * 13 + y * 7) % 256]
    return numpy.stack(channels, -1).astype(numpy.uint8)


def wide(width=WIDTH, height=HEIGHT, channels=3):
    """Samples of 16 bits, whose lower halves matter to whoever rounds."""
    return numpy.random.default_rng(16).integers(0, 65536, (height, width, channels), dtype=numpy.uint16)


RGB = scene()
ALPHA = numpy.ascontiguousarray((scene()[..., 2].astype(int) * 3 // 2).clip(0, 255).astype(numpy.uint8))
ALPHA[0, :6] = [0, 0, 1, 128, 254, 255]
RGBA = numpy.dstack([RGB, ALPHA])


def pixels_of(data, stored=False, flatten=False):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        picture = Image.open(io.BytesIO(data))
        picture.load()
        if not stored:
            picture = ImageOps.exif_transpose(picture)
        if flatten:
            picture = picture.convert("RGBA")
            white = Image.new("RGBA", picture.size, (255, 255, 255, 255))
            picture = Image.alpha_composite(white, picture)
        return numpy.asarray(picture.convert("RGB"))


def add(name, data, status=None, pixels=None, options=("-",)):
    """A file and what becomes of it: a status, pixels that Pillow doesn't give, or Pillow's."""
    (CORPUS / name).write_bytes(data)
    for option in options:
        if status:
            cases.append(f"{name} {option} {status}")
            continue
        expected = pixels
        if expected is None:
            expected = pixels_of(data, stored=option == "stored", flatten=option == "flatten")
        height, width = expected.shape[:2]
        digest = zlib.crc32(numpy.ascontiguousarray(expected, dtype=numpy.uint8).tobytes())
        cases.append(f"{name} {option} {width}x{height} {digest:08x}")


def save(picture, kind, **options):
    if not isinstance(picture, Image.Image):
        picture = Image.fromarray(picture)
    stream = io.BytesIO()
    picture.save(stream, kind, **options)
    return stream.getvalue()


def run(command, data):
    return subprocess.run(command, input=data, stdout=subprocess.PIPE, check=True).stdout


def ppm(pixels):
    kind = b"P6" if pixels.ndim == 3 else b"P5"
    return b"%s %d %d 255\n" % (kind, pixels.shape[1], pixels.shape[0]) + pixels.tobytes()


def cjpeg(*arguments, pixels=RGB):
    return run(["cjpeg", "-quality", "80", *arguments], ppm(pixels))


def replace(data, old, new):
    assert data.count(old) == 1, (old, data.count(old))
    return data.replace(old, new)


def exif(orientation, order="<", kind=3, count=1):
    """EXIF data of one directory with one entry."""
    value = {1: "B3x", 3: "H2x", 4: "I", 9: "i"}[kind]
    entry = struct.pack(order + "HHI" + value, 0x0112, kind, count, orientation)
    return (b"II" if order == "<" else b"MM") + struct.pack(order + "HIH", 42, 8, 1) + entry + bytes(4)


def xmp(orientation, as_element=False):
    if as_element:
        return b"<x:xmpmeta><tiff:Orientation>%d</tiff:Orientation></x:xmpmeta>" % orientation
    return b'<x:xmpmeta><rdf:Description tiff:Orientation="%d"/></x:xmpmeta>' % orientation


# JPEG.

def segment(marker, content):
    return b"\xff" + bytes([marker]) + struct.pack(">H", len(content) + 2) + content


def with_segment(data, marker, content):
    return data[:2] + segment(marker, content) + data[2:]


def without_segment(data, marker):
    at = 2
    while data[at + 1] != marker:
        at += 2 + struct.unpack(">H", data[at + 2:at + 4])[0]
    return data[:at] + data[at + 2 + struct.unpack(">H", data[at + 2:at + 4])[0]:]


def add_jpegs():
    samplings = {"444": "1x1", "422": "2x1", "420": "2x2", "440": "1x2", "411": "4x1", "410": "4x2"}
    for name, sampling in samplings.items():
        for kind in ("baseline", "progressive"):
            options = ["-progressive"] if kind == "progressive" else []
            add(f"{kind}_{name}.jpg", cjpeg("-sample", sampling, *options))
    add("gray.jpg", cjpeg("-grayscale"))
    add("gray_progressive.jpg", cjpeg("-grayscale", "-progressive"))
    add("one_pixel.jpg", cjpeg(pixels=RGB[:1, :1]))
    add("one_column.jpg", cjpeg(pixels=RGB[:, :1]))
    add("rgb.jpg", save(RGB, "JPEG", keep_rgb=True))
    add("restarts.jpg", cjpeg("-restart", "1B"))
    add("low_quality.jpg", cjpeg("-quality", "5"))
    add("arithmetic.jpg", cjpeg("-arithmetic"))
    # Inverted ink in all of them, whether the marker says so or not.
    ink = save(Image.fromarray(RGB).convert("CMYK"), "JPEG", quality=80)
    add("cmyk_adobe.jpg", ink)
    add("cmyk_plain.jpg", without_segment(ink, 0xEE))
    marker = b"Adobe\0\x64\0\0\0\0"
    add("ycck_adobe.jpg", replace(ink, marker + b"\0", marker + b"\2"))
    add("cmyk_progressive.jpg", save(Image.fromarray(RGB).convert("CMYK"), "JPEG", quality=80, progressive=True))

    plain = cjpeg("-sample", "2x2")
    for orientation in range(1, 9):
        order = "<>"[orientation % 2]
        tagged = with_segment(plain, 0xE1, b"Exif\0\0" + exif(orientation, order))
        add(f"turned_{orientation}.jpg", tagged, options=("-", "stored"))
    add("turned_by_long.jpg", with_segment(plain, 0xE1, b"Exif\0\0" + exif(6, ">", kind=4)))
    add("turned_by_byte.jpg", with_segment(plain, 0xE1, b"Exif\0\0" + exif(6, kind=1)))
    add("turned_by_two.jpg", with_segment(plain, 0xE1, b"Exif\0\0" + exif(6, count=2)))
    add("turned_by_nine.jpg", with_segment(plain, 0xE1, b"Exif\0\0" + exif(9)))
    add("turned_by_xmp.jpg", with_segment(plain, 0xE1, b"http://ns.adobe.com/xap/1.0/\0" + xmp(8)))
    add("turned_by_xmp_element.jpg", with_segment(plain, 0xE1, b"http://ns.adobe.com/xap/1.0/\0" + xmp(3, True)))
    # A picture does not fail for its metadata, as it does in Pillow.
    straight = pixels_of(plain)
    add("exif_of_nothing.jpg", with_segment(plain, 0xE1, b"Exif\0\0"), pixels=straight)
    add("exif_of_text.jpg", with_segment(plain, 0xE1, b"Exif\0\0not a directory"), pixels=straight)
    add("exif_cut.jpg", with_segment(plain, 0xE1, b"Exif\0\0" + exif(6)[:12]), pixels=straight)

    add("cut_half.jpg", plain[:len(plain) // 2], "malformed")
    add("cut_in_header.jpg", plain[:30], "malformed")
    add("cut_after_signature.jpg", plain[:3], "malformed")
    add("no_end.jpg", plain[:-2], "malformed")
    add("no_end_progressive.jpg", cjpeg("-progressive")[:-2], "malformed")
    add("more_after_end.jpg", plain + b"and more after the end" * 3)
    add("html.jpg", b"<!DOCTYPE html><html><body>404 Not Found</body></html>", "malformed")
    add("empty.jpg", b"", "malformed")
    start = plain.index(b"\xff\xc0")
    add("twelve_bits.jpg", plain[:start + 4] + b"\x0c" + plain[start + 5:], "unsupported")
    add("lossless.jpg", plain[:start] + b"\xff\xc3" + plain[start + 2:], "unsupported")
    add("two_components.jpg", plain[:start] + segment(0xC0, struct.pack(">BHHB", 8, 8, 8, 2) + b"\1\x11\0\2\x11\0")
        + plain[start + 19:], "malformed")
    for name, data in (("bomb.jpg", plain), ("bomb_progressive.jpg", cjpeg("-progressive"))):
        start = max(data.find(b"\xff\xc0"), data.find(b"\xff\xc2"))
        add(name, data[:start + 5] + b"\xff\xff\xff\xff" + data[start + 9:], "unsupported")
        add("largest_" + name, data[:start + 5] + b"\xff\xdc\xff\xdc" + data[start + 9:], "unsupported")


# PNG, written here: Pillow writes neither interlaced ones nor all depths.

def chunk(kind, content=b""):
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def packed_rows(samples, depth):
    """Rows of [height, width, channels] samples, each behind a filter byte; filters take turns where they are simple."""
    height, width, channels = samples.shape
    rows = []
    for y in range(height):
        row = samples[y].reshape(-1)
        if depth == 16:
            data = row.astype(">u2").tobytes()
        elif depth == 8:
            data = row.astype(numpy.uint8).tobytes()
        else:
            bits = ((row[:, None] >> numpy.arange(depth - 1, -1, -1)) & 1).astype(numpy.uint8).reshape(-1)
            data = numpy.packbits(bits).tobytes()
        step = max(1, channels * depth // 8)
        if y % 2:
            values = numpy.frombuffer(data, numpy.uint8).astype(int)
            values[step:] -= numpy.frombuffer(data, numpy.uint8)[:-step].astype(int)[:len(values) - step]
            rows.append(b"\1" + values.astype(numpy.uint8).tobytes())
        else:
            rows.append(b"\0" + data)
    return b"".join(rows)


ADAM7 = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]


def png_parts(samples, depth, kind, interlaced=False, before=b"", after=b""):
    height, width = samples.shape[:2]
    samples = samples.reshape(height, width, -1)
    if interlaced:
        passes = [samples[y::down, x::right] for x, y, right, down in ADAM7]
        raw = b"".join(packed_rows(part, depth) for part in passes if part.size)
    else:
        raw = packed_rows(samples, depth)
    header = struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, interlaced)
    packed = zlib.compress(raw, 9)
    return b"\x89PNG\r\n\x1a\n", chunk(b"IHDR", header), before, packed, after


def png(*arguments, **options):
    signature, header, before, packed, after = png_parts(*arguments, **options)
    half = len(packed) // 2
    data = chunk(b"IDAT", packed[:half]) + chunk(b"IDAT") + chunk(b"IDAT", packed[half:])
    return signature + header + before + data + after + chunk(b"IEND")


def add_pngs():
    palette = numpy.random.default_rng(3).integers(0, 256, (256, 3), dtype=numpy.uint8)
    transparency = bytes([0, 255, 128, 3, 0, 77])
    y, x = numpy.mgrid[0:HEIGHT, 0:WIDTH]
    for interlaced in (False, True):
        suffix = "_interlaced" if interlaced else ""
        for depth in (1, 2, 4, 8):
            samples = ((x * 5 + y * 3) % (1 << depth)).astype(numpy.uint16)
            add(f"gray_{depth}{suffix}.png", png(samples, depth, 0, interlaced))
            entries = chunk(b"PLTE", palette[:1 << depth].tobytes())
            add(f"palette_{depth}{suffix}.png", png(samples, depth, 3, interlaced, entries))
        add(f"rgb_8{suffix}.png", png(RGB, 8, 2, interlaced))
        add(f"gray_alpha_8{suffix}.png", png(RGBA[..., [0, 3]], 8, 4, interlaced), options=("-", "flatten"))
        add(f"rgb_alpha_8{suffix}.png", png(RGBA, 8, 6, interlaced), options=("-", "flatten"))
        # The upper eight bits; Pillow clips greys.
        gray = wide(channels=1)
        upper = numpy.repeat((gray >> 8).astype(numpy.uint8), 3, axis=2)
        add(f"gray_16{suffix}.png", png(gray, 16, 0, interlaced), pixels=upper)
        add(f"rgb_16{suffix}.png", png(wide(), 16, 2, interlaced))
        add(f"gray_alpha_16{suffix}.png", png(wide(channels=2), 16, 4, interlaced), options=("-", "flatten"))
        add(f"rgb_alpha_16{suffix}.png", png(wide(channels=4), 16, 6, interlaced), options=("-", "flatten"))
    ramp = numpy.arange(256, dtype=numpy.uint16).reshape(16, 16, 1) * 257
    add("gray_16_ramp.png", png(ramp, 16, 0), pixels=numpy.repeat((ramp >> 8).astype(numpy.uint8), 3, axis=2))

    samples = ((x * 5 + y * 3) % 16).astype(numpy.uint16)
    entries = chunk(b"PLTE", palette[:16].tobytes())
    add("palette_transparent.png", png(samples, 4, 3, before=entries + chunk(b"tRNS", transparency)),
        options=("-", "flatten"))
    add("palette_short.png", png(samples, 4, 3, before=chunk(b"PLTE", palette[:9].tobytes())))
    add("palette_missing.png", png(samples, 4, 3), "malformed")
    add("gray_transparent.png", png(samples, 4, 0, before=chunk(b"tRNS", b"\0\5")))
    # Pillow compares the unscaled value with scaled samples.
    light = numpy.where(samples == 5, 255, samples * 17)[..., None].repeat(3, axis=2)
    add("gray_transparent_flat.png", png(samples, 4, 0, before=chunk(b"tRNS", b"\0\5")), pixels=light,
        options=("flatten",))
    key = struct.pack(">HHH", *RGB[2, 2])
    add("rgb_transparent.png", png(RGB, 8, 2, before=chunk(b"tRNS", key)), options=("-", "flatten"))
    add("rgb_suggested_palette.png", png(RGB, 8, 2, before=entries))
    add("all_transparent.png", png(numpy.dstack([RGB, ALPHA * 0]), 8, 6), options=("-", "flatten"))
    add("one_pixel.png", png(RGB[:1, :1], 8, 2, True))
    frames = [Image.fromarray(RGB), Image.fromarray(RGB[::-1])]
    add("animated.png", save(frames[0], "PNG", save_all=True, append_images=frames[1:]))

    for orientation in (3, 6, 7):
        add(f"turned_{orientation}.png", png(RGB, 8, 2, before=chunk(b"eXIf", exif(orientation, ">"))),
            options=("-", "stored"))
    add("turned_late.png", png(RGB, 8, 2, after=chunk(b"eXIf", exif(5))))
    digits = (b"Exif\0\0" + exif(8)).hex().encode()
    text = b"\nexif\n%8d\n%s\n" % (len(digits) // 2, digits)
    add("turned_by_text.png", png(RGB, 8, 2, before=chunk(b"tEXt", b"Raw profile type exif\0" + text)))
    add("turned_by_packed_text.png",
        png(RGB, 8, 2, before=chunk(b"zTXt", b"Raw profile type exif\0\0" + zlib.compress(text))))
    add("turned_by_xmp.png", png(RGB, 8, 2, before=chunk(b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + xmp(6))))
    add("turned_by_packed_xmp.png",
        png(RGB, 8, 2, before=chunk(b"iTXt", b"XML:com.adobe.xmp\0\1\0\0\0" + zlib.compress(xmp(4)))))

    signature, header, _, packed, _ = png_parts(RGB, 8, 2)
    data, end = chunk(b"IDAT", packed), chunk(b"IEND")
    wrong = data[:-1] + bytes([data[-1] ^ 1])
    add("data_checksum_wrong.png", signature + header + wrong + end)
    add("data_wrong.png", signature + header + data[:60] + bytes([data[60] ^ 16]) + data[61:] + end, "malformed")
    add("header_checksum_wrong.png", signature + header[:-1] + bytes([header[-1] ^ 1]) + data + end, "malformed")
    add("text_checksum_wrong.png", signature + header + chunk(b"tEXt", b"a\0b")[:-1] + b"?" + data + end, "malformed")
    add("no_end.png", signature + header + data)
    add("no_checksum.png", signature + header + data[:-4])
    add("more_after_end.png", signature + header + data + end + b"and more")
    add("unknown_chunks.png", signature + header + chunk(b"ABCD", b"critical") + chunk(b"abCd", b"not") + data + end)
    add("chunk_after_data.png", signature + header + chunk(b"IDAT", packed[:50]) + chunk(b"tEXt", b"a\0b")
        + chunk(b"IDAT", packed[50:]) + end, "malformed")
    add("cut_half.png", (signature + header + data)[:len(data) // 2], "malformed")
    add("cut_in_header.png", (signature + header)[:20], "malformed")
    add("cut_last_row.png", signature + header + data[:-14], "malformed")
    add("no_data.png", signature + header + end, "malformed")
    for name, interlaced in (("bomb.png", 0), ("bomb_interlaced.png", 1)):
        size = struct.pack(">IIBBBBB", 65535, 65535, 8, 6, 0, 0, interlaced)
        add(name, signature + chunk(b"IHDR", size) + data + end, "unsupported")
    add("no_width.png", signature + chunk(b"IHDR", struct.pack(">IIBBBBB", 0, 9, 8, 2, 0, 0, 0)) + data, "malformed")


# WebP and AVIF.

def riff_chunk(kind, content):
    return kind + struct.pack("<I", len(content)) + content + bytes(len(content) % 2)


def add_webps():
    add("lossy.webp", save(RGB, "WEBP", quality=80))
    add("lossless.webp", save(RGB, "WEBP", lossless=True))
    add("lossy_alpha.webp", save(RGBA, "WEBP", quality=80), options=("-", "flatten"))
    add("lossless_alpha.webp", save(RGBA, "WEBP", lossless=True, exact=True), options=("-", "flatten"))
    frames = [Image.fromarray(RGB), Image.fromarray(RGB[::-1])]
    add("animated.webp", save(frames[0], "WEBP", save_all=True, append_images=frames[1:], lossless=True))
    # A first frame that covers part of the canvas, which the encoder would never write.
    part = save(RGBA[:8, :10], "WEBP", lossless=True, exact=True)
    still = part[part.index(b"VP8L"):]
    start = struct.pack("<I", 2 | 16) + struct.pack("<I", WIDTH - 1)[:3] + struct.pack("<I", HEIGHT - 1)[:3]
    frame = b"".join(struct.pack("<I", value)[:3] for value in (2, 1, 9, 7, 40)) + b"\0" + still
    body = b"WEBP" + riff_chunk(b"VP8X", start) + riff_chunk(b"ANIM", bytes(6)) + riff_chunk(b"ANMF", frame)
    partly = riff_chunk(b"RIFF", body)
    add("animated_part.webp", partly, options=("-", "flatten"))
    for orientation in (2, 6):
        add(f"turned_{orientation}.webp", save(RGB, "WEBP", quality=80, exif=b"Exif\0\0" + exif(orientation)),
            options=("-", "stored"))
    add("turned_by_xmp.webp", save(RGB, "WEBP", quality=80, xmp=xmp(5)))
    data = save(RGB, "WEBP", quality=80)
    add("cut_half.webp", data[:len(data) // 2], "malformed")
    add("cut_in_header.webp", data[:25], "malformed")
    add("more_after_end.webp", data + b"and more")
    wide_header = struct.pack("<I", 0) + b"\xff\xff\0" * 2
    bomb = b"WEBP" + riff_chunk(b"VP8X", wide_header) + data[12:]
    add("bomb.webp", riff_chunk(b"RIFF", bomb), "unsupported")


def add_avifs():
    for sampling in ("4:4:4", "4:2:2", "4:2:0", "4:0:0"):
        add(f"{sampling.replace(':', '')}.avif", save(RGB, "AVIF", subsampling=sampling, quality=70))
    add("limited.avif", save(RGB, "AVIF", range="limited", quality=70))
    add("alpha.avif", save(RGBA, "AVIF", quality=70), options=("-", "flatten"))
    add("alpha_premultiplied.avif", save(RGBA, "AVIF", quality=70, alpha_premultiplied=True))
    frames = [Image.fromarray(RGB), Image.fromarray(RGB[::-1])]
    add("animated.avif", save(frames[0], "AVIF", save_all=True, append_images=frames[1:]))
    for orientation in range(2, 9):
        options = ("-", "stored") if orientation == 6 else ("-",)
        tagged = save(RGB, "AVIF", quality=30, subsampling="4:0:0", exif=b"Exif\0\0" + exif(orientation))
        add(f"turned_{orientation}.avif", tagged, options=options)
    data = save(RGB, "AVIF", quality=70)
    add("cut_half.avif", data[:len(data) // 2], "malformed")
    add("cut_in_header.avif", data[:40], "malformed")
    for bits in (10, 12):
        deep = numpy.dstack([RGB.astype(numpy.uint16) * ((1 << bits) - 1) // 255, ALPHA.astype(numpy.uint16) << (bits - 8)])
        for sampling in ("444", "422", "420"):
            for name, channels in (("", 3), ("_alpha", 4)):
                pixels = numpy.ascontiguousarray(deep[..., :channels])
                add(f"{sampling}_{bits}{name}.avif", imagecodecs.avif_encode(pixels, level=70, bitspersample=bits,
                    pixelformat=sampling, codec="aom", numthreads=1))
    # Libraries are known to tell standard error about these.
    add("data_wrong.avif", data[:-60] + bytes(byte ^ 0xA5 for byte in data[-60:]), "malformed")
    at = data.index(b"mdat") + 4
    add("header_wrong.avif", data[:at] + bytes(byte ^ 0xFF for byte in data[at:at + 16]) + data[at + 16:], "malformed")
    size = struct.pack(">II", WIDTH, HEIGHT)
    at = data.index(b"ispe") + 8
    assert data[at:at + 8] == size
    add("bomb.avif", data[:at] + struct.pack(">II", 65535, 65535) + data[at + 8:], "malformed")
    add("heic.jpg", b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", "unsupported")


# GIF, written here: a screen, a frame somewhere on it, palettes that differ.

def lzw(indices, bits):
    """Codes that never compress: a clear code before the table could grow a bit."""
    stream, used, clear = 0, 0, 1 << bits
    limit = (1 << bits) - 2
    for position, index in enumerate(indices):
        if position % limit == 0:
            stream |= clear << used
            used += bits + 1
        stream |= int(index) << used
        used += bits + 1
    stream |= (clear + 1) << used
    used += bits + 1
    data = stream.to_bytes((used + 7) // 8, "little")
    blocks = [data[at:at + 255] for at in range(0, len(data), 255)]
    return bytes([bits]) + b"".join(bytes([len(block)]) + block for block in blocks) + b"\0"


def gif(indices, screen=(WIDTH, HEIGHT), corner=(0, 0), palette=None, local=None, control=b"", interlaced=False, bits=4):
    height, width = indices.shape
    flags = 0 if palette is None else 0x80 | (len(palette) // 3).bit_length() - 2
    data = b"GIF89a" + struct.pack("<HHBBB", *screen, flags, 0, 0) + (palette or b"") + control
    flags = (0 if local is None else 0x80 | (len(local) // 3).bit_length() - 2) | (0x40 if interlaced else 0)
    rows = list(range(height))
    if interlaced:
        rows = [y for first, step in ((0, 8), (4, 8), (2, 4), (1, 2)) for y in range(first, height, step)]
    frame = b"," + struct.pack("<HHHHB", *corner, width, height, flags) + (local or b"")
    return data + frame + lzw(indices[rows].reshape(-1), bits)


def add_gifs():
    y, x = numpy.mgrid[0:HEIGHT, 0:WIDTH]
    indices = ((x * 5 + y * 3) % 16).astype(numpy.uint8)
    random = numpy.random.default_rng(7)
    palette, other = (random.integers(0, 256, 48, dtype=numpy.uint8).tobytes() for _ in range(2))
    ramp = bytes(value for index in range(16) for value in (index,) * 3)
    control = b"!\xf9\4\1\0\0\5\0"
    add("whole.gif", gif(indices, palette=palette) + b";")
    add("87a.gif", b"GIF87a" + gif(indices, palette=palette)[6:] + b";")
    add("interlaced.gif", gif(indices, palette=palette, interlaced=True) + b";")
    add("transparent.gif", gif(indices, palette=palette, control=control) + b";", options=("-", "flatten"))
    small = indices[:7, :9]
    add("part.gif", gif(small, corner=(4, 3), palette=palette) + b";")
    add("part_transparent.gif", gif(small, corner=(4, 3), palette=palette, control=control) + b";",
        options=("-", "flatten"))
    add("part_interlaced.gif", gif(small, corner=(4, 3), palette=palette, interlaced=True) + b";")
    add("over_the_screen.gif", gif(indices, screen=(5, 5), corner=(3, 2), palette=palette) + b";")
    add("local_palette.gif", gif(indices, palette=palette, local=other) + b";")
    add("only_local_palette.gif", gif(indices, local=other) + b";")
    add("no_palette.gif", gif(indices) + b";")
    add("short_palette.gif", gif(indices, palette=palette[:24]) + b";")
    add("gray_palette.gif", gif(indices * 9, palette=ramp, bits=8) + b";")
    comment = b"!\xfe\5hello\0" + b"!\xff\x0bNETSCAPE2.0\3\1\0\0\0"
    add("extensions.gif", gif(indices, palette=palette, control=comment) + b"!\xfe\2hi\0;")
    add("junk_between.gif", gif(indices, palette=palette, control=b"\0\0\1") + b";")
    data = gif(indices, palette=palette)
    add("disposal.gif", gif(indices, palette=palette, control=b"!\xf9\4\x09\0\0\5\0") + gif(small)[13:] + b";")
    add("no_end.gif", data)
    add("no_terminator.gif", data[:-1])
    add("cut_half.gif", data[:-40], "malformed")
    add("cut_in_header.gif", data[:10], "malformed")
    add("no_frame.gif", data[:61] + b";", "malformed")
    add("ends_early.gif", gif(indices[:9], palette=palette).replace(struct.pack("<HH", WIDTH, 9), struct.pack("<HH", WIDTH, 12))
        + b";", "malformed")
    start = gif(indices, palette=palette).index(b",") + 10
    add("wrong_code.gif", data[:start] + b"\4\2\xf0\xff\0;", "malformed")
    add("bomb.gif", data[:6] + b"\xff\xff\xff\xff" + data[10:], "unsupported")


# BMP, written here.

def bmp(bits, rows, width, height, palette=b"", compression=0, masks=b"", header=40, colors=0, offset=None):
    info = struct.pack("<IiiHHIIiiII", header, width, height, 1, bits, compression, 0, 0, 0, colors, 0)
    if header == 12:
        info = struct.pack("<IHHHH", 12, width, height, 1, bits)
    info += masks
    info += bytes(max(0, header - len(info)))
    start = 14 + len(info) + len(palette)
    return b"BM" + struct.pack("<IHHI", 0, 0, 0, start if offset is None else offset) + info + palette + rows


def bmp_rows(data):
    """Rows of bytes, each filled up to four."""
    return b"".join(row.tobytes() + bytes(-row.nbytes % 4) for row in data)


def add_bmps():
    y, x = numpy.mgrid[0:HEIGHT, 0:WIDTH]
    colors = numpy.random.default_rng(9).integers(0, 256, (256, 4), dtype=numpy.uint8)
    upside = slice(None, None, -1)

    def indices(bits):
        samples = ((x * 5 + y * 3) % (1 << bits)).astype(numpy.uint8)
        packed = ((samples[..., None] >> numpy.arange(bits - 1, -1, -1)) & 1).reshape(HEIGHT, -1)
        return samples, bmp_rows(numpy.packbits(packed, axis=1)[upside])

    for bits in (1, 4, 8):
        samples, rows = indices(bits)
        add(f"palette_{bits}.bmp", bmp(bits, rows, WIDTH, HEIGHT, colors[:1 << bits].tobytes()))
    samples, rows = indices(8)
    add("os2.bmp", bmp(8, rows, WIDTH, HEIGHT, colors[:, :3].tobytes(), header=12))
    add("os2_24.bmp", bmp(24, bmp_rows(RGB[upside].reshape(HEIGHT, -1)), WIDTH, HEIGHT, header=12))
    add("os2_long.bmp", bmp(8, rows, WIDTH, HEIGHT, colors.tobytes(), header=64))
    add("short_palette.bmp", bmp(8, rows, WIDTH, HEIGHT, colors[:50].tobytes(), colors=50))
    ramp = numpy.repeat(numpy.arange(256, dtype=numpy.uint8), 4).tobytes()
    add("gray.bmp", bmp(8, rows, WIDTH, HEIGHT, ramp))
    add("forgotten_palette.bmp", bmp(8, rows, WIDTH, HEIGHT, colors.tobytes(), offset=54))
    add("no_offset.bmp", bmp(8, rows, WIDTH, HEIGHT, colors.tobytes(), offset=0))
    rows = bmp_rows(RGB[..., ::-1][upside].reshape(HEIGHT, -1))
    for header in (40, 52, 56, 108, 124):
        add(f"header_{header}.bmp", bmp(24, rows, WIDTH, HEIGHT, header=header))
    add("top_down.bmp", bmp(24, bmp_rows(RGB[..., ::-1].reshape(HEIGHT, -1)), WIDTH, -HEIGHT))
    add("no_padding.bmp", bmp(24, rows[:-3], WIDTH, HEIGHT))
    add("cut.bmp", bmp(24, rows[:-4], WIDTH, HEIGHT), "malformed")
    words = numpy.random.default_rng(2).integers(0, 65536, (HEIGHT, WIDTH), dtype=numpy.uint16)
    rows = bmp_rows(words)
    add("16.bmp", bmp(16, rows, WIDTH, HEIGHT))
    add("16_565.bmp", bmp(16, rows, WIDTH, HEIGHT, compression=3, masks=struct.pack("<3I", 0xF800, 0x7E0, 0x1F)))
    # Masks that Pillow doesn't know.
    masks = (0xF00, 0xF0, 0xF)
    fields = numpy.stack([((words & mask) // (mask & -mask)) * 17 for mask in masks], -1)[upside]
    add("16_444.bmp", bmp(16, rows, WIDTH, HEIGHT, compression=3, masks=struct.pack("<3I", *masks)), pixels=fields)
    longs = numpy.random.default_rng(4).integers(0, 1 << 32, (HEIGHT, WIDTH), dtype=numpy.uint32)
    rows = bmp_rows(longs)
    add("32.bmp", bmp(32, rows, WIDTH, HEIGHT))
    add("32_rgbx.bmp", bmp(32, rows, WIDTH, HEIGHT, compression=3, masks=struct.pack("<3I", 0xFF000000, 0xFF0000, 0xFF00)))
    add("32_alpha.bmp", bmp(32, rows, WIDTH, HEIGHT, compression=3, header=108,
        masks=struct.pack("<4I", 0xFF0000, 0xFF00, 0xFF, 0xFF000000)), options=("-", "flatten"))
    add("32_no_masks.bmp", bmp(32, rows, WIDTH, HEIGHT, compression=3, header=108, masks=bytes(16)))

    def run_lengths(bits):
        """Runs, escapes and pixels as they are; a delta over the end of a row."""
        if bits == 8:
            rows = [b"\5\7\0\4\1\2\3\4\x0a\x09", b"\0\7\1\2\3\4\5\6\7\0\x0c\x33", b"\3\1\0\2\2\1\2\5"]
        else:
            rows = [b"\5\x71\0\4\x12\x34\x0a\x9a", b"\0\7\x12\x34\x56\x70\x0c\x35", b"\3\x12\0\2\2\1\2\x55"]
        return b"\0\0".join(rows) + b"\0\0" + b"\x13\5\0\0" * (HEIGHT - 4) + b"\0\1"

    for bits in (8, 4):
        compression = 1 if bits == 8 else 2
        palette = colors[:1 << bits].tobytes()
        add(f"rle{bits}.bmp", bmp(bits, run_lengths(bits), WIDTH, HEIGHT, palette, compression))
        add(f"rle{bits}_top_down.bmp", bmp(bits, run_lengths(bits), WIDTH, -HEIGHT, palette, compression))
        add(f"rle{bits}_cut.bmp", bmp(bits, run_lengths(bits)[:-9], WIDTH, HEIGHT, palette, compression), "malformed")
    # What an end leaves out is colour 0; Pillow refuses it.
    early = numpy.zeros((HEIGHT, WIDTH), int)
    early[-1] = 3
    add("rle8_early_end.bmp", bmp(8, b"\x13\3\0\0\0\1", WIDTH, HEIGHT, colors.tobytes(), 1), pixels=colors[early][..., 2::-1])
    add("jpeg_inside.bmp", bmp(24, b"", WIDTH, HEIGHT, compression=4), "unsupported")
    add("unknown_header.bmp", bmp(24, b"", WIDTH, HEIGHT, header=77), "unsupported")
    add("cut_in_header.bmp", bmp(24, b"", WIDTH, HEIGHT)[:30], "malformed")
    add("bomb.bmp", bmp(24, b"", 65535, 65535), "unsupported")
    add("bomb_rle.bmp", bmp(8, b"\0\1", 65535, 65535, colors.tobytes(), 1), "unsupported")


# TIFF: Pillow's writer for compressions, one of our own for the rest.

def tiff(blocks, tags, order="<"):
    """A file of one directory. Tags are {number: (type, values)}; block offsets and sizes go into the two tags named by None."""
    sizes = {2: 1, 3: 2, 4: 4, 5: 8}
    data, offsets = b"", []
    for block in blocks:
        offsets.append(8 + len(data))
        data += block + bytes(len(block) % 2)
    tags = {number: (kind, values or (offsets if number in (273, 324) else [len(block) for block in blocks]))
            for number, (kind, values) in tags.items()}
    start = 8 + len(data)
    later_start, later, entries = start + 6 + 12 * len(tags), b"", b""
    for number, (kind, values) in sorted(tags.items()):
        content = b"".join(struct.pack(order + {3: "H", 4: "I"}[kind], value) for value in values)
        if len(content) > 4:
            field, later = struct.pack(order + "I", later_start + len(later)), later + content + bytes(len(content) % 2)
        else:
            field = content + bytes(4 - len(content))
        entries += struct.pack(order + "HHI", number, kind, len(values)) + field
    head = (b"II" if order == "<" else b"MM") + struct.pack(order + "HI", 42, start)
    return head + data + struct.pack(order + "H", len(tags)) + entries + bytes(4) + later


def tags_of(width, height, bits, photometric, samples=1, extra=None, rows=None, **others):
    tags = {256: (4, [width]), 257: (4, [height]), 258: (3, [bits] * samples), 259: (3, [1]), 262: (3, [photometric]),
            273: (4, None), 277: (3, [samples]), 278: (4, [rows or height]), 279: (4, None)}
    if extra is not None:
        tags[338] = (3, extra)
    tags.update({int(number[1:]): value for number, value in others.items()})
    return tags


def add_tiffs():
    for order in "<>":
        suffix = "" if order == "<" else "_big_endian"
        gray = wide(channels=1)
        upper = numpy.repeat((gray >> 8).astype(numpy.uint8), 3, axis=2)
        for photometric, expected in ((1, upper), (0, 255 - upper)):
            # The upper eight bits, and white where the file says that zero is white; Pillow does neither.
            add(f"gray_16_{photometric}{suffix}.tif",
                tiff([gray.astype(order + "u2").tobytes()], tags_of(WIDTH, HEIGHT, 16, photometric), order), pixels=expected)
        rgb = wide().astype(order + "u2")
        add(f"rgb_16{suffix}.tif", tiff([rgb.tobytes()], tags_of(WIDTH, HEIGHT, 16, 2, 3), order))
        ink = wide(channels=4).astype(order + "u2")
        add(f"cmyk_16{suffix}.tif", tiff([ink.tobytes()], tags_of(WIDTH, HEIGHT, 16, 5, 4), order))
    y, x = numpy.mgrid[0:HEIGHT, 0:WIDTH]
    colors = numpy.random.default_rng(5).integers(0, 65536, (3, 256))
    for bits in (1, 2, 4, 8):
        samples = ((x * 5 + y * 3) % (1 << bits)).astype(numpy.uint8)
        packed = numpy.packbits(((samples[..., None] >> numpy.arange(bits - 1, -1, -1)) & 1).reshape(HEIGHT, -1), axis=1)
        for photometric in (0, 1):
            add(f"gray_{bits}_{photometric}.tif", tiff([packed.tobytes()], tags_of(WIDTH, HEIGHT, bits, photometric)))
        entries = colors[:, :1 << bits].reshape(-1).tolist()
        add(f"palette_{bits}.tif", tiff([packed.tobytes()], tags_of(WIDTH, HEIGHT, bits, 3, t320=(3, entries))))
    strips = [RGB[y:y + 5].tobytes() for y in range(0, HEIGHT, 5)]
    add("strips.tif", tiff(strips, tags_of(WIDTH, HEIGHT, 8, 2, 3, rows=5)))
    planes = [RGB[y:y + 5, :, c].tobytes() for c in range(3) for y in range(0, HEIGHT, 5)]
    add("planes.tif", tiff(planes, tags_of(WIDTH, HEIGHT, 8, 2, 3, rows=5, t284=(3, [2]))))
    padded = numpy.zeros((32, 32, 3), numpy.uint8)
    padded[:HEIGHT, :WIDTH] = RGB
    tiles = [padded[y:y + 16, x:x + 16].tobytes() for y in (0,) for x in (0, 16)]
    tags = tags_of(WIDTH, HEIGHT, 8, 2, 3, t322=(4, [16]), t323=(4, [16]), t324=(4, None), t325=(4, None))
    for number in (273, 278, 279):
        del tags[number]
    add("tiles.tif", tiff(tiles, tags))
    tiles = [padded[y:y + 16, x:x + 16, c].tobytes() for c in range(3) for y in (0,) for x in (0, 16)]
    add("tiles_planes.tif", tiff(tiles, {**tags, 284: (3, [2])}))
    for name, extra in (("unspecified", [0]), ("associated", [1]), ("straight", [2]), ("unexplained", None)):
        rgba = tiff([RGBA.tobytes()], tags_of(WIDTH, HEIGHT, 8, 2, 4, extra))
        add(f"alpha_{name}.tif", rgba, options=("-", "flatten") if extra in ([0], [2]) else ("-",))
    add("gray_alpha.tif", tiff([RGBA[..., [0, 3]].tobytes()], tags_of(WIDTH, HEIGHT, 8, 1, 2, [2])), options=("-", "flatten"))
    add("cmyk.tif", tiff([RGBA.tobytes()], tags_of(WIDTH, HEIGHT, 8, 5, 4)))
    for compression in ("tiff_lzw", "tiff_adobe_deflate", "packbits", "jpeg", "lzma", "zstd"):
        add(f"rgb_{compression}.tif", save(RGB, "TIFF", compression=compression))
    for compression in ("group3", "group4"):
        add(f"{compression}.tif", save(Image.fromarray(RGB).convert("1"), "TIFF", compression=compression))
    add("ycbcr_jpeg.tif", save(Image.fromarray(RGB).convert("YCbCr"), "TIFF", compression="jpeg"))
    add("ycbcr_lzw.tif", save(Image.fromarray(RGB).convert("YCbCr"), "TIFF", compression="tiff_lzw"))
    add("predictor.tif", save(RGB, "TIFF", compression="tiff_lzw", tiffinfo={317: 2}))
    add("big.tif", save(RGB, "TIFF", big_tiff=True))
    for orientation in range(1, 9):
        # Pillow turns these in any case.
        add(f"turned_{orientation}.tif", tiff([RGB.tobytes()], tags_of(WIDTH, HEIGHT, 8, 2, 3, t274=(3, [orientation]))),
            options=("-", "stored") if orientation == 6 else ("-",))
    add("float.tif", tiff([bytes(4 * WIDTH * HEIGHT)], tags_of(WIDTH, HEIGHT, 32, 1, t339=(3, [3]))), "unsupported")
    add("32_bits.tif", tiff([bytes(4 * WIDTH * HEIGHT)], tags_of(WIDTH, HEIGHT, 32, 1)), "unsupported")
    add("lab.tif", tiff([RGB.tobytes()], tags_of(WIDTH, HEIGHT, 8, 8, 3)), "unsupported")
    add("unknown_compression.tif", tiff([RGB.tobytes()], tags_of(WIDTH, HEIGHT, 8, 2, 3, t259=(3, [777]))), "unsupported")
    whole = tiff(strips, tags_of(WIDTH, HEIGHT, 8, 2, 3, rows=5))
    add("cut_half.tif", whole[:len(whole) // 2], "malformed")
    add("cut_in_header.tif", whole[:6], "malformed")
    add("strips_missing.tif", tiff(strips[:2], tags_of(WIDTH, HEIGHT, 8, 2, 3, rows=5)), "malformed")
    add("bomb.tif", tiff([RGB.tobytes()], tags_of(65535, 65535, 8, 2, 3)), "unsupported")
    add("bomb_tile.tif", tiff([RGB.tobytes()], {**tags, 322: (4, [1 << 20]), 323: (4, [1 << 20])}), "unsupported")
    add("bomb_packed.tif", tiff([b"\x80" * 40], tags_of(1 << 20, 1 << 20, 8, 2, 3, t259=(3, [5]))), "unsupported")


def main():
    shutil.rmtree(CORPUS, ignore_errors=True)
    CORPUS.mkdir(parents=True)
    for add_all in (add_jpegs, add_pngs, add_webps, add_avifs, add_gifs, add_bmps, add_tiffs):
        add_all()
    (CORPUS.parent / "corpus.txt").write_text("\n".join(cases) + "\n")
    print(f"{len(cases)} cases, {sum(path.stat().st_size for path in CORPUS.iterdir())} bytes")


if __name__ == "__main__":
    main()
