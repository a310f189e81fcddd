"""Distances of vectors: of every query to every candidate, and of pairs."""

from __future__ import annotations

import tensorflow as tf

from keras_softsort.ops.core.axes import with_static_shape
from keras_softsort.ops.core.numbers import inner_products

DISTANCES = ("cityblock", "cosine", "dot", "euclidean", "squared_euclidean")


def pairwise_distances(
    queries: tf.Tensor, candidates: tf.Tensor, distance: str, mask: tf.Tensor | None = None
) -> tf.Tensor:
    """Distances [..., q, c] of `queries` [..., q, d] to `candidates` [..., c, d]; NaN where an embedding holds NaN.

    For Euclidean distances, the mean of the finite candidates that are valid by `mask` [..., c] is subtracted first,
    because products of embeddings far from 0 would lose digits.
    """
    if distance == "cityblock":
        return cityblock_distances(queries, candidates)
    if distance == "dot":
        return -inner_products(queries, candidates)
    if distance == "cosine":
        return 1 - inner_products(unit_vectors(queries), unit_vectors(candidates))
    is_valid = tf.reduce_all(tf.math.is_finite(candidates), axis=-1)
    is_valid = (is_valid if mask is None else tf.logical_and(is_valid, mask))[..., tf.newaxis]
    total = tf.reduce_sum(tf.where(is_valid, candidates, tf.zeros_like(candidates)), axis=-2, keepdims=True)
    number = tf.reduce_sum(tf.cast(is_valid, total.dtype), axis=-2, keepdims=True)
    center = tf.stop_gradient(total / tf.maximum(number, 1))
    queries, candidates = queries - center, candidates - center
    lengths = tf.reduce_sum(tf.square(queries), axis=-1)[..., :, tf.newaxis]
    other_lengths = tf.reduce_sum(tf.square(candidates), axis=-1)[..., tf.newaxis, :]
    squared = lengths + other_lengths - 2 * inner_products(queries, candidates)
    squared = tf.where(squared < 0, tf.zeros_like(squared), squared)
    return squared if distance == "squared_euclidean" else _root(squared)


def paired_distances(queries: tf.Tensor, candidates: tf.Tensor, distance: str) -> tf.Tensor:
    """Distances [...] of `queries` and `candidates` [..., d], from differences: equal vectors have distance 0."""
    if distance == "cityblock":
        return tf.reduce_sum(tf.abs(queries - candidates), axis=-1)
    if distance == "dot":
        return -tf.reduce_sum(queries * candidates, axis=-1)
    if distance == "cosine":
        queries, candidates = unit_vectors(queries), unit_vectors(candidates)
        similar = tf.reduce_sum(queries * candidates, axis=-1)
        # For unit vectors |u - v|^2 / 2 = 1 - u v, which is exact if they are near each other.
        near = tf.reduce_sum(tf.square(queries - candidates), axis=-1) / 2
        return tf.where(similar > 0.5, near, 1 - similar)
    squared = tf.reduce_sum(tf.square(queries - candidates), axis=-1)
    return squared if distance == "squared_euclidean" else _root(squared)


def _root(squared: tf.Tensor) -> tf.Tensor:
    """The square root, with gradient 0 at 0."""
    at_zero = tf.equal(squared, 0)
    root = tf.sqrt(tf.where(at_zero, tf.ones_like(squared), squared))
    return tf.where(at_zero, tf.zeros_like(root), root)


def unit_vectors(vectors: tf.Tensor) -> tf.Tensor:
    """Vectors scaled to length 1, zeros unchanged; scaled to maximum 1 first, so that no length over- or underflows."""
    largest = tf.stop_gradient(tf.reduce_max(tf.abs(vectors), axis=-1, keepdims=True))
    vectors = vectors / tf.where(tf.equal(largest, 0), tf.ones_like(largest), largest)
    squared = tf.reduce_sum(tf.square(vectors), axis=-1, keepdims=True)
    lengths = tf.sqrt(tf.where(tf.equal(squared, 0), tf.ones_like(squared), squared))
    # A root and a quotient are rounded alike in every vector, but the rounding of rsqrt depends on the position in the
    # tensor. Lengths are at least 1 here: the maximum changes no value, and stands between the root and the quotient.
    return vectors / tf.maximum(lengths, 1)


@tf.custom_gradient
def cityblock_distances(queries: tf.Tensor, candidates: tf.Tensor) -> tuple:
    """Sums of absolute differences of [..., q, d] and [..., c, d]: [..., q, c], with gradient 0 where they are equal.

    A loop over dimensions, also for the gradient: memory is O(q c), not O(q c d).
    """
    dimensions = tf.shape(queries)[-1]
    total = tf.zeros_like(tf.matmul(queries[..., :1], candidates[..., :1], transpose_b=True))

    def differences(i: tf.Tensor) -> tf.Tensor:
        return queries[..., :, tf.newaxis, i] - candidates[..., tf.newaxis, :, i]

    def add(i: tf.Tensor, total: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return i + 1, total + tf.abs(differences(i))

    _, total = tf.while_loop(lambda i, _: i < dimensions, add, (0, total), maximum_iterations=dimensions)

    def gradient(upstream: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        def slopes(i: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            signed = upstream * tf.sign(differences(i))
            return tf.reduce_sum(signed, axis=-1), -tf.reduce_sum(signed, axis=-2)

        pairs = tf.map_fn(slopes, tf.range(dimensions), fn_output_signature=(upstream.dtype, upstream.dtype))
        d_queries, d_candidates = (tf.einsum("d...->...d", each) for each in pairs)
        return with_static_shape(d_queries, queries.shape), with_static_shape(d_candidates, candidates.shape)

    return total, gradient
