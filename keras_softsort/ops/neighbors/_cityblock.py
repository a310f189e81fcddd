"""City-block distances of every query to every candidate, one dimension at a time."""

from __future__ import annotations

import tensorflow as tf


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
        return tf.ensure_shape(d_queries, queries.shape), tf.ensure_shape(d_candidates, candidates.shape)

    return total, gradient
