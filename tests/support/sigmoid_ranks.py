"""A method of sorting whose rows are softmaxes: an item weighs the more, the nearer its sigmoid rank is to the rank.

Adding a way to sort takes such a formula, and one registration. It is registered in tests only.
"""

import numpy as np
import tensorflow as tf


def sigmoid_ranks_logits(lists, ranks, power):
    """`-(i - r_j)^2` in the rows i from 1, with the sigmoid ranks `r_j = 1/2 + sum_k sigmoid(s_k - s_j)`."""
    del power
    ahead = tf.sigmoid(lists.scores[:, tf.newaxis, :] - lists.scores[:, :, tf.newaxis])
    if lists.mask is not None:
        ahead = tf.where(lists.mask[:, tf.newaxis, :], ahead, 0)
    positions = 0.5 + tf.reduce_sum(ahead, axis=2)
    rows = tf.cast(ranks.numbers + 1, positions.dtype)
    return -tf.square(rows[:, :, tf.newaxis] - positions[:, tf.newaxis, :])


def rows(x, tau, wanted):
    """The rows `wanted` on one list, by the formula, in float64."""
    positions = 0.5 + np.sum(1 / (1 + np.exp(x[:, None] - x)), axis=1)
    weights = np.exp(-((np.asarray(wanted)[:, None] + 1 - positions) ** 2) / tau)
    return weights / weights.sum(axis=1, keepdims=True)
