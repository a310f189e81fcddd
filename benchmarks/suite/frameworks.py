"""How a function of one library becomes a run, forward and backward: what is timed is the same for all.

The objective is half the sum of squares of what the function gives, so that no weights need to be carried along. A run
gives the objective and the gradient of the scores, as NumPy arrays: they exist when it returns.
"""

from __future__ import annotations

import importlib.util
import os
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

Arrays = tuple[np.ndarray, ...]
Run = Callable[[], tuple[np.ndarray, np.ndarray]]


def tensorflow_run(function: Callable, arrays: Arrays, jit: bool) -> Run:
    @tf.function(jit_compile=True if jit else None, autograph=False)
    def step(*tensors: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        with tf.GradientTape() as tape:
            tape.watch(tensors[0])
            results = tf.cast(function(*tensors), tf.float32)
            total = tf.reduce_sum(tf.square(results)) / 2
        gradient = tape.gradient(total, tensors[0])
        return total, results if gradient is None else gradient

    tensors = [tf.constant(array) for array in arrays]

    def run() -> tuple[np.ndarray, np.ndarray]:
        total, gradient = step(*tensors)
        return total.numpy(), gradient.numpy()

    return run


def torch_run(function: Callable, arrays: Arrays) -> Run:
    # Its threads would else wait by spinning, and on a core that others use take a hundred times as long.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    import torch  # noqa: PLC0415  (an optional peer)

    warnings.filterwarnings("ignore", message="CUDA initialization")
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    scores, *others = (torch.from_numpy(array) for array in arrays)
    scores.requires_grad_()

    def run() -> tuple[np.ndarray, np.ndarray]:
        scores.grad = None
        total = function(scores, *others).square().sum() / 2
        total.backward()
        return total.detach().numpy(), scores.grad.numpy()

    return run


def jax_run(function: Callable, arrays: Arrays) -> Run:
    import jax  # noqa: PLC0415  (an optional peer)

    step = jax.jit(jax.value_and_grad(lambda *args: (function(*args) ** 2).sum() / 2))
    tensors = [jax.device_put(array) for array in arrays]

    def run() -> tuple[np.ndarray, np.ndarray]:
        total, gradient = step(*tensors)
        return np.asarray(total), np.asarray(gradient)

    return run


def numpy_run(function: Callable, arrays: Arrays) -> Run:
    """The run of a function of NumPy arrays, which has no gradient."""

    def run() -> tuple[np.ndarray, np.ndarray]:
        results = function(*arrays).astype(np.float32)
        return np.square(results).sum() / 2, results

    return run


MODES: dict[str, Callable[[Callable, Arrays], Run]] = {
    "TF": lambda function, arrays: tensorflow_run(function, arrays, jit=False),
    "XLA": lambda function, arrays: tensorflow_run(function, arrays, jit=True),
    "torch": torch_run,
    "jax": jax_run,
    "numpy": numpy_run,
}
# The modes of each framework.
FRAMEWORKS = (("TF", "XLA"), ("torch",), ("jax",), ("numpy",))


def is_here(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def attribute(module: str, path: str) -> Any:
    """The attribute `path` of an optional module, imported when a run needs it: `jax` must not start in a parent."""

    def call(*arguments: Any, **options: Any) -> Any:
        found: Any = importlib.import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
        return found(*arguments, **options)

    return call
