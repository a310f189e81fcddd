"""The rows of a data set, as LightGBM and XGBoost hand them to an objective or a metric, and padded lists of them."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from keras_softsort._internal.arrays import integer_array, padded_sizes, real_array

# The pairs of items of a block, 4 MB in float32.
BLOCK_PAIRS = 2**20


class Rows(NamedTuple):
    """Rows, list by list."""

    scores: np.ndarray  # [rows]
    labels: np.ndarray  # [rows]
    weights: np.ndarray | None  # [rows]
    sizes: np.ndarray  # [lists], their sum is the number of rows

    def list_numbers(self) -> np.ndarray:
        return np.repeat(np.arange(len(self.sizes)), self.sizes)


def is_xgboost(data: Any) -> bool:
    """Whether `data` is a `DMatrix` of XGBoost rather than a `Dataset` of LightGBM or labels."""
    return hasattr(data, "get_uint_info")


def read_rows(first: Any, second: Any, weight: Any, group: Any) -> Rows:
    """Read the arguments of a call: scores and a data set, or labels, scores, weights and the sizes of lists."""
    labels, scores, is_matrix = first, second, is_xgboost(second)
    if hasattr(second, "get_label"):
        labels, scores, weight = second.get_label(), first, second.get_weight()
        group = np.diff(second.get_uint_info("group_ptr").astype(np.int64)) if is_matrix else second.get_group()
    scores, labels = real_array("scores", scores), real_array("labels", labels)
    if scores.shape != labels.shape or scores.ndim != 1:
        raise ValueError(f"there must be one score for each label, got shapes {scores.shape} and {labels.shape}")
    if group is None or not len(group):
        raise ValueError(
            "group must be given, the number of rows of each list: group= of lightgbm.Dataset or of fit, and group= or "
            "qid= of xgboost.DMatrix; got none"
        )
    sizes = integer_array("group", group)
    if (sizes < 0).any():
        raise ValueError(f"group must hold sizes of at least 0, got {sizes.min()} in group {sizes.argmin()}")
    if sizes.sum() != len(scores):
        raise ValueError(f"group must hold sizes that add up to the {len(scores)} rows, got a sum of {sizes.sum()}")
    if np.isnan(labels).any():
        raise ValueError("labels must be numbers, got NaN")
    return Rows(scores, labels, _weights_of_rows(weight, sizes, is_matrix), sizes[sizes > 0])


def _weights_of_rows(weight: Any, sizes: np.ndarray, lists_first: bool) -> np.ndarray | None:
    """LightGBM has a weight per row and XGBoost one per list, which decides where there are as many of both."""
    if weight is None or not len(weight):
        return None
    weights = real_array("weights", weight)
    if len(weights) == len(sizes) and (lists_first or len(weights) != sizes.sum()):
        weights = np.repeat(weights, sizes)
    if len(weights) != sizes.sum():
        raise ValueError(
            f"there must be a weight for each of the {sizes.sum()} rows or {len(sizes)} lists, got {len(weights)}"
        )
    if not (weights >= 0).all():
        raise ValueError(f"weights must be at least 0, got {weights[~(weights >= 0)][0]}")
    return weights


@functools.lru_cache(maxsize=32)  # folds and validation sets take turns
def padded_rows(sizes: bytes) -> tuple[np.ndarray, ...]:
    """The rows [lists, n] of padded lists of int64 `sizes`, for a few n. The number of rows marks padding."""
    counts = np.frombuffer(sizes, np.int64)
    rows, starts = counts.sum(), np.cumsum(counts) - counts
    padded = padded_sizes(counts)
    found: list[np.ndarray] = []
    for size in np.unique(padded):
        chosen, positions = np.flatnonzero(padded == size)[:, np.newaxis], np.arange(size)
        own = np.where(positions < counts[chosen], starts[chosen] + positions, rows)
        found.extend(np.array_split(own, min(len(own), -(-len(own) * size**2 // BLOCK_PAIRS))))
    return tuple(found)
