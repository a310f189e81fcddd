"""The matrices that Sinkhorn normalizes, and the sums that their rows and columns should have."""

from __future__ import annotations

from typing import Any, NamedTuple

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.arguments import compute_dtype
from keras_softsort.ops.core.deviations import in_deviations
from keras_softsort.ops.core.lists import flatten_lists, is_minus_infinity, is_nan_or_infinity

# The largest relative difference of two masses that counts as rounding of sums of many terms.
EQUAL_MASS = {tf.float32: 1e-5, tf.float64: 1e-10}


class SinkhornMatrices(NamedTuple):
    """Matrices `[B, N, M]` whose rows should sum to `rows` and whose columns to `columns`."""

    scores: tf.Tensor  # [B, N, M] in the compute dtype, finite: 0 where an entry is to be 0
    inverse_tau: tf.Tensor  # float64, a scalar or [B, 1, 1]
    is_allowed: tf.Tensor  # [B, N, M] bool: the entries that are not to be 0
    rows: tf.Tensor  # [B, N] in the compute dtype: the sum of each row; 0 if masked
    columns: tf.Tensor  # [B, M]
    failed: tf.Tensor  # [B]: holds NaN or +inf, or a row or column without an allowed entry
    sum_range: Any = 0.0  # scalar: the logarithm of the largest sum over the smallest
    # penalty / (penalty + tau), float64, a scalar or [B, 1], if sums may differ from `rows` and `columns` at a penalty.
    exponent: tf.Tensor | None = None

    def peak(self, logits: tf.Tensor, axis: int) -> tf.Tensor:
        """The largest allowed entry along an axis, with `keepdims`; 0 if there is none. It has no gradient."""
        logits = tf.where(self.is_allowed, logits, tf.constant(logits.dtype.min, logits.dtype))
        peak = tf.stop_gradient(tf.reduce_max(logits, axis=axis, keepdims=True))
        return tf.where(peak > peak.dtype.min, peak, tf.zeros_like(peak))

    def row_centered(self, dtype: tf.DType) -> tf.Tensor:
        """The scores [B, N, M] minus the largest of their row, which changes no weight if sums must hold."""
        scores = tf.cast(self.scores, dtype)
        return scores if self.exponent is not None else scores - self.peak(scores, axis=2)

    def row_error(self, row_sums: tf.Tensor) -> tf.Tensor:
        """The largest distance [B] of a row sum from the one that it should have."""
        return tf.reduce_max(tf.abs(row_sums - self.rows), axis=-1)


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

    There is no slack if all matrices are square with sums of 1, whose iterations take 0.7 to 0.8 of the time, nor with
    a penalty. `tau` is a scalar or `[B, 1, 1]`.
    """
    scores = flatten_lists(logits, inner=2)
    scores = tf.cast(scores, compute_dtype(scores.dtype))
    rows, wrong_rows = _sums(scores, row_mask, row_sums, 1)
    columns, wrong_columns = _sums(scores, column_mask, column_sums, 2)
    n, m = logits.shape[-2:]
    has_unit_sums = all(each is None for each in (row_mask, column_mask, row_sums, column_sums))
    if penalty is not None:
        # Without a slack, an empty side leaves nothing for the other one.
        is_empty = [tf.reduce_all(sums <= 0, axis=1, keepdims=True) for sums in (rows, columns)]
        rows, columns = (tf.where(is_empty[0] | is_empty[1], tf.zeros_like(sums), sums) for sums in (rows, columns))
    elif not (has_unit_sums and n is not None and n == m):
        surplus, level = _surplus(rows, columns), _slack_level(scores, rows, columns)
        rows = tf.concat([rows, tf.nn.relu(surplus)], axis=1)
        columns = tf.concat([columns, tf.nn.relu(-surplus)], axis=1)
        paddings = [[0, 0], [0, 1], [0, 1]]
        is_slack = tf.pad(tf.zeros_like(scores, tf.bool), paddings, constant_values=True)
        scores = tf.where(is_slack, level, tf.pad(scores, paddings))
    scores, rows, columns = _of_one_shape(scores, rows, columns)
    valid = (rows[:, :, tf.newaxis] > 0) & (columns[:, tf.newaxis, :] > 0)
    is_allowed = valid & ~is_minus_infinity(scores)

    not_a_number = tf.reduce_any(is_allowed & is_nan_or_infinity(scores), axis=[1, 2])
    no_column = tf.reduce_any((rows > 0) & ~tf.reduce_any(is_allowed, axis=2), axis=1)
    no_row = tf.reduce_any((columns > 0) & ~tf.reduce_any(is_allowed, axis=1), axis=1)
    not_positive = tf.math.is_nan(tau)
    failed = not_a_number | no_column | no_row | wrong_rows | wrong_columns | tf.reshape(not_positive, [-1])
    failed = tf.ensure_shape(failed, scores.shape[:1])
    # An invalid matrix is computed as zeros; NaN would end the loops that all matrices of the batch share.
    zeroed = failed[:, tf.newaxis, tf.newaxis]
    inverse_tau = 1 / tf.where(not_positive, tf.ones_like(tau), tau)
    exponent = None if penalty is None else penalty * inverse_tau / (penalty * inverse_tau + 1)
    if exponent is not None and exponent.shape.rank != 0:
        exponent = tf.squeeze(exponent, axis=-1)
    has_sums = row_sums is not None or column_sums is not None
    return SinkhornMatrices(
        scores=tf.where(is_allowed & ~zeroed, scores, tf.zeros_like(scores)),
        inverse_tau=inverse_tau,
        is_allowed=is_allowed | (zeroed & valid),
        rows=rows,
        columns=columns,
        failed=failed,
        sum_range=_range(rows, columns) if has_sums else 0.0,
        exponent=exponent,
    )


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
    """Check the sums `[..., size]` or `[size]` along an axis (-2 or -1) of `matrix`: at least 0 where valid.

    Return them as `[..., size]` in the compute dtype of `matrix`, 0 where masked.
    """
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


def unit_matrices(kernel: tf.Tensor) -> SinkhornMatrices:
    """Square matrices [B, N, N] without masks, whose rows and columns should all sum to 1."""
    ones = tf.ones_like(tf.linalg.diag_part(kernel))
    return SinkhornMatrices(
        scores=kernel,
        inverse_tau=tf.ones([], kernel.dtype),
        is_allowed=tf.ones_like(kernel, tf.bool),
        rows=ones,
        columns=ones,
        failed=tf.zeros(tf.shape(ones)[:1], tf.bool),
    )


def _sums(scores: tf.Tensor, mask: tf.Tensor | None, sums: tf.Tensor | None, axis: int) -> tuple[tf.Tensor, tf.Tensor]:
    """The sums [B, size] along `axis`, 1 unless given and 0 if masked, and whether one is no sum [B]."""
    if sums is None:
        sums = tf.ones(tf.gather(tf.shape(scores), [0, axis]), scores.dtype)
    sums = tf.cast(sums, scores.dtype)
    if mask is not None:
        sums = tf.where(flatten_lists(mask), sums, tf.zeros_like(sums))
    is_sum = tf.logical_and(sums >= 0, tf.math.is_finite(sums))
    return tf.where(is_sum, sums, tf.zeros_like(sums)), tf.logical_not(tf.reduce_all(is_sum, axis=1))


def _surplus(rows: tf.Tensor, columns: tf.Tensor) -> tf.Tensor:
    """How much larger the sum of `columns` is than that of `rows`: [B, 1], 0 if it is by rounding."""
    of_rows, of_columns = (tf.reduce_sum(sums, axis=-1, keepdims=True) for sums in (rows, columns))
    surplus = of_columns - of_rows
    is_rounding = tf.abs(surplus) <= EQUAL_MASS[rows.dtype] * tf.maximum(of_rows, of_columns)
    return tf.where(is_rounding, tf.zeros_like(surplus), surplus)


def _slack_level(scores: tf.Tensor, rows: tf.Tensor, columns: tf.Tensor) -> tf.Tensor:
    """The score [B, 1, 1] of a slack: the smallest maximum of a row, or 0.

    Its potential absorbs it after the first iteration. It moves with an offset of all scores, and is not far above
    those of any row, which would lose digits.
    """
    smallest, largest = scores.dtype.min, scores.dtype.max
    used = tf.math.is_finite(scores) & (rows[:, :, tf.newaxis] > 0) & (columns[:, tf.newaxis, :] > 0)
    maxima = tf.reduce_max(tf.where(used, scores, smallest), axis=2, keepdims=True)
    level = tf.reduce_min(tf.where(maxima > smallest, maxima, largest), axis=1, keepdims=True)
    return tf.where(level < largest, level, tf.zeros_like(level))


def _range(rows: tf.Tensor, columns: tf.Tensor) -> tf.Tensor:
    """The logarithm of the largest positive sum of the batch over the smallest; 0 if there is none."""
    sums = tf.stop_gradient(tf.concat([tf.reshape(rows, [-1]), tf.reshape(columns, [-1])], axis=0))
    largest = tf.reduce_max(sums)
    smallest = tf.reduce_min(tf.where(sums > 0, sums, largest))
    return tf.where(largest > 0, tf.math.log(largest / smallest), tf.zeros_like(largest))


def _of_one_shape(scores: tf.Tensor, rows: tf.Tensor, columns: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Give all tensors the static sizes that are known of any, which a loop requires of its state."""
    batch = scores.shape[:1].merge_with(rows.shape[:1]).merge_with(columns.shape[:1])
    n, m = (scores.shape[1:2].merge_with(rows.shape[1:]), scores.shape[2:].merge_with(columns.shape[1:]))
    shapes = [batch + n + m, batch + n, batch + m]
    return tuple(map(tf.ensure_shape, (scores, rows, columns), shapes))
