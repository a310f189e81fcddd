"""The exact nearest references of each query.

A matrix product bounds how near the references of a chunk can be. Chunks are searched, those with the highest bounds
first, until no other chunk can hold a nearer reference. Distances are computed from differences, pair by pair, so the
result does not depend on the other queries of the batch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import tensorflow as tf

from keras_softsort.ops.core.axes import with_static_shape
from keras_softsort.ops.core.distances import paired_distances
from keras_softsort.ops.core.order import plus_zeros, take
from keras_softsort.ops.neighbors._bounds import chunk_bounds, is_searchable, query_bounds

MAX_QUERIES = 256  # the most queries that are compared with a block of references at once
CHUNK_SIZE = 32  # the number of references that share a bound
SPARE_CHUNKS = 6  # the first round searches the k chunks that are always needed, and this many more
LATER_ROUNDS = 16  # a later round, needed if a reference has many copies, searches this many times as many chunks
MAX_SIZE_OF_ALL = 1024  # up to this many references, several queries are compared with all of them, without bounds
BLOCKS_OF_ALL = 4  # a search without bounds compares queries with this many blocks at once
GATHERED_SIZE = 2**23  # the most entries of references that are compared by differences at once


class ExactSearch(NamedTuple):
    """The references and the options of a search. All options are known when traced."""

    references: tf.Tensor  # [n, d]
    k: int
    distance: str
    block_size: int  # a multiple of the chunk size
    chunk_size: int
    approximate: bool

    @property
    def chunks_per_block(self) -> int:
        return self.block_size // self.chunk_size

    @property
    def num_blocks(self) -> int:
        return -(-self.references.shape[0] // self.block_size)

    def chunks_per_round(self, times: int = 1) -> int:
        """Return the number of chunks that a round searches: `times` as many as the first one, if memory allows."""
        least = self.k + (0 if self.approximate else SPARE_CHUNKS)
        room = GATHERED_SIZE // (MAX_QUERIES * self.references.shape[1])
        return min(max(least, min(times * least, room)), self.num_blocks * self.chunks_per_block)


def nearest_references(
    queries: tf.Tensor, references: tf.Tensor, k: int, distance: str, *, block_size: int, approximate: bool = False
) -> tuple[tf.Tensor, tf.Tensor]:
    """Return ids and distances [q, k] of the k nearest of `references` [n, d] to `queries` [q, d], ties by ids."""
    count = references.shape[0]
    chunk_size = min(CHUNK_SIZE, block_size, count)
    size = max(min(block_size, -(-count // chunk_size) * chunk_size) // chunk_size, 1) * chunk_size
    # Squared distances have the same order as their roots.
    measure = "squared_euclidean" if distance == "euclidean" else distance
    search = ExactSearch(tf.stop_gradient(references), k, measure, size, chunk_size, approximate)
    is_usual = is_searchable(queries, references, distance)
    ids = _by_number(tf.stop_gradient(tf.where(is_usual, queries, tf.zeros_like(queries))), is_usual, search)
    # The other queries have equal distances to all references (NaN, infinity, or 1 from a vector of zeros), or
    # distances whose squares may over- or underflow.
    ids = tf.where(is_usual, ids, tf.range(k))
    return _in_exact_order(queries, references, tf.stop_gradient(ids), distance)


def _by_number(queries: tf.Tensor, is_usual: tf.Tensor, search: ExactSearch) -> tf.Tensor:
    """Return the ids [q, k] of the nearest references: without bounds if those take longer than all distances."""
    count = queries.shape[0]
    if not search.approximate and (count == 1 or _are_few(queries, search)):
        return _of_all(queries, search)
    if search.approximate or count is not None:
        return _in_groups(queries, is_usual, search)
    is_one = tf.equal(tf.shape(queries)[0], 1)
    ids = tf.cond(is_one, lambda: _of_all(queries, search), lambda: _in_groups(queries, is_usual, search))
    return with_static_shape(ids, [None, search.k])


def _are_few(queries: tf.Tensor, search: ExactSearch) -> bool:
    """Whether there are few references, and the differences of all pairs fit in memory.

    Not for "cosine": under XLA, the rounding of a root depends on the place in the tensor.
    """
    count, (size, dimension) = queries.shape[0], search.references.shape
    fits = count is not None and count * size * dimension <= GATHERED_SIZE
    return fits and size <= MAX_SIZE_OF_ALL and search.distance != "cosine"


def _of_all(queries: tf.Tensor, search: ExactSearch) -> tf.Tensor:
    """Return the ids [q, k] of the nearest references to `queries` [q, d] by the distances to all, block by block."""
    count, dimension = search.references.shape
    size = min(BLOCKS_OF_ALL * search.block_size, count)
    whole = count // size

    def distances(block: tf.Tensor) -> tf.Tensor:
        return paired_distances(queries[:, tf.newaxis], block, search.distance)

    def of_block(number: Any) -> tf.Tensor:
        return distances(tf.slice(search.references, [number * size, 0], [size, dimension]))

    of_blocks = _in_turn(of_block, whole, tf.zeros([tf.shape(queries)[0], size], queries.dtype))
    of_blocks = tf.reshape(tf.transpose(of_blocks, [1, 0, 2]), [-1, whole * size])
    found = tf.concat([of_blocks, distances(search.references[whole * size :])], axis=1)
    # The first of equal distances come first.
    return tf.math.top_k(plus_zeros(-found), search.k)[1]


def _in_groups(queries: tf.Tensor, is_usual: tf.Tensor, search: ExactSearch) -> tf.Tensor:
    """Return the ids [q, k] of the nearest references, computed for at most 256 queries at a time."""
    count = queries.shape[0]
    if count is not None and count <= MAX_QUERIES:
        return _nearest(queries, is_usual, search)
    total = tf.shape(queries)[0] if count is None else count
    size = tf.clip_by_value(total, 1, MAX_QUERIES)
    groups = (total + size - 1) // size  # onnxruntime rounds the quotient of a negative number towards 0
    queries, is_usual = (
        tf.reshape(tf.pad(each, [[0, groups * size - total], [0, 0]]), [groups, size, each.shape[1]])
        for each in (queries, is_usual)
    )

    def of_group(number: Any) -> tf.Tensor:
        return _nearest(tf.gather(queries, number), tf.gather(is_usual, number), search)

    ids = _in_turn(of_group, groups, tf.zeros([size, search.k], tf.int32))
    return with_static_shape(tf.reshape(ids, [groups * size, search.k])[:total], [count, search.k])


def _nearest(queries: tf.Tensor, is_usual: tf.Tensor, search: ExactSearch) -> tf.Tensor:
    """Search the chunks with the highest bounds until no other chunk can hold a nearer reference."""
    prepared = query_bounds(queries, search.references, search.distance)
    count = search.references.shape[0]

    def bounds_of(number: Any) -> tf.Tensor:
        ids = search.block_size * number + tf.range(search.block_size)
        block = tf.gather(search.references, tf.minimum(ids, count - 1))
        return chunk_bounds(prepared, block, ids < count, search.distance, search.chunk_size)

    template = tf.zeros([tf.shape(queries)[0], search.chunks_per_block], queries.dtype)
    bounds = _in_turn(bounds_of, search.num_blocks, template)
    bounds = tf.reshape(tf.transpose(bounds, [1, 0, 2]), [-1, search.num_blocks * search.chunks_per_block])

    best = tf.fill([tf.shape(queries)[0], search.k], tf.constant(queries.dtype.max, queries.dtype))
    ids = tf.fill(tf.shape(best), tf.int32.max)
    if search.approximate:
        # Not in float64, which the operation does not take.
        _, chunks = tf.math.approx_max_k(tf.cast(bounds, tf.float32), search.chunks_per_round())
        return _merge(best, ids, *_members(queries, chunks, search), search.k)[1]

    def search_chunks(count: int, bounds: tf.Tensor, best: tf.Tensor, ids: tf.Tensor) -> tuple:
        bounds, chunks, rest = _take_highest(bounds, count)
        best, ids = _merge(best, ids, *_members(queries, chunks, search), search.k)
        is_open = tf.logical_and(is_usual, best[:, -1:] >= -(rest + prepared.offset))
        return tf.reduce_any(is_open), bounds, best, ids

    is_open, bounds, best, ids = search_chunks(search.chunks_per_round(), bounds, best, ids)
    count = search.chunks_per_round(LATER_ROUNDS)
    rounds = -(-bounds.shape[1] // count)
    _, _, _, _, ids = tf.while_loop(
        lambda step, is_open, *_: tf.logical_and(step < rounds, is_open),
        lambda step, _, *state: (step + 1, *search_chunks(count, *state)),
        (tf.constant(0), is_open, bounds, best, ids),
        parallel_iterations=1,
    )
    return tf.reshape(ids, [-1, search.k])


def _in_turn(function: Callable[[Any], tf.Tensor], count: int | tf.Tensor, template: tf.Tensor) -> tf.Tensor:
    """Stack the results of `function` for the numbers from 0 to `count` - 1, which are like the `template`.

    Not `map_fn`, whose lists of tensors have no counterpart in LiteRT, and in ONNX one that fails.
    """
    if isinstance(count, int) and count == 1:
        return function(0)[tf.newaxis]

    def step(number: tf.Tensor, stack: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        place = tf.reshape(number, [1, 1])
        return number + 1, tf.tensor_scatter_nd_update(stack, place, function(number)[tf.newaxis])

    stack = tf.zeros(tf.concat([[count], tf.shape(template)], axis=0), template.dtype)
    return tf.while_loop(lambda number, _: number < count, step, (0, stack), parallel_iterations=1)[1]


def _take_highest(bounds: tf.Tensor, count: int) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Take the `count` chunks [q, count] with the highest bounds. Returns also the other bounds and their highest."""
    highest, chunks = tf.math.top_k(bounds, count)
    rows = tf.broadcast_to(tf.range(tf.shape(chunks)[0])[:, tf.newaxis], tf.shape(chunks))
    nothing = tf.fill(tf.shape(chunks), tf.constant(bounds.dtype.min / 2, bounds.dtype))
    others = tf.tensor_scatter_nd_update(bounds, tf.stack([rows, chunks], axis=-1), nothing)
    # A chunk that was taken before is replaced by the number after the last chunk, which holds no reference.
    chunks = tf.where(highest > nothing, chunks, bounds.shape[1])
    return others, chunks, tf.reduce_max(others, axis=1, keepdims=True)


def _members(queries: tf.Tensor, chunks: tf.Tensor, search: ExactSearch) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the distances and ids [q, m] of the references in `chunks` [q, c], gathered in parts that fit in memory.

    Ids after the last reference have the largest finite distance, and no other one has more.
    """
    count, dimension = search.references.shape
    width = chunks.shape[1]
    blocks, positions = chunks // search.chunks_per_block, chunks % search.chunks_per_block
    first = blocks * search.block_size + positions
    at_once = GATHERED_SIZE // (MAX_QUERIES * width * dimension)
    at_once = next(
        size for size in range(max(min(at_once, search.chunk_size), 1), 0, -1) if search.chunk_size % size == 0
    )

    parts, size = search.chunk_size // at_once, width * search.chunk_size
    numbers = tf.reshape(tf.range(search.chunk_size), [parts, 1, at_once])
    ids = first[:, tf.newaxis, :, tf.newaxis] + search.chunks_per_block * numbers
    ids = tf.reshape(ids, [-1, parts, width * at_once])

    def of_part(number: Any) -> tf.Tensor:
        vectors = tf.gather(search.references, tf.minimum(tf.gather(ids, number, axis=1), count - 1))
        return paired_distances(queries[:, tf.newaxis], vectors, search.distance)

    distances = _in_turn(of_part, parts, tf.zeros([tf.shape(queries)[0], width * at_once], queries.dtype))
    distances, ids = tf.reshape(tf.transpose(distances, [1, 0, 2]), [-1, size]), tf.reshape(ids, [-1, size])
    farthest = tf.constant(distances.dtype.max, distances.dtype)
    return tf.where(ids < count, tf.minimum(distances, farthest), farthest), ids


def _merge(best: tf.Tensor, best_ids: tf.Tensor, distances: tf.Tensor, ids: tf.Tensor, k: int) -> tuple:
    """Return the k nearest of both lists, equal distances in the order of the ids."""
    distances, ids = tf.concat([best, distances], axis=1), tf.concat([best_ids, ids], axis=1)
    by_id = tf.argsort(ids, axis=1)
    # `top_k` takes the first of equal values.
    nearest, positions = tf.math.top_k(-take(distances, by_id), k)
    return -nearest, take(take(ids, by_id), positions)


def _in_exact_order(
    queries: tf.Tensor, references: tf.Tensor, ids: tf.Tensor, distance: str
) -> tuple[tf.Tensor, tf.Tensor]:
    """Return `ids` [q, k] in the order of their distances, and these distances, computed from differences."""
    ids = tf.sort(ids, axis=-1)
    distances = paired_distances(queries[:, tf.newaxis], tf.gather(references, ids), distance)
    order = tf.argsort(distances, axis=-1, stable=True)
    return take(ids, order), take(distances, order)
