"""How far each dtype may be from the float64 truth, and why."""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf


class Tolerance(NamedTuple):
    rtol: float
    atol: float


TOLERANCES = {
    # Computed in float32 and rounded once to 11 bits: half a unit is 2^-11; quantiles interpolate rounded values.
    tf.float16: Tolerance(rtol=2**-10, atol=1e-6),
    # 8 bits. Denormals are no concern: the range is that of float32.
    tf.bfloat16: Tolerance(rtol=2**-7, atol=1e-6),
    # 24 bits; logits of a few tens each carry 2^-24 of themselves, so a weight is off by some 1e-6 of itself.
    tf.float32: Tolerance(rtol=1e-5, atol=1e-6),
    # 53 bits, the same logits; the oracle rounds as much.
    tf.float64: Tolerance(rtol=1e-11, atol=1e-13),
}
