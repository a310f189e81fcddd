"""Lists of different lengths, stored one after another in flat arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

import numpy as np

from keras_softsort._internal import arguments
from keras_softsort._internal.advice import warn_once
from keras_softsort._internal.export import export
from keras_softsort.data import arrays

PAIRS = "pairs (features [n, f], labels [n])"  # in errors


@export
@dataclass(frozen=True, eq=False)
class RankingDataset:
    """A data set of lists of different lengths: the items of all lists, one list after another.

    `read_svmlight`, `from_frame` and `read_parquet` return it; `bucketed_batches`, `batches_of_groups` and `write_elwc`
    take it. It is a sequence with one tuple per list: features `[n, f]`, labels `[n]` and weights `[n]` if there are
    any, which are views without padding. A slice, an array of list numbers or an array of booleans selects lists.

    Args:
      features: `[items, f]`, stored as float32. Infinite values and NaN are allowed.
      labels: `[items]`, finite, stored as float32; or `None` for lists to score. Float32 holds every integer up to
        2^24: subtract a common number from timestamps and the like, or take ranks.
      sizes: number of items of each list, `[lists]`, in the order of the items.
      query_ids: identifier of each list, `[lists]`, of any type; or `None`.
      weights: weight of each item, `[items]`, at least 0 and finite, stored as float32; or `None`.
      rows: the row of each item in its table, `[items]`, for `in_row_order`; or `None` for the order of the items.
      feature_names: name of each feature, `[f]`, all different, stored as a tuple; or `None`.
        `from_frame(new, features=lists.feature_names)` reads new rows in the same order.

    Raises:
      ValueError: shapes do not match, a label or weight is not finite, a weight is below 0, or an array does not hold
        numbers or has a finite number beyond float32.

    Example:
      >>> lists = ks.data.RankingDataset(np.eye(6), [0, 1, 2, 1, 0, 4], sizes=[3, 2, 1])
      >>> features, labels = lists[1]
      >>> features.shape, labels.tolist(), lists[[2, 0]].labels.tolist()
      ((2, 6), [1.0, 0.0], [4.0, 0.0, 1.0, 2.0])
    """

    features: np.ndarray
    labels: np.ndarray | None
    sizes: np.ndarray
    query_ids: np.ndarray | None = None
    weights: np.ndarray | None = None
    rows: np.ndarray | None = None
    feature_names: Sequence[Any] | None = None

    def __post_init__(self) -> None:
        names = self.feature_names
        names = None if names is None else tuple(arguments.elements("feature_names", names, "names"))
        stored = {
            "features": arrays.float32(self.features, "features"),
            "labels": None if self.labels is None else arrays.float32(self.labels, "labels"),
            "sizes": _integers("sizes", self.sizes),
            "query_ids": None if self.query_ids is None else np.asarray(self.query_ids),
            "weights": None if self.weights is None else arrays.float32(self.weights, "weights"),
            "rows": None if self.rows is None else _integers("rows", self.rows),
            "feature_names": names,
        }
        for name, value in stored.items():
            object.__setattr__(self, name, value)
        items = self.features.shape[:1] if self.labels is None else self.labels.shape
        if len(items) != 1 or self.features.ndim != 2 or len(self.features) != items[0]:
            raise ValueError(
                f"features and labels must have shapes [items, f] and [items], got {self.features.shape} and {items}"
            )
        # Each size is compared too, since a sum beyond int64 may be anything.
        if np.any((self.sizes < 0) | (self.sizes > items[0])) or self.sizes.sum() != items[0]:
            raise ValueError(f"sizes must be at least 0 and add up to the {items[0]} items, got {self.sizes}")
        counts = {"query_ids": (len(self.sizes), "lists"), "weights": (items[0], "items"), "rows": (items[0], "items")}
        for name, (count, of) in counts.items():
            shape = getattr(stored[name], "shape", (count,))
            if shape != (count,):
                raise ValueError(f"{name} must have one for each of the {count} {of}, got {shape}")
        width = self.features.shape[1]
        if names is not None and not len(names) == len(set(names)) == width:
            raise ValueError(f"feature_names must have a different one for each of the {width} features, got {names}")
        check_items("labels", self.labels, np.isfinite, self.sizes, "finite")
        check_items("weights", self.weights, lambda weights: weights >= 0, self.sizes, "at least 0")
        check_items("weights", self.weights, np.isfinite, self.sizes, "finite")
        # One list may be a part of a data set with other labels, and one label for all a stand-in for unknown ones.
        labels = self.labels
        if labels is not None and len(self.sizes) > 1 and (labels < 0).all() and len(np.unique(labels)) > 1:
            warn_once(
                "negative labels of a data set",
                f"labels are all below 0, from {labels.min():g} to {labels.max():g}, which losses and "
                'metrics take for padding by default: pass them padding=None or padding="nan_labels"',
            )

    @classmethod
    def of(cls, lists: RankingDataset | Sequence[tuple[Any, ...]]) -> RankingDataset:
        """Make a dataset of a sequence of (features `[n, f]`, labels `[n]`[, weights `[n]`]), or return a dataset."""
        if isinstance(lists, cls):
            return lists
        arrays: list[list[np.ndarray]] = []
        for i, parts in enumerate(arguments.elements("lists", lists, PAIRS)):
            arrays.append(columns(parts, f"lists[{i}]", arrays[0] if arrays else None))
        if not arrays:
            raise ValueError("lists must hold at least one list, got none")
        features, labels, *weights = (np.concatenate(parts) for parts in zip(*arrays, strict=True))
        sizes = np.array([len(parts[1]) for parts in arrays])
        return cls(features, labels, sizes, weights=weights[0] if weights else None)

    def __repr__(self) -> str:
        labels = ", no labels" if self.labels is None else ""
        items, width = self.features.shape
        counts = ", ".join(map(arrays.counted, (len(self), items, width), ("list", "item", "feature")))
        return f"RankingDataset({counts}{labels})"

    def __len__(self) -> int:
        return len(self.sizes)

    @overload
    def __getitem__(self, i: int) -> tuple[np.ndarray, ...]: ...

    @overload
    def __getitem__(self, i: slice | Sequence[int] | np.ndarray) -> RankingDataset: ...

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice) or np.ndim(i):
            return self._selected(np.arange(len(self))[i if isinstance(i, slice) or len(i) else []])
        start = self.starts[i]
        return self._items(slice(start, start + self.sizes[i]))

    def __iter__(self) -> Iterator[tuple[np.ndarray, ...]]:
        return (self[i] for i in range(len(self)))

    def _items(self, items: Any) -> tuple[np.ndarray, ...]:
        """Features, labels and, if there are any, weights of `items`."""
        columns = (self.features, self.labels, self.weights)
        return tuple(column[items] for column in columns if column is not None)

    def _selected(self, lists: np.ndarray) -> RankingDataset:
        """Select the lists with these numbers: views of neighboring lists, copies otherwise."""
        sizes, starts = self.sizes[lists], self.starts[lists]
        ids = None if self.query_ids is None else self.query_ids[lists]
        rows = np.repeat(starts - (np.cumsum(sizes) - sizes), sizes) + np.arange(sizes.sum())
        is_run = len(lists) and np.all(np.diff(lists) == 1)
        items: Any = slice(starts[0], starts[-1] + sizes[-1]) if is_run else rows
        rows = rows if self.rows is None else self.rows[items]
        labels, weights = (None if column is None else column[items] for column in (self.labels, self.weights))
        return RankingDataset(self.features[items], labels, sizes, ids, weights, rows, self.feature_names)

    def in_row_order(self, scores: Any) -> np.ndarray:
        """Put `scores` of the items, `[items]` or `[items, 1]`, into the order of the rows of the table: `[items]`.

        So `frame["score"] = lists.in_row_order(model.predict(lists.features))` for a model of rows. A ValueError is
        raised if `scores` have another shape, or a list was selected twice. Selected lists have their own rows only.
        """
        found = np.asarray(scores)
        items = len(self.features)
        if found.shape not in ((items,), (items, 1)):
            raise ValueError(f"scores must have shape ({items},) or ({items}, 1), got {found.shape}")
        found = found.reshape(-1)
        if self.rows is None:
            return found
        order = np.argsort(self.rows)
        twice = self.rows[order[1:]][np.diff(self.rows[order]) == 0]
        if twice.size:
            raise ValueError(f"rows must be different to put scores into their order, got row {twice[0]} twice")
        return found[order]

    @cached_property
    def starts(self) -> np.ndarray:
        """Index of the first item of each list: `[lists]`."""
        return np.cumsum(self.sizes) - self.sizes


def check_items(name: str, values: np.ndarray | None, is_valid: Callable, sizes: np.ndarray, rule: str) -> None:
    """Raise an error that names the first list with a value that is not valid; `values` may be None."""
    if values is not None and not np.all(is_valid(values)):
        item = int(np.argmin(is_valid(values)))
        at = np.searchsorted(np.cumsum(sizes), item, side="right")
        raise ValueError(f"{name} must be {rule}, got {values[item]} in list {at}")


def columns(parts: Any, title: str, first: Sequence[np.ndarray] | None = None) -> list[np.ndarray]:
    """Convert features `[n, f]`, labels `[n]` and perhaps weights `[n]` of a list to arrays. Errors name it `title`.

    With the columns of the `first` list, there must be as many features, and weights if and only if it has them.
    """
    given = arguments.elements(title, parts, "arrays, features [n, f] and labels [n]")
    found = [arrays.float32(part, title) for part in given]
    shapes = [column.shape for column in found]
    if len(found) not in (2, 3) or len(shapes[0]) != 2 or any(shape != shapes[0][:1] for shape in shapes[1:]):
        raise ValueError(f"{title} must be features [n, f] and labels [n], and perhaps weights [n], got {shapes}")
    if first is not None and (len(found) != len(first) or shapes[0][1] != first[0].shape[1]):
        weights = "and weights [n]" if len(first) == 3 else "without weights"
        expected = f"features [n, {first[0].shape[1]}] and labels [n] {weights}, as the first list"
        raise ValueError(f"{title} must be {expected}, got {shapes}")
    return found


def _integers(name: str, values: Any) -> np.ndarray:
    found = np.asarray(values)
    if found.ndim != 1 or (found.size and not np.issubdtype(found.dtype, np.integer)):
        raise ValueError(f"{name} must be integers [lists], got {found.dtype} {found.shape}")
    return found.astype(np.int64)
