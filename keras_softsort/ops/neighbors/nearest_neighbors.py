"""The exact nearest references of queries, and their vote on a class."""

from __future__ import annotations

from typing import Any, NamedTuple

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.arguments import compute_dtype
from keras_softsort._internal.export import export
from keras_softsort.ops.core.axes import with_static_shape
from keras_softsort.ops.core.distances import DISTANCES
from keras_softsort.ops.core.order import descending
from keras_softsort.ops.neighbors._exact import nearest_references

VOTES = ("count", "distance")


@export
class NearestNeighbors(NamedTuple):
    """The result of `nearest_neighbors`."""

    neighbors: tf.Tensor  # int32 [q, k]: the numbers of the references, the nearest first
    distances: tf.Tensor  # [q, k]


@export
def nearest_neighbors(
    queries: Any,
    references: Any,
    k: int,
    *,
    distance: str = "squared_euclidean",
    exclude: Any = None,
    block_size: int = 8192,
    approximate: bool = False,
) -> NearestNeighbors:
    """Find the k nearest references of each query, exactly.

    Use it for up to millions of references. A matrix product bounds how near each 32 references can be, rounding
    included. References that may be among the k nearest are then compared by differences. So a query has the same
    neighbors alone and in any batch.

    Args:
      queries: embeddings `[q, d]`.
      references: embeddings `[n, d]`, whose sizes must be known when traced.
      k: number of neighbors, at most n.
      distance: `"squared_euclidean"`, `"euclidean"`, `"cityblock"` (the sum of absolute differences), `"cosine"` (1 -
        cos; 1 for a vector of zeros) or `"dot"` (minus the inner product). Pass the distance of the loss that trained
        the embeddings: `distance="cosine"` after `RetrievalLoss()`.
      exclude: integers `[q]` or `[q, e]`, the numbers of the references that each query leaves out, such as the items
        that a user has seen; -1 for none. With the references as queries, `exclude=tf.range(n)` leaves out each one
        itself.
      block_size: number of references that are compared with up to 256 queries at once.
      approximate: whether to choose candidates by `tf.math.approx_max_k`, without a check that nothing was missed. This
        is meant for TPUs. On a CPU it is no faster.

    Returns:
      The named tuple `(neighbors, distances)`. `neighbors`, int32 `[q, k]`, are the numbers of the nearest references,
      the nearest first and equally distant ones in the order of their numbers. `distances` `[q, k]` are in the dtype of
      `queries`, with the gradient of the distances to these references; half precision is computed in float32.

      A query with NaN has NaN distances. References must be finite. Queries so long that squares may overflow (beyond
      2.9e17 in float32), or so short that the squared length underflows with `"cosine"` and `"dot"`, get the first k.

    Raises:
      ValueError: `k` or `block_size` is out of range, `distance` is unknown, `exclude` holds a number that is no
        reference (an InvalidArgumentError if it was unknown when traced), or shapes do not match.
      TypeError: embeddings are not floating-point, or an argument has another type.

    Cost: O(n d) time per query, and more where very many references are as far away as the k-th. Memory, for 256
    queries at a time: `block_size` numbers per query, and 32 MB of references to compare. With `exclude` it finds the
    k + e nearest ones.

    Example:
      >>> found = ks.ops.nearest_neighbors([[1.75]], [[0.0], [1.0], [2.0], [9.0]], k=2)
      >>> found.neighbors.numpy().tolist(), found.distances.numpy().tolist()
      ([[2, 1]], [[0.0625, 0.5625]])

    Source: T. Cover, P. Hart, "Nearest Neighbor Pattern Classification", IEEE Trans. Information Theory 13, 1967.
    """
    queries = arguments.floating_tensor("queries", queries)
    references = arguments.floating_tensor("references", references)
    shape = references.shape
    if queries.shape.rank != 2 or not (shape.rank == 2 and shape.is_fully_defined()):
        raise ValueError(
            f"queries and references must have shapes [q, d] and [n, d] with known n and d, got {queries.shape} and "
            f"{shape}"
        )
    if not queries.shape[1:].is_compatible_with(shape[1:]):
        raise ValueError(f"queries must have shape [q, {shape[1]}] as the references, got {queries.shape}")
    excluded = None if exclude is None else _checked_exclude(exclude, queries, shape[0])
    count = 0 if excluded is None else excluded.shape[1]
    k = arguments.positive_integer("k", k)
    if k > shape[0] - count:
        left = f" minus the {count} that exclude can leave out" if count else ""
        raise ValueError(f"k must be at most the number of references{left}, {shape[0] - count}, got {k}")
    if queries.shape[1] is None:
        received = tf.shape(queries)[1]
        rule = f"queries must have as many features as the references, {shape[1]}, got"
        queries = arguments.checked(queries, tf.equal(received, shape[1]), rule, received)
    dtype = compute_dtype(queries.dtype)
    neighbors, distances = nearest_references(
        with_static_shape(tf.cast(queries, dtype), [queries.shape[0], shape[1]]),
        tf.cast(references, dtype),
        k + count,
        arguments.one_of("distance", distance, DISTANCES),
        block_size=arguments.positive_integer("block_size", block_size),
        approximate=arguments.boolean("approximate", approximate),
    )
    if excluded is not None:
        neighbors, distances = _without(excluded, neighbors, distances)
    return NearestNeighbors(neighbors, tf.cast(distances, queries.dtype))


def _checked_exclude(exclude: Any, queries: tf.Tensor, size: int) -> tf.Tensor:
    """Check the numbers of references to leave out, from -1 to `size` - 1: int32 [q, e]."""
    exclude = arguments.dense_tensor("exclude", exclude)
    if not exclude.dtype.is_integer:
        raise TypeError(f"exclude must hold integers, got dtype {exclude.dtype.name}")
    fits = exclude.shape.rank in (1, 2) and exclude.shape[:1].is_compatible_with(queries.shape[:1])
    exclude = exclude[:, tf.newaxis] if fits and exclude.shape.rank == 1 else exclude
    if not fits or exclude.shape[1] is None:
        raise ValueError(
            f"exclude must have shape [q] or [q, e] with a known e and the queries {queries.shape}, got {exclude.shape}"
        )
    exclude = arguments.of_shape("exclude", exclude, tf.stack([tf.shape(queries)[0], exclude.shape[1]]))
    numbers = tf.cast(exclude, tf.int64)
    is_known = tf.reduce_all(tf.logical_and(numbers >= -1, numbers < size))
    message = f"exclude must hold -1 or the numbers of {size} references, got"
    return tf.cast(arguments.checked(exclude, is_known, message, exclude), tf.int32)


def _without(exclude: tf.Tensor, neighbors: tf.Tensor, distances: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """The k nearest references of k + e without those to leave out [q, e]."""
    is_excluded = tf.reduce_any(tf.equal(neighbors[..., tf.newaxis], exclude[:, tf.newaxis]), axis=2)
    k = neighbors.shape[1] - exclude.shape[1]
    # The first of equal keys come first, so that the others keep their order.
    _, order = descending(-tf.cast(is_excluded, tf.float32))
    return tf.gather(neighbors, order[:, :k], batch_dims=1), tf.gather(distances, order[:, :k], batch_dims=1)


@export
def neighbor_votes(labels: Any, neighbors: Any, distances: Any, num_classes: int, *, votes: str = "count") -> tf.Tensor:
    """Compute the share of each class in the vote of a query's neighbors.

    Use it to classify. `p(class) = sum_j w_j [y_j = class] / sum_j w_j` over the neighbors j, weighted by `votes`.

    Args:
      labels: integers `[n]`, the class of each reference, from 0 to `num_classes - 1`. Other labels count for no class.
      neighbors: integers `[q, k]`, the numbers of the references that vote, as from `nearest_neighbors`.
      distances: floating-point `[q, k]`, their distances, at least 0.
      num_classes: number of classes.
      votes: weight of a neighbor. `"count"`: 1. `"distance"`: 1 / distance; neighbors at distance 0 then outvote all
        others, and neighbors at infinite distance count only if all are.

    Returns:
      `[q, num_classes]` in the dtype of `distances`. A row sums to 1. A query with a NaN distance has NaN.

    Raises:
      ValueError: `num_classes` is below 1, `votes` is unknown, shapes do not match, or `neighbors` has a number of no
        reference (an InvalidArgumentError in a traced function; XLA drops that check).
      TypeError: `labels` or `neighbors` are not integers, or `distances` is not floating-point.

    Cost: O(k num_classes) time and memory per query.

    Example:
      >>> votes = ks.ops.neighbor_votes([0, 0, 1, 1], [[2, 1]], [[0.0625, 0.5625]], num_classes=2, votes="distance")
      >>> (100 * votes.numpy()).round().tolist()
      [[10.0, 90.0]]

    Source: S. Dudani, "The Distance-Weighted k-Nearest-Neighbor Rule", IEEE Trans. SMC 6, 1976.
    """
    labels, neighbors = _integers("labels", labels, "[n]"), _integers("neighbors", neighbors, "[q, k]")
    distances = arguments.floating_tensor("distances", distances)
    if not (distances.shape.rank == 2 and distances.shape.is_compatible_with(neighbors.shape)):
        raise ValueError(f"distances must have the shape of neighbors, {neighbors.shape}, got {distances.shape}")
    num_classes = arguments.positive_integer("num_classes", num_classes)
    by_distance = arguments.one_of("votes", votes, VOTES) == "distance"
    if tf.executing_eagerly():  # in a graph TensorFlow checks it
        inside = tf.reduce_all(tf.logical_and(neighbors >= 0, neighbors < tf.cast(tf.size(labels), neighbors.dtype)))
        rule = f"neighbors must be at least 0 and below {labels.shape[0]}, the number of references, got"
        neighbors = arguments.checked(neighbors, inside, rule, neighbors)
    wide = tf.cast(distances, compute_dtype(distances.dtype))
    weights = tf.ones_like(wide)
    if by_distance:
        # Relative to the nearest, so that nothing overflows. Neighbors as near get 1, also at a distance 0 or infinity.
        nearest = tf.reduce_min(wide, axis=-1, keepdims=True)
        is_nearest = tf.equal(wide, nearest)
        weights = tf.where(is_nearest, weights, nearest / tf.where(is_nearest, weights, wide))
    weights = tf.where(tf.math.is_nan(wide), wide, weights)
    weights /= tf.reduce_sum(weights, axis=-1, keepdims=True)
    is_class = tf.one_hot(tf.gather(labels, neighbors), num_classes, dtype=weights.dtype)
    return tf.cast(tf.reduce_sum(weights[..., tf.newaxis] * is_class, axis=1), distances.dtype)


def _integers(name: str, value: Any, shape: str) -> tf.Tensor:
    """Return `value` as a tensor of integers with as many axes as `shape`."""
    tensor = arguments.dense_tensor(name, value)
    if not tensor.dtype.is_integer:
        raise TypeError(f"{name} must hold integers, got dtype {tensor.dtype.name}")
    if tensor.shape.rank != len(shape.split(",")):
        raise ValueError(f"{name} must have shape {shape}, got {tensor.shape}")
    return tensor
