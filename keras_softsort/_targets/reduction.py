"""The reductions of Keras 2 and 3, from the losses of lists or queries to one number."""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.keras_compat import share_of_replica

REDUCTIONS = ("auto", "mean", "mean_with_sample_weight", "none", "sum", "sum_over_batch_size")


class WeightedLosses(NamedTuple):
    """The losses of a batch, each already multiplied by its weight."""

    values: tf.Tensor  # [m]
    count: tf.Tensor  # the number of losses that a mean is taken over
    weights: tf.Tensor  # [m]


def masked_losses(losses: tf.Tensor, weights: tf.Tensor, mask: tf.Tensor) -> WeightedLosses:
    """Weighted losses [m], whose mean counts only entries where the mask is True."""
    return WeightedLosses(losses * weights, tf.math.count_nonzero(mask), weights)


def checked_reduction(reduction: str | None) -> str:
    """Check `reduction`. None becomes "none", and Keras 2's "auto" the mean, its meaning outside of custom loops."""
    name = arguments.one_of("reduction", reduction or "none", REDUCTIONS)
    return "sum_over_batch_size" if name == "auto" else name


def reduced(losses: WeightedLosses, reduction: str) -> tf.Tensor:
    """All losses, their sum, their mean, or their sum divided by the sum of the weights. An empty mean is 0."""
    if reduction == "none":
        return losses.values
    total = tf.reduce_sum(losses.values)
    if reduction == "sum":
        return total
    if reduction == "mean_with_sample_weight":
        return share_of_replica(tf.math.divide_no_nan(total, tf.reduce_sum(losses.weights)))
    known = tf.get_static_value(losses.count)
    mean = total / known if known else tf.math.divide_no_nan(total, tf.cast(losses.count, total.dtype))
    return share_of_replica(mean)
