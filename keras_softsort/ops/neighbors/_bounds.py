"""Upper bounds of minus the distance to references, by one matrix product per block, which allow for rounding."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from keras_softsort.ops.core.distances import cityblock_distances, unit_vectors
from keras_softsort.ops.core.numbers import inner_products, product_error


class QueryBounds(NamedTuple):
    """Queries, prepared for the bounds of any block of references."""

    rows: tf.Tensor  # [q, d + 2]: the factors of the products; for "cityblock" the queries [q, d]
    offset: tf.Tensor  # [q, 1]: to be added to each bound
    center: tf.Tensor  # [1, d]


def query_bounds(queries: tf.Tensor, references: tf.Tensor, distance: str) -> QueryBounds:
    """Prepare finite `queries` [q, d] for the bounds of `distance`."""
    ones, slack = tf.ones_like(queries[:, :1]), _slack(queries)
    if distance == "cityblock":
        return QueryBounds(queries, 0 * ones, references[:1])
    if distance == "cosine":
        return QueryBounds(tf.concat([unit_vectors(queries), ones, 0 * ones], axis=1), slack - ones, references[:1])
    if distance == "dot":
        return QueryBounds(tf.concat([queries, ones, slack * _lengths(queries)], axis=1), 0 * ones, references[:1])
    # Centered, because the product of embeddings far from 0 would lose digits.
    moved = queries - references[:1]
    lengths = _lengths(moved)
    rows = tf.concat([2 * moved, ones, 2 * slack * lengths], axis=1)
    # An error of up to slack * (|q| + |r|)^2.
    return QueryBounds(rows, -(1 - slack) * tf.square(lengths), references[:1])


def chunk_bounds(
    queries: QueryBounds, block: tf.Tensor, is_reference: tf.Tensor, distance: str, chunk_size: int
) -> tf.Tensor:
    """Return upper bounds [q, b / chunk_size] of minus the distance, without the offset, for chunks of `block` [b, d].

    Chunk i holds the references i, i + chunks, i + 2 chunks, ... Rows that are not references count as very far.
    """
    far = tf.constant(-block.dtype.max / 8, block.dtype)
    if distance == "cityblock":
        bounds = -(1 - _slack(block)) * cityblock_distances(queries.rows, block)
        bounds = tf.where(is_reference, bounds, far)
    else:
        bounds = inner_products(queries.rows, _reference_rows(block, is_reference, queries.center, distance, far))
    count = bounds.shape[1] // chunk_size
    # The maximum over the middle axis compares whole rows at once.
    return tf.reduce_max(tf.reshape(bounds, [-1, chunk_size, count]), axis=1)


def is_searchable(queries: tf.Tensor, references: tf.Tensor, distance: str) -> tf.Tensor:
    """Return whether queries are finite, far from overflow, and not equally far from all references: [q, 1]."""
    lengths = _lengths(queries)
    is_usual = lengths + _lengths(queries - references[:1]) < _longest(queries)
    return tf.logical_and(is_usual, lengths > 0) if distance in ("cosine", "dot") else is_usual


def _longest(vectors: tf.Tensor) -> float:
    return math.sqrt(float(vectors.dtype.max)) / 64


def _reference_rows(
    block: tf.Tensor, is_reference: tf.Tensor, center: tf.Tensor, distance: str, far: tf.Tensor
) -> tf.Tensor:
    """Return the factors of the references [b, d + 2]: their products with the rows of the queries are the bounds."""
    vectors = {"cosine": unit_vectors, "dot": lambda block: block}.get(distance, lambda block: block - center)(block)
    lengths = _lengths(vectors)
    own = -(1 - _slack(block)) * tf.square(lengths) if distance == "squared_euclidean" else tf.zeros_like(lengths)
    is_near = tf.logical_and(is_reference[:, tf.newaxis], lengths < _longest(block))
    zeros = tf.zeros_like(vectors)
    return tf.concat(
        [tf.where(is_near, vectors, zeros), tf.where(is_near, own, far), tf.where(is_near, lengths, zeros[:, :1])],
        axis=1,
    )


def _lengths(vectors: tf.Tensor) -> tf.Tensor:
    return tf.norm(vectors, axis=-1, keepdims=True)


def _slack(vectors: tf.Tensor) -> tf.Tensor:
    """Return a bound of the relative rounding error, doubled because both sides of a comparison are rounded."""
    dtype, dimension = vectors.dtype, vectors.shape[-1]
    error = (dimension + 10) * float(np.finfo(dtype.as_numpy_dtype).eps) + product_error(dtype)
    return tf.constant(2 * error, dtype)
