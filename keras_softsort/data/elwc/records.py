"""Lists of numbers as ExampleListWithContext records. NumPy writes the numbers into copies of one template."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort.data._ranking_dataset import PAIRS, RankingDataset, columns


class Records:
    """Makes records of lists that have the columns of the first. `features` is one name, or one name per column."""

    def __init__(self, features: str | Sequence[str], label: str = "label", weight: str = "weight") -> None:
        for role, name in (("label", label), ("weight", weight)):
            if not isinstance(name, str):
                raise TypeError(f"{role} must be a name, got {name!r}")
        self._names = features, label, weight
        self._first: list[np.ndarray] | None = None
        self._template: Any = None

    def of_lists(self, lists: RankingDataset | Iterable[tuple[Any, ...]]) -> Iterator[bytes]:
        """Encode lists one by one, with the ids of a `RankingDataset` that has them."""
        ids: Any = lists.query_ids if isinstance(lists, RankingDataset) else None
        if ids is not None:  # NumPy would take times in nanoseconds for integers
            ids = list(map(str, ids)) if ids.dtype.kind in "mM" else ids.tolist()
        for number, parts in enumerate(arguments.elements("lists", lists, PAIRS)):
            query = () if ids is None else (ids[number],)
            yield self.record(parts, f"lists[{number}]", *query)
        if self._first is None:
            raise ValueError("lists must hold at least one list, got none")

    def record(self, parts: Sequence[Any], title: str, *query: Any) -> bytes:
        """Encode one list, which errors name `title`. `query` holds its id, or nothing."""
        found = columns(parts, title, self._first)
        if self._first is None:
            self._template = _template(_layout(*self._names, found[0].shape[1], has_weights=len(found) == 3))
            self._first = found
        template, places = self._template
        rows = np.tile(template, (len(found[0]), 1))
        rows[:, places] = np.column_stack(found).astype("<f4").view(np.uint8)
        return rows.tobytes() + b"".join(_context(one, title) for one in query)


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


def _context(query: Any, title: str) -> bytes:
    """Encode the field `context` of a record with the id `query`: an integer of int64, or bytes for everything else."""
    if isinstance(query, (int, np.integer)) and not isinstance(query, (bool, np.timedelta64)):
        if not -(2**63) <= query < 2**63:
            raise ValueError(f"{title} must have a query id that fits into int64, or text, got {query}")
        feature = tf.train.Feature(int64_list=tf.train.Int64List(value=[query]))
    else:
        text = query if isinstance(query, bytes) else str(query).encode()
        feature = tf.train.Feature(bytes_list=tf.train.BytesList(value=[text]))
    return _field(2, tf.train.Example(features=tf.train.Features(feature={"query_id": feature})).SerializeToString())


def _field(number: int, value: bytes) -> bytes:
    """Encode a field of bytes of a protocol buffer, as field 1 of a `BytesList` whose number is replaced."""
    return bytes([number << 3 | 2]) + tf.train.BytesList(value=[value]).SerializeToString()[1:]
