"""Steps of TensorFlow that benchmarks time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import tensorflow as tf


def gradient_step(function: Callable[..., tf.Tensor], jit: bool) -> Callable[..., tuple[tf.Tensor, tf.Tensor]]:
    """One traced function from `(x, *others)` to `function(x, *others)`, a scalar, and its gradient in x."""

    @tf.function(jit_compile=True if jit else None, autograph=False)
    def step(x: tf.Tensor, *others: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        with tf.GradientTape() as tape:
            tape.watch(x)
            total = function(x, *others)
        return total, tape.gradient(total, x)

    return step


def runner(function: Callable, *arrays: np.ndarray) -> Callable[[], list[np.ndarray]]:
    """A call of a TensorFlow function on arrays that ends when its results exist, flattened, as NumPy arrays."""
    tensors = [tf.constant(array) for array in arrays]
    return lambda: [result.numpy() for result in tf.nest.flatten(function(*tensors))]
