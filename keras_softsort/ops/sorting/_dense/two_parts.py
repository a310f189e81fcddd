"""float32 numbers in two parts, of which sums and products with small integers are exact in the higher one."""

from __future__ import annotations

import tensorflow as tf

# The bits of a float32 number that are not its mantissa.
_EXPONENT = 0x7F800000
# The exponents of a power of two and of its reciprocal, which are normal numbers, add up to this.
_EXPONENTS_OF_RECIPROCALS = 0x7F000000
# float32 arithmetic in two parts serves up to this many items; beyond them sums need float64.
MAX_SIZE = 1000


def grid(largest: tf.Tensor, size: int | tf.Tensor) -> tf.Tensor:
    """A power of two for numbers up to `largest`: of its multiples, `4 size` times as large ones are exact in float32.

    A power of two, since multiplying and dividing by it is exact. `largest` is float32 and not negative.
    """
    bound = tf.maximum(largest * tf.cast(size, tf.float32), 1e-30)
    # Up to a factor of two below the bound.
    power = tf.bitcast(tf.bitwise.bitwise_and(tf.bitcast(bound, tf.int32), _EXPONENT), tf.float32)
    return power * 2.0**-21


def centered_parts(scores: tf.Tensor, lowest: tf.Tensor, highest: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """`scores` [B, n] less a number of each list: multiples of a grid, and the rest.

    The scores lie from `lowest` to `highest` [B, 1]. Nothing is rounded: a number that all scores of a list have in
    common costs no digits.
    """
    size = scores.shape[1] or tf.shape(scores)[1]
    # A grid much finer than the scores themselves would overflow in the quotient.
    rounding = (tf.abs(lowest) + tf.abs(highest)) * 2.0**-22
    step = grid((highest - lowest) + rounding, size)
    multiples, per_unit = scores / step, _reciprocal(step)
    whole = tf.round(multiples)
    # Divided, not multiplied: XLA keeps the result of a division, and would compute others again for each pair.
    return (whole - tf.round(lowest / step)) / per_unit, (multiples - whole) / per_unit


def _reciprocal(powers: tf.Tensor) -> tf.Tensor:
    """1 / `powers` of two, by their exponents: TensorFlow's graph optimizer would regroup a division of divisions."""
    return tf.bitcast(_EXPONENTS_OF_RECIPROCALS - tf.bitcast(powers, tf.int32), tf.float32)
