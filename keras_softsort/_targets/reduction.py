"""From the losses of lists or queries to one number, as the reductions of Keras 2 and 3 say."""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.keras_compat import share_of_replica

REDUCTIONS = ("auto", "mean", "mean_with_sample_weight", "none", "sum", "sum_over_batch_size")


class WeightedLosses(NamedTuple):
    """The losses of a batch, each already multiplied by its weight."""

    values: tf.Tensor  # [m]
    count: tf.Tensor  # how many of them a mean is over
    weights: tf.Tensor  # [m]


def checked_reduction(reduction: str | None) -> str:
    """`reduction`, with None as "none" and Keras 2's "auto" as the mean, which it is there for all but custom loops."""
    name = arguments.one_of("reduction", reduction or "none", REDUCTIONS)
    return "sum_over_batch_size" if name == "auto" else name


def reduced(losses: WeightedLosses, reduction: str) -> tf.Tensor:
    """All losses, their sum, their mean, or the sum over that of the weights; a mean over nothing is 0."""
    if reduction == "none":
        return losses.values
    total = tf.reduce_sum(losses.values)
    if reduction == "sum":
        return total
    divisor = tf.reduce_sum(losses.weights) if reduction == "mean_with_sample_weight" else losses.count
    return share_of_replica(tf.math.divide_no_nan(total, tf.cast(divisor, total.dtype)))
