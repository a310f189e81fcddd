"""Lists of numbers as ExampleListWithContext records, one at a time.

`parsing.py` describes the message. The examples of a list differ only in their numbers, so NumPy writes the numbers of
all items at once into copies of one template.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort.data._ranking_dataset import columns

QUERY = "query_id"


class Records:
    """Makes records of lists that have the columns of the first: features, labels and perhaps weights.

    Args:
      features: the name of one feature of all columns, or one name per column.
      label: the name of the label.
      weight: the name of the weight.
    """

    def __init__(self, features: str | Sequence[str], label: str = "label", weight: str = "weight") -> None:
        for role, name in (("label", label), ("weight", weight)):
            if not isinstance(name, str):
                raise TypeError(f"{role} must be a name, got {name!r}")
        self._names = features, label, weight
        self._first: list[np.ndarray] | None = None
        self._template: tuple[np.ndarray, np.ndarray] | None = None

    def record(self, parts: Sequence[Any], title: str, *query: Any) -> bytes:
        """Encode one list, which errors name `title`. `query` holds its id, or nothing."""
        found = columns(parts, title, self._first)
        items = found[0]
        self._first = self._first or found
        for one in query:
            if _is_integer(one) and not -(2**63) <= one < 2**63:
                raise ValueError(f"{title} must have a query id that fits into int64, or text, got {one}")
        if self._template is None:
            self._template = _template(_layout(*self._names, items.shape[1], has_weights=len(found) == 3))
        template, places = self._template
        rows = np.tile(template, (len(items), 1))
        rows[:, places] = np.column_stack(found).astype("<f4").view(np.uint8)
        return rows.tobytes() + b"".join(map(_context, query))


def as_queries(ids: np.ndarray) -> list[Any]:
    """Convert the ids of lists to what `Records.record` takes."""
    # NumPy would take times in nanoseconds for integers.
    return list(map(str, ids)) if ids.dtype.kind in "mM" else ids.tolist()


def _layout(
    features: str | Sequence[str], label: str, weight: str, width: int, *, has_weights: bool
) -> list[tuple[str, int]]:
    """Names and lengths of the features of an example."""
    if isinstance(features, str):
        named = [(features, width)]
    else:
        named = [(name, 1) for name in arguments.elements("features", features, "names")]
    layout = [*named, (label, 1), *([(weight, 1)] if has_weights else [])]
    names = [name for name, _ in layout]
    if sum(size for _, size in named) != width or len(set(names)) != len(names):
        raise ValueError(
            f"features must be one name or {width} distinct names, other than label {label!r} and weight {weight!r}, "
            f"which must differ too, got {features!r}"
        )
    return layout


def _template(layout: list[tuple[str, int]]) -> tuple[np.ndarray, np.ndarray]:
    """Make the bytes of an example, with its field in a record, and the positions of the bytes of its numbers."""
    example, ends = b"", []
    for name, size in layout:
        numbers = tf.train.Feature(float_list=tf.train.FloatList(value=np.zeros(size)))
        example += tf.train.Features(feature={name: numbers}).SerializeToString()  # ends with the numbers
        ends.append(len(example))
    record = _field(1, _field(1, example))  # ExampleListWithContext.examples, of Example.features
    before = len(record) - len(example)
    places = [before + end + np.arange(-4 * size, 0) for (_, size), end in zip(layout, ends, strict=True)]
    return np.frombuffer(record, np.uint8), np.concatenate(places)


def _context(query: Any) -> bytes:
    """Encode the field `context` of a record with the id `query`: an integer of int64, or bytes for everything else."""
    if _is_integer(query):
        feature = tf.train.Feature(int64_list=tf.train.Int64List(value=[query]))
    else:
        text = query if isinstance(query, bytes) else str(query).encode()
        feature = tf.train.Feature(bytes_list=tf.train.BytesList(value=[text]))
    return _field(2, tf.train.Example(features=tf.train.Features(feature={QUERY: feature})).SerializeToString())


def _is_integer(value: Any) -> bool:
    """Whether `value` is encoded as an integer."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.timedelta64))


def _field(number: int, value: bytes) -> bytes:
    """Encode a field of bytes of a protocol buffer, as field 1 of a `BytesList` whose number is replaced."""
    return bytes([number << 3 | 2]) + tf.train.BytesList(value=[value]).SerializeToString()[1:]
