"""Losses and metrics of rows of several lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.ops.core.segments import by_segment


@export(calls_back=True)
def per_segment(
    function: Callable[..., tf.Tensor],
    scores: Any,
    labels: Any,
    segments: Any,
    *,
    mask: Any = None,
    weights: Any = None,
    **options: Any,
) -> tf.Tensor:
    """Apply a loss or metric to each list of a flat batch of rows: those with the same segment id are a list.

    Use it for flat batches outside Keras; `losses` and `metrics` do the same with `lists="groups"`.

    Args:
      function: `function(scores, labels, *, mask, weights, **options)`, which returns a number per list, such as
        `ops.softmax_loss`, `ops.ndcg` or your own.
      scores: floating-point `[rows]`, or `[rows, m]` for functions of logits.
      labels: numbers `[rows]`, or `[rows, topics]`.
      segments: integers `[rows]`, the list of each row. Rows of a list keep their order and need not be adjacent.
      mask: bool `[rows]`, True for valid rows.
      weights: numbers `[rows]`.
      **options: of `function`.

    Returns:
      `[rows]`: the result of each list at its first row, and 0 at all others. Values and gradients are those of padded
      lists. In traced calls options that are tensors, such as `tau`, have no gradient. No second derivatives.

    Raises:
      TypeError: `function` cannot be called, `scores` is not floating-point, or another argument has another type.
      ValueError: an argument does not have one entry per row (an InvalidArgumentError if sizes were unknown when
        traced; XLA drops that check), `function` has trainable variables in a traced call whose gradient is taken, or
        an error of `function`.

    Cost: that of `function` for lists padded to similar sizes, with fewer than 4 cells per row for lists of 17 to 4,096
    rows, and at most 16 for shorter ones. XLA compiles one program for all batches with this number of rows.

    Example:
      >>> ks.ops.per_segment(ks.ops.ndcg, [0.5, 3.0, 0.2, 1.0], [1, 1, 0, 0], [7, 9, 7, 9]).numpy().tolist()
      [1.0, 1.0, 0.0, 0.0]

    Source: the segments of R. Jagerman et al., "Rax: Composable Learning-to-Rank using JAX", KDD 2022.
    """
    arguments.function("function", function)
    scores, labels = arguments.list_tensor("scores", scores), arguments.real_tensor("labels", labels)
    segments = arguments.real_tensor("segments", segments)
    if not segments.dtype.is_integer:
        raise TypeError(f"segments must be integers, got dtype {segments.dtype.name}")
    given = {"scores": scores, "labels": labels, "segments": segments}
    if mask is not None:
        given["mask"] = arguments.bool_mask("mask", mask)
    if weights is not None:
        given["weights"] = arguments.real_tensor("weights", weights)
    rows = scores.shape[:1]
    for name, value in given.items():
        has_rank = value.shape.rank in ((1, 2) if name in ("scores", "labels") else (1,))
        if not has_rank or not value.shape[:1].is_compatible_with(rows):
            raise ValueError(f"{name} must have one entry for each of the {rows[0]} rows, got shape {value.shape}")
        if value.shape[0] is None or rows[0] is None:
            expected, received = tf.shape(scores)[0], tf.shape(value)[0]
            rule = f"{name} must have one entry per row, expected and received:"
            given[name] = arguments.checked(value, tf.equal(expected, received), rule, expected, received)

    def of_lists(scores: tf.Tensor, labels: tf.Tensor, valid: tf.Tensor, *weights: tf.Tensor) -> tf.Tensor:
        return function(scores, labels, mask=valid, weights=weights[0] if weights else None, **options)

    valid = given.get("mask", tf.ones(tf.shape(scores)[:1], tf.bool))
    parts = [given["scores"], given["labels"], valid, *([given["weights"]] if weights is not None else [])]
    return by_segment(of_lists, given["segments"], parts)
