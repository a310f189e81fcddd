"""ExampleListWithContext records written with NumPy, all items of a list at once.

The message is that of `parsing.py`. Every example of a list has the same bytes but for its numbers, so they are written
into copies of one template.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class Encoder(NamedTuple):
    """The template of an example of float features, and where the bytes of its numbers go."""

    template: np.ndarray  # [bytes] uint8, with the field that holds the example in the record
    places: np.ndarray  # [4 * numbers]

    @classmethod
    def of(cls, features: list[tuple[str, int]]) -> Encoder:
        """For examples with these features, each a name and a length, in this order."""
        example, ends = b"", []
        for name, size in features:
            numbers = field(1, bytes(4 * size))  # FloatList.value, packed
            example += field(1, field(1, name.encode()) + field(2, field(2, numbers)))  # a map of names to Feature
            ends.append(len(example))
        record = field(1, field(1, example))  # ExampleListWithContext.examples, of Example.features
        before = len(record) - len(example)
        places = [before + end + np.arange(-4 * size, 0) for (_, size), end in zip(features, ends, strict=True)]
        return cls(np.frombuffer(record, np.uint8), np.concatenate(places))

    def examples(self, numbers: np.ndarray) -> bytes:
        """The field `examples` of a record, of items with float32 `numbers` `[n, ...]`."""
        rows = np.tile(self.template, (len(numbers), 1))
        rows[:, self.places] = np.ascontiguousarray(numbers, "<f4").view(np.uint8)
        return rows.tobytes()


def context(name: str, value: Any) -> bytes:
    """The field `context` of a record, with one feature: an integer, or a string or bytes for everything else."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        kind = field(3, field(1, varint(int(value) % 2**64)))  # Feature.int64_list, packed
    else:
        text = value if isinstance(value, bytes) else str(value).encode()
        kind = field(1, field(1, text))  # Feature.bytes_list
    return field(2, field(1, field(1, field(1, name.encode()) + field(2, kind))))


def field(number: int, value: bytes) -> bytes:
    """A length-delimited field of a protocol buffer."""
    return bytes([number << 3 | 2]) + varint(len(value)) + value


def varint(value: int) -> bytes:
    """An integer from 0 on as a protocol buffer has it."""
    parts = []
    while value >= 128:
        parts.append(value & 127 | 128)
        value >>= 7
    return bytes([*parts, value])
