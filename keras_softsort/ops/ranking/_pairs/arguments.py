"""What is to be compared pair by pair: the arguments of the pairwise losses, checked once and held together."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort.ops.ranking._dcg import DISCOUNTS, GAINS

TIES = ("half", "ignore")
NORMALIZATIONS = ("list", "none", "pairs")
LAMBDA_WEIGHTS = ("dcg", "map", "mrr", "ndcg", "precision")


class PairOptions(NamedTuple):
    """How pairs cost and count; all of it known when traced."""

    sigma: float
    ties: str
    lambda_weight: str | None
    k: int | None
    gain: str
    discount: str
    smooth_fraction: float


class PairLists(NamedTuple):
    """Lists `[B, n]` in the compute dtype, all of them numbers."""

    scores: tf.Tensor  # 0 where masked
    labels: tf.Tensor  # 0 where masked
    mask: tf.Tensor  # bool, True = keep
    weights: tf.Tensor  # 0 where masked
    factors: tf.Tensor  # [B]: 1, or NaN for a list with a label or score that has no meaning


def pair_options(
    sigma: Any,
    *,
    ties: Any,
    lambda_weight: Any,
    k: Any,
    gain: Any,
    discount: Any,
    smooth_fraction: Any,
) -> PairOptions:
    """Check the arguments, of which those that nothing would read are errors, and fill in their defaults."""
    if lambda_weight is not None:
        arguments.one_of("lambda_weight", lambda_weight, LAMBDA_WEIGHTS)
    with_gain = ("dcg", "ndcg")
    by_discount = ("dcg", "mrr", "ndcg")
    for name, value, readers in (
        ("k", k, LAMBDA_WEIGHTS),
        ("gain", gain, with_gain),
        ("discount", discount, with_gain),
        ("smooth_fraction", smooth_fraction, by_discount),
    ):
        if value is not None and lambda_weight not in readers:
            raise ValueError(f"{name} needs a lambda_weight of {list(readers)}, got {lambda_weight!r} and {value!r}")
    if lambda_weight == "precision" and k is None:
        raise ValueError("k must be given with lambda_weight='precision', got None")
    is_mrr = lambda_weight == "mrr"
    fraction = 1.0 if smooth_fraction is None else arguments.non_negative_number("smooth_fraction", smooth_fraction)
    if fraction > 1:
        raise ValueError(f"smooth_fraction must be at most 1, got {smooth_fraction!r}")
    return PairOptions(
        sigma=arguments.positive_number("sigma", sigma),
        ties=arguments.one_of("ties", ties, TIES),
        lambda_weight=lambda_weight,
        k=None if k is None else arguments.positive_integer("k", k),
        gain=arguments.one_of("gain", ("linear" if is_mrr else "exponential") if gain is None else gain, GAINS),
        discount=arguments.one_of(
            "discount", ("reciprocal" if is_mrr else "log2") if discount is None else discount, DISCOUNTS
        ),
        smooth_fraction=fraction,
    )


def pair_lists(
    scores: tf.Tensor, labels: tf.Tensor, mask: tf.Tensor, weights: tf.Tensor, options: PairOptions
) -> PairLists:
    """Lists whose padding and whose NaN cannot reach the arithmetic."""
    right = tf.logical_and(tf.math.is_finite(scores), tf.logical_not(tf.math.is_nan(labels)))
    if options.lambda_weight in ("mrr", "ndcg"):  # a label below 0 has no gain to divide by
        right = tf.logical_and(right, labels >= 0)
    wrong = tf.reduce_any(tf.logical_and(mask, tf.logical_not(right)), axis=-1)
    read = tf.logical_and(mask, right)
    # Neither NaN nor -0.0, which XLA sorts differently.
    return PairLists(
        scores=tf.where(tf.logical_and(read, tf.not_equal(scores, 0)), scores, tf.zeros_like(scores)),
        labels=tf.where(tf.logical_and(read, tf.not_equal(labels, 0)), labels, tf.zeros_like(labels)),
        mask=mask,
        weights=weights,
        factors=tf.where(wrong, tf.constant(math.nan, scores.dtype), tf.constant(1, scores.dtype)),
    )
