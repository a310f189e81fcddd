"""One operator that sorts, with one choice of its options, next to its truth."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from keras_softsort.ops.sorting import methods
from support import modes
from support.gradients import fixed_weights

SCORES = np.array([[0.9, -0.4, 0.3, 1.7, 0.1], [-1.2, 0.8, 0.2, -0.3, 1.1]])
# Padding in the middle and at the end.
MASK = np.array([[True, False, True, True, False], [True, True, False, True, True]])
# The lists above with one more item. The second list has no padding.
LONGER = np.concatenate([SCORES, [[-0.2], [0.3]]], axis=1)
LONGER_MASK = np.array([[True, False, True, True, False, True], [True] * 6])
VALUES = np.random.default_rng(3).normal(size=(2, 5, 3))
TAU = 0.8
# Every method that gives a permutation.
METHODS = list(methods.names("permutation"))
# The operators that give one.
MATRICES = ["neural_sort", "soft_sort"]
DIRECTIONS = ["DESCENDING", "ASCENDING"]


@dataclasses.dataclass(frozen=True)
class OpCase:
    """`operator(scores, tau, mask=..., **options)` and `oracle` of the same arguments."""

    operator: Callable[..., Any]
    oracle: Callable[..., Any]
    options: tuple[tuple[str, Any], ...] = ()
    masked: bool = False
    values_rank: int | None = None  # 0: [..., n], 1: [..., n, d]

    def __str__(self):
        words = [self.operator.__name__, *(f"{name}={value}" for name, value in self.options)]
        return "-".join(
            words + ["masked"] * self.masked + [f"values{self.values_rank}"] * (self.values_rank is not None)
        )

    def of(self, scores, *tau, **options):
        """The operator, with what it needs besides scores."""
        needed = [value for name, value in self.options if name in {"k", "q"}]
        return self.operator(scores, *needed, *tau, **options)

    def _run(self, function, scores, tau, *values_and_mask):
        *values, mask = values_and_mask
        options = dict(self.options)
        if values:
            (options["values"],) = values
        positional = [options.pop(name) for name in ("k", "q") if name in options]
        return function(scores, *positional, tau, mask=mask, **options)

    def call(self, scores, tau, *values_and_mask):
        """The operator as one tensor of tensors; both outputs of `soft_top_k` side by side."""
        result = self._run(self.operator, scores, tau, *values_and_mask)
        return tf.concat([result[0][..., None], result[1]], axis=-1) if isinstance(result, tuple) else result

    def truth(self, scores, tau, *values_and_mask):
        """The result of the oracle, in the form of `call`."""
        result = self._run(self.oracle, scores, tau, *values_and_mask)
        return np.concatenate([result[0][..., None], result[1]], axis=-1) if isinstance(result, tuple) else result

    def arguments(self, dtype=np.float64):
        """Arrays for `call`: scores, tau and perhaps values; and the mask."""
        arrays = [SCORES, np.array(TAU)]
        if self.values_rank is not None:
            arrays.append(VALUES if self.values_rank else VALUES[..., 0])
        return [array.astype(dtype) for array in arrays], MASK if self.masked else None

    def outcome(self, mode):
        """Value and gradients in a mode of execution, as arrays."""
        arrays, mask = self.arguments()
        weights = fixed_weights(self.truth(*arrays, mask).shape)
        tensors = [tf.constant(array) for array in arrays]
        value, found = modes.run(mode, self.call, tensors, weights, None if mask is None else tf.constant(mask))
        return value.numpy(), [gradient.numpy() for gradient in found]


def grid(operator, oracle, values_rank=None, **choices):
    """Every combination of `choices`, without a mask and with one."""
    return [
        OpCase(operator, oracle, tuple(zip(choices, chosen, strict=True)), masked, values_rank)
        for masked, *chosen in itertools.product([False, True], *choices.values())
    ]
