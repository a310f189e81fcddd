"""What NeuralSortLayer and SoftSortLayer share: three outputs of one soft permutation."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort import ops
from keras_softsort._internal import arguments
from keras_softsort.layers._base import SortingLayer, leading_ranks

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
        self.returns = arguments.one_of("output", output, OUTPUTS)
        self.top_k = None if top_k is None else arguments.positive_integer("top_k", top_k)
        self.hard = arguments.boolean("hard", hard)
        self.direction = arguments.one_of("direction", direction, arguments.DIRECTIONS)
        if self.top_k is not None and output == "ranks":
            raise ValueError(f"top_k must be None with output='ranks', which gives every item's rank, got {top_k}")

    def permutation(self, scores: Any, **options: Any) -> tf.Tensor:
        """The matrix."""
        raise NotImplementedError

    def method_arguments(self) -> dict[str, Any]:
        """The arguments of `ops.soft_values` and `ops.soft_rank` that choose the method."""
        raise NotImplementedError

    def call(self, scores: Any, mask: Any = None) -> tf.Tensor:
        """[batch, n] to [batch, n, n], or [batch, n]; `top_k` in place of the rank axis where it is given."""
        options: dict[str, Any] = {"hard": self.hard, "mask": mask, "direction": self.direction}
        if self.returns == "permutation":
            return self.permutation(scores, top_k=self.top_k, **options)
        options.update(self.method_arguments())
        if self.returns == "ranks":
            return ops.soft_rank(scores, self.tau, **options)
        return ops.soft_values(scores, self.tau, top_k=self.top_k, **options)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """Of the ranks for `"values"`, of the items otherwise; none for rows of a cut matrix, which has fewer ranks."""
        if self.returns == "values":
            return leading_ranks(mask, self.top_k)
        return None if self.top_k else mask

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        own = {"output": self.returns, "top_k": self.top_k, "hard": self.hard, "direction": self.direction}
        return {**super().get_config(), **own}
