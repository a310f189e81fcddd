"""The device that a graph is traced for, which decides in which form lists are sorted and gathered.

A tensor processor compares all pairs of a list in less time than it gathers numbers, and a CPU does not. GPUs and TPUs
multiply float32 matrices with fewer digits.
"""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort.ops.core.tracing import is_compiled

TARGETS = ("cpu", "gpu", "tpu")
# The largest size of lists whose items are compared by pairs, for each target.
MAX_COMPARED_SIZE = {"cpu": 0, "gpu": 2048, "tpu": 2048}

_chosen: contextvars.ContextVar[str | None] = contextvars.ContextVar("target", default=None)


@contextlib.contextmanager
def lowering_for(target: str) -> Iterator[None]:
    """Within this context, trace for `target`: `"cpu"`, `"gpu"` or `"tpu"`, whatever devices there are."""
    token = _chosen.set(arguments.one_of("target", target, TARGETS))
    try:
        yield
    finally:
        _chosen.reset(token)


def compares_pairs(size: Any) -> bool:
    """Whether lists of this `size`, None if it is unknown, are ordered and gathered by comparing all pairs."""
    device = _device()
    # Without XLA, a GPU would store all pairs of a list.
    if device == "gpu" and _chosen.get() is None and not is_compiled():
        return False
    return isinstance(size, int) and size <= MAX_COMPARED_SIZE[device]


def multiplies_coarsely() -> bool:
    """Whether the device rounds the factors of a float32 matrix product, to TF32 on a GPU or to bfloat16 on a TPU."""
    return _device() != "cpu" and tf.config.experimental.tensor_float_32_execution_enabled()


def _device() -> str:
    chosen = _chosen.get()
    if chosen is not None:
        return chosen
    if isinstance(tf.distribute.get_strategy(), tf.distribute.TPUStrategy) or tf.config.list_physical_devices("TPU"):
        return "tpu"
    return "gpu" if tf.config.list_physical_devices("GPU") else "cpu"
