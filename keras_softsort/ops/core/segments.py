"""Rows of several lists, with an id of the list of each row, as padded lists of similar sizes."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from keras_softsort.ops.core.axes import ceil_division
from keras_softsort.ops.core.numbers import refuse_own_gradient
from keras_softsort.ops.core.order import tie_groups
from keras_softsort.ops.core.tracing import below_forward_mode, is_compiled

# Lists with sizes from one bound, exclusive, to the next are padded to the longest of them, or under XLA to the bound.
# However sizes vary, lists of 17 to 4096 rows then take fewer than 4 cells per row, and shorter ones at most 16.
BOUNDS = (0, 16, 64, 256, 1024, 4096, tf.int32.max)
# XLA computes lists in so many blocks of rows, or a few more; the last one of a class may be nearly empty.
BLOCKS = 8


class Segments(NamedTuple):
    """The rows of each list."""

    order: tf.Tensor  # [rows + 1]: the rows, list by list, each in the order of its rows; at last a row of padding
    starts: tf.Tensor  # [rows]: where each list starts in this order
    sizes: tf.Tensor  # [rows]: the number of rows of each list, 0 beyond the last list
    firsts: tf.Tensor  # [rows]: the first row of the list of each row


def by_segment(function: Callable[..., Any], ids: tf.Tensor, parts: Sequence[tf.Tensor]) -> Any:
    """Call `function(*parts)` with padded lists, and return [rows]: the result of each list at its first row, else 0.

    `ids` [rows] are the lists of the rows, and `parts` are [rows, ...]. The function gets them as [lists, n, ...], 0 or
    False in the padding, and returns a result [lists], or a nest of them. In a graph there are no second derivatives,
    and what it captures has no gradient.
    """
    size = tf.size(ids) if ids.shape[0] is None else ids.shape[0]
    segments = _segments(ids, size)
    if tf.executing_eagerly():
        results = _summed_over_classes(function, segments, size, parts)
        return tf.nest.map_structure(lambda result: result[:size], results)
    # One trace for lists of all sizes tells the structure of the results. Only XLA traces each size again.
    anything = [tf.TensorSpec([None, None, *part.shape[1:]], part.dtype) for part in parts]
    function = functools.partial(_with_slopes, function)
    concrete = tf.function(function, autograph=False).get_concrete_function(*anything)
    compiled = is_compiled()
    function = function if compiled else concrete
    structure, pairs = concrete.structured_outputs[0], list(concrete.structured_outputs[1])

    # A row is in one list, so its gradient is the upstream gradient of the list's result, times the row's slope.
    @tf.custom_gradient
    def at_first_rows(*parts: tf.Tensor) -> tuple:
        outputs = concrete.structured_outputs
        results, slopes = _summed_over_classes(function, segments, size, parts, outputs=outputs, compiled=compiled)

        def gradient(*upstream: tf.Tensor, variables: Sequence[tf.Variable] = ()) -> Any:
            if any(variable.dtype.is_floating for variable in variables):
                names = [variable.name for variable in variables]
                raise ValueError(f"function must not have trainable variables in a traced call, got {names}")
            found: list[tf.Tensor | None] = [None] * len(parts)
            for result, part in pairs:
                slope = slopes[result, part][:size]
                own = tf.gather(upstream[result], segments.firsts)
                term = slope * tf.reshape(own, [-1] + [1] * (slope.shape.rank - 1))
                found[part] = term if found[part] is None else found[part] + term
            return (found, [None] * len(variables)) if variables else found

        return tuple(refuse_own_gradient("per_segment", result[:size]) for result in tf.nest.flatten(results)), gradient

    return tf.nest.pack_sequence_as(structure, below_forward_mode(at_first_rows, parts)(*parts))


def _with_slopes(function: Callable[..., Any], *parts: tf.Tensor) -> tuple[Any, dict[tuple[int, int], tf.Tensor]]:
    """The results, and by the numbers of a result and of a part the derivatives, in the shape of the part."""
    # Unknown to the caller's tape: TensorFlow makes conditions below two tapes ready for second derivatives.
    parts = tuple(tf.stop_gradient(part) for part in parts)
    results, slopes = function(*parts), {}
    for result, values in enumerate(tf.nest.flatten(results)):
        for part, given in enumerate(parts):
            slope = tf.gradients(values, given)[0] if values.dtype.is_floating and given.dtype.is_floating else None
            if slope is not None:
                slopes[result, part] = slope
    return results, slopes


def _summed_over_classes(
    function: Callable[..., Any],
    segments: Segments,
    size: int | tf.Tensor,
    parts: Sequence[tf.Tensor],
    *,
    outputs: Any = None,
    compiled: bool = False,
) -> Any:
    """The results [rows + 1] of `function`, at the first rows of the lists, or at their rows if they are per item."""
    parts = [tf.pad(part, [[0, 1]] + [[0, 0]] * (part.shape.rank - 1)) for part in parts]
    none: Any = None
    if outputs is not None:
        results_like, slopes_like = outputs
        zeros = tf.nest.map_structure(lambda spec: tf.zeros([size + 1], spec.dtype), results_like)
        none = zeros, {pair: tf.zeros_like(parts[pair[1]]) for pair in slopes_like}

    def at_rows(result: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
        return tf.math.unsorted_segment_sum(result, rows[:, 0] if result.shape.rank == 1 else rows, size + 1)

    def results(rows: tf.Tensor) -> Any:
        """The results of lists of these rows [lists, n]."""
        found = function(*(tf.gather(part, rows) for part in parts))
        return tf.nest.map_structure(lambda result: at_rows(result, rows), found)

    def of_class(low: int, high: int) -> Any:
        """The results of the lists with sizes in this class, or [] if no list is in it. The first class always runs."""
        chosen = tf.logical_and(segments.sizes > low, segments.sizes <= high)
        if tf.executing_eagerly():
            return [results(_padded_rows(segments, chosen, size))] if low == 0 or tf.reduce_any(chosen) else []
        if not compiled:
            present = tf.reduce_any(chosen)
            return [tf.cond(present, lambda: results(_padded_rows(segments, chosen, size)), lambda: none)]
        rows = _padded_rows(segments, chosen, size, _largest_shape(size, low, high))
        if tf.is_tensor(size):  # XLA's loops need known shapes
            return [results(rows)]
        return [_by_block(results, rows, tf.math.count_nonzero(chosen, dtype=tf.int32), none)]

    bounds = [each for each in itertools.pairwise(BOUNDS) if each[0] == 0 or tf.is_tensor(size) or each[0] < size]
    found = itertools.chain.from_iterable(itertools.starmap(of_class, bounds))
    return tf.nest.map_structure(lambda *each: tf.add_n(each), *found)


def _by_block(results: Callable[[tf.Tensor], Any], rows: tf.Tensor, count: tf.Tensor, none: Any) -> Any:
    """The sum of `results` of the first `count` blocks of `rows` [lists, n]. XLA compiles one block."""
    lists, longest = rows.shape
    padding = tf.nest.flatten(none)[0].shape[0] - 1
    block = max(1, padding // BLOCKS // longest)
    blocks = ceil_division(lists, block)
    rows = tf.pad(rows, [[0, blocks * block - lists], [0, 0]], constant_values=padding)
    rows, needed = tf.reshape(rows, [blocks, block, longest]), ceil_division(count, block)

    def add(number: tf.Tensor, sums: Any) -> tuple:
        return number + 1, tf.nest.map_structure(tf.add, sums, results(rows[number]))

    return tf.while_loop(lambda number, _: number < needed, add, (0, none))[1]


def _segments(ids: tf.Tensor, size: int | tf.Tensor) -> Segments:
    order = tf.argsort(ids, stable=True)
    numbers = tie_groups(tf.gather(ids, order)[tf.newaxis])[0]
    sizes = tf.math.unsorted_segment_sum(tf.ones_like(numbers), numbers, size)
    starts = tf.cumsum(sizes, exclusive=True)
    firsts = tf.math.unsorted_segment_sum(tf.gather(order, tf.gather(starts, numbers)), order, size)
    return Segments(tf.concat([order, [size]], axis=0), starts, sizes, firsts)


def _largest_shape(size: int | tf.Tensor, low: int, high: int) -> tuple[Any, Any]:
    """How many lists of more than `low` and up to `high` rows there can be among `size` rows, and how long."""
    smaller, larger = (min, max) if isinstance(size, int) else (tf.minimum, tf.maximum)
    return larger(size // (low + 1), 1), larger(smaller(size, high), 1)


def _padded_rows(segments: Segments, chosen: tf.Tensor, size: int | tf.Tensor, shape: Any = None) -> tf.Tensor:
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
