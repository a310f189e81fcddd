"""Lists of numbers as ExampleListWithContext records, one at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from keras_softsort._internal import arguments
from keras_softsort.data._elwc.encoder import Encoder, context, is_integer
from keras_softsort.data._ranking_dataset import columns

LABEL, WEIGHT, QUERY = "label", "weight", "query_id"


class Records:
    """Makes records of lists that have the columns of the first: features, labels and perhaps weights.

    Args:
      features: the name of one feature of all columns, or one name per column.
    """

    def __init__(self, features: str | Sequence[str]) -> None:
        self._features = features
        self._widths: tuple[int, ...] | None = None
        self._encoder: Encoder | None = None

    def record(self, parts: Sequence[Any], title: str, *query: Any) -> bytes:
        """Encode one list, which errors name `title`. `query` holds its id, or nothing."""
        found = columns(parts, title)
        items = found[0]
        widths = tuple(column.shape[1] if column.ndim == 2 else 0 for column in found)
        self._widths = self._widths or widths
        is_list = items.ndim == 2 and all(column.shape == items.shape[:1] for column in found[1:])
        if widths != self._widths or not is_list:
            raise ValueError(
                f"{title} must be features [n, f] and labels [n], and weights [n] if lists[0] has them, "
                f"with f as in lists[0], got {[column.shape for column in found]}"
            )
        for one in query:
            if is_integer(one) and not -(2**63) <= one < 2**63:
                raise ValueError(f"{title} must have a query id that fits into int64, or text, got {one}")
        if self._encoder is None:
            self._encoder = Encoder.of(_layout(self._features, items.shape[1], has_weights=len(found) == 3))
        numbers = np.concatenate([items, *(column[:, np.newaxis] for column in found[1:])], axis=1)
        return self._encoder.examples(numbers) + b"".join(context(QUERY, one) for one in query)


def as_queries(ids: np.ndarray) -> list[Any]:
    """Convert the ids of lists to what `Records.record` takes."""
    # NumPy would take times in nanoseconds for integers.
    return list(map(str, ids)) if ids.dtype.kind in "mM" else ids.tolist()


def _layout(features: str | Sequence[str], width: int, has_weights: bool) -> list[tuple[str, int]]:
    """Names and lengths of the features of an example."""
    if isinstance(features, str):
        named = [(features, width)]
    else:
        named = [(name, 1) for name in arguments.elements("features", features, "names")]
    layout = [*named, (LABEL, 1), *([(WEIGHT, 1)] if has_weights else [])]
    names = [name for name, _ in layout]
    if sum(size for _, size in named) != width or len(set(names)) != len(names):
        raise ValueError(
            f"features must be one name or {width} distinct names, other than {LABEL!r} and {WEIGHT!r}, "
            f"got {features!r}"
        )
    return layout
