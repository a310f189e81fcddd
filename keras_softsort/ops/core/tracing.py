"""Execution of public operators: eagerly as one traced function, inside a traced function as plain operations.

The device that a graph is traced for decides in which form lists are sorted and gathered. A tensor processor compares
all pairs of a list in less time than it gathers numbers, and a CPU does not. GPUs and TPUs multiply float32 matrices
with fewer digits.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import numbers
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar, cast

import tensorflow as tf
from tensorflow.python.eager import forwardprop_util
from tensorflow.python.ops import control_flow_util, gradients_util  # TensorFlow has no public way to ask

from keras_softsort._internal.arguments import one_of

Function = TypeVar("Function", bound=Callable[..., Any])
# All traced operators, so that their traces can be counted.
_TRACED: list[Any] = []
# Held during the first calls of operators. A trace may call operators, so the thread that holds it may take it again.
_first_call = threading.RLock()
# Off in tests of values: run op by op, a call with new arguments costs no trace.
_trace_eager_calls = True
# The devices that a graph may be traced for, whatever devices there are.
TARGETS = ("cpu", "gpu", "tpu")
# Without XLA, a GPU would store all pairs of a list, and computes int32 on the host.
GPU_WITHOUT_XLA = "gpu without XLA"
# The largest size of lists whose items are compared by pairs, for each target.
MAX_COMPARED_SIZE = {"cpu": 0, "gpu": 2048, "tpu": 2048, GPU_WITHOUT_XLA: 0}
# The device to trace for; None for that of this process.
_target: contextvars.ContextVar[str | None] = contextvars.ContextVar("target", default=None)


@contextlib.contextmanager
def eager_calls_traced(enabled: bool) -> Iterator[None]:
    """Within this context, eager calls of operators are traced if `enabled`, and otherwise run op by op."""
    global _trace_eager_calls  # noqa: PLW0603
    before, _trace_eager_calls = _trace_eager_calls, enabled
    try:
        yield
    finally:
        _trace_eager_calls = before


def number_of_traces() -> int:
    """The number of traces that all operators together hold."""
    return sum(traced.experimental_get_tracing_count() for traced in _TRACED)


def is_compiled() -> bool:
    """Whether operations are traced for XLA. It may decide between algorithms, never about results."""
    return not tf.executing_eagerly() and bool(
        control_flow_util.GraphOrParentsInXlaContext(tf.compat.v1.get_default_graph())
    )


@contextlib.contextmanager
def lowering_for(target: str) -> Iterator[None]:
    """Within this context, trace for `target`: `"cpu"`, `"gpu"` or `"tpu"`, whatever devices there are."""
    token = _target.set(one_of("target", target, TARGETS))
    try:
        yield
    finally:
        _target.reset(token)


def compares_pairs(size: Any) -> bool:
    """Whether lists of this `size`, None if it is unknown, are ordered and gathered by comparing all pairs."""
    return isinstance(size, int) and size <= MAX_COMPARED_SIZE[_device()]


def on_device(numbers: tf.Tensor) -> tf.Tensor:
    """The `numbers` in a dtype in which the device computes: int64 for int32 on a GPU without XLA.

    There TensorFlow would copy int32 numbers to the host to add, compare or reshape them.
    """
    return tf.cast(numbers, tf.int64) if numbers.dtype == tf.int32 and _device() == GPU_WITHOUT_XLA else numbers


def multiplies_coarsely() -> bool:
    """Whether the device rounds the factors of a float32 matrix product, to TF32 on a GPU or to bfloat16 on a TPU."""
    return _device() != "cpu" and tf.config.experimental.tensor_float_32_execution_enabled()


def _device() -> str:
    chosen = _target.get()
    if chosen is not None:
        return chosen
    if isinstance(tf.distribute.get_strategy(), tf.distribute.TPUStrategy) or tf.config.list_physical_devices("TPU"):
        return "tpu"
    if tf.config.list_physical_devices("GPU"):
        return "gpu" if is_compiled() else GPU_WITHOUT_XLA
    return "cpu"


def are_small_and_eager(*tensors: tf.Tensor) -> bool:
    """Whether the values of all `tensors` can be read in microseconds, to advise of a mistake."""

    def is_small(tensor: tf.Tensor) -> bool:
        return tensor.shape.num_elements() <= 10_000 and "CPU" in tensor.device

    return all(isinstance(each, tf.__internal__.EagerTensor) and is_small(each) for each in tensors)


def is_watched(tensors: Iterable[tf.Tensor]) -> bool:
    """Whether `tf.autodiff.ForwardAccumulator` watches one of `tensors`."""
    return bool(forwardprop_util.pack_tangents(list(tensors)).indices)


def below_forward_mode(function: Callable[..., Any], arguments: Iterable[Any]) -> Callable[..., Any]:
    """The `function`, in a graph of its own if `tf.autodiff.ForwardAccumulator` watches one of its `arguments`.

    In the caller's graph forward mode ignores custom gradients, and cannot hash the attributes of some operations.
    """
    watched = is_watched([each for each in arguments if tf.is_tensor(each)])
    return tf.function(function, autograph=False) if watched else function


def traced_if_eager(function: Function, arguments: Callable[..., tuple[tuple, dict]] | None = None) -> Function:
    """Run `function` as one traced function for all shapes when it is called eagerly.

    If `arguments` is given, it makes the arguments of `function` from those of a call, outside of the trace.

    It is traced once per rank, dtype and static argument (a Python value), also by several threads, with unknown sizes.
    Nothing is compiled: XLA is the caller's choice, and TensorFlow Serving refuses graphs that require it. After
    `tf.config.run_functions_eagerly(True)`, calls run op by op, as a debugger needs it.
    """
    traced = tf.function(function, autograph=False)
    _TRACED.append(traced)
    # No operator needs autograph, whose conversion takes longer than the tracing.
    plain = tf.autograph.experimental.do_not_convert(function)
    known = set()

    @functools.wraps(function)
    def run(*args: Any, **options: Any) -> Any:
        if arguments is not None:
            args, options = arguments(*args, **options)
        args, options = tf.nest.map_structure(_python_number, (args, options))
        if not tf.executing_eagerly():
            given = args, options
            args, options = tf.nest.map_structure(_of_unknown_sizes, given)
            results = below_forward_mode(plain, tf.nest.flatten((args, options)))(*args, **options)
            if any(old is not new for old, new in zip(*map(tf.nest.flatten, (given, (args, options))), strict=True)):
                # A trace that never runs tells the sizes of the results.
                args, options = tf.nest.map_structure(_of_this_size, given)
                like = tf.function(function, autograph=False).get_concrete_function(*args, **options).structured_outputs
                for result, spec in zip(tf.nest.flatten(results), tf.nest.flatten(like), strict=True):
                    result.set_shape(spec.shape)
            return results
        if not _trace_eager_calls or tf.config.functions_run_eagerly():
            return function(*args, **options)
        leaves = tf.nest.flatten((args, options))
        tensors = [leaf for leaf in leaves if tf.is_tensor(leaf)]
        if is_watched(tensors):
            # After a trace was differentiated in reverse mode, TensorFlow may fail to differentiate it in forward mode.
            return function(*args, **options)
        # TensorFlow traces the gradient in the first call under a tape, and another one under nested tapes.
        tapes = gradients_util.PossibleTapeGradientTypes(tensors)
        key = (tapes, *((leaf.dtype, leaf.shape.rank) if tf.is_tensor(leaf) else leaf for leaf in leaves))
        if key not in known:
            with _first_call:
                if key not in known:
                    # Calls with these ranks and dtypes will use this trace, the most general one.
                    any_size, any_options = tf.nest.map_structure(_of_any_size, (args, options))
                    traced.get_concrete_function(*any_size, **any_options)
                    result = traced(*args, **options)
                    known.add(key)
                    return result
        return traced(*args, **options)

    return cast(Function, run)


def _python_number(leaf: Any) -> Any:
    """A Python number for another real number, which a trace would take for a tensor: `np.float64` is a float, too."""
    if not isinstance(leaf, numbers.Real) or type(leaf) in (bool, int, float):
        return leaf
    return int(leaf) if isinstance(leaf, numbers.Integral) else float(leaf)


def _of_unknown_sizes(leaf: Any) -> Any:
    """Hide that a tensor is empty: TensorFlow 2.21 divides by the size of an empty constant, which ends the process."""
    if not tf.is_tensor(leaf) or is_compiled() or leaf.shape.rank is None or 0 not in leaf.shape.as_list():
        return leaf
    return tf.compat.v1.placeholder_with_default(leaf, [None] * leaf.shape.rank)


def _of_this_size(leaf: Any) -> Any:
    return tf.TensorSpec(leaf.shape, leaf.dtype) if tf.is_tensor(leaf) else leaf


def _of_any_size(leaf: Any) -> Any:
    return tf.TensorSpec([None] * leaf.shape.rank, leaf.dtype) if tf.is_tensor(leaf) else leaf
