"""What NeuralSortLayer and SoftSortLayer share: three outputs of one soft permutation."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort.layers._base import SortingLayer, leading_ranks
from keras_softsort.ops import _checks
from keras_softsort.ops._problem import compute_dtype

OUTPUTS = ("permutation", "values", "ranks")


class PermutationLayer(SortingLayer):
    """Scores to a soft or hard permutation, to sorted values, or to ranks."""

    def __init__(
        self,
        tau: float = 1.0,
        *,
        output: str = "permutation",
        top_k: int | None = None,
        hard: bool = False,
        direction: str = "DESCENDING",
        **kwargs: Any,
    ) -> None:
        super().__init__(tau, **kwargs)
        self.output_kind = _checks.one_of("output", output, OUTPUTS)
        self.top_k = None if top_k is None else _checks.positive_integer("top_k", top_k)
        self.hard = _checks.boolean("hard", hard)
        self.direction = _checks.one_of("direction", direction, _checks.DIRECTIONS)
        if self.top_k is not None and output == "ranks":
            raise ValueError(f"top_k must be None with output='ranks', which gives every item's rank, got {top_k}")

    def permutation(self, scores: Any, mask: Any) -> tf.Tensor:
        """The layer's operator, the first `top_k` rows."""
        raise NotImplementedError

    def call(self, scores: Any, mask: Any = None) -> tf.Tensor:
        """[batch, n] to [batch, n, n], or [batch, n]; `top_k` in place of the rank axis where it is given."""
        if self.output_kind == "permutation":
            return self.permutation(scores, mask)
        # Half precision would round ranks above 2,048: multiply before the result is rounded, not after.
        wide = tf.cast(scores, compute_dtype(scores.dtype))
        matrix = self.permutation(wide, mask)
        if self.output_kind == "values":
            kept = wide if mask is None else tf.where(mask, wide, tf.zeros_like(wide))
            result = tf.linalg.matvec(matrix, kept)
        else:
            ranks = tf.range(1, tf.shape(scores)[1] + 1)
            result = tf.linalg.matvec(matrix, tf.cast(ranks, wide.dtype)[tf.newaxis], transpose_a=True)
            result = result if mask is None else tf.where(mask, result, tf.zeros_like(result))
        return tf.cast(result, scores.dtype)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """Of the ranks for `"values"`, of the items otherwise; none for rows of a cut matrix, which has fewer ranks."""
        if self.output_kind == "values":
            return leading_ranks(mask, self.top_k)
        return None if self.top_k else mask

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        own = {"output": self.output_kind, "top_k": self.top_k, "hard": self.hard, "direction": self.direction}
        return {**super().get_config(), **own}
