"""Lists in the order of their scores, what a ranking metric finds in them, and which items are relevant."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Concatenate, NamedTuple, ParamSpec, Protocol

import numpy as np
import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.advice import warn_once
from keras_softsort.ops.core.axes import list_size
from keras_softsort.ops.core.order import descending, masked_last, take, tie_sums, tied_ranks
from keras_softsort.ops.core.tracing import are_small_and_eager
from keras_softsort.ops.ranking.dcg import DISCOUNTS, GAINS
from keras_softsort.ops.ranking.lists import (
    SHARED,
    Meaning,
    RankingArguments,
    RankingLists,
    per_list,
    ranking_arguments,
)
from keras_softsort.ops.ranking.operators import Held, Interface, Rule

MAX_GRADE = 10  # that people give


class Measures(NamedTuple):
    """The value and the weight of each list, [B] each."""

    values: tf.Tensor  # 0 for a list without relevant items
    weights: tf.Tensor  # the weight of the list in a mean over lists
    is_relevant: tf.Tensor  # 1 for a list with relevant items, else 0

    def by_mean_weight(self) -> Measures:
        """These measures with the values divided by the weights of the lists."""
        return self._replace(values=tf.math.divide_no_nan(self.values, self.weights))


def metric_arguments(
    scores: Any, labels: Any, mask: Any, weights: Any, keep_zero_weights: bool = False
) -> RankingArguments:
    """Check the arguments that all metrics share. They have no gradient. Items of weight 0 are masked or kept."""
    arguments.boolean("keep_zero_weights", keep_zero_weights)
    args = ranking_arguments(scores, labels, mask, weights, non_negative_weights=True)
    _advise_of_swapped(args.scores, args.labels)
    args = args._replace(scores=tf.stop_gradient(args.scores))
    if args.weights is None:
        return args
    weights = tf.stop_gradient(args.weights)
    if keep_zero_weights:
        return args._replace(weights=weights)
    is_weighted = tf.broadcast_to(weights > 0, tf.shape(args.labels))
    mask = is_weighted if args.mask is None else tf.logical_and(is_weighted, args.mask)
    return args._replace(weights=weights, mask=mask)


def _advise_of_swapped(scores: tf.Tensor, labels: tf.Tensor) -> None:
    """Warn if eager `scores` look like labels, and `labels` like scores.

    Real labels are mostly grades: small integers with ties. The scores of a model differ from each other, and are not
    multiples of 1/4, as ratings may be. Integer scores such as popularity (above `MAX_GRADE`) or positions (without
    ties) do not look like grades.
    """
    if not are_small_and_eager(scores, labels) or not scores.shape.num_elements():
        return
    found, grades = labels.numpy(), scores.numpy()
    if not (np.all(grades == np.rint(grades)) and grades.min() >= -1 and 1 <= grades.max() <= MAX_GRADE):
        return
    has_ties = np.any(np.diff(np.sort(grades)) == 0)
    if has_ties and np.ptp(grades) and np.any(4 * found != np.rint(4 * found)) and np.all(np.diff(np.sort(found)) > 0):
        warn_once(
            "swapped scores and labels",
            "scores and labels may be swapped: scores hold only integers with ties, as grades do, and labels hold "
            f"different fractions such as {found.flat[0]:.4g}, as scores do. Functions in ops take (scores, labels), "
            "and losses and metrics take (y_true, y_pred)",
        )


# The checks of the options that metrics share.
K: dict[str, Any] = {"k": arguments.optional_positive_integer}
TIES: dict[str, Any] = {"ties": arguments.choice("mean", "position")}
RELEVANT = {**K, "min_label": arguments.number, **TIES}
DISCOUNTED = {**K, "discount": functools.partial(arguments.name_or_function, choices=DISCOUNTS)}
GAINED = {**DISCOUNTED, "gain": functools.partial(arguments.name_or_function, choices=GAINS), **TIES}

Options = ParamSpec("Options")

if TYPE_CHECKING:

    class Metric(Protocol[Options]):
        """A public operator, and what Keras objects and other operators use of it."""

        def __call__(self, scores: Any, labels: Any, *args: Options.args, **options: Options.kwargs) -> tf.Tensor:
            """The values of the lists."""

        def check(self, **options: Any) -> dict[str, Any]:
            """The checked options."""

        def arguments(self, *given: Any, **named: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
            """The arguments of `measures`, from those of a call."""

        def measures(self, args: RankingArguments, *others: tf.Tensor, **options: Any) -> Measures:
            """All measures of the lists."""


def metric(
    has_meaning: Meaning,
    *,
    read: Callable[..., tuple[Any, ...]] | None = None,
    shared: Mapping[str, Any] = SHARED,
    **rules: Rule | Held,
) -> Callable[[Callable[Concatenate[RankingLists, Options], Measures]], Metric[Options]]:
    """Decorate a formula `f(lists, *, options, **shared)` of `Measures` as an operator, which returns their values.

    The rest is as in `list_operator`. `read` makes what the formula gets beside its options; by default it is
    `metric_arguments`, whose arguments beside scores and labels are `shared`. `operator.measures` takes the results of
    `read` and checked options, and returns all measures.
    """

    def decorate(formula: Callable[..., Measures]) -> Any:
        interface = Interface(formula, read or (lambda **given: (metric_arguments(**given),)), rules, shared)
        measures = per_list(has_meaning)(formula)

        @functools.wraps(formula)
        def values(*given: Any, **named: Any) -> tf.Tensor:
            args, options = interface.arguments(*given, **named)
            return measures(*args, **options).values

        return interface.described(values, arguments=interface.arguments, formula=formula, measures=measures)

    return decorate


def can_be_ranked(scores: tf.Tensor, labels: tf.Tensor, *_: Any, **__: Any) -> tf.Tensor:
    """Whether items [B, n] have a score, which may be infinite, and a finite label."""
    return tf.logical_and(tf.logical_not(tf.math.is_nan(scores)), tf.math.is_finite(labels))


def has_gain(scores: tf.Tensor, labels: tf.Tensor, *_: Any, **__: Any) -> tf.Tensor:
    """Whether items [B, n] have a score and a finite label of at least 0."""
    return tf.logical_and(can_be_ranked(scores, labels), labels >= 0)


def by_relevance(lists: RankingLists, values: tf.Tensor, relevance: tf.Tensor) -> Measures:
    """The `values` [B] of lists. A list weighs as much as its items do on average, by their `relevance` [B, n]."""
    total, weights = tf.reduce_sum(relevance, axis=-1), lists.mean_weights()
    is_relevant = total > 0
    if lists.weights is not None:
        of_relevant = tf.math.divide_no_nan(tf.reduce_sum(lists.weighted(relevance), axis=-1), total)
        weights = tf.where(is_relevant, of_relevant, weights)
    return Measures(
        values=tf.where(is_relevant, values, tf.zeros([], values.dtype)),
        weights=weights,
        is_relevant=tf.cast(is_relevant, values.dtype),
    )


class Ties(NamedTuple):
    """For each rank the first and the last rank of the items tied with its item: [B, n] each."""

    first: tf.Tensor
    last: tf.Tensor

    def sizes(self, dtype: tf.DType) -> tf.Tensor:
        """The number of these items."""
        return tf.cast(self.last, dtype) - tf.cast(self.first, dtype) + 1


class RankedLists(NamedTuple):
    """The ranks of lists by score, the highest first and masked items last. Ranks count from 0.

    An item with the score -inf was not retrieved: it takes no rank. Its place is behind all others, and counts 0.
    """

    order: tf.Tensor  # the item at each rank: [B, n]
    is_retrieved: tf.Tensor  # bool [B, n], in the order of the list
    ties: Ties | None  # None if tied items keep the order of the list

    def at_ranks(self, values: tf.Tensor) -> tf.Tensor:
        """The value [B, n] that each rank has on average over all orders of tied items."""
        ordered = take(self.of_retrieved(values), self.order)
        return ordered if self.ties is None else tie_sums(ordered, self.ties.first) / self.ties.sizes(values.dtype)

    def of_retrieved(self, values: tf.Tensor) -> tf.Tensor:
        """The `values` [B, n, ...] of items, 0 for those that were not retrieved."""
        inner = [1] * (values.shape.rank - 2)
        is_retrieved = tf.reshape(self.is_retrieved, tf.concat([tf.shape(self.is_retrieved), inner], axis=0))
        return tf.where(is_retrieved, values, tf.zeros([], values.dtype))

    def own_ranks(self) -> tf.Tensor:
        """The ranks from 0: int32 [n]."""
        return tf.range(list_size(self.order))

    def ranks(self, dtype: tf.DType) -> tf.Tensor:
        """The ranks from 1: [n]."""
        return tf.cast(self.own_ranks() + 1, dtype)

    def counted(self, k: int | None, dtype: tf.DType) -> tf.Tensor:
        """1 for the first `k` ranks, else 0: [n]."""
        ranks = self.ranks(dtype)
        return tf.ones_like(ranks) if k is None else tf.cast(ranks <= k, dtype)

    def sum_of_first(self, k: int | None, values: tf.Tensor) -> tf.Tensor:
        """The sum [B] of `values` [B, n] over the first `k` ranks."""
        return tf.reduce_sum(self.at_ranks(values) * self.counted(k, values.dtype), axis=-1)


def sizes_of_first(lists: RankingLists, k: int | None) -> tf.Tensor:
    """The number of valid items among the first `k` [B], at least 1."""
    sizes = lists.sizes()
    return sizes if k is None else tf.minimum(sizes, tf.cast(k, sizes.dtype))


def ranked_lists(lists: RankingLists, ties: str) -> RankedLists:
    """Sort the lists by score. With `ties="position"` tied items keep the order of the list."""
    keys, order = descending(masked_last(lists.scores, lists.mask))
    is_retrieved = lists.scores >= lists.scores.dtype.min
    return RankedLists(order, is_retrieved, Ties(*tied_ranks(keys)) if ties == "mean" else None)


def relevant_items(lists: RankingLists, min_label: float) -> tf.Tensor:
    """1 for valid items with a label of at least `min_label`, else 0: [B, n]."""
    return tf.cast(lists.only_valid(lists.labels >= min_label), lists.scores.dtype)
