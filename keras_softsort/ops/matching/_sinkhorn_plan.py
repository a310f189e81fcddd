"""How many iterations Sinkhorn makes: at most a number, fewer for a matrix that has reached the tolerance."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from keras_softsort._internal import arguments

# The most iterations of a segment.
SEGMENT = 10
# Up to this many segments stand in the graph one after the other, if none may end early. More are a loop.
UNROLLED = 2


class Plan(NamedTuple):
    """The plan of iterations: `segments` of `length`, unrolled in the graph, at most `num_iterations` in total."""

    num_iterations: int
    tolerance: float | None
    has_implicit_gradient: bool  # which needs no states of iterations
    segments: int
    length: int
    is_loop: bool  # whether a loop runs the segments, and ends once all matrices have stopped
    may_end: bool  # whether a matrix may make fewer iterations than are computed
    is_replay: bool = False  # whether it is known which iterations each matrix makes


def checked_plan(*, num_iterations: Any, tolerance: Any, implicit_gradient: Any = False) -> Plan:
    num_iterations = arguments.positive_integer("num_iterations", num_iterations)
    tolerance = None if tolerance is None else arguments.non_negative_number("tolerance", tolerance)
    # The last segment has few iterations that are not made.
    length = math.ceil(num_iterations / math.ceil(num_iterations / SEGMENT))
    segments = math.ceil(num_iterations / length)
    return Plan(
        num_iterations,
        tolerance,
        has_implicit_gradient=arguments.boolean("implicit_gradient", implicit_gradient),
        segments=segments,
        length=length,
        is_loop=segments > (UNROLLED if tolerance is None else 1),
        may_end=tolerance is not None or segments * length > num_iterations,
    )
