"""What NeuralSortLayer and SoftSortLayer share: three outputs of one soft permutation."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort.layers._base import SortingLayer, leading_ranks
from keras_softsort.ops._core import validation
from keras_softsort.ops._core.dtypes import compute_dtype
from keras_softsort.ops._core.tracing import traced_if_eager
from keras_softsort.ops.sorting import _dispatch
from keras_softsort.ops.sorting._arguments import SortArguments

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

    def problem(self, scores: Any, mask: Any) -> SortArguments:
        """What is to be sorted, and how."""
        raise NotImplementedError

    def call(self, scores: Any, mask: Any = None) -> tf.Tensor:
        """[batch, n] to [batch, n, n], or [batch, n]; `top_k` in place of the rank axis where it is given."""
        problem = self.problem(scores, mask)
        problem = problem._replace(scores=validation.top_k_rows(self.top_k, problem.scores))
        if self.returns == "permutation":
            return _permutation(problem, self.top_k, self.hard)
        # Half precision would round ranks above 2,048: multiply before the result is rounded, not after.
        dtype = problem.scores.dtype
        wide = problem._replace(scores=tf.cast(problem.scores, compute_dtype(dtype)))
        product = _values if self.returns == "values" else _ranks
        return tf.cast(product(wide, self.top_k, self.hard), dtype)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """Of the ranks for `"values"`, of the items otherwise; none for rows of a cut matrix, which has fewer ranks."""
        if self.returns == "values":
            return leading_ranks(mask, self.top_k)
        return None if self.top_k else mask

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        own = {"output": self.returns, "top_k": self.top_k, "hard": self.hard, "direction": self.direction}
        return {**super().get_config(), **own}


_permutation = traced_if_eager(_dispatch.permutation)


@traced_if_eager
def _values(problem: SortArguments, top_k: int | None, hard: bool) -> tf.Tensor:
    """P @ scores [batch, n or top_k]. Exact permutations, and a few rows, are cheap as a matrix."""
    if top_k is None and not hard:
        return _dispatch.multiply(problem, problem.scores[..., tf.newaxis])[..., 0]
    scores, mask = problem.scores, problem.mask
    kept = scores if mask is None else tf.where(mask, scores, tf.zeros_like(scores))
    return tf.linalg.matvec(_dispatch.permutation(problem, top_k, hard), kept)


@traced_if_eager
def _ranks(problem: SortArguments, _: int | None, hard: bool) -> tf.Tensor:
    """P^T (1, ..., n) [batch, n], 0 for masked items."""
    if not hard:
        return _dispatch.soft_ranks(problem)
    ranks = tf.cast(tf.range(1, tf.shape(problem.scores)[1] + 1), problem.scores.dtype)
    result = tf.linalg.matvec(_dispatch.permutation(problem, hard=True), ranks[tf.newaxis], transpose_a=True)
    return result if problem.mask is None else tf.where(problem.mask, result, tf.zeros_like(result))
