"""Soft quantiles, the median among them."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from keras_softsort._internal.arguments import compute_dtype
from keras_softsort._internal.export import export
from keras_softsort.ops.core.order import valid_counts
from keras_softsort.ops.core.tracing import traced_if_eager
from keras_softsort.ops.sorting import dispatch
from keras_softsort.ops.sorting.methods import SortArguments, sort_arguments

# The longest lists for which a graph holds the places of the quantiles for every number of valid items.
LONGEST_TABLE = 4096


@export
def soft_quantile(
    scores: Any,
    q: Any,
    tau: Any = 1.0,
    *,
    method: str = "neural_sort",
    power: float = 1.0,
    mask: Any = None,
    scale: str | None = None,
    axis: int = -1,
) -> tf.Tensor:
    """Compute soft quantiles of each list: softly sorted values, interpolated linearly between ranks as in NumPy.

    Use it for medians and quantiles inside a model or a loss. For m valid items, their softly sorted values v
    (`soft_values`) in ascending order, and `h = (m - 1) q`, the quantile is
    `v[floor(h)] + (h - floor(h)) (v[floor(h) + 1] - v[floor(h)])`. `q=0.5` is the median.

    Args:
      scores, tau, power, mask, scale: as in `soft_values`.
      q: a Python or NumPy number in [0, 1], or a one-dimensional sequence of them.
      method: the soft permutation, `"neural_sort"` or `"soft_sort"`.
      axis: the axis of the n items in `scores` and `mask`. The quantiles take its place.

    Returns:
      `[...]` for a number q, `[..., len(q)]` for a sequence, in the dtype of `scores`. Lists without valid items give 0
      and zero gradient. A list with a valid score that is not finite gives NaN.

    Raises:
      TypeError: `scores` is not floating-point, `q` is not a number or a sequence of numbers, or `mask` is not bool.
      ValueError: `q` is outside [0, 1] or has more than one axis, or an error of `soft_values`.

    Cost: O(len(q) n + n log n) time and O(len(q) n) memory.

    Example:
      >>> ks.ops.soft_quantile([2.0, 5.0, 3.0, 10.0], [0.0, 0.5, 1.0], tau=0.01).numpy().tolist()
      [2.0, 4.0, 10.0]
    """
    quantiles = checked_quantiles(q)
    args = sort_arguments(
        scores, tau, mask=mask, direction="ASCENDING", method=method, power=power, scale=scale, axis=axis
    )
    # A tensor, so that other quantiles need no new trace.
    result = _quantiles(_never_empty(args._replace(axis=-1)), tf.constant(quantiles.ravel()))
    return result[..., 0] if quantiles.ndim == 0 else args.with_list_axis_back(result)


def checked_quantiles(q: Any) -> np.ndarray:
    """Return `q` as a float64 array of rank 0 or 1, checked to lie in [0, 1]."""
    if tf.is_tensor(q):
        raise TypeError("q must be a Python or NumPy number or sequence, got a tensor")
    quantiles = np.asarray(q)
    if quantiles.dtype.kind not in "fiu":
        raise TypeError(f"q must be a number or a sequence of numbers, got {q!r}")
    if quantiles.ndim > 1 or quantiles.size == 0:
        raise ValueError(f"q must be a number or a non-empty sequence of numbers, got shape {quantiles.shape}")
    if not np.all((quantiles >= 0) & (quantiles <= 1)):
        raise ValueError(f"q must lie in [0, 1], got {q!r}")
    return quantiles.astype(np.float64)


def _never_empty(args: SortArguments) -> SortArguments:
    """Add a masked item if lists may be empty, so that there is a row to read."""
    if args.scores.shape[-1]:
        return args
    padding = [[0, 0]] * (args.scores.shape.rank - 1) + [[0, 1]]
    mask = tf.ones_like(args.scores, tf.bool) if args.mask is None else args.mask
    return args._replace(scores=tf.pad(args.scores, padding), mask=tf.pad(mask, padding))


@traced_if_eager
def _quantiles(args: SortArguments, quantiles: tf.Tensor) -> tf.Tensor:
    rows, share = _places(args, quantiles)
    values = dispatch.multiply(args, args.scores[..., tf.newaxis], rows=rows)[..., 0]
    values = tf.cast(values, compute_dtype(values.dtype))
    low, high = tf.split(values, 2, axis=-1)
    return tf.cast(low + tf.cast(share, values.dtype) * (high - low), args.scores.dtype)


def _places(args: SortArguments, quantiles: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """The ranks below and then those above the quantiles, [..., 2 q], and the share [..., q] of the upper ones.

    Positions are float64, because in float32 a share would lose its digits. For a known list size they are constants
    for every number of valid items, because LiteRT has no float64.
    """
    size, known = args.scores.shape[-1], tf.get_static_value(quantiles)
    if args.mask is None:
        last = tf.shape(args.scores)[-1:] - 1
    else:
        last = tf.maximum(valid_counts(args.mask, keepdims=True) - 1, 0)
    if size is not None and size <= LONGEST_TABLE and known is not None:
        positions = np.arange(size)[:, np.newaxis] * known
        below = np.floor(positions)
        above = np.minimum(below + 1, np.arange(size)[:, np.newaxis])
        share = tf.constant(positions - below, compute_dtype(args.scores.dtype))
        rows = tf.constant(np.concatenate([below, above], axis=-1), tf.int32)
        if args.mask is None:
            return rows[-1], share[-1]
        return tf.gather(rows, last[..., 0]), tf.gather(share, last[..., 0])
    position = tf.cast(last, tf.float64) * quantiles
    lower = tf.cast(tf.floor(position), tf.int32)
    return tf.concat([lower, tf.minimum(lower + 1, last)], axis=-1), position - tf.floor(position)
