"""A method of sorting whose matrix is no softmax: the odd-even network with logistic swaps (Petersen et al., 2021).

It sorts lists that are sorted, so that at low temperatures no swap is made. It is registered in tests only.
"""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from keras_softsort.ops.core.order import take


def network(lists):
    """The matrix [B, n, n] of ordered lists, in which each of tied items has columns of its own."""
    places, count = tf.range(tf.shape(lists.scores)[1]), lists.valid_counts()

    def layer(step, scores, matrix):
        right = tf.equal(places % 2, step % 2)  # of a pair
        partner = tf.where(right, places + 1, places - 1)[tf.newaxis, :]
        paired = (partner >= 0) & (partner < count) & (places < count) & (step < count)
        partner = tf.where(paired, partner, places)
        sign = tf.where(right, tf.ones_like(scores), -1)
        kept = tf.sigmoid(sign * (scores - take(scores, partner)) / lists.tau)
        rows = kept[:, :, tf.newaxis]
        return (
            step + 1,
            kept * scores + (1 - kept) * take(scores, partner),
            rows * matrix + (1 - rows) * take(matrix, partner),
        )

    size = tf.shape(lists.scores)[1]
    scores = take(lists.scores, lists.order)
    start = (0, scores, tf.eye(size, batch_shape=[tf.shape(scores)[0]], dtype=scores.dtype))
    most = lists.scores.shape[1]  # which XLA must know to differentiate the loop
    _, _, matrix = tf.while_loop(lambda step, *_: step < size, layer, start, maximum_iterations=most)
    return matrix


def of_items(lists, matrix):
    """The `matrix` of sorted lists with its columns in the order of the items."""
    return tf.gather(matrix, lists.ranks, axis=2, batch_dims=1)


def odd_even(lists):
    """The matrix of the network, in which tied items share their columns evenly."""
    scores, places = take(lists.scores, lists.order), tf.range(tf.shape(lists.scores)[1])
    valid = tf.where(places < lists.valid_counts(), scores, tf.cast(tf.reduce_max(tf.abs(scores)) + 1, scores.dtype))
    tied = tf.cast(tf.equal(valid[:, :, tf.newaxis], valid[:, tf.newaxis, :]), scores.dtype)
    return of_items(lists, network(lists) @ (tied / tf.reduce_sum(tied, axis=1, keepdims=True)))


def without_ties(lists):
    """The matrix of the network, in which tied items have unequal ranks."""
    return of_items(lists, network(lists))


def rows(x, tau, wanted):
    """The rows `wanted` of the network on one list of unequal scores, by its definition, in float64."""
    order = np.argsort(-x, kind="stable")
    scores, matrix = list(x[order]), np.eye(len(x))[:, np.argsort(order)]
    for step in range(len(x)):
        for i in range(step % 2, len(x) - 1, 2):
            kept = 1 / (1 + np.exp((scores[i + 1] - scores[i]) / tau))
            swap = np.array([[kept, 1 - kept], [1 - kept, kept]])
            scores[i : i + 2], matrix[i : i + 2] = swap @ scores[i : i + 2], swap @ matrix[i : i + 2]
    return matrix[wanted]
