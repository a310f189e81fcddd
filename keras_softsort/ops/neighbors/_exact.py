"""The nearest references of each query, a block of references at a time."""

from __future__ import annotations

import math

import tensorflow as tf

from keras_softsort.ops._core.batching import take
from keras_softsort.ops.neighbors._distances import paired_distances, pairwise_distances


def nearest_references(
    queries: tf.Tensor, references: tf.Tensor, k: int, distance: str, *, block_size: int, approximate: bool = False
) -> tuple[tf.Tensor, tf.Tensor]:
    """The ids and the distances [q, k] of the k nearest of `references` [n, d] to each of `queries` [q, d].

    The nearest come first, equals in the order of their ids. n is static. No more than q (k + block_size) distances are
    held at once.
    """
    count = references.shape[0]
    size = min(block_size, count)
    # One for all blocks, so that equal references in two blocks are rounded alike.
    center = references[:1]

    def merge_block(step: tf.Tensor, best: tf.Tensor, ids: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        # The last block starts early enough to be full, and leaves out what earlier ones had.
        start = tf.minimum(step * size, count - size)
        own_ids = start + tf.range(size)
        block = tf.slice(references, [start, 0], [size, references.shape[1]])
        nearness = -pairwise_distances(queries, block, distance, center)
        nearness = tf.where(own_ids < step * size, tf.constant(-math.inf, nearness.dtype), nearness)
        if approximate:
            nearness, positions = tf.math.approx_max_k(nearness, min(k, size))
            own_ids = tf.gather(own_ids, positions)
        own_ids = tf.broadcast_to(own_ids, tf.shape(nearness))
        # Of equal values `top_k` takes the first. Ids ascend, and those of earlier blocks come first.
        best, positions = tf.math.top_k(tf.concat([best, nearness], axis=-1), k)
        return step + 1, best, take(tf.concat([ids, own_ids], axis=-1), positions)

    nothing = tf.fill([tf.shape(queries)[0], k], tf.constant(-math.inf, queries.dtype))
    state = (tf.constant(0), nothing, tf.zeros_like(nothing, tf.int32))
    _, _, ids = tf.while_loop(lambda step, *_: step < -(-count // size), merge_block, state, parallel_iterations=1)
    return _in_exact_order(queries, references, tf.stop_gradient(ids), distance)


def _in_exact_order(
    queries: tf.Tensor, references: tf.Tensor, ids: tf.Tensor, distance: str
) -> tuple[tf.Tensor, tf.Tensor]:
    """`ids` [q, k] in the order of their distances, and these, computed from differences: products are rounded."""
    ids = tf.sort(ids, axis=-1)
    distances = paired_distances(queries[:, tf.newaxis], tf.gather(references, ids), distance)
    order = tf.argsort(distances, axis=-1, stable=True)
    return take(ids, order), take(distances, order)


def neighbor_weights(distances: tf.Tensor, *, by_distance: bool) -> tf.Tensor:
    """The share of each neighbor [batch, k] in the vote, equal or in proportion to 1 / distance; NaN for NaN."""
    if not by_distance:
        is_nan = tf.reduce_any(tf.math.is_nan(distances), axis=-1, keepdims=True)
        equal = tf.ones_like(distances) / tf.cast(tf.shape(distances)[-1], distances.dtype)
        return tf.where(is_nan, tf.constant(math.nan, distances.dtype), equal)
    # Relative to the nearest, so that nothing overflows.
    nearest = tf.reduce_min(distances, axis=-1, keepdims=True)
    at_zero = tf.equal(distances, 0)
    ratios = nearest / tf.where(at_zero, tf.ones_like(distances), distances)
    ratios = tf.where(at_zero, tf.ones_like(ratios), ratios)
    return ratios / tf.reduce_sum(ratios, axis=-1, keepdims=True)
