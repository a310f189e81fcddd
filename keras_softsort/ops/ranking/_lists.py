"""Arguments and options of ranking losses, and a decorator that makes an operator of a loss of lists."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.arguments import compute_dtype
from keras_softsort.ops._core.lists import flatten_lists, plus_zeros, temperature_per_list, with_static_shape
from keras_softsort.ops._core.tracing import traced_if_eager

# The check of the option that losses of items share.
ITEM_CHECKS = {"normalization": arguments.choice("list", "none")}

Operator = TypeVar("Operator", bound=Callable[..., Any])


def checks(**rules: Callable[[str, Any], Any]) -> Callable[[Operator], Operator]:
    """Decorate an operator whose options of these names get the values that the rules make of name and value.

    The decorated operator has the attribute `check`, which does so for the Keras object that holds the options.
    """

    def decorate(operator: Operator) -> Operator:
        def check(**options: Any) -> dict[str, Any]:
            return {name: rule(name, options[name]) for name, rule in rules.items() if name in options}

        @functools.wraps(operator)
        def run(*args: Any, **options: Any) -> Any:
            return operator(*args, **{**options, **check(**options)})

        run.check = check  # type: ignore[attr-defined]
        return cast(Operator, run)

    return decorate


_NO_TAU: Any = object()  # of losses without a temperature


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


class Derivatives(NamedTuple):
    """The derivatives of the losses of lists with respect to their scores, `[..., n]` each."""

    slopes: tf.Tensor
    curvatures: tf.Tensor  # the diagonal of the hessian


def ranking_arguments(
    scores: Any, labels: Any, mask: Any, weights: Any, *, tau: Any = _NO_TAU, non_negative_weights: bool = False
) -> RankingArguments:
    """Check the arguments that ranking losses share."""
    scores = arguments.list_tensor("scores", scores)
    dtype = compute_dtype(scores.dtype)
    labels = tf.cast(arguments.real_tensor("labels", labels), dtype)
    if not labels.shape.is_compatible_with(scores.shape):
        raise ValueError(f"labels must have the shape of scores, {scores.shape}, got {labels.shape}")
    weights = checked_weights(weights, scores.shape, dtype)
    if non_negative_weights:
        weights = arguments.optional(arguments.non_negative_tensor)("weights", weights)
    return RankingArguments(
        scores=scores,
        labels=arguments.of_shape("labels", labels, tf.shape(scores)),
        mask=arguments.list_mask(mask, scores),
        weights=weights,
        tau=None if tau is _NO_TAU else arguments.temperature(tau, dtype, scores),
    )


def item_logit_arguments(
    logits: Any, labels: Any, mask: Any, weights: Any, count: int | None = None
) -> RankingArguments:
    """Check the arguments of losses with several logits per item, or `count`: `scores` are the logits `[..., n, m]`."""
    logits = arguments.matrix_tensor("logits", logits)
    if count is not None and logits.shape[-1] not in (count, None):
        raise ValueError(f"logits must have shape [..., n, {count}], got {logits.shape}")
    args = ranking_arguments(logits[..., 0], labels, mask, weights)
    return args._replace(scores=logits)


def checked_weights(
    weights: Any, expected: tf.TensorShape, dtype: tf.DType, name: str = "weights", like: str = "scores"
) -> tf.Tensor | None:
    """Return `weights` in `dtype`, checked to broadcast to `expected`, the shape of the argument `like`."""
    if weights is None:
        return None
    weights = tf.cast(arguments.real_tensor(name, weights), dtype)
    if not _broadcasts(weights.shape, expected):
        raise ValueError(f"{name} must have the shape of {like}, {expected}, or broadcast to it, got {weights.shape}")
    return weights


def _broadcasts(shape: tf.TensorShape, expected: tf.TensorShape) -> bool:
    """Whether a tensor of `shape` may broadcast to `expected`."""
    if shape.rank is None or shape.rank > expected.rank:
        return False
    sizes = zip(reversed(shape), reversed(expected), strict=False)
    return all(size in (1, None) or other in (None, size) for size, other in sizes)


# A function of the scores, the labels and the options of a loss. It tells which items [B, n] the loss is defined for.
Meaning = Callable[..., tf.Tensor]


def finite(scores: tf.Tensor, labels: tf.Tensor, *_: Any) -> tf.Tensor:
    """Whether items `[B, n]` have a finite score, or finite logits `[B, n, m]`, and a finite label."""
    is_finite = tf.math.is_finite(scores)
    if scores.shape.rank > labels.shape.rank:
        is_finite = tf.reduce_all(is_finite, axis=-1)
    return tf.logical_and(is_finite, tf.math.is_finite(labels))


def finite_with_gain(scores: tf.Tensor, labels: tf.Tensor, *_: Any) -> tf.Tensor:
    """Whether items `[B, n]` have a finite score and a finite label of at least 0, as the gain of NDCG needs."""
    return tf.logical_and(finite(scores, labels), labels >= 0)


def per_list(has_meaning: Meaning) -> Callable[[Callable[..., tf.Tensor]], Callable[..., tf.Tensor]]:
    """Turn `function(lists, *options)` into a function of `RankingArguments` with their leading axes.

    It returns [B] or [B, n], or a named tuple of such results. It gets only items for which `has_meaning(scores,
    labels, *options)` holds; a list with other ones gives NaN. Results [B, n] are 0 where masked. Eager calls of all
    list sizes share one trace. `options` are Python values, tensors, or nests of them.
    """

    def decorate(function: Callable[..., tf.Tensor]) -> Callable[..., tf.Tensor]:
        @functools.wraps(function)
        def run(args: RankingArguments, *options: Any) -> tf.Tensor:
            lists = flat_lists(args)
            readable = has_meaning(lists.scores, lists.labels, *options)
            readable = readable if args.mask is None else tf.logical_and(readable, lists.mask)
            failed = tf.reduce_any(tf.logical_and(lists.mask, tf.logical_not(readable)), axis=-1)
            labels = tf.where(readable, lists.labels, tf.zeros_like(lists.labels))
            safe = lists._replace(
                scores=_readable_scores(lists.scores, readable, lists.mask, failed), labels=plus_zeros(labels)
            )
            return tf.nest.map_structure(
                lambda result: with_leading_axes(_nan_of(failed, lists.mask, result), args), function(safe, *options)
            )

        return traced_if_eager(run)

    return decorate


def _nan_of(failed: tf.Tensor, mask: tf.Tensor, results: tf.Tensor) -> tf.Tensor:
    """Results [B] or [B, n] with NaN for the lists that `failed` [B]. Results of items are 0 where masked."""
    if results.shape.rank == 2:
        results = tf.where(mask, results, tf.zeros_like(results))
        failed = tf.logical_and(failed[:, tf.newaxis], mask)
    return tf.where(failed, tf.constant(math.nan, results.dtype), results)


@tf.custom_gradient
def _readable_scores(scores: tf.Tensor, readable: tf.Tensor, mask: tf.Tensor, failed: tf.Tensor) -> tuple:
    """Replace scores that are not `readable` by 0. A `failed` list has a NaN gradient, a masked item has none."""
    zero, nan = tf.zeros([], scores.dtype), tf.constant(math.nan, scores.dtype)

    def gradient(upstream: tf.Tensor) -> tuple:
        failures = tf.reshape(failed, [-1] + [1] * (scores.shape.rank - 1))
        return tf.where(_for_logits(mask, scores), tf.where(failures, nan, upstream), zero), None, None, None

    return tf.where(_for_logits(readable, scores), scores, zero), gradient


def with_leading_axes(results: tf.Tensor, args: RankingArguments) -> tf.Tensor:
    """Reshape results [B] to `[...]`, or [B, n] to `[..., n]`, and cast them to the dtype of the scores."""
    results, like = tf.cast(results, args.scores.dtype), args.labels
    if like.shape.rank == 2:
        return results
    shape, static = (tf.shape(like), like.shape) if results.shape.rank == 2 else (tf.shape(like)[:-1], like.shape[:-1])
    return with_static_shape(tf.reshape(results, shape), static)


def _for_logits(numbers: tf.Tensor, scores: tf.Tensor) -> tf.Tensor:
    """Append an axis to numbers of items [B, n] if items have logits [B, n, m] rather than scores [B, n]."""
    return numbers if numbers.shape.rank == scores.shape.rank else numbers[..., tf.newaxis]


def flat_lists(args: RankingArguments) -> RankingLists:
    """Flatten the leading axes of all arguments. Scores and labels are not checked yet."""
    axes_of_list = 1 + args.scores.shape.rank - args.labels.shape.rank
    # Without `stop_gradient` TensorFlow would trace the gradient of a sort, which fails for lists that are empty at run
    # time.
    labels = tf.stop_gradient(flatten_lists(args.labels))
    mask = tf.ones_like(labels, tf.bool) if args.mask is None else flatten_lists(args.mask)
    weights = tf.cast(mask, labels.dtype)
    if args.weights is not None:
        every = flatten_lists(tf.broadcast_to(args.weights, tf.shape(args.labels)))
        weights = tf.where(mask, every, tf.zeros_like(every))
    return RankingLists(
        scores=tf.cast(flatten_lists(args.scores, axes_of_list), labels.dtype),
        labels=labels,
        mask=mask,
        weights=weights,
        tau=None if args.tau is None else temperature_per_list(args.tau, args.scores),
        are_weighted=args.weights is not None,
    )


def item_mean(lists: RankingLists, costs: tf.Tensor, normalization: str) -> tf.Tensor:
    """Compute the weighted mean or sum [B] of the `costs` [B, n] of valid items."""
    counts = tf.not_equal(lists.weights, 0)
    total = tf.reduce_sum(tf.where(counts, costs, tf.zeros_like(costs)) * lists.weights, axis=-1)
    return total / lists.sizes() if normalization == "list" else total
