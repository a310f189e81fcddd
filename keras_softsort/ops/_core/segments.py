"""Rows of several lists, with an id of the list of each row, as padded lists of similar sizes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from keras_softsort.ops._core.lists import tie_groups
from keras_softsort.ops._core.tracing import is_compiled

# Lists with sizes from one bound, exclusive, to the next are padded to the longest of them. However sizes vary, fewer
# than 8 cells are then padding for each row of a list of up to 4096 rows.
BOUNDS = (0, 8, 64, 512, 4096, tf.int32.max)


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
    in_graph, may_skip = not tf.executing_eagerly(), True
    if in_graph:
        # One trace for lists of all sizes, except under XLA. There a branch that may be skipped needs known shapes.
        anything = [tf.TensorSpec([None, None, *part.shape[1:]], part.dtype) for part in parts]
        concrete = tf.function(function, autograph=False).get_concrete_function(*anything)
        none = tf.nest.map_structure(lambda spec: tf.zeros([size], spec.dtype), concrete.structured_outputs)
        may_skip = not (is_compiled() and tf.is_tensor(size))
        function = function if is_compiled() else concrete
    for low, high in itertools.pairwise(BOUNDS):
        if isinstance(size, int) and low > 0 and low >= size:
            break
        chosen = tf.logical_and(segments.sizes > low, segments.sizes <= high)

        def results(chosen: tf.Tensor = chosen, low: int = low, high: int = high) -> Any:
            rows = _padded_rows(segments, chosen, size, low, high)
            of_lists = function(*(tf.gather(part, rows) for part in parts))
            return tf.nest.map_structure(
                lambda result: tf.math.unsorted_segment_sum(result, rows[:, 0], size + 1)[:size], of_lists
            )

        if in_graph and may_skip:
            found.append(tf.cond(tf.reduce_any(chosen), results, lambda: none))
        elif in_graph or size == 0 or tf.reduce_any(chosen):
            found.append(results())
    return tf.nest.map_structure(lambda *each: tf.add_n(each), *found)


def _segments(ids: tf.Tensor, size: int | tf.Tensor) -> Segments:
    order = tf.argsort(ids, stable=True)
    numbers = tie_groups(tf.gather(ids, order)[tf.newaxis])[0]
    sizes = tf.math.unsorted_segment_sum(tf.ones_like(numbers), numbers, size)
    return Segments(tf.concat([order, [size]], axis=0), tf.cumsum(sizes, exclusive=True), sizes)


def _padded_rows(segments: Segments, chosen: tf.Tensor, size: int | tf.Tensor, low: int, high: int) -> tf.Tensor:
    """The rows [lists, n] of the `chosen` lists, which have more than `low` and up to `high`; `size` in the padding.

    XLA gets the shape of the worst case: as many lists as there can be, and as long.
    """
    if is_compiled():
        smaller, larger = (min, max) if isinstance(size, int) else (tf.minimum, tf.maximum)
        count, longest = larger(size // (low + 1), 1), larger(smaller(size, high), 1)
    else:
        count = tf.math.count_nonzero(chosen, dtype=tf.int32)
        longest = tf.maximum(tf.reduce_max(tf.where(chosen, segments.sizes, 0)), 1)
    numbers = tf.where(chosen, tf.cumsum(tf.cast(chosen, tf.int32)) - 1, -1)
    starts, sizes = (
        tf.math.unsorted_segment_sum(each, numbers, count)[:, tf.newaxis] for each in (segments.starts, segments.sizes)
    )
    positions = tf.range(longest)
    return tf.gather(segments.order, tf.where(positions < sizes, starts + positions, size))
