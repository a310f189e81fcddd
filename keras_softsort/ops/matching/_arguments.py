"""Checked arguments of `sinkhorn` and `gumbel_sinkhorn`, and the computation that they share."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort.ops._core.gradients import mappable_straight_through, nan_where
from keras_softsort.ops._core.lists import flatten_lists, temperature_per_list
from keras_softsort.ops._core.tracing import refuse_forward_mode
from keras_softsort.ops.matching._iterations import sinkhorn_weights
from keras_softsort.ops.matching._marginals import sinkhorn_marginals
from keras_softsort.ops.matching._masked_assignment import assign


class Matching(NamedTuple):
    """Checked arguments: tensors first, then static values."""

    logits: tf.Tensor  # [..., n, m], as given
    tau: tf.Tensor  # float64: a scalar, or broadcasts against the leading axes
    row_mask: tf.Tensor | None  # [..., n]
    column_mask: tf.Tensor | None  # [..., m]
    num_iterations: int
    tolerance: float | None
    hard: bool


def checked_matching(
    logits: Any,
    tau: Any,
    *,
    num_iterations: int,
    tolerance: float | None,
    hard: bool,
    row_mask: Any,
    column_mask: Any,
) -> Matching:
    """Check the arguments."""
    logits = arguments.matrix_tensor("logits", logits)
    tau = arguments.temperature(tau, tf.float64, logits, inner=2)
    # TensorFlow's forward mode fails for conditionals that a tape has already differentiated.
    refuse_forward_mode("Sinkhorn", logits, tau)
    return Matching(
        logits=logits,
        tau=tau,
        row_mask=arguments.axis_mask("row_mask", row_mask, logits, -2),
        column_mask=arguments.axis_mask("column_mask", column_mask, logits, -1),
        num_iterations=arguments.positive_integer("num_iterations", num_iterations),
        tolerance=None if tolerance is None else arguments.non_negative_number("tolerance", tolerance),
        hard=arguments.boolean("hard", hard),
    )


def solve(matching: Matching) -> tuple[tf.Tensor, tf.Tensor]:
    """The matrix [..., n, m] in the dtype of the scores, soft or hard, and the soft one's residual [...]."""
    logits = matching.logits
    shape = tf.shape(logits)
    if logits.shape.num_elements() == 0:
        return logits, tf.zeros(shape[:-2], logits.dtype)
    tau = temperature_per_list(matching.tau, logits, inner=2)
    marginals = sinkhorn_marginals(logits, tau, matching.row_mask, matching.column_mask)
    weights = sinkhorn_weights(marginals, matching.num_iterations, matching.tolerance)
    failed = marginals.failed[:, tf.newaxis, tf.newaxis]
    result = weights[:, : shape[-2], : shape[-1]]
    result = nan_where(failed, result, flatten_lists(logits, inner=2), tau)
    residual = nan_where(marginals.failed, marginals.row_error(tf.stop_gradient(tf.reduce_sum(weights, axis=2))))
    result = tf.cast(tf.reshape(result, shape), logits.dtype)
    if matching.hard:
        result = mappable_straight_through(_hard(matching), result)
    return tf.ensure_shape(result, logits.shape), tf.reshape(tf.cast(residual, logits.dtype), shape[:-2])


def _hard(matching: Matching) -> tf.Tensor:
    """The exact matching with the largest sum; NaN for a matrix without a matching."""
    logits = matching.logits
    columns = assign(logits, matching.row_mask, matching.column_mask)
    sizes = [
        tf.shape(logits)[axis] if mask is None else tf.reduce_sum(tf.cast(mask, tf.int32), axis=-1)
        for axis, mask in ((-2, matching.row_mask), (-1, matching.column_mask))
    ]
    pairs = tf.reduce_sum(tf.cast(columns >= 0, tf.int32), axis=-1)
    complete = tf.equal(pairs, tf.minimum(*sizes))[..., tf.newaxis, tf.newaxis]
    exact = tf.one_hot(columns, tf.shape(logits)[-1], dtype=logits.dtype)
    return tf.where(complete, exact, tf.constant(math.nan, logits.dtype))
