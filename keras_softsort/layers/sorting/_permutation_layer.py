"""Base class of `NeuralSortLayer` and `SoftSortLayer`."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort import ops
from keras_softsort._internal import arguments
from keras_softsort._internal.keras_compat import layer_shape
from keras_softsort.layers._base import SortingLayer, leading_ranks

RESULTS = ("permutation", "values", "ranks")


class PermutationLayer(SortingLayer):
    """Base class of layers that return a soft or exact permutation, sorted values or ranks."""

    def __init__(self, tau: float, *, returns: str, top_k: int | None, hard: bool, direction: str, **kwargs: Any):
        super().__init__(tau, **kwargs)
        self.returns = arguments.one_of("returns", returns, RESULTS)
        self.top_k = None if top_k is None else arguments.positive_integer("top_k", top_k)
        self.hard = arguments.boolean("hard", hard)
        self.direction = arguments.one_of("direction", direction, arguments.DIRECTIONS)
        if self.top_k is not None and returns == "ranks":
            raise ValueError(f"top_k must be None with returns='ranks', which has a rank for every item, got {top_k}")

    def build(self, input_shape: Any) -> None:
        """Check the scores and `top_k`."""
        self.check_count("top_k", self.top_k, input_shape)
        super().build(input_shape)

    def permutation(self, scores: Any, tau: Any, **options: Any) -> tf.Tensor:
        """The permutation matrix."""
        raise NotImplementedError

    def method_arguments(self) -> dict[str, Any]:
        """The arguments of `ops.soft_values` and `ops.soft_rank` that choose the method."""
        raise NotImplementedError

    def call(self, inputs: Any, mask: Any = None) -> tf.Tensor:
        """Map [batch, n] to [batch, n, n] or [batch, n], with `top_k` as the size of the rank axis if it is given."""
        scores, tau, mask = self.split_scores(inputs, mask)
        options: dict[str, Any] = {"hard": self.hard, "mask": mask, "direction": self.direction}
        if self.returns == "permutation":
            return self.permutation(scores, tau, top_k=self.top_k, **options)
        options.update(self.method_arguments())
        if self.returns == "ranks":
            return ops.soft_rank(scores, tau, **options)
        return ops.soft_values(scores, tau, top_k=self.top_k, **options)

    def compute_output_shape(self, input_shape: Any) -> Any:
        """`[batch, n, n]` or `[batch, n]`, with `top_k` as the size of the rank axis if it is given."""
        batch, size = self.scores_shape(input_shape)
        ranks = size if self.top_k is None else self.top_k
        return layer_shape((batch, ranks, size) if self.returns == "permutation" else (batch, ranks))

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """The mask of the ranks for `"values"`, that of the items otherwise, and None for the first `top_k` rows."""
        mask = self.split_mask(mask)
        if self.returns == "values":
            return leading_ranks(mask, self.top_k)
        return None if self.top_k else mask

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        own = {"returns": self.returns, "top_k": self.top_k, "hard": self.hard, "direction": self.direction}
        return {**super().get_config(), **own}
