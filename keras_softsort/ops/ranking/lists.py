"""Arguments of operators of lists, and the lists `[B, n]` that their formulas get."""

from __future__ import annotations

import contextlib
import contextvars
import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypedDict

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.arguments import compute_dtype
from keras_softsort._internal.not_a_number import zero_or_nan
from keras_softsort.ops.core.axes import flatten_lists, list_size, with_static_shape
from keras_softsort.ops.core.temperature import temperature_per_list
from keras_softsort.ops.core.tracing import traced_if_eager

_NO_TAU: Any = object()  # of losses without a temperature

# The arguments of all operators of lists besides scores and labels, with their defaults.
SHARED = {"mask": None, "weights": None}


class MaskArguments(TypedDict, total=False):
    """The names of these arguments in `**shared` of a formula, for type checkers."""

    mask: Any


class UnweightedArguments(MaskArguments, total=False):
    """The mask and a temperature, for an operator without weights."""

    tau: Any


class ListArguments(MaskArguments, total=False):
    """The mask and weights."""

    weights: Any


class TauArguments(ListArguments, total=False):
    """The mask, weights and a temperature."""

    tau: Any


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
    mask: tf.Tensor | None  # bool, True for valid items; None if all are valid
    weights: tf.Tensor | None  # 0 where masked; None if all valid items have the weight 1
    tau: Any  # a scalar or [B, 1], if the loss has a temperature

    def valid(self) -> tf.Tensor:
        """The mask, also if all items are valid."""
        return tf.ones_like(self.labels, tf.bool) if self.mask is None else self.mask

    def item_weights(self) -> tf.Tensor:
        """The weights, also if all valid items have the weight 1."""
        return tf.cast(self.valid(), self.labels.dtype) if self.weights is None else self.weights

    def only_valid(self, values: tf.Tensor) -> tf.Tensor:
        """The `values` of items, [B, n] or [B, n, m], with 0 where masked."""
        return (
            values
            if self.mask is None
            else tf.where(_for_logits(self.mask, values), values, tf.zeros([], values.dtype))
        )

    def weighted(self, values: tf.Tensor) -> tf.Tensor:
        """The `values` of items, [B, n] or [B, n, m] and 0 where masked, times the weights."""
        return values if self.weights is None else values * _for_logits(self.weights, values)

    def sizes(self) -> tf.Tensor:
        """The number of valid items, at least 1: [B], or [1] if it is the same in all lists."""
        return tf.maximum(self._counts(), 1)

    def mean_weights(self) -> tf.Tensor:
        """The mean weight of the valid items, 0 for an empty list: [B], or [1] if it is the same in all lists."""
        if self.weights is None:
            return tf.minimum(self._counts(), 1)
        return tf.reduce_sum(self.weights, axis=-1) / self.sizes()

    def _counts(self) -> tf.Tensor:
        if self.mask is not None:
            return tf.reduce_sum(tf.cast(self.mask, self.labels.dtype), axis=-1)
        return tf.cast([list_size(self.labels)], self.labels.dtype)


class Derivatives(NamedTuple):
    """The derivatives of the losses of lists with respect to their scores, `[..., n]` each."""

    slopes: tf.Tensor
    curvatures: tf.Tensor  # the diagonal of the hessian


_are_checked: contextvars.ContextVar[bool] = contextvars.ContextVar("are_checked", default=False)


@contextlib.contextmanager
def checked_arguments() -> Iterator[None]:
    """Within this context labels and masks have the shape of the scores, and a tensor `tau` is positive.

    Operators then spend no operation on these checks.
    """
    token = _are_checked.set(True)
    try:
        yield
    finally:
        _are_checked.reset(token)


def ranking_arguments(
    scores: Any,
    labels: Any,
    mask: Any = None,
    weights: Any = None,
    *,
    tau: Any = _NO_TAU,
    non_negative_weights: bool = False,
) -> RankingArguments:
    """Check the arguments that ranking losses share."""
    scores = arguments.list_tensor("scores", scores)
    dtype = compute_dtype(scores.dtype)
    labels = tf.cast(arguments.real_tensor("labels", labels), dtype)
    if not labels.shape.is_compatible_with(scores.shape):
        raise ValueError(f"labels must have the shape of scores, {scores.shape}, got {labels.shape}")
    is_checked = _are_checked.get()
    if not is_checked:
        labels = arguments.of_shape("labels", labels, tf.shape(scores))
        mask = arguments.list_mask(mask, scores)
    weights = checked_weights(weights, scores.shape, dtype)
    if non_negative_weights and weights is not None:
        counted = weights if mask is None else tf.where(mask, weights, tf.zeros([], dtype))
        weights = arguments.non_negative_tensor("weights", counted)
    if tau is _NO_TAU:
        tau = None
    elif not (is_checked and tf.is_tensor(tau)):
        tau = arguments.temperature(tau, dtype, scores)
    return RankingArguments(scores, labels, mask, weights, tau)


def item_logit_arguments(logits: Any, labels: Any, mask: Any, weights: Any, *, count: int | None) -> RankingArguments:
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
    sizes = zip(shape, expected[expected.rank - shape.rank :], strict=True)
    return all(size in (1, None) or other in (None, size) for size, other in sizes)


# A function of the scores, the labels and the options of a loss. It tells which items [B, n] the loss is defined for.
Meaning = Callable[..., tf.Tensor]


def finite(scores: tf.Tensor, labels: tf.Tensor, *_: Any, **__: Any) -> tf.Tensor:
    """Whether items `[B, n]` have a finite score, or finite logits `[B, n, m]`, and a finite label."""
    is_finite = tf.math.is_finite(scores)
    if scores.shape.rank > labels.shape.rank:
        is_finite = tf.reduce_all(is_finite, axis=-1)
    return tf.logical_and(is_finite, tf.math.is_finite(labels))


def finite_with_gain(scores: tf.Tensor, labels: tf.Tensor, *_: Any, **__: Any) -> tf.Tensor:
    """Whether items `[B, n]` have a finite score and a finite label of at least 0, as the gain of NDCG needs."""
    return tf.logical_and(finite(scores, labels), labels >= 0)


def per_list(
    has_meaning: Meaning, arguments: Callable[..., tuple[tuple, dict]] | None = None
) -> Callable[[Callable[..., tf.Tensor]], Callable[..., tf.Tensor]]:
    """Turn `function(lists, *options)` into a function of `RankingArguments` with their leading axes.

    It returns [B] or [B, n], a named tuple of such results, or None. It gets only items for which
    `has_meaning(scores, labels, *options)` holds; a list with other ones gives NaN. Results [B, n] are 0 where masked.
    Eager calls of all list sizes share one trace. If `arguments` is given, it makes the arguments from those of a call.
    """

    def decorate(function: Callable[..., tf.Tensor]) -> Callable[..., tf.Tensor]:
        @functools.wraps(function)
        def run(args: RankingArguments, *options: Any, **named: Any) -> tf.Tensor:
            lists = flat_lists(args)
            readable = has_meaning(lists.scores, lists.labels, *options, **named)
            # Item by item: a GPU would launch one more kernel to leave out whole lists.
            if lists.mask is None:
                failed = tf.logical_not(readable)
            else:
                readable = tf.logical_and(readable, lists.mask)
                failed = tf.not_equal(readable, lists.mask)
            # Added to the results of a list, and to the gradient of its scores.
            poison = zero_or_nan(tf.reduce_any(failed, axis=-1, keepdims=True), lists.labels.dtype)
            list_poison = tf.squeeze(poison, axis=-1)
            safe = lists._replace(
                scores=_readable_scores(lists, readable, poison),
                labels=tf.where(readable, lists.labels, 0),
            )

            def poisoned(results: tf.Tensor) -> tf.Tensor:
                if results.shape.rank == 2:
                    results = lists.only_valid(results + poison)
                else:
                    results += list_poison
                return with_leading_axes(results, args)

            results = function(safe, *options, **named)
            return None if results is None else tf.nest.map_structure(poisoned, results)

        return traced_if_eager(run, arguments)

    return decorate


def _readable_scores(lists: RankingLists, readable: tf.Tensor, poison: tf.Tensor) -> tf.Tensor:
    """The scores, with 0 for those that are not `readable`. `poison` [B, 1] is added to the gradient of valid items."""

    @tf.custom_gradient
    def readable_scores(scores: tf.Tensor) -> tuple:
        def gradient(upstream: tf.Tensor) -> tf.Tensor:
            return lists.only_valid(upstream + _for_logits(poison, scores))

        return tf.where(_for_logits(readable, scores), scores, 0), gradient

    return readable_scores(lists.scores)


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
    mask = None if args.mask is None else flatten_lists(args.mask)
    lists = RankingLists(
        scores=tf.cast(flatten_lists(args.scores, axes_of_list), labels.dtype),
        labels=labels,
        mask=mask,
        weights=None,
        tau=None if args.tau is None else temperature_per_list(args.tau, args.scores),
    )
    if args.weights is None:
        return lists
    weights = flatten_lists(tf.broadcast_to(args.weights, tf.shape(args.labels)))
    return lists._replace(weights=lists.only_valid(weights))
