"""Judged lists of any lengths, one after another in flat arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class RankingDataset:
    """The items of many lists, one list after another: what `read_svmlight` gives and `bucketed_batches` takes.

    As a sequence it holds one pair a list: features `[n, f]` and labels `[n]`, views without padding.

    Args:
      features: `[items, f]`, kept as float32.
      labels: `[items]`, kept as float32: relevance, finite and from 0 on (below 0 it would be padding).
      sizes: how many items each list has, `[lists]`, in the order of the items.
      query_ids: integers `[lists]`, or `None`.

    Raises:
      ValueError: shapes that do not match, sizes that do not add up to the items, a label below 0 or not finite.

    Example:

    >>> import numpy as np
    >>> import keras_softsort as ks
    >>> lists = ks.data.RankingDataset(np.eye(5), [0, 1, 2, 1, 0], sizes=[3, 2])
    >>> features, labels = lists[1]
    >>> features.shape, labels.tolist(), [len(labels) for _, labels in lists]
    ((2, 5), [1.0, 0.0], [3, 2])
    """

    features: np.ndarray
    labels: np.ndarray
    sizes: np.ndarray
    query_ids: np.ndarray | None = None

    def __post_init__(self) -> None:
        kept = {
            "features": np.asarray(self.features, np.float32),
            "labels": np.asarray(self.labels, np.float32),
            "sizes": _integers("sizes", self.sizes),
            "query_ids": None if self.query_ids is None else _integers("query_ids", self.query_ids),
        }
        for name, value in kept.items():
            object.__setattr__(self, name, value)
        items, lists = self.labels.shape, self.sizes.shape
        if len(items) != 1 or self.features.ndim != 2 or len(self.features) != items[0]:
            raise ValueError(
                f"features and labels must have shapes [items, f] and [items], got {self.features.shape} and {items}"
            )
        if np.any(self.sizes < 0) or self.sizes.sum() != items[0]:
            raise ValueError(f"sizes must be at least 0 and add up to the {items[0]} items, got {self.sizes}")
        if self.query_ids is not None and self.query_ids.shape != lists:
            raise ValueError(f"query_ids must have one for each of the {lists[0]} lists, got {self.query_ids.shape}")
        wrong = np.flatnonzero(~(np.isfinite(self.labels) & (self.labels >= 0)))
        if wrong.size:
            at = np.searchsorted(np.cumsum(self.sizes), wrong[0], side="right")
            raise ValueError(f"labels must be finite and at least 0, got {self.labels[wrong[0]]} in list {at}")

    @classmethod
    def of(cls, lists: RankingDataset | Sequence[tuple[Any, Any]]) -> RankingDataset:
        """`lists` itself, or a sequence of pairs (features `[n, f]`, labels `[n]`) put one after another."""
        if isinstance(lists, cls):
            return lists
        pairs = [(np.asarray(features, np.float32), np.asarray(labels, np.float32)) for features, labels in lists]
        if not pairs:
            raise ValueError("lists must hold a list at least, got none")
        for i, (features, labels) in enumerate(pairs):
            expected = (len(labels) if labels.ndim else "n", pairs[0][0].shape[-1] if pairs[0][0].ndim else "f")
            if labels.ndim != 1 or features.shape != expected:
                raise ValueError(
                    f"lists[{i}] must be features [n, f] and labels [n], {expected} with these labels and the "
                    f"features of lists[0], got {features.shape} and {labels.shape}"
                )
        features, labels = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
        return cls(features, labels, np.array([len(labels) for _, labels in pairs]))

    def __len__(self) -> int:
        return len(self.sizes)

    def __getitem__(self, i: int) -> tuple[np.ndarray, np.ndarray]:
        size, start = self.sizes[i], self.starts[i]
        return self.features[start : start + size], self.labels[start : start + size]

    def __iter__(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        return (self[i] for i in range(len(self)))

    @cached_property
    def starts(self) -> np.ndarray:
        """Where each list begins among the items: [lists]."""
        return np.cumsum(self.sizes) - self.sizes


def _integers(name: str, values: Any) -> np.ndarray:
    found = np.asarray(values)
    if found.ndim != 1 or (found.size and not np.issubdtype(found.dtype, np.integer)):
        raise ValueError(f"{name} must be integers [lists], got {found.dtype} {found.shape}")
    return found.astype(np.int64)
