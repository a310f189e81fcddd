"""How public operators run: eagerly as one compiled function, inside a traced function as plain operations."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

import tensorflow as tf

Function = TypeVar("Function", bound=Callable[..., Any])


def jit_if_eager(function: Function) -> Function:
    """Compile `function` with XLA, once per shape and static argument, when it is called eagerly.

    Traced calls add no jit of their own: the surrounding model decides, and TensorFlow Serving refuses a graph that
    demands XLA.
    """
    compiled = tf.function(function, jit_compile=True, autograph=False)
    # Nothing here is written for autograph, whose reading of the code takes longer than the tracing.
    plain = tf.autograph.experimental.do_not_convert(function)

    @functools.wraps(function)
    def run(*args: Any) -> Any:
        return compiled(*args) if tf.executing_eagerly() else plain(*args)

    return cast(Function, run)
