"""Lambda weights of pairs: the change of a ranking metric if the two items of a pair were swapped."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort.ops.core.order import descending, inverse, masked_last, take
from keras_softsort.ops.ranking.dcg import DISCOUNTS, GAINS, absolute_gains, discounts, normalized_gains, rank_discounts
from keras_softsort.ops.ranking.lists import RankingLists
from keras_softsort.ops.ranking.operators import Held

LAMBDA_METRICS = ("dcg", "label_diff", "map", "mrr", "ndcg", "precision")
_WITH_GAIN, _BY_DISCOUNT = ("dcg", "ndcg"), ("dcg", "mrr", "ndcg")


def _smooth_fraction(name: str, value: Any) -> float:
    if arguments.non_negative_number(name, value) > 1:
        raise ValueError(f"{name} must be at most 1, got {value!r}")
    return float(value)


def _version(name: str, value: Any) -> int:
    if value not in (1, 2):
        raise ValueError(f"{name} must be 1 or 2, got {value!r}")
    return int(value)


# Option -> the metrics that read it, and its check.
OPTIONS: dict[str, tuple[tuple[str, ...], Callable[[str, Any], Any]]] = {
    "k": (("dcg", "map", "mrr", "ndcg", "precision"), arguments.positive_integer),
    "gain": (_WITH_GAIN, functools.partial(arguments.name_or_function, choices=GAINS)),
    "discount": (_WITH_GAIN, functools.partial(arguments.name_or_function, choices=DISCOUNTS)),
    "smooth_fraction": (_BY_DISCOUNT, _smooth_fraction),
    "version": (_BY_DISCOUNT, _version),
    "neighbors_only": (_BY_DISCOUNT, arguments.boolean),
    "min_label": (("map", "precision"), arguments.number),
}


class LambdaWeight:
    """The checked options of a lambda weight; `losses.LambdaWeight` describes them."""

    def __init__(
        self,
        metric: str,
        *,
        k: int | None = None,
        gain: str | Callable | None = None,
        discount: str | Callable | None = None,
        smooth_fraction: float | None = None,
        version: int | None = None,
        neighbors_only: bool | None = None,
        min_label: float | None = None,
    ) -> None:
        given = dict(locals())
        self.metric = arguments.one_of("metric", metric, LAMBDA_METRICS)
        for name, (readers, check) in OPTIONS.items():
            value = given[name]
            if value is not None and metric not in readers:
                raise ValueError(f"{name} needs a lambda_weight of {list(readers)}, got {metric!r} and {value!r}")
            setattr(self, name, arguments.optional(check)(name, value))
        if metric == "precision" and k is None:
            raise ValueError("k must be given with lambda_weight='precision', got None")
        if version == 2 and smooth_fraction is not None:
            raise ValueError(f"smooth_fraction must be None with version=2, got {smooth_fraction!r}")

    def given(self) -> dict[str, Any]:
        """The arguments that are not None."""
        values = {name: getattr(self, name) for name in ("metric", *OPTIONS)}
        return {name: value for name, value in values.items() if value is not None}

    def __repr__(self) -> str:
        metric, *options = (f"{name}={value!r}" for name, value in self.given().items())
        return f"LambdaWeight({', '.join([metric.removeprefix('metric='), *options])})"


class LambdaOptions(NamedTuple):
    """The options of a `LambdaWeight` with their defaults, as a traced function takes them."""

    metric: str
    k: int | None = None
    gain: str | Callable = "exponential"
    discount: str | Callable = "log2"
    smooth_fraction: float = 1.0
    version: int = 1
    neighbors_only: bool = False
    min_label: float = 1.0

    def needs_gain(self) -> bool:
        """Whether the weights divide by gains, which labels below 0 do not have."""
        return self.metric in ("mrr", "ndcg") and isinstance(self.gain, str)


def checked_lambda_weight(name: str, value: Any) -> str | LambdaWeight | None:
    """Return `value`, which must be None, the name of a metric, or a `LambdaWeight`."""
    if value is not None and not isinstance(value, LambdaWeight):
        LambdaWeight(arguments.one_of(name, value, LAMBDA_METRICS))
    return value


def lambda_options(lambda_weight: str | LambdaWeight | None) -> LambdaOptions | None:
    """The options of a checked lambda weight."""
    if lambda_weight is None:
        return None
    weight = lambda_weight if isinstance(lambda_weight, LambdaWeight) else LambdaWeight(lambda_weight)
    defaults = {"gain": "linear", "discount": "reciprocal"} if weight.metric == "mrr" else {}
    return LambdaOptions(**{**defaults, **weight.given()})


# Keras objects hold it as it was given.
LAMBDA_WEIGHT = Held(checked_lambda_weight, lambda name, value: lambda_options(checked_lambda_weight(name, value)))


class DeltaFeatures(NamedTuple):
    """Features of items `[B, n]`. A swap changes the metric by `|(gain_i - gain_j) (effect_i - effect_j)|`.

    Average precision needs a second effect, for pairs whose relevant item is behind the other one.
    """

    gains: tf.Tensor
    ranks: tf.Tensor  # 1 = the highest score
    effects: tf.Tensor
    effects_behind: tf.Tensor  # for a relevant item behind the other one; differs from `effects` only for "map"


def delta_features(lists: RankingLists, options: LambdaOptions) -> DeltaFeatures:
    """Compute the features for the current order of the scores, with ties in the order of the list and padding last."""
    _, order = descending(masked_last(lists.scores, lists.mask))
    ranks = tf.cast(inverse(order), lists.scores.dtype) + 1
    if options.metric == "label_diff":
        return DeltaFeatures(lists.labels, ranks, ranks, ranks)
    if options.metric in ("map", "precision"):
        relevant = lists.only_valid(tf.cast(lists.labels >= options.min_label, lists.scores.dtype))
        if options.metric == "map":
            return _precision_features(relevant, ranks, order, options.k)
        effects = tf.cast(ranks <= options.k, ranks.dtype)
        return DeltaFeatures(relevant, ranks, effects, effects)
    effects = discounts(ranks, options.discount)
    if options.k is not None:
        effects = tf.where(ranks <= options.k, effects, tf.zeros_like(effects))
    if options.metric == "dcg":
        gains = absolute_gains(lists, options.gain)
    else:
        gains = normalized_gains(lists, options.gain, rank_discounts(ranks, options.k, options.discount))
    return DeltaFeatures(gains, ranks, effects, effects)


def pair_weights(options: LambdaOptions, one: DeltaFeatures, other: DeltaFeatures) -> tf.Tensor:
    """The weight of each pair. The features broadcast against each other; `one` is the item with the greater label."""
    gains = tf.abs(one.gains - other.gains)
    if options.metric == "label_diff":
        return gains
    if options.metric == "map":
        ahead = one.ranks < other.ranks
        change = tf.where(ahead, other.effects - one.effects, one.effects_behind - other.effects_behind)
        return gains * tf.abs(change)
    absolute = tf.abs(one.effects - other.effects)
    if options.metric == "precision":
        return gains * absolute
    distance = tf.abs(one.ranks - other.ranks)
    if options.neighbors_only:
        gains *= tf.cast(tf.equal(distance, 1), gains.dtype)
    if options.version == 1 and options.smooth_fraction == 1:
        return gains * absolute
    # An item with itself is not a pair, so any distance will do.
    distance = tf.maximum(distance, 1)
    relative = tf.abs(discounts(distance, options.discount) - discounts(distance + 1, options.discount))
    if options.version == 2:
        return gains * relative * _beyond_k(options, tf.maximum(one.ranks, other.ranks))
    if options.k is not None:
        counted = tf.minimum(one.ranks, other.ranks) <= options.k
        relative = tf.where(counted, relative, tf.constant(0, relative.dtype))
    return gains * ((1 - options.smooth_fraction) * relative + options.smooth_fraction * absolute)


def _beyond_k(options: LambdaOptions, last: tf.Tensor) -> tf.Tensor | int:
    """The factor 1 / (1 - D(r)) of pairs whose last rank r is after k."""
    if options.k is None:
        return 1
    # Rank 1 is avoided, whose discount may be 1.
    beyond = last > options.k
    safe = tf.where(beyond, last, tf.constant(2, last.dtype))
    return tf.where(beyond, 1 / (1 - discounts(safe, options.discount)), tf.constant(1, last.dtype))


def _precision_features(relevant: tf.Tensor, ranks: tf.Tensor, order: tf.Tensor, k: int | None) -> DeltaFeatures:
    """Compute the features for average precision, with the effects `H - c / r` and `H - (c + 1) / r` of rank r.

    c is the number of relevant items up to rank r, and H is the sum of 1 / rank over them. If a relevant item is
    swapped with an irrelevant one behind it, the precision c / r of its rank is replaced by that of the other rank, and
    each relevant item between them loses 1 / rank. Ranks after `k` do not count.
    """
    places = tf.cast(tf.range(1, tf.shape(order)[1] + 1), ranks.dtype)
    counted = tf.ones_like(places) if k is None else tf.cast(places <= k, ranks.dtype)
    ordered = take(relevant, order)
    numbers = tf.cumsum(ordered, axis=-1)
    between = tf.cumsum(ordered * counted / places, axis=-1)
    positions = tf.cast(ranks, tf.int32) - 1
    gains = tf.math.divide_no_nan(relevant, tf.reduce_sum(relevant, axis=-1, keepdims=True))
    return DeltaFeatures(
        gains,
        ranks,
        take(between - counted * numbers / places, positions),
        take(between - counted * (numbers + 1) / places, positions),
    )
