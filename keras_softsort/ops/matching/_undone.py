"""The iterations that a gradient reverses."""

from __future__ import annotations

from typing import Any, NamedTuple

import tensorflow as tf


class Undone(NamedTuple):
    """Consecutive iterations from number `start` on."""

    states: tuple[tf.Tensor, tf.Tensor, tf.Tensor]  # row and column states after each, column states before: [T, B, .]
    start: Any
    made: tf.Tensor | None  # [B]: the number of iterations of each matrix; None if each made all of these and no more
    d_rows: tf.Tensor  # [B, N]: the gradient of the row potential after the last iteration that was made

    @property
    def length(self) -> int:
        """The number of iterations."""
        return self.states[0].shape[0]

    def if_made(self, t: Any, value: tf.Tensor, otherwise: tf.Tensor) -> tf.Tensor:
        """`value` for matrices that made iteration `t` of these, `otherwise` for the others."""
        return value if self.made is None else tf.where((self.start + t < self.made)[:, tf.newaxis], value, otherwise)

    def row_gradient(self, t: Any) -> Any:
        """`d_rows` at the last iteration. Earlier row potentials only act through the next column potential."""
        last = self.length - 1 == t if self.made is None else tf.equal(self.start + t + 1, self.made)[:, tf.newaxis]
        if isinstance(last, bool):
            return self.d_rows if last else 0.0
        return tf.where(last, self.d_rows, tf.zeros_like(self.d_rows))
