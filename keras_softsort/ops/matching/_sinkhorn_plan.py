"""How many iterations Sinkhorn makes: at most a number, fewer for a matrix that has reached the tolerance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort.ops.core.axes import ceil_division

# The most iterations of a segment.
SEGMENT = 10
# Up to this many segments stand in the graph one after the other, if none may end early. More are a loop.
UNROLLED = 2
# Up to this many iterations the states after all of them are stored for the gradient. Of more, only those before
# segments are stored, and the gradient computes each segment again.
STORED = 64


class Plan(NamedTuple):
    """The plan of iterations: `segments` of `length`, unrolled in the graph, at most `num_iterations` in total."""

    num_iterations: int
    tolerance: float | None
    has_implicit_gradient: bool = False  # which needs no states of iterations
    is_replay: bool = False  # whether it is known which iterations each matrix makes

    @property
    def length(self) -> int:
        """The number of iterations in a segment: so that the last segment has few that are not made."""
        return ceil_division(self.num_iterations, ceil_division(self.num_iterations, SEGMENT))

    @property
    def segments(self) -> int:
        return ceil_division(self.num_iterations, self.length)

    @property
    def is_loop(self) -> bool:
        """Whether the segments are a loop, which ends once all matrices have stopped."""
        return self.segments > 1 if self.tolerance is not None else self.segments > UNROLLED

    @property
    def may_end(self) -> bool:
        """Whether a matrix may make fewer iterations than are computed."""
        return self.tolerance is not None or self.segments * self.length > self.num_iterations

    def replayed(self) -> Plan:
        """The plan that makes the same iterations once more."""
        return self._replace(is_replay=True)


def checked_plan(*, num_iterations: Any, tolerance: Any, implicit_gradient: Any = False) -> Plan:
    return Plan(
        num_iterations=arguments.positive_integer("num_iterations", num_iterations),
        tolerance=None if tolerance is None else arguments.non_negative_number("tolerance", tolerance),
        has_implicit_gradient=arguments.boolean("implicit_gradient", implicit_gradient),
    )


class State(NamedTuple):
    """The state after an iteration: potentials or scalings, and the number of iterations of each matrix."""

    rows: tf.Tensor  # [B, N]
    columns: tf.Tensor  # [B, M]
    made: tf.Tensor  # int32 [B]: how many iterations a matrix makes in total, as far as is known

    def after(self, plan: Plan, t: Any, rows: tf.Tensor, columns: tf.Tensor, error: Callable[[], tf.Tensor]) -> State:
        """The state after iteration t, from 0; this one for a matrix that stops. `error` [B] is that of this state."""
        made = self.made
        if plan.tolerance is not None and not plan.is_replay:
            converged = tf.logical_and(error() <= plan.tolerance, t > 0)
            made = tf.where(converged, tf.minimum(made, t), made)
        if plan.may_end:
            is_made = (t < made)[:, tf.newaxis]
            rows, columns = tf.where(is_made, rows, self.rows), tf.where(is_made, columns, self.columns)
        return State(rows, columns, made)


class Reversal(NamedTuple):
    """The gradients that depend on whether a matrix makes iteration t, and whether it is the last."""

    plan: Plan
    rows: tf.Tensor  # [B, N]: the gradient of the rows of the last state
    made: tf.Tensor  # int32 [B]

    def with_last_rows(self, t: Any, gradient: tf.Tensor) -> tf.Tensor:
        """Add the gradient of the last rows, if t is the last. Other rows only act through the columns after them."""
        if self.plan.may_end or self.plan.is_loop:
            is_last = tf.equal(self.made, t + 1)[:, tf.newaxis]
            return gradient + tf.where(is_last, self.rows, tf.zeros_like(self.rows))
        return gradient + self.rows if t == self.plan.num_iterations - 1 else gradient

    def of_made(self, t: Any, gradient: tf.Tensor, otherwise: tf.Tensor | None = None) -> tf.Tensor:
        """The gradient where iteration t is made, and `otherwise` or 0 where it is not."""
        if not self.plan.may_end:
            return gradient
        otherwise = tf.zeros_like(gradient) if otherwise is None else otherwise
        return tf.where((t < self.made)[:, tf.newaxis], gradient, otherwise)
