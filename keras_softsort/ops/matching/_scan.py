"""A loop that carries a state and stacks what each step returns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

State = tuple[tf.Tensor, ...]


def scan(
    step: Callable[..., tuple[State, State]],
    state: State,
    inputs: State,
    templates: State,
    *,
    length: int,
    unroll: bool,
    reverse: bool = False,
    running: Callable[..., tf.Tensor] | None = None,
) -> tuple[State, State]:
    """Run `step(t, state, *inputs[t])` for t from 0 to `length - 1`, or backward; return the states and outputs.

    A step returns its new state and outputs with the shapes of `templates`, which are stacked along a new first axis.
    Unrolled, a step costs only its operations. Otherwise the graph does not grow with `length`, and the loop ends once
    `running(t, state)` is false; the remaining outputs are 0.
    """
    if unroll:
        rows = [tf.unstack(each, length) for each in inputs]
        outputs = []
        for t in reversed(range(length)) if reverse else range(length):
            state, output = step(t, state, *(row[t] for row in rows))
            outputs.append(output)
        outputs = outputs[::-1] if reverse else outputs
        return state, tuple(tf.stack(each) for each in zip(*outputs, strict=True))

    def time(count: tf.Tensor) -> tf.Tensor:
        return length - 1 - count if reverse else count

    def body(count: tf.Tensor, state: State, outputs: State) -> tuple:
        t = time(count)
        # A gather, since `tf.vectorized_map` cannot slice if lists differ in their number of steps.
        state, new = step(t, state, *(tf.gather(each, t) for each in inputs))
        return count + 1, state, tuple(map(lambda rows, row: _put(rows, t, row), outputs, new))

    def unfinished(count: tf.Tensor, state: State, _: State) -> tf.Tensor:
        more = count < length
        return more if running is None else tf.logical_and(more, running(time(count), state))

    start = (tf.constant(0), tuple(state), tuple(_zeros(length, each) for each in templates))
    _, state, outputs = tf.while_loop(unfinished, body, start, maximum_iterations=length)
    return state, outputs


def _zeros(count: int, template: tf.Tensor) -> tf.Tensor:
    sizes: list[Any] = tf.unstack(tf.shape(template))
    known = [size if known is None else known for known, size in zip(template.shape, sizes, strict=True)]
    return tf.zeros([count, *known], template.dtype)


def _put(rows: tf.Tensor, index: tf.Tensor, row: tf.Tensor) -> tf.Tensor:
    """`rows` with `rows[index] = row`."""

    def updated() -> tf.Tensor:
        return tf.tensor_scatter_nd_update(rows, tf.reshape(index, [1, 1]), row[tf.newaxis])

    if rows.shape.is_fully_defined():
        return updated() if rows.shape.num_elements() else rows
    # A scatter into an empty tensor fails.
    return tf.ensure_shape(tf.cond(tf.size(rows) > 0, updated, lambda: rows), rows.shape)
