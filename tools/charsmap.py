"""Makes the `precompiled_charsmap` of a Precompiled normalizer from a few mappings, for the other tools."""
import base64
import struct


class Trie:
    """A double array: from the unit at p the byte c leads to p ^ offset(p) ^ c, and zero to the value."""

    def __init__(self, values):
        self.units, self.taken, self.bases = [0] * 512, {0}, set()
        root = {}
        for key, value in values.items():
            node = root
            for byte in key:
                node = node.setdefault(byte, {})
            node[0] = value
        self.place(0, root)

    def place(self, position, node):
        base = next(b for b in range(1, 1 << 20) if b not in self.bases and all(b ^ byte not in self.taken for byte in node))
        self.bases.add(base)
        self.taken |= {base ^ byte for byte in node}
        self.units += [0] * max(0, (base | 255) + 1 - len(self.units))
        self.units[position] |= (position ^ base) << 10 | (1 << 8 if 0 in node else 0)
        for byte, child in node.items():
            if byte:
                self.units[base ^ byte] = byte
                self.place(base ^ byte, child)
            else:
                self.units[base] = 1 << 31 | child


def make_charsmap(mappings):
    """The bytes for {text: text}."""
    replacements, values = b"", {}
    for source, target in mappings.items():
        values[source.encode()] = len(replacements)
        replacements += target.encode() + b"\0"
    units = Trie(values).units
    return struct.pack(f"<I{len(units)}I", 4 * len(units), *units) + replacements


def encode_charsmap(mappings):
    """As tokenizer.json spells it."""
    return base64.b64encode(make_charsmap(mappings)).decode()
