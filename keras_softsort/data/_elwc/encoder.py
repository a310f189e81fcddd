"""ExampleListWithContext records encoded with NumPy, all items of a list at once.

`parsing.py` describes the message. The examples of a list differ only in their numbers, so the numbers are written into
copies of one template.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf


class Encoder(NamedTuple):
    """The template of an example of float features, and the positions of the bytes of its numbers."""

    template: np.ndarray  # [bytes] uint8, with the field that holds the example in the record
    places: np.ndarray  # [4 * numbers]

    @classmethod
    def of(cls, features: list[tuple[str, int]]) -> Encoder:
        """Make the template of examples with these features, each a name and a length, in this order."""
        example, ends = b"", []
        for name, size in features:
            numbers = tf.train.Feature(float_list=tf.train.FloatList(value=np.zeros(size)))
            example += tf.train.Features(feature={name: numbers}).SerializeToString()  # ends with the numbers
            ends.append(len(example))
        record = _field(1, _field(1, example))  # ExampleListWithContext.examples, of Example.features
        before = len(record) - len(example)
        places = [before + end + np.arange(-4 * size, 0) for (_, size), end in zip(features, ends, strict=True)]
        return cls(np.frombuffer(record, np.uint8), np.concatenate(places))

    def examples(self, numbers: np.ndarray) -> bytes:
        """Encode the field `examples` of a record for items with float32 `numbers` `[n, ...]`."""
        rows = np.tile(self.template, (len(numbers), 1))
        rows[:, self.places] = np.ascontiguousarray(numbers, "<f4").view(np.uint8)
        return rows.tobytes()


def context(name: str, value: Any) -> bytes:
    """Encode the field `context` of a record with one feature: an integer of int64, or bytes for everything else."""
    if is_integer(value):
        feature = tf.train.Feature(int64_list=tf.train.Int64List(value=[value]))
    else:
        text = value if isinstance(value, bytes) else str(value).encode()
        feature = tf.train.Feature(bytes_list=tf.train.BytesList(value=[text]))
    return _field(2, tf.train.Example(features=tf.train.Features(feature={name: feature})).SerializeToString())


def is_integer(value: Any) -> bool:
    """Whether `value` is encoded as an integer."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.timedelta64))


def _field(number: int, value: bytes) -> bytes:
    """Encode a length-delimited field of a protocol buffer."""
    length, head = len(value), [number << 3 | 2]
    while length >= 128:
        head.append(length & 127 | 128)
        length >>= 7
    return bytes([*head, length]) + value
