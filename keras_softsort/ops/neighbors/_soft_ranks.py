"""Soft ranks of the relevant candidates of each query, a tile of comparisons at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from keras_softsort.ops._core.lists import take

# Of two ranks [b, t]: among all candidates, and among the relevant ones.
Term = Callable[[tf.Tensor, tf.Tensor], tf.Tensor]
TILE_SIZE = 2**18  # number of comparisons at a time, which fit in the cache of a core
MAX_TILE_WIDTH = 8  # number of relevant candidates at a time; with fewer, the rest of a tile is wasted


class JudgedCandidates(NamedTuple):
    """The candidates of each query, with their similarity and relevance."""

    similarities: tf.Tensor  # [q, c]
    tau: tf.Tensor  # [q, 1]
    members: tf.Tensor  # [q, c]: the share of the counted ranks that each candidate holds
    is_candidate: tf.Tensor  # [q, c] bool
    is_relevant: tf.Tensor  # [q, c] bool, True only for candidates


def sum_over_relevant(judged: JudgedCandidates, term: Term) -> tf.Tensor:
    """`sum_i members_i term(rank_i, relevant_rank_i)` over the relevant candidates i of each query: [q].

    `rank_i = 1 + sum_{j != i} sigmoid((s_j - s_i) / tau)` over the candidates j, and `relevant_rank_i` over the
    relevant ones. The gradient recomputes the comparisons, so memory is O(q c).
    """
    masks = judged[3:]

    @tf.custom_gradient
    def total(*inputs: tf.Tensor) -> tuple:
        def values(*block: tf.Tensor) -> tf.Tensor:
            return _block_sum(JudgedCandidates(*block), term)

        def gradient(upstream: tf.Tensor) -> Sequence[tf.Tensor]:
            def slopes(upstream: tf.Tensor, *block: tf.Tensor) -> tuple[tf.Tensor, ...]:
                return _block_gradient(upstream, JudgedCandidates(*block), term)

            return _in_blocks(slopes, [upstream, *inputs, *masks], [each.shape[1:] for each in inputs])

        (result,) = _in_blocks(lambda *block: (values(*block),), [*inputs, *masks], [[]])
        return result, gradient

    return total(*judged[:3])


def _in_blocks(function: Callable, tensors: list[tf.Tensor], inner_shapes: list[Any]) -> Sequence[tf.Tensor]:
    """Apply `function` to a block of queries at a time; each result has the dtype of the similarities."""
    count, size = (tensors[-1].shape[axis] or tf.shape(tensors[-1])[axis] for axis in (0, 1))
    rows = _at_least_1(_smaller(TILE_SIZE // _at_least_1(size), count))
    blocks = -(-count // rows)

    def split(tensor: tf.Tensor) -> tf.Tensor:
        padding = [[0, blocks * rows - count]] + [[0, 0]] * (tensor.shape.rank - 1)
        # Padded with ones, since tau is a divisor, and the masks with False, so that there is nothing to sum.
        padded = tf.pad(tensor, padding, constant_values=tensor.dtype != tf.bool)
        return tf.reshape(padded, tf.concat([[blocks, rows], tf.shape(tensor)[1:]], axis=0))

    dtype = tensors[0].dtype
    signature = tuple(tf.TensorSpec([rows if isinstance(rows, int) else None, *each], dtype) for each in inner_shapes)
    results = tf.map_fn(
        lambda block: function(*block),
        tuple(map(split, tensors)),
        fn_output_signature=signature,
        parallel_iterations=1,
    )
    return [tf.reshape(each, tf.concat([[-1], tf.shape(each)[2:]], axis=0))[:count] for each in results]


class _Tiles(NamedTuple):
    """The relevant candidates of a block of queries, divided into tiles of a few candidates."""

    reached: tf.Tensor  # [b, c] int32: number of relevant candidates up to each
    width: Any

    def ids(self, start: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """The ids [b, t] of the relevant candidates from number `start` on, and whether each exists."""
        numbers = tf.broadcast_to(start + 1 + tf.range(self.width), [tf.shape(self.reached)[0], self.width])
        ids = tf.searchsorted(self.reached, numbers)
        return tf.minimum(ids, tf.shape(self.reached)[1] - 1), numbers <= self.reached[:, -1:]

    def add_up(self, function: Callable[[tf.Tensor], Sequence[tf.Tensor]], zeros: Sequence[tf.Tensor]) -> Any:
        """The sums of `function(start)` over the tiles."""

        def add(start: tf.Tensor, sums: tuple) -> tuple:
            parts = function(start)
            return start + self.width, tuple(total + part for total, part in zip(sums, parts, strict=True))

        most = tf.reduce_max(self.reached[:, -1])
        _, sums = tf.while_loop(lambda start, _: start < most, add, (0, tuple(zeros)), parallel_iterations=1)
        return sums


def _tiles(judged: JudgedCandidates) -> _Tiles:
    rows, size = (judged.similarities.shape[axis] or tf.shape(judged.similarities)[axis] for axis in (0, 1))
    width = _smaller(_at_least_1(TILE_SIZE // _at_least_1(rows * size)), MAX_TILE_WIDTH)
    return _Tiles(tf.cumsum(tf.cast(judged.is_relevant, tf.int32), axis=1), width)


def _tile_sum(judged: JudgedCandidates, ids: tf.Tensor, is_counted: tf.Tensor, term: Term) -> tf.Tensor:
    """The sum over the candidates `ids` [b, t] that count: [b]."""
    dtype = judged.similarities.dtype
    own = take(judged.similarities, ids)
    leads = (judged.similarities[:, tf.newaxis, :] - own[:, :, tf.newaxis]) / judged.tau[:, :, tf.newaxis]
    above = tf.sigmoid(leads) * tf.cast(judged.is_candidate, dtype)[:, tf.newaxis, :]
    relevant = above * tf.cast(judged.is_relevant, dtype)[:, tf.newaxis, :]
    # Each sum contains 1/2 for the candidate itself.
    ranks, relevant_ranks = (tf.reduce_sum(each, axis=-1) + 0.5 for each in (above, relevant))
    values = take(judged.members, ids) * term(ranks, relevant_ranks)
    return tf.reduce_sum(tf.where(is_counted, values, tf.zeros_like(values)), axis=-1)


def _block_sum(judged: JudgedCandidates, term: Term) -> tf.Tensor:
    tiles = _tiles(judged)
    zero = tf.zeros_like(judged.similarities[:, 0])
    return tiles.add_up(lambda start: [_tile_sum(judged, *tiles.ids(start), term)], [zero])[0]


def _block_gradient(upstream: tf.Tensor, judged: JudgedCandidates, term: Term) -> tuple[tf.Tensor, ...]:
    """The gradients with respect to similarities, tau and members."""
    tiles, inputs = _tiles(judged), judged[:3]

    def slopes(start: tf.Tensor) -> Sequence[tf.Tensor]:
        ids, is_counted = tiles.ids(start)
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            value = _tile_sum(judged, ids, is_counted, term)
        return tape.gradient(value, inputs, output_gradients=upstream, unconnected_gradients="zero")

    return tiles.add_up(slopes, [tf.zeros_like(each) for each in inputs])


def _smaller(a: Any, b: Any) -> Any:
    return min(a, b) if isinstance(a, int) and isinstance(b, int) else tf.minimum(a, b)


def _at_least_1(size: Any) -> Any:
    return max(size, 1) if isinstance(size, int) else tf.maximum(size, 1)
