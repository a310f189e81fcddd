"""float32 numbers in two parts, of which sums and products with small integers are exact in the higher one."""

from __future__ import annotations

import math

import numpy as np
import tensorflow as tf

# float32 arithmetic in two parts serves up to this many items; beyond them sums need float64.
MAX_SIZE = 1000
# Exponents of powers of two that are bounds of numbers, from 1e-30 to the largest float32 number.
_LOWEST, _HIGHEST = -100, 127
_DIGITS = 21
# A table and not 2^k, which compilers may round; nor the bits of a number, which `tf.vectorized_map` cannot read.
_FIRST_POWER = -126
_POWERS = np.ldexp(np.float32(1), np.arange(_FIRST_POWER, 128))


def grid(largest: tf.Tensor, size: int | tf.Tensor) -> tf.Tensor:
    """A power of two for numbers up to `largest`: of its multiples, `4 size` times as large ones are exact in float32.

    A power of two, since multiplying and dividing by it is exact. `largest` is float32 and not negative.
    """
    return _power_of_two(_grid_exponent(largest, size))


def centered_parts(scores: tf.Tensor, lowest: tf.Tensor, highest: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """`scores` [B, n] less a number of each list: multiples of a grid, and the rest.

    The scores lie from `lowest` to `highest` [B, 1]. Nothing is rounded: a number that all scores of a list have in
    common costs no digits.
    """
    size = scores.shape[1] or tf.shape(scores)[1]
    # A grid much finer than the scores themselves would overflow in the quotient.
    rounding = (tf.abs(lowest) + tf.abs(highest)) * 2.0**-22
    exponent = _grid_exponent((highest - lowest) + rounding, size)
    step, per_unit = _power_of_two(exponent), _power_of_two(-exponent)
    multiples = scores / step
    whole = tf.round(multiples)
    # Divided, not multiplied: XLA keeps the result of a division, and would compute others again for each pair.
    return (whole - tf.round(lowest / step)) / per_unit, (multiples - whole) / per_unit


def _grid_exponent(largest: tf.Tensor, size: int | tf.Tensor) -> tf.Tensor:
    """The int32 exponent of the grid: `largest * size` lies between 2^21 and 2^22 multiples of it."""
    bound = tf.clip_by_value(largest * tf.cast(size, tf.float32), 1e-30, tf.float32.max)
    # The logarithm is rounded. The margin makes the grid coarser by a factor of two rather than too fine.
    exponent = tf.cast(tf.floor(tf.math.log(bound) / math.log(2) + 2.0**-10), tf.int32)
    # Of NaN some number.
    return tf.clip_by_value(exponent, _LOWEST, _HIGHEST) - _DIGITS


def _power_of_two(exponents: tf.Tensor) -> tf.Tensor:
    return tf.gather(tf.constant(_POWERS), exponents - _FIRST_POWER)
