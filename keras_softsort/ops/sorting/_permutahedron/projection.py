"""Projections onto the permutahedron: the ranks and the sorted scores of fast soft sort.

Both are differentiable sums over the blocks of an isotonic regression. The blocks are found in the working dtype,
without a gradient.
"""

from __future__ import annotations

import tensorflow as tf

from keras_softsort.ops.core.order import take
from keras_softsort.ops.sorting._ordering import MAX_QUOTIENT, OrderedLists, working_dtype
from keras_softsort.ops.sorting._permutahedron.isotonic import ROUNDING, Level, PooledBlocks, blocks


def projected_ranks(lists: OrderedLists, entropic: bool) -> tf.Tensor:
    """The projection of `-scores / tau` onto the permutahedron of the ranks 1, ..., n: [L, n], 0 for masked items.

    Within a block, a rank is the mean rank minus (score - block mean) / tau, or if `entropic` its share of the sum by a
    softmax of `-scores / tau`.
    """
    scores = take(lists.scores, lists.order)
    dtype = working_dtype(scores)

    def mean_rank(first: tf.Tensor, last: tf.Tensor) -> tf.Tensor:
        return tf.cast(first + last, dtype) / 2

    def log_of_ranks(first: tf.Tensor, last: tf.Tensor) -> tf.Tensor:
        """The logarithm of `(first + 1) + ... + (last + 1)`."""
        return tf.math.log(tf.cast(last - first + 1, dtype) * (mean_rank(first, last) + 1))

    of_positions, unit = log_of_ranks if entropic else mean_rank, _unit(lists.tau, scores)
    level = Level(entropic, of_positions, ROUNDING[scores.dtype], unit)
    found = PooledBlocks(*blocks(tf.cast(scores, dtype), lists.valid_counts(), level))
    middle = 1 + tf.cast(found.first + found.last, scores.dtype) / 2
    if entropic:  # relative to the lowest score, where the softmax peaks
        weights = tf.exp((take(scores, found.last) - scores) / lists.tau)
        ranks = weights / found.sums(weights) * found.sizes(scores.dtype) * middle
    else:
        above = (scores - take(scores, found.first)) / lists.tau
        ranks = middle + found.means(above) - above
    return lists.of_valid(take(ranks, lists.ranks))


def projected_scores(lists: OrderedLists, entropic: bool) -> tf.Tensor:
    """The projection of `(n, ..., 1) / tau` onto the permutahedron of the scores [L, n]; 0 after the valid ones.

    Within a block, a value is the block mean minus (rank - block center) / tau, or with log-sum-exp if `entropic`.
    """
    scores = _shared_by_ties(lists)
    size, dtype = tf.shape(scores)[1], working_dtype(scores)
    every = tf.minimum(1 / _unit(lists.tau, scores), MAX_QUOTIENT[dtype])

    def mean_rank(first: tf.Tensor, last: tf.Tensor) -> tf.Tensor:
        return -every * tf.cast(first + last, dtype) / 2

    def log_of_ranks(first: tf.Tensor, last: tf.Tensor) -> tf.Tensor:
        """The logarithm of `exp(-first / tau) + ... + exp(-last / tau)`, a geometric series."""
        count, start = (tf.cast(number, dtype) for number in (last - first + 1, first))
        return tf.math.log(tf.math.expm1(-count * every) / tf.math.expm1(-every)) - start * every

    level = Level(entropic, log_of_ranks if entropic else mean_rank, ROUNDING[scores.dtype])
    found = PooledBlocks(*blocks(-tf.cast(scores, dtype), lists.valid_counts(), level))
    first = take(scores, found.first)  # the largest of the block
    # A product with 1 / tau, so that its gradient is summed before the factor 1 / tau^2, which may overflow in float32.
    per_rank = tf.cast(1 / tf.cast(lists.tau, dtype), scores.dtype)
    if entropic:
        behind = tf.cast(tf.range(size) - found.first, scores.dtype) * per_rank
        scale = tf.math.log(found.sums(tf.exp(scores - first)) / found.sums(tf.exp(-behind)))
        values = first + scale - behind
    else:
        ahead_of_middle = tf.cast(found.first + found.last - 2 * tf.range(size), scores.dtype) / 2
        values = first + found.means(scores - first) + ahead_of_middle * per_rank
    if lists.mask is None:
        return values
    return tf.where(tf.range(size) < lists.valid_counts(), values, tf.zeros_like(values))


def _unit(tau: tf.Tensor, scores: tf.Tensor) -> tf.Tensor:
    """The temperature at each position of all lists `scores` [L, n], without a gradient: [L n]."""
    tau = tf.cast(tf.stop_gradient(tau), working_dtype(scores))
    return tf.reshape(tf.broadcast_to(tau, tf.shape(scores)), [-1])


def _shared_by_ties(lists: OrderedLists) -> tf.Tensor:
    """The sorted scores [L, n], whose gradient is shared evenly by tied items."""
    scores = take(lists.scores, lists.order)
    held = tf.stop_gradient(scores)
    return held + PooledBlocks(*lists.ties()).means(scores - held)
