"""Gradients checked by central differences, in float64."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

# Rounding costs about 1e-16 / STEP, truncation STEP^2 times a third derivative of order 100: both below 1e-8.
STEP = 1e-5
RTOL, ATOL = 1e-6, 1e-7


def fixed_weights(shape, seed=7):
    """Weights of the sum whose gradient is taken: random, so that no symmetry hides an error."""
    return np.random.default_rng(seed).normal(size=shape)


def central_differences(function, arrays, weights, step=STEP):
    """d sum(weights * function(*arrays)) / d array, for each array."""
    arrays = [np.array(array, np.float64) for array in arrays]
    results = []
    for array in arrays:
        result = np.zeros(array.shape)
        for index in np.ndindex(array.shape):
            kept = array[index]
            array[index] = kept + step
            above = np.sum(weights * function(*arrays))
            array[index] = kept - step
            below = np.sum(weights * function(*arrays))
            array[index] = kept
            result[index] = (above - below) / (2 * step)
        results.append(result)
    return results


def tape_gradients(function, tensors, weights):
    """The value of `function` and the gradient of its weighted sum."""
    with tf.GradientTape() as tape:
        tape.watch(tensors)
        value = function(*tensors)
    return value, tape.gradient(value, tensors, output_gradients=tf.cast(weights, value.dtype))


def check_gradients(function, *arrays, rtol=RTOL, atol=ATOL):
    """Fail unless the tape's gradient of a TensorFlow function agrees with central differences."""
    tensors = [tf.constant(array, tf.float64) for array in arrays]
    weights = fixed_weights(function(*tensors).shape)
    _, result = tape_gradients(function, tensors, weights)
    values = tf.function(function, autograph=False)  # one trace for two values per entry of the arrays
    expected = central_differences(lambda *args: values(*map(tf.constant, args)).numpy(), arrays, weights)
    for gradient, truth in zip(result, expected, strict=True):
        np.testing.assert_allclose(gradient, truth, rtol=rtol, atol=atol)


def slope(function, weights, direction):
    """A function of the same tensor: the derivative of the weighted sum of `function` in this direction."""

    def derivative(tensor, *_):
        _, (gradient,) = tape_gradients(function, [tensor], weights)
        return tf.reduce_sum(gradient * direction)

    return derivative


def second_differences(function, array, weights, direction, step=3e-4):
    """The gradient of that derivative, by differences of the values of a float64 function."""

    def derivative(array):
        above, below = (function(array + sign * step * direction) for sign in (1, -1))
        return np.sum(weights * (above - below)) / (2 * step)

    return central_differences(derivative, [array], 1.0, step)[0]
