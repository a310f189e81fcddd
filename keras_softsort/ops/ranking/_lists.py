"""The arguments that all ranking losses share, and a decorator that makes an operator of a loss of lists `[B, n]`."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.arguments import compute_dtype
from keras_softsort.ops._core.lists import flatten_lists, plus_zeros, temperature_per_list
from keras_softsort.ops._core.tracing import is_compiled, traced_if_eager


class RankingArguments(NamedTuple):
    """Checked arguments with the caller's shapes."""

    scores: tf.Tensor  # [..., n]
    labels: tf.Tensor  # [..., n] in the compute dtype
    mask: tf.Tensor | None  # [..., n]
    weights: tf.Tensor | None  # in the compute dtype; broadcasts against the scores
    tau: tf.Tensor | None  # in the compute dtype; a scalar or broadcasts against the leading axes


class RankingLists(NamedTuple):
    """Lists `[B, n]` in the compute dtype."""

    scores: tf.Tensor  # 0 where masked or invalid
    labels: tf.Tensor  # 0 where masked or invalid
    mask: tf.Tensor  # bool, True for valid items
    weights: tf.Tensor  # 0 where masked
    tau: Any  # a scalar or [B, 1], if the loss has a temperature
    are_weighted: bool = True  # whether the caller gave weights; if not, those of all valid items are 1

    def sizes(self) -> tf.Tensor:
        """The number of valid items [B], at least 1."""
        return tf.maximum(tf.reduce_sum(tf.cast(self.mask, self.labels.dtype), axis=-1), 1)


def ranking_arguments(
    scores: Any, labels: Any, mask: Any, weights: Any, *, tau: Any = None, non_negative_weights: bool = False
) -> RankingArguments:
    """Check the arguments that ranking losses share."""
    scores = arguments.list_tensor("scores", scores)
    dtype = compute_dtype(scores.dtype)
    labels = tf.cast(arguments.real_tensor("labels", labels), dtype)
    if not labels.shape.is_compatible_with(scores.shape):
        raise ValueError(f"labels must have the shape of scores, {scores.shape}, got {labels.shape}")
    return RankingArguments(
        scores=scores,
        labels=arguments.of_shape("labels", labels, tf.shape(scores)),
        mask=arguments.list_mask(mask, scores),
        weights=checked_weights(weights, scores.shape, dtype, non_negative_weights),
        tau=None if tau is None else arguments.temperature(tau, dtype, scores),
    )


def item_logit_arguments(logits: Any, labels: Any, mask: Any, weights: Any) -> RankingArguments:
    """The same for losses with several logits per item: `scores` are the logits `[..., n, m]`."""
    logits = arguments.matrix_tensor("logits", logits)
    args = ranking_arguments(logits[..., 0], labels, mask, weights)
    return args._replace(scores=logits)


def checked_weights(
    weights: Any, expected: tf.TensorShape, dtype: tf.DType, non_negative: bool = False
) -> tf.Tensor | None:
    """Return `weights` in `dtype`, checked to broadcast to `expected`."""
    if weights is None:
        return None
    weights = tf.cast(arguments.real_tensor("weights", weights), dtype)
    if not broadcasts(weights.shape, expected):
        raise ValueError(f"weights must have the shape of scores, {expected}, or broadcast to it, got {weights.shape}")
    return arguments.non_negative_tensor("weights", weights) if non_negative else weights


def broadcasts(shape: tf.TensorShape, expected: tf.TensorShape) -> bool:
    """Whether a tensor of `shape` may broadcast to `expected`."""
    if shape.rank is None or shape.rank > expected.rank:
        return False
    sizes = zip(reversed(shape), reversed(expected), strict=False)
    return all(size in (1, None) or other in (None, size) for size, other in sizes)


Meaning = Callable[[tf.Tensor, tf.Tensor], tf.Tensor]


def finite(scores: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """Whether items `[B, n]` have a finite score and a finite label."""
    return tf.logical_and(tf.math.is_finite(scores), tf.math.is_finite(labels))


def finite_item_logits(logits: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """The same for logits `[B, n, m]`."""
    return tf.logical_and(tf.reduce_all(tf.math.is_finite(logits), axis=-1), tf.math.is_finite(labels))


def finite_with_gain(scores: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """Whether items `[B, n]` have a finite score and a finite label of at least 0, as the gain of NDCG needs."""
    return tf.logical_and(finite(scores, labels), labels >= 0)


def per_list(has_meaning: Meaning) -> Callable[[Callable[..., tf.Tensor]], Callable[..., tf.Tensor]]:
    """Turn `function(lists, *options) -> [B]` into a function of `RankingArguments` with their leading axes.

    The function gets only scores and labels for which `has_meaning` holds; a list with other ones gives NaN. Eager
    calls of all list sizes share one trace. `options` are Python values, tensors, or nests of them.
    """

    def decorate(function: Callable[..., tf.Tensor]) -> Callable[..., tf.Tensor]:
        @functools.wraps(function)
        def run(args: RankingArguments, *options: Any) -> tf.Tensor:
            lists = _flat_lists(args)
            readable = has_meaning(lists.scores, lists.labels)
            readable = readable if args.mask is None else tf.logical_and(readable, lists.mask)
            failed = tf.reduce_any(tf.logical_and(lists.mask, tf.logical_not(readable)), axis=-1)
            labels = tf.where(readable, lists.labels, tf.zeros_like(lists.labels))
            safe = lists._replace(
                scores=_readable_scores(lists.scores, readable, lists.mask, failed),
                labels=plus_zeros(labels) if is_compiled() else labels,
            )
            losses = function(safe, *options)
            losses = tf.where(failed, tf.constant(math.nan, losses.dtype), losses)
            like = args.scores if args.scores.shape.rank == args.labels.shape.rank else args.scores[..., 0]
            return with_leading_axes(losses, like)

        return traced_if_eager(run)

    return decorate


@tf.custom_gradient
def _readable_scores(scores: tf.Tensor, readable: tf.Tensor, mask: tf.Tensor, failed: tf.Tensor) -> tuple:
    """The `readable` scores, and 0 for the others. A `failed` list has a NaN gradient, a masked item none."""
    zero, nan = tf.zeros([], scores.dtype), tf.constant(math.nan, scores.dtype)

    def gradient(upstream: tf.Tensor) -> tuple:
        failures = tf.reshape(failed, [-1] + [1] * (scores.shape.rank - 1))
        return tf.where(_of_items(mask, scores), tf.where(failures, nan, upstream), zero), None, None, None

    return tf.where(_of_items(readable, scores), scores, zero), gradient


def with_leading_axes(losses: tf.Tensor, scores: tf.Tensor) -> tf.Tensor:
    """The `losses` [B] of lists as `[...]`, in the dtype of the `scores` [..., n]."""
    losses = tf.cast(losses, scores.dtype)
    if scores.shape.rank == 2:
        return losses
    shaped = tf.reshape(losses, tf.shape(scores)[:-1])
    return tf.ensure_shape(shaped, scores.shape[:-1])


def flat_weights(weights: tf.Tensor | None, mask: tf.Tensor, shape: tf.Tensor, dtype: tf.DType) -> tf.Tensor:
    """The weights of the items `[B, n]`, 0 where masked; `shape` is that of the labels."""
    valid = tf.cast(mask, dtype)
    if weights is None:
        return valid
    every = flatten_lists(tf.broadcast_to(weights, shape))
    return tf.where(mask, every, tf.zeros_like(every))


def _of_items(numbers: tf.Tensor, scores: tf.Tensor) -> tf.Tensor:
    """Numbers of items [B, n] for scores [B, n], or for the logits [B, n, m] of items."""
    return numbers if numbers.shape.rank == scores.shape.rank else numbers[..., tf.newaxis]


def _flat_lists(args: RankingArguments) -> RankingLists:
    """Lists with whatever scores and labels they hold."""
    axes_of_list = 1 + args.scores.shape.rank - args.labels.shape.rank
    # Without `stop_gradient` TensorFlow would trace the gradient of a sort, which fails for lists that are empty at run
    # time.
    labels = tf.stop_gradient(flatten_lists(args.labels))
    mask = tf.ones_like(labels, tf.bool) if args.mask is None else flatten_lists(args.mask)
    return RankingLists(
        scores=tf.cast(flatten_lists(args.scores, axes_of_list), labels.dtype),
        labels=labels,
        mask=mask,
        weights=flat_weights(args.weights, mask, tf.shape(args.labels), labels.dtype),
        tau=None if args.tau is None else temperature_per_list(args.tau, args.scores),
        are_weighted=args.weights is not None,
    )
