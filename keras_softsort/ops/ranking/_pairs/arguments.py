"""Checked arguments of the pairwise losses."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort.ops.ranking._pairs.metric import METRICS, LambdaWeight, check_readers

TIES = ("half", "ignore")
NORMALIZATIONS = ("list", "none", "pairs")


class PairOptions(NamedTuple):
    """The static options of pairs: their costs and weights."""

    sigma: float
    ties: str
    cost: str
    lambda_weight: str | None
    k: int | None
    gain: str | Callable
    discount: str | Callable
    smooth_fraction: float
    version: int
    neighbors_only: bool
    min_label: float


class PairLists(NamedTuple):
    """Lists `[B, n]` in the compute dtype, without NaN."""

    scores: tf.Tensor  # 0 where masked
    labels: tf.Tensor  # 0 where masked
    mask: tf.Tensor  # bool, True for valid items
    valid: tf.Tensor  # the mask as numbers
    weights: tf.Tensor | None  # 0 where masked; None for 1
    factors: tf.Tensor  # [B]: 1, or NaN for a list with an invalid label or score


def pair_options(
    sigma: Any, *, ties: Any = "ignore", cost: str = "logistic", lambda_weight: Any = None, **given: Any
) -> PairOptions:
    """Check the arguments and fill in their defaults. Arguments that the lambda weight does not use are errors.

    `given` are the options of the lambda weight. If it is a `LambdaWeight`, they must be None.
    """
    sigma, ties = arguments.positive_number("sigma", sigma), arguments.one_of("ties", ties, TIES)
    weight = lambda_weight
    if weight is None:
        check_readers(None, given)
    elif not isinstance(weight, LambdaWeight):
        weight = LambdaWeight(arguments.one_of("lambda_weight", weight, METRICS), **given)
    else:
        for name, value in given.items():
            if value is not None:
                raise ValueError(f"{name} must be given to the LambdaWeight, got {lambda_weight!r} and {value!r}")
    return PairOptions(sigma, ties, cost, *lambda_options(weight))


def lambda_options(weight: LambdaWeight | None) -> tuple:
    """The fields of `PairOptions` from `lambda_weight` on, with their defaults."""
    if weight is None:
        return (None, None, "exponential", "log2", 1.0, 1, False, 1.0)
    is_mrr = weight.metric == "mrr"
    return (
        weight.metric,
        weight.k,
        weight.gain or ("linear" if is_mrr else "exponential"),
        weight.discount or ("reciprocal" if is_mrr else "log2"),
        1.0 if weight.smooth_fraction is None else weight.smooth_fraction,
        weight.version or 1,
        bool(weight.neighbors_only),
        1.0 if weight.min_label is None else weight.min_label,
    )


def pair_lists(
    scores: tf.Tensor, labels: tf.Tensor, mask: tf.Tensor, weights: tf.Tensor | None, options: PairOptions
) -> PairLists:
    """Replace padding and NaN, so that they never enter the computation."""
    right = tf.logical_and(tf.math.is_finite(scores), labels <= math.inf)  # False for NaN
    if options.lambda_weight in ("mrr", "ndcg") and isinstance(options.gain, str):
        right = tf.logical_and(right, labels >= 0)  # a label below 0 has no gain to divide by
    if options.cost == "squared" or options.lambda_weight == "label_diff":
        right = tf.logical_and(right, tf.math.is_finite(labels))
    failed = tf.reduce_any(tf.logical_and(mask, tf.logical_not(right)), axis=-1)
    read, one = tf.logical_and(mask, right), tf.ones([], scores.dtype)
    return PairLists(
        scores=tf.where(read, scores, tf.zeros_like(scores)),
        labels=tf.where(read, labels, tf.zeros_like(labels)),
        mask=mask,
        valid=tf.cast(mask, scores.dtype),
        weights=weights,
        factors=tf.where(failed, math.nan * one, one),
    )


def scale(temperature: Any) -> float:
    """The factor of the scores: 1 / temperature."""
    return 1 / arguments.positive_number("temperature", temperature)
