"""The matrices that Sinkhorn normalizes, the sums of their rows and columns, and the number of iterations."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.arguments import compute_dtype
from keras_softsort._internal.not_a_number import at_least_or_nan
from keras_softsort.ops.core.axes import flatten_lists, with_static_shape
from keras_softsort.ops.core.deviations import in_deviations
from keras_softsort.ops.core.temperature import excluded, is_nan_or_infinity

# The most iterations of a segment.
MAX_SEGMENT_LENGTH = 10
# The largest relative difference of two masses that counts as rounding of sums of many terms.
MASS_ROUNDING = {tf.float32: 1e-5, tf.float64: 1e-10}
# A logit further below the largest of its row is taken as this many tau below, so that it is finite.
MAX_GAP = 1e30


class Plan(NamedTuple):
    """At most `num_iterations`, in segments of equal length, and fewer for a matrix that has reached the tolerance."""

    num_iterations: int
    tolerance: float | None
    length: int  # of a segment
    segments: int
    may_end: bool  # whether a matrix may make fewer iterations than are computed
    has_implicit_gradient: bool
    checks_segments: bool  # whether a matrix stops after whole segments only


def plan_of_length(
    length: int,
    num_iterations: int,
    tolerance: float | None,
    *,
    has_implicit_gradient: bool = False,
    checks_segments: bool = False,
) -> Plan:
    segments = math.ceil(num_iterations / length)
    may_end = tolerance is not None or segments * length > num_iterations
    return Plan(num_iterations, tolerance, length, segments, may_end, has_implicit_gradient, checks_segments)


def checked_plan(
    *, num_iterations: Any, tolerance: Any, implicit_gradient: Any = False, has_penalty: bool = False
) -> Plan:
    num_iterations = arguments.positive_integer("num_iterations", num_iterations)
    tolerance = None if tolerance is None else arguments.non_negative_number("tolerance", tolerance)
    # The last segment has few iterations that are not made.
    length = math.ceil(num_iterations / math.ceil(num_iterations / MAX_SEGMENT_LENGTH))
    return plan_of_length(
        1 if has_penalty else length,
        num_iterations,
        tolerance,
        has_implicit_gradient=arguments.boolean("implicit_gradient", implicit_gradient),
    )


class SinkhornMatrices(NamedTuple):
    """Matrices `exp(logits)` `[B, N, M]`, whose rows should sum to `rows` and whose columns to `columns`."""

    logits: tf.Tensor  # [B, N, M], differentiable: in units of tau, below 0 without an exponent; `excluded` for a 0
    start: tf.Tensor  # [B, M]: the potentials of the columns before the first iteration
    rows: tf.Tensor  # [B, N]: the sum of each row; 0 if masked
    columns: tf.Tensor  # [B, M]
    failed: tf.Tensor  # [B]: holds NaN or +inf
    # penalty / (penalty + tau), a scalar or [B, 1], if sums may differ from `rows` and `columns` at a penalty.
    exponent: tf.Tensor | None = None

    def inputs(self) -> list[tf.Tensor]:
        """The differentiable tensors that iterations use."""
        inputs = [self.logits, self.rows, self.columns]
        return inputs if self.exponent is None else [*inputs, self.exponent]


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

    No slack is added with a penalty, nor to square matrices with sums of 1.
    """
    scores = flatten_lists(logits, inner=2)
    scores = tf.cast(scores, compute_dtype(scores.dtype))
    rows, columns = _flat_sums(scores, row_mask, row_sums, 1), _flat_sums(scores, column_mask, column_sums, 2)
    failed = tf.reshape(tf.math.is_nan(tau), [-1])
    tau = tf.where(tau > 0, tau, tf.ones_like(tau))
    are_ones = all(each is None for each in (row_mask, column_mask, row_sums, column_sums))
    is_square = logits.shape[-1] is not None and logits.shape[-2] == logits.shape[-1]
    if row_sums is not None or column_sums is not None:
        rows, columns, has_wrong_sums = _without_wrong_sums(rows, columns)
        failed |= has_wrong_sums
    rows, columns = _without_lone_items(scores, rows, columns)
    exponent = None
    if penalty is not None:
        rows, columns = _without_lone_sides(rows, columns)
        exponent = penalty / (penalty + tau)
        exponent = exponent if exponent.shape.rank == 0 else tf.squeeze(exponent, axis=-1)
    elif not (are_ones and is_square):
        surplus, shape = _surplus(rows, columns), tf.shape(scores)
        if are_ones:  # A matrix whose size only the graph knows may be square.
            surplus = tf.where(tf.equal(shape[1], shape[2]), tf.zeros_like(surplus), surplus)
        scores, rows, columns = _with_slack(scores, rows, columns, surplus)
    scores, rows, columns = _of_one_shape(scores, rows, columns)
    scores, allowed, failed = _allowed_pairs(scores, rows, columns, failed)
    below, start = _in_temperatures(scores, allowed, tau, relative=penalty is None)
    start = tf.where(columns > 0, start, excluded(start.dtype))
    return SinkhornMatrices(below, start, rows, columns, failed, exponent)


def _without_lone_items(scores: tf.Tensor, rows: tf.Tensor, columns: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """The sums, 0 for rows and columns that -inf allows no match."""
    # NaN counts as allowed, so that it is found later.
    allowed = _valid_pairs(rows, columns) & at_least_or_nan(scores, scores.dtype.min)
    of_rows, of_columns = (tf.reduce_any(allowed, axis=axis) for axis in (2, 1))
    return tf.where(of_rows, rows, tf.zeros_like(rows)), tf.where(of_columns, columns, tf.zeros_like(columns))


def _without_wrong_sums(rows: tf.Tensor, columns: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """The sums, 0 in place of wrong ones, and whether a matrix has such [B].

    A sum is wrong if it is infinite. Under XLA it may also be negative or NaN.
    """
    wrong_rows, wrong_columns = (~((sums >= 0) & (sums <= sums.dtype.max)) for sums in (rows, columns))
    return (
        tf.where(wrong_rows, tf.zeros_like(rows), rows),
        tf.where(wrong_columns, tf.zeros_like(columns), columns),
        tf.reduce_any(tf.concat([wrong_rows, wrong_columns], axis=1), axis=1),
    )


def _without_lone_sides(rows: tf.Tensor, columns: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """The sums, 0 in a matrix with an empty side: without a slack it leaves nothing for the other side."""
    no_rows, no_columns = (tf.reduce_all(sums <= 0, axis=1, keepdims=True) for sums in (rows, columns))
    is_lone = no_rows | no_columns
    return tf.where(is_lone, tf.zeros_like(rows), rows), tf.where(is_lone, tf.zeros_like(columns), columns)


def _with_slack(
    scores: tf.Tensor, rows: tf.Tensor, columns: tf.Tensor, surplus: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """The scores [B, n + 1, m + 1] and the sums, with a row and a column for the mass that the other side lacks."""
    score = _slack_score(scores, rows, columns)
    rows = tf.concat([rows, tf.nn.relu(surplus)], axis=1)
    columns = tf.concat([columns, tf.nn.relu(-surplus)], axis=1)
    paddings = [[0, 0], [0, 1], [0, 1]]
    # onnxruntime cannot pad bool tensors.
    is_slack = tf.pad(tf.zeros_like(scores), paddings, constant_values=1) > 0
    return tf.where(is_slack, score, tf.pad(scores, paddings)), rows, columns


def _allowed_pairs(
    scores: tf.Tensor, rows: tf.Tensor, columns: tf.Tensor, failed: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """The scores, 0 where no match is allowed; where it is [B, N, M]; and whether a matrix has failed [B].

    A failed matrix is computed as zeros, since NaN would end the loops that all matrices of the batch share.
    """
    valid = _valid_pairs(rows, columns)
    failed |= tf.reduce_any(is_nan_or_infinity(scores) & valid, axis=[1, 2])
    failed = with_static_shape(failed, scores.shape[:1])
    zeroed = failed[:, tf.newaxis, tf.newaxis]
    allowed = valid & (zeroed | at_least_or_nan(scores, scores.dtype.min))
    return tf.where(allowed & ~zeroed, scores, tf.zeros_like(scores)), allowed, failed


def _in_temperatures(
    scores: tf.Tensor, allowed: tf.Tensor, tau: tf.Tensor, *, relative: bool
) -> tuple[tf.Tensor, tf.Tensor]:
    """The scores [B, N, M] over tau, and the potentials [B, M] with which this is the same problem.

    If sums must hold, the scores are relative to the largest of their row, for the digits of the gradient of tau, and
    then to the largest of their column. Neither changes a weight.
    """
    if relative:
        scores -= _peak(scores, allowed, 2)
    logits = tf.maximum(scores, -MAX_GAP * tf.stop_gradient(tau)) / tau
    peak = tf.zeros_like(logits[:, :1])
    if relative:
        peak = _peak(logits, allowed, 1)
        logits -= peak
    # A sum, as there is no first row in an empty matrix.
    return tf.where(allowed, logits, excluded(logits.dtype)), tf.reduce_sum(peak, axis=1)


def _peak(values: tf.Tensor, allowed: tf.Tensor, axis: int) -> tf.Tensor:
    """The largest allowed value along an axis, with `keepdims`; 0 if there is none. It has no gradient."""
    lowest = values.dtype.min
    peak = tf.stop_gradient(tf.reduce_max(tf.where(allowed, values, lowest), axis=axis, keepdims=True))
    return tf.where(peak > lowest, peak, tf.zeros_like(peak))


def logits_in_deviations(
    logits: tf.Tensor, row_mask: tf.Tensor | None, column_mask: tf.Tensor | None, *, from_origin: bool
) -> tf.Tensor:
    """The logits [..., n, m] of each matrix, or differences of them, in the deviation of its valid finite ones."""
    is_used = tf.math.is_finite(logits)
    for mask, axis in ((row_mask, -1), (column_mask, -2)):
        is_used = is_used if mask is None else tf.logical_and(is_used, tf.expand_dims(mask, axis))
    shape = tf.shape(logits)
    entries = tf.concat([shape[:-2], [shape[-2] * shape[-1]]], axis=0)
    # Other entries may be infinite or NaN, which would reach the gradient of the deviation.
    finite = tf.where(is_used, logits, tf.zeros_like(logits))
    scaled = in_deviations(tf.reshape(finite, entries), tf.reshape(is_used, entries), from_origin=from_origin)
    return tf.where(is_used, tf.reshape(scaled, shape), logits)


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


def _flat_sums(scores: tf.Tensor, mask: tf.Tensor | None, sums: tf.Tensor | None, axis: int) -> tf.Tensor:
    """The sums [B, size] along `axis`: those given by `checked_sums`, or 1, and 0 if masked."""
    if sums is not None:
        return flatten_lists(sums)
    if mask is not None:
        return tf.cast(flatten_lists(mask), scores.dtype)
    shape = tf.shape(scores)
    return tf.ones([shape[0], shape[axis]], scores.dtype)


def _valid_pairs(rows: tf.Tensor, columns: tf.Tensor) -> tf.Tensor:
    """Whether neither the row nor the column of a pair [B, N, M] is masked."""
    return (rows[:, :, tf.newaxis] > 0) & (columns[:, tf.newaxis, :] > 0)


def _surplus(rows: tf.Tensor, columns: tf.Tensor) -> tf.Tensor:
    """The sum of `columns` minus the sum of `rows`: [B, 1], 0 if the difference is only rounding."""
    of_rows, of_columns = (tf.reduce_sum(sums, axis=-1, keepdims=True) for sums in (rows, columns))
    surplus = of_columns - of_rows
    is_rounding = tf.abs(surplus) <= MASS_ROUNDING[rows.dtype] * tf.maximum(of_rows, of_columns)
    return tf.where(is_rounding, tf.zeros_like(surplus), surplus)


def _slack_score(scores: tf.Tensor, rows: tf.Tensor, columns: tf.Tensor) -> tf.Tensor:
    """The score [B, 1, 1] of a slack, the smallest maximum of a row or 0. A higher one would lose digits."""
    smallest, largest = scores.dtype.min, scores.dtype.max
    used = _valid_pairs(rows, columns) & tf.math.is_finite(scores)
    maxima = tf.reduce_max(tf.where(used, scores, smallest), axis=2, keepdims=True)
    score = tf.reduce_min(tf.where(maxima > smallest, maxima, largest), axis=1, keepdims=True)
    return tf.where(score < largest, score, tf.zeros_like(score))


def _of_one_shape(scores: tf.Tensor, rows: tf.Tensor, columns: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Give all tensors the static sizes that are known of any, which a loop requires of its state."""
    batch = scores.shape[:1].merge_with(rows.shape[:1]).merge_with(columns.shape[:1])
    n, m = (scores.shape[1:2].merge_with(rows.shape[1:]), scores.shape[2:].merge_with(columns.shape[1:]))
    shapes = [batch + n + m, batch + n, batch + m]
    scores, rows, columns = map(with_static_shape, (scores, rows, columns), shapes)
    return scores, rows, columns
