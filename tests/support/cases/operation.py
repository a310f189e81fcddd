"""A public operator or linear operator at work on small lists: what every operator is lowered for a GPU with."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

N = 5
# Lists so long that every method avoids its matrix, in blocks. The last block is not full.
LONG = 2048 + 3


@dataclass(frozen=True)
class Operation:
    """`function(*tensors)` is the public `name` at work."""

    name: str
    function: Callable[..., Any]
    tensors: list[np.ndarray]
    option: str = ""
    # Its result has no gradient: it is whole numbers, or a gradient itself.
    forward_only: bool = False
    # Its lists are so long that products are made without the matrix.
    matrix_free: bool = False

    def __str__(self):
        return "-".join(part for part in (self.name, self.option) if part)


def normal(*shape):
    return np.random.default_rng(3).normal(size=shape).astype("float32")


def masked(function, **options):
    """`function` with its first item masked, where padding takes operations of its own."""
    return lambda scores: function(scores, mask=tf.range(N) > tf.zeros_like(scores, tf.int32), **options)


def products(operator):
    """Products of a linear operator and of its adjoint with a vector."""
    return lambda scores, vector: [operator(scores).matvec(vector), operator(scores).matvec(vector, adjoint=True)]


SCORES, PAIRS = [normal(2, N)], [normal(2, N, N)]
VECTORS = [normal(1, LONG), normal(1, LONG)]
SEED = [1, 2]
# Labels and classes of scores [3, 5].
GRADES = np.float32([[2, 0, 1, 3, 0], [0, 1, 0, 2, 1], [1, 1, 0, 0, 3]])
CLASSES = np.int32([0, 1, 0])
