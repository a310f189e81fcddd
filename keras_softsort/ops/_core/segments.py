"""Rows of several lists, with an id of the list of each row, as padded lists of similar sizes."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from keras_softsort.ops._core.lists import tie_groups
from keras_softsort.ops._core.tracing import is_compiled

# Lists with sizes from one bound, exclusive, to the next are padded to the longest of them, or under XLA to the bound.
# However sizes vary, lists of 17 to 4096 rows then take fewer than 4 cells per row, and shorter ones at most 16.
BOUNDS = (0, 16, 64, 256, 1024, 4096, tf.int32.max)


class Segments(NamedTuple):
    """The rows of each list."""

    order: tf.Tensor  # [rows + 1]: the rows, list by list, each in the order of its rows; at last a row of padding
    starts: tf.Tensor  # [rows]: where each list starts in this order
    sizes: tf.Tensor  # [rows]: the number of rows of each list, 0 beyond the last list


def by_segment(function: Callable[..., Any], ids: tf.Tensor, parts: Sequence[tf.Tensor]) -> Any:
    """Call `function(*parts)` with padded lists, and return the result of each list at its first row.

    Args:
      function: it gets parts [lists, n, ...], 0 or False in the padding, and returns a result [lists], or a nest of
        such results.
      ids: [rows], the id of the list of each row.
      parts: [rows, ...] each.

    Returns:
      [rows]: the results of the lists, and 0 at rows that are not the first of their list.
    """
    size = tf.size(ids) if ids.shape[0] is None else ids.shape[0]
    segments, found = _segments(ids, size), []
    parts = [tf.pad(part, [[0, 1]] + [[0, 0]] * (part.shape.rank - 1)) for part in parts]
    in_graph, compiled = not tf.executing_eagerly(), is_compiled()
    if in_graph:  # one trace for lists of all sizes, except under XLA
        anything = [tf.TensorSpec([None, None, *part.shape[1:]], part.dtype) for part in parts]
        concrete = tf.function(function, autograph=False).get_concrete_function(*anything)
        none = tf.nest.map_structure(lambda spec: tf.zeros([size], spec.dtype), concrete.structured_outputs)
        function = function if compiled else concrete

    def results(rows: tf.Tensor, *parts: tf.Tensor) -> Any:
        """The results of lists of these rows [lists, n], at their first rows."""
        of_lists = function(*(tf.gather(part, rows) for part in parts))
        return tf.nest.map_structure(
            lambda result: tf.math.unsorted_segment_sum(result, rows[:, 0], size + 1)[:size], of_lists
        )

    for low, high in itertools.pairwise(BOUNDS):
        if isinstance(size, int) and low > 0 and low >= size:
            break
        chosen = tf.logical_and(segments.sizes > low, segments.sizes <= high)
        largest = _largest_shape(size, low, high) if compiled else None
        of_class = functools.partial(_padded_rows, segments, chosen, size, largest)
        if not in_graph:
            if size == 0 or tf.reduce_any(chosen):
                found.append(results(of_class(), *parts))
        elif not compiled:
            found.append(tf.cond(tf.reduce_any(chosen), lambda rows=of_class: results(rows(), *parts), lambda: none))
        elif tf.is_tensor(size):  # XLA's loops need known shapes
            found.append(results(of_class(), *parts))
        else:
            count = tf.math.count_nonzero(chosen, dtype=tf.int32)
            found.append(_by_block(results, of_class(), count, none, parts))
    return tf.nest.map_structure(lambda *each: tf.add_n(each), *found)


def _by_block(
    results: Callable[..., Any], rows: tf.Tensor, count: tf.Tensor, none: Any, parts: Sequence[tf.Tensor]
) -> Any:
    """The sum of `results` of blocks of lists, of which the first `count` of `rows` [lists, n] exist.

    XLA compiles one block, and as many run as are needed. The gradient computes each block again: if blocks handed
    shapes on to it, XLA would compile anew for each batch.
    """
    lists, longest = rows.shape
    padding = parts[0].shape[0] - 1
    block = max(1, padding // longest)
    blocks = -(-lists // block)
    rows = tf.pad(rows, [[0, blocks * block - lists], [0, 0]], constant_values=padding)
    rows, needed = tf.reshape(rows, [blocks, block, longest]), -(-count // block)
    is_float = [part.dtype.is_floating for part in parts]

    def total(of_block: Callable[[tf.Tensor], Sequence[tf.Tensor]], start: Sequence[tf.Tensor]) -> list[tf.Tensor]:
        def add(number: tf.Tensor, *sums: tf.Tensor) -> tuple:
            return number + 1, *(own + more for own, more in zip(sums, of_block(rows[number]), strict=True))

        return list(tf.while_loop(lambda number, *_: number < needed, add, (0, *start))[1:])

    @tf.custom_gradient
    def summed(*parts: tf.Tensor) -> tuple:
        sources = list(itertools.compress(parts, is_float))

        def gradient(*upstream: tf.Tensor) -> list[tf.Tensor | None]:
            def of_block(rows: tf.Tensor) -> list[tf.Tensor]:
                with tf.GradientTape() as tape:
                    tape.watch(sources)
                    values = tf.nest.flatten(results(rows, *parts))
                kept = [value.dtype.is_floating for value in values]
                floats, own = list(itertools.compress(values, kept)), list(itertools.compress(upstream, kept))
                found = tape.gradient(floats, sources, own, unconnected_gradients="zero")
                return [tf.convert_to_tensor(each) for each in found]  # those of gathers are sparse

            found = iter(total(of_block, [tf.zeros_like(source) for source in sources]))
            return [next(found) if own else None for own in is_float]

        return tuple(total(lambda rows: tf.nest.flatten(results(rows, *parts)), tf.nest.flatten(none))), gradient

    return tf.nest.pack_sequence_as(none, summed(*parts))


def _segments(ids: tf.Tensor, size: int | tf.Tensor) -> Segments:
    order = tf.argsort(ids, stable=True)
    numbers = tie_groups(tf.gather(ids, order)[tf.newaxis])[0]
    sizes = tf.math.unsorted_segment_sum(tf.ones_like(numbers), numbers, size)
    return Segments(tf.concat([order, [size]], axis=0), tf.cumsum(sizes, exclusive=True), sizes)


def _largest_shape(size: int | tf.Tensor, low: int, high: int) -> tuple[Any, Any]:
    """How many lists of more than `low` and up to `high` rows there can be among `size` rows, and how long."""
    smaller, larger = (min, max) if isinstance(size, int) else (tf.minimum, tf.maximum)
    return larger(size // (low + 1), 1), larger(smaller(size, high), 1)


def _padded_rows(segments: Segments, chosen: tf.Tensor, size: int | tf.Tensor, shape: Any) -> tf.Tensor:
    """The rows [lists, n] of the `chosen` lists, `size` in the padding; of this `shape`, or just large enough."""
    if shape is None:
        count = tf.math.count_nonzero(chosen, dtype=tf.int32)
        longest = tf.maximum(tf.reduce_max(tf.where(chosen, segments.sizes, 0)), 1)
    else:
        count, longest = shape
    numbers = tf.where(chosen, tf.cumsum(tf.cast(chosen, tf.int32)) - 1, -1)
    starts, sizes = (
        tf.math.unsorted_segment_sum(each, numbers, count)[:, tf.newaxis] for each in (segments.starts, segments.sizes)
    )
    positions = tf.range(longest)
    return tf.gather(segments.order, tf.where(positions < sizes, starts + positions, size))
