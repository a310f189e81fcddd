"""The logits that Sinkhorn normalizes, and the sums that their rows and columns should have."""

from __future__ import annotations

from typing import Any, NamedTuple

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.arguments import compute_dtype
from keras_softsort._internal.not_a_number import at_least_or_nan
from keras_softsort.ops.core.axes import flatten_lists, with_static_shape
from keras_softsort.ops.core.deviations import in_deviations
from keras_softsort.ops.core.temperature import excluded, is_nan_or_infinity

# The largest relative difference of two masses that counts as rounding of sums of many terms.
EQUAL_MASS = {tf.float32: 1e-5, tf.float64: 1e-10}
# A logit further below the largest of its row counts as this far below, so that quotients by a tiny tau stay finite.
FARTHEST = 1e30


class SinkhornMatrices(NamedTuple):
    """Matrices `exp(logits)` `[B, N, M]`, whose rows should sum to `rows` and whose columns to `columns`."""

    logits: tf.Tensor  # [B, N, M], differentiable: in units of tau, below 0 without an exponent; `excluded` for a 0
    start: tf.Tensor  # [B, M]: the potentials of the columns before the first iteration
    rows: tf.Tensor  # [B, N]: the sum of each row; 0 if masked
    columns: tf.Tensor  # [B, M]
    failed: tf.Tensor  # [B]: holds NaN or +inf, or a row or column without an allowed entry
    # penalty / (penalty + tau), a scalar or [B, 1], if sums may differ from `rows` and `columns` at a penalty.
    exponent: tf.Tensor | None = None


def sinkhorn_matrices(
    logits: tf.Tensor,
    tau: tf.Tensor,
    *,
    row_mask: tf.Tensor | None = None,
    column_mask: tf.Tensor | None = None,
    row_sums: tf.Tensor | None = None,
    column_sums: tf.Tensor | None = None,
    penalty: float | None = None,
) -> SinkhornMatrices:
    """Flatten leading axes, and add a slack row and a slack column for the mass that one side has more than the other.

    There is none with a penalty, nor if all matrices are square with sums of 1, which saves 20 to 30 % of the time.
    """
    scores = flatten_lists(logits, inner=2)
    scores = tf.cast(scores, compute_dtype(scores.dtype))
    rows, columns = _sums(scores, row_mask, row_sums, 1), _sums(scores, column_mask, column_sums, 2)
    failed = tf.reshape(tf.math.is_nan(tau), [-1])
    has_unit_sums = all(each is None for each in (row_mask, column_mask, row_sums, column_sums))
    if not has_unit_sums:
        # An infinite sum, and under XLA one that is negative or NaN.
        wrong = [tf.logical_not((sums >= 0) & (sums <= sums.dtype.max)) for sums in (rows, columns)]
        rows, columns = (
            tf.where(each, tf.zeros_like(sums), sums) for each, sums in zip(wrong, (rows, columns), strict=True)
        )
        failed |= tf.reduce_any(tf.concat(wrong, axis=1), axis=1)
    n, m = logits.shape[-2:]
    if penalty is not None:
        # Without a slack, an empty side leaves nothing for the other one.
        is_empty = [tf.reduce_all(sums <= 0, axis=1, keepdims=True) for sums in (rows, columns)]
        rows, columns = (tf.where(is_empty[0] | is_empty[1], tf.zeros_like(sums), sums) for sums in (rows, columns))
    elif not (has_unit_sums and n is not None and n == m):
        surplus, level = _surplus(rows, columns), _slack_level(scores, rows, columns)
        rows = tf.concat([rows, tf.nn.relu(surplus)], axis=1)
        columns = tf.concat([columns, tf.nn.relu(-surplus)], axis=1)
        paddings = [[0, 0], [0, 1], [0, 1]]
        # onnxruntime cannot pad bool tensors.
        is_slack = tf.pad(tf.zeros_like(scores), paddings, constant_values=1) > 0
        scores = tf.where(is_slack, level, tf.pad(scores, paddings))
        has_unit_sums = False
    scores, rows, columns = _of_one_shape(scores, rows, columns)
    allowed, is_wrong = at_least_or_nan(scores, scores.dtype.min), is_nan_or_infinity(scores)
    no_column, no_row = (~tf.reduce_any(allowed, axis=axis) for axis in (2, 1))
    if not has_unit_sums:
        valid = (rows[:, :, tf.newaxis] > 0) & (columns[:, tf.newaxis, :] > 0)
        allowed, is_wrong = allowed & valid, is_wrong & valid
        no_column = (rows > 0) & ~tf.reduce_any(allowed, axis=2)
        no_row = (columns > 0) & ~tf.reduce_any(allowed, axis=1)
    failed |= tf.reduce_any(is_wrong, axis=[1, 2]) | tf.reduce_any(no_column, axis=1) | tf.reduce_any(no_row, axis=1)
    failed = with_static_shape(failed, scores.shape[:1])
    # An invalid matrix is computed as zeros; NaN would end the loops that all matrices of the batch share.
    zeroed = failed[:, tf.newaxis, tf.newaxis]
    scores = tf.where(allowed & ~zeroed, scores, tf.zeros_like(scores))
    allowed |= zeroed if has_unit_sums else zeroed & valid
    tau = tf.where(tau > 0, tau, tf.ones_like(tau))
    exponent = None if penalty is None else penalty / (penalty + tau)
    if exponent is not None and exponent.shape.rank != 0:
        exponent = tf.squeeze(exponent, axis=-1)
    below, start = _in_temperatures(scores, allowed, tau, relative=exponent is None)
    return SinkhornMatrices(
        logits=below,
        start=tf.where(columns > 0, start, excluded(start.dtype)),
        rows=rows,
        columns=columns,
        failed=failed,
        exponent=exponent,
    )


def _in_temperatures(
    scores: tf.Tensor, allowed: tf.Tensor, tau: tf.Tensor, *, relative: bool
) -> tuple[tf.Tensor, tf.Tensor]:
    """The scores [B, N, M] over tau, and the potentials [B, M] with which this is the same problem.

    If sums must hold, the scores are relative to the largest of their row, for the digits of the gradient of tau, and
    then to the largest of their column. Neither changes a weight.
    """
    if relative:
        scores -= _peak(scores, allowed, 2)
    logits = tf.maximum(scores, -FARTHEST * tf.stop_gradient(tau)) / tau
    level = tf.zeros_like(logits[:, :1])
    if relative:
        level = _peak(logits, allowed, 1)
        logits -= level
    # A sum, as there is no first row in an empty matrix.
    return tf.where(allowed, logits, excluded(logits.dtype)), tf.reduce_sum(level, axis=1)


def _peak(values: tf.Tensor, allowed: tf.Tensor, axis: int) -> tf.Tensor:
    """The largest allowed value along an axis, with `keepdims`; 0 if there is none. It has no gradient."""
    lowest = values.dtype.min
    peak = tf.stop_gradient(tf.reduce_max(tf.where(allowed, values, lowest), axis=axis, keepdims=True))
    return tf.where(peak > lowest, peak, tf.zeros_like(peak))


def logits_in_deviations(
    logits: tf.Tensor, row_mask: tf.Tensor | None, column_mask: tf.Tensor | None, *, from_origin: bool
) -> tf.Tensor:
    """The logits [..., n, m] of each matrix, or differences of them, in the deviation of its valid finite ones."""
    counts = tf.math.is_finite(logits)
    for mask, axis in ((row_mask, -1), (column_mask, -2)):
        counts = counts if mask is None else tf.logical_and(counts, tf.expand_dims(mask, axis))
    shape = tf.shape(logits)
    entries = tf.concat([shape[:-2], [shape[-2] * shape[-1]]], axis=0)
    # Entries that do not count may be infinite or NaN, which would reach the gradient of the deviation.
    finite = tf.where(counts, logits, tf.zeros_like(logits))
    found = in_deviations(tf.reshape(finite, entries), tf.reshape(counts, entries), from_origin=from_origin)
    return tf.where(counts, tf.reshape(found, shape), logits)


def checked_sums(name: str, sums: Any, mask: tf.Tensor | None, matrix: tf.Tensor, axis: int) -> tf.Tensor | None:
    """Check `sums` along an axis of `matrix`, at least 0, and return them as `[..., size]`, 0 where masked."""
    if sums is None:
        return None
    sums = tf.cast(arguments.real_tensor(name, sums), compute_dtype(matrix.dtype))
    expected, sizes = matrix.shape[:-2].concatenate([matrix.shape[axis]]), tf.shape(matrix)
    if sums.shape.rank == 1:
        sums = tf.broadcast_to(sums, tf.concat([sizes[:-2], tf.shape(sums)], axis=0))
    if not sums.shape.is_compatible_with(expected):
        raise ValueError(f"{name} must have shape {expected} or {expected[-1:]}, got {sums.shape}")
    sums = arguments.of_shape(name, sums, tf.concat([sizes[:-2], [sizes[axis]]], axis=0))
    sums = sums if mask is None else tf.where(mask, sums, tf.zeros_like(sums))
    return arguments.non_negative_tensor(name, sums)


def _sums(scores: tf.Tensor, mask: tf.Tensor | None, sums: tf.Tensor | None, axis: int) -> tf.Tensor:
    """The sums [B, size] along `axis`, 1 unless given and 0 if masked."""
    if sums is None:
        shape = tf.shape(scores)
        sums = tf.ones([shape[0], shape[axis]], scores.dtype)
    return sums if mask is None else tf.where(flatten_lists(mask), sums, tf.zeros_like(sums))


def _surplus(rows: tf.Tensor, columns: tf.Tensor) -> tf.Tensor:
    """The sum of `columns` minus the sum of `rows`: [B, 1], 0 if the difference is only rounding."""
    of_rows, of_columns = (tf.reduce_sum(sums, axis=-1, keepdims=True) for sums in (rows, columns))
    surplus = of_columns - of_rows
    is_rounding = tf.abs(surplus) <= EQUAL_MASS[rows.dtype] * tf.maximum(of_rows, of_columns)
    return tf.where(is_rounding, tf.zeros_like(surplus), surplus)


def _slack_level(scores: tf.Tensor, rows: tf.Tensor, columns: tf.Tensor) -> tf.Tensor:
    """The score [B, 1, 1] of a slack, the smallest maximum of a row or 0. A higher one would lose digits."""
    smallest, largest = scores.dtype.min, scores.dtype.max
    used = tf.math.is_finite(scores) & (rows[:, :, tf.newaxis] > 0) & (columns[:, tf.newaxis, :] > 0)
    maxima = tf.reduce_max(tf.where(used, scores, smallest), axis=2, keepdims=True)
    level = tf.reduce_min(tf.where(maxima > smallest, maxima, largest), axis=1, keepdims=True)
    return tf.where(level < largest, level, tf.zeros_like(level))


def _of_one_shape(scores: tf.Tensor, rows: tf.Tensor, columns: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Give all tensors the static sizes that are known of any, which a loop requires of its state."""
    batch = scores.shape[:1].merge_with(rows.shape[:1]).merge_with(columns.shape[:1])
    n, m = (scores.shape[1:2].merge_with(rows.shape[1:]), scores.shape[2:].merge_with(columns.shape[1:]))
    shapes = [batch + n + m, batch + n, batch + m]
    scores, rows, columns = map(with_static_shape, (scores, rows, columns), shapes)
    return scores, rows, columns
