"""A loop with a state and stacked inputs and outputs, which `tf.vectorized_map`, XLA and gradients take."""

from __future__ import annotations

from collections.abc import Callable

import tensorflow as tf

from keras_softsort.ops.core.axes import with_static_shape


def scan(
    step: Callable[..., tuple[tuple, tuple]],
    state: tuple,
    inputs: tuple = (),
    *,
    outputs_like: tuple = (),
    length: int,
    reverse_from: tf.Tensor | None = None,
    is_running: Callable[..., tf.Tensor] | None = None,
) -> tuple[tuple, tuple]:
    """Run `step(t, state, *inputs[t])` for t from 0 to `length - 1`, or from `reverse_from - 1` back to 0, in a loop.

    A step returns its new state and outputs with the shapes of `outputs_like`, which are stacked along a new first axis
    and returned with the last state. The loop ends once `is_running(t, state)` is false; later outputs are 0.
    """

    def time(count: tf.Tensor) -> tf.Tensor:
        return count if reverse_from is None else reverse_from - 1 - count

    def body(count: tf.Tensor, state: tuple, outputs: tuple) -> tuple:
        t = time(count)
        # A gather, since `tf.vectorized_map` cannot slice if lists differ in their number of steps.
        state, new = step(t, state, *(tf.gather(each, t) for each in inputs))
        return count + 1, state, tuple(map(lambda rows, row: _put(rows, t, row), outputs, new))

    def unfinished(count: tf.Tensor, state: tuple, _: tuple) -> tf.Tensor:
        more = count < (length if reverse_from is None else reverse_from)
        return more if is_running is None else tf.logical_and(more, is_running(time(count), state))

    zeros = (tf.tile(tf.zeros_like(each)[tf.newaxis], [length, *[1] * each.shape.rank]) for each in outputs_like)
    start = (tf.constant(0), tuple(state), tuple(zeros))
    _, state, outputs = tf.while_loop(unfinished, body, start, maximum_iterations=length)
    return state, outputs


def _put(rows: tf.Tensor, index: tf.Tensor, row: tf.Tensor) -> tf.Tensor:
    """`rows` with `rows[index] = row`."""

    def updated() -> tf.Tensor:
        return tf.tensor_scatter_nd_update(rows, tf.reshape(index, [1, 1]), row[tf.newaxis])

    if rows.shape.is_fully_defined():
        return updated() if rows.shape.num_elements() else rows
    # A scatter into an empty tensor fails.
    return with_static_shape(tf.cond(tf.size(rows) > 0, updated, lambda: rows), rows.shape)
