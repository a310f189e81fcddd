"""Lists of numbers as ExampleListWithContext records, one at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from keras_softsort.data._elwc.encoder import Encoder, context

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
        """The record of a list with the id `query`, if one is given; `title` is its name in errors."""
        columns = [np.asarray(part, np.float32) for part in parts]
        items = columns[0]
        widths = tuple(column.shape[1] if column.ndim == 2 else 0 for column in columns)
        self._widths = self._widths or widths
        if (
            len(columns) not in (2, 3)
            or widths != self._widths
            or items.ndim != 2
            or any(column.shape != items.shape[:1] for column in columns[1:])
        ):
            raise ValueError(
                f"{title} must be features [n, f] and labels [n], and weights [n] if lists[0] has them, "
                f"with f as in lists[0], got {[column.shape for column in columns]}"
            )
        if self._encoder is None:
            self._encoder = Encoder.of(_layout(self._features, items.shape[1], has_weights=len(columns) == 3))
        numbers = np.concatenate([items, *(column[:, np.newaxis] for column in columns[1:])], axis=1)
        return self._encoder.examples(numbers) + b"".join(context(QUERY, one) for one in query)


def _layout(features: str | Sequence[str], width: int, has_weights: bool) -> list[tuple[str, int]]:
    """Names and lengths of the features of an example."""
    named = [(features, width)] if isinstance(features, str) else [(name, 1) for name in features]
    layout = [*named, (LABEL, 1), *([(WEIGHT, 1)] if has_weights else [])]
    names = [name for name, _ in layout]
    if sum(size for _, size in named) != width or len(set(names)) != len(names):
        raise ValueError(
            f"features must be one name or {width} distinct names, other than {LABEL!r} and {WEIGHT!r}, "
            f"got {features!r}"
        )
    return layout
