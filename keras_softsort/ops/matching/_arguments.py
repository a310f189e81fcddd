"""What `sinkhorn` and `gumbel_sinkhorn` share: checked arguments, the soft matching, the hard one, the residual."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort.ops._core import validation
from keras_softsort.ops._core.straight_through import straight_through
from keras_softsort.ops.matching._checkpointed_sinkhorn import checkpointed_sinkhorn
from keras_softsort.ops.matching._marginals import sinkhorn_marginals
from keras_softsort.ops.matching._masked_assignment import assign
from keras_softsort.ops.matching._sinkhorn_iterations import row_error


class Matching(NamedTuple):
    """Checked arguments; tensors first, then what is fixed when traced."""

    log_scores: tf.Tensor  # [..., n, m], as given
    tau: tf.Tensor  # scalar, float64
    row_mask: tf.Tensor | None  # [..., n]
    column_mask: tf.Tensor | None  # [..., m]
    num_iterations: int
    tolerance: float | None
    hard: bool


def checked_matching(
    log_scores: Any,
    tau: Any,
    *,
    num_iterations: int,
    tolerance: float | None,
    hard: bool,
    row_mask: Any,
    column_mask: Any,
) -> Matching:
    """Check the arguments and put them together."""
    log_scores = validation.matrix_tensor("log_scores", log_scores)
    return Matching(
        log_scores=log_scores,
        tau=validation.temperature(tau, tf.float64),
        row_mask=validation.axis_mask("row_mask", row_mask, log_scores, -2),
        column_mask=validation.axis_mask("column_mask", column_mask, log_scores, -1),
        num_iterations=arguments.positive_integer("num_iterations", num_iterations),
        tolerance=None if tolerance is None else arguments.non_negative_number("tolerance", tolerance),
        hard=arguments.boolean("hard", hard),
    )


def solve(matching: Matching) -> tuple[tf.Tensor, tf.Tensor]:
    """The matrix [..., n, m] in the dtype of the scores, soft or hard, and the soft one's residual [...]."""
    scores = matching.log_scores
    shape = tf.shape(scores)
    if scores.shape.num_elements() == 0:
        return scores, tf.zeros(shape[:-2], scores.dtype)
    problem = sinkhorn_marginals(scores, matching.tau, matching.row_mask, matching.column_mask)
    weights = checkpointed_sinkhorn(problem, matching.num_iterations, matching.tolerance)
    residual = tf.stop_gradient(row_error(problem, tf.reduce_sum(weights, axis=2)))
    result = tf.cast(tf.reshape(weights[:, : shape[-2], : shape[-1]], shape), scores.dtype)
    if matching.hard:
        result = straight_through(_hard(matching), result)
    return tf.ensure_shape(result, scores.shape), tf.reshape(tf.cast(residual, scores.dtype), shape[:-2])


def _hard(matching: Matching) -> tf.Tensor:
    """The exact matching of the largest sum; NaN for a matrix that has none."""
    scores = matching.log_scores
    columns = assign(scores, matching.row_mask, matching.column_mask)
    sizes = [
        tf.shape(scores)[axis] if mask is None else tf.reduce_sum(tf.cast(mask, tf.int32), axis=-1)
        for axis, mask in ((-2, matching.row_mask), (-1, matching.column_mask))
    ]
    pairs = tf.reduce_sum(tf.cast(columns >= 0, tf.int32), axis=-1)
    complete = tf.equal(pairs, tf.minimum(*sizes))[..., tf.newaxis, tf.newaxis]
    exact = tf.one_hot(columns, tf.shape(scores)[-1], dtype=scores.dtype)
    return tf.where(complete, exact, tf.constant(math.nan, scores.dtype))
