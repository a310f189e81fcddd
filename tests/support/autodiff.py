"""The ways TensorFlow differentiates and maps a function, each checked against central differences.

An operator must be right in each of them or raise an error that says what it lacks. `check(way, function, arrays)`
takes a function of one example and arrays that hold a batch of examples along their first axis.
"""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from keras_softsort.ops.core import tracing
from support.gradients import central_differences, fixed_weights, tape_gradients

# Central differences of float64 functions, and differences of gradients for second derivatives.
RTOL, ATOL = 1e-6, 1e-7
SECOND_RTOL, SECOND_ATOL = 1e-5, 1e-6


def check(way, function, arrays, *, error=None, rtol=RTOL, atol=ATOL):
    """Fail unless `function` is differentiated or mapped rightly in `way`, or raises `error`, (type, pattern).

    `function` takes one example of each array and returns a tensor. `arrays` are `[examples, ...]` in float64.
    """
    if error is None:
        CHECKS[way](function, [np.asarray(array, np.float64) for array in arrays], rtol, atol)
        return
    with pytest.raises(error[0], match=error[1]):
        CHECKS[way](function, [np.asarray(array, np.float64) for array in arrays], rtol, atol)


def _values(function):
    """`function` of arrays, run op by op: differences need few values, a trace takes longer."""
    plain = getattr(function, "python_function", function)

    def values(*arrays):
        with tracing.eager_calls_traced(False):
            return plain(*map(tf.constant, arrays)).numpy()

    return values


def _weights(function, example):
    return fixed_weights(_values(function)(*example).shape)


def _example(arrays, index=0):
    return [array[index] for array in arrays]


def _compare(found, expected, rtol, atol):
    for gradient, truth in zip(found, expected, strict=True):
        np.testing.assert_allclose(gradient, truth, rtol=rtol, atol=atol)


def _gradients_of_examples(function, arrays, weights):
    """Central differences of each example, stacked."""
    count = len(arrays[0])
    each = [central_differences(_values(function), _example(arrays, i), weights) for i in range(count)]
    return [np.stack(gradients) for gradients in zip(*each, strict=True)]


def _persistent(function, arrays, rtol, atol):
    """One tape asked twice, after a second use of its tensors."""
    example = _example(arrays)
    weights = _weights(function, example)
    tensors = [tf.constant(array) for array in example]
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(tensors)
        value = function(*tensors)
        twice = 2 * value
    expected = central_differences(_values(function), example, weights)
    _compare(tape.gradient(value, tensors, output_gradients=tf.constant(weights)), expected, rtol, atol)
    doubled = tape.gradient(twice, tensors, output_gradients=tf.constant(weights))
    _compare(doubled, [2 * truth for truth in expected], rtol, atol)


def _jacobian(function, arrays, rtol, atol, vectorized=True):
    example = _example(arrays)
    tensors = [tf.constant(array) for array in example]
    with tf.GradientTape(persistent=not vectorized) as tape:
        tape.watch(tensors)
        value = function(*tensors)
    found = tape.jacobian(value, tensors, experimental_use_pfor=vectorized)
    weights = fixed_weights(value.shape)
    contracted = [np.tensordot(weights, jacobian, weights.ndim) for jacobian in found]
    _compare(contracted, central_differences(_values(function), example, weights), rtol, atol)


def _gradient_in_map(function, arrays, rtol, atol, fallback=True):
    """`tf.vectorized_map` of a function that takes the gradient of each example."""
    weights = _weights(function, _example(arrays))

    def both(tensors):
        value, gradients = tape_gradients(function, list(tensors), weights)
        return [value, *gradients]

    value, *found = tf.vectorized_map(both, tuple(map(tf.constant, arrays)), fallback_to_while_loop=fallback)
    expected = np.stack([_values(function)(*_example(arrays, i)) for i in range(len(arrays[0]))])
    _compare([value], [expected], rtol, atol)
    _compare(found, _gradients_of_examples(function, arrays, weights), rtol, atol)


def _gradient_of_map(function, arrays, rtol, atol, fallback=True):
    """The gradient of a `tf.vectorized_map`, taken outside of it."""
    weights = _weights(function, _example(arrays))

    def mapped(*tensors):
        return tf.vectorized_map(lambda each: function(*each), tensors, fallback_to_while_loop=fallback)

    tensors = [tf.constant(array) for array in arrays]
    every = np.broadcast_to(weights, (len(arrays[0]), *weights.shape))
    _, found = tape_gradients(mapped, tensors, every)
    _compare(found, _gradients_of_examples(function, arrays, weights), rtol, atol)


def _forward(function, arrays, rtol, atol):
    """The directional derivative by forward mode."""
    example = _example(arrays)
    tensors = [tf.constant(array) for array in example]
    directions = [fixed_weights(array.shape, seed=8 + i) for i, array in enumerate(example)]
    with tf.autodiff.ForwardAccumulator(tensors, [tf.constant(each, tf.float64) for each in directions]) as accumulator:
        value = function(*tensors)
    found = accumulator.jvp(value)
    assert found is not None
    weights = fixed_weights(value.shape)
    expected = central_differences(_values(function), example, weights)
    truth = sum(np.sum(gradient * direction) for gradient, direction in zip(expected, directions, strict=True))
    np.testing.assert_allclose(np.sum(weights * found), truth, rtol=rtol, atol=atol)


def _second(function, arrays, rtol, atol):
    """The gradient of a directional derivative, against differences of that; and the derivative itself."""
    example = _example(arrays)
    weights = _weights(function, example)
    directions = [fixed_weights(array.shape, seed=8 + i) for i, array in enumerate(example)]

    def slope(*tensors):
        _, gradients = tape_gradients(function, list(tensors), weights)
        return tf.add_n(
            [tf.reduce_sum(gradient * direction) for gradient, direction in zip(gradients, directions, strict=True)]
        )

    _, found = tape_gradients(slope, [tf.constant(array) for array in example], np.ones([]))
    _compare(found, central_differences(_values(slope), example, np.ones([])), SECOND_RTOL, SECOND_ATOL)
    gradients = central_differences(_values(function), example, weights)
    truth = sum(np.sum(gradient * direction) for gradient, direction in zip(gradients, directions, strict=True))
    np.testing.assert_allclose(_values(slope)(*example), truth, rtol=rtol, atol=atol)


def _traced(checked):
    """Run `checked` inside of a traced function, where the operator is traced into the caller's graph."""

    def run(function, arrays, rtol, atol):
        checked(tf.function(function, autograph=False), arrays, rtol, atol)

    return run


CHECKS = {
    "persistent": _persistent,
    "jacobian": _jacobian,
    "jacobian_by_loop": lambda *args: _jacobian(*args, vectorized=False),
    "gradient_in_map": _gradient_in_map,
    "gradient_in_strict_map": lambda *args: _gradient_in_map(*args, fallback=False),
    "gradient_of_map": _gradient_of_map,
    "gradient_of_strict_map": lambda *args: _gradient_of_map(*args, fallback=False),
    "forward": _forward,
    "second": _second,
}
CHECKS |= {f"traced_{way}": _traced(CHECKS[way]) for way in ("jacobian", "forward", "second")}
WAYS = tuple(CHECKS)
# One way of each kind: the others would fail for the same reason as one of these.
QUICK_WAYS = ("persistent", "jacobian", "gradient_in_strict_map", "gradient_of_map", "forward", "traced_second")


def cases(operators, quick_ways=QUICK_WAYS):
    """Parameters (name, way) of each operator in each way; those that `quick_ways` leave out run nightly."""
    return [
        pytest.param(name, way, marks=[] if way in quick_ways else [pytest.mark.nightly])
        for name in operators
        for way in WAYS
    ]
