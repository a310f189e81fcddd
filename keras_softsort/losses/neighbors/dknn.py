"""Differentiable k nearest neighbors as a loss of embeddings."""

from __future__ import annotations

from typing import Any

from keras_softsort import ops
from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort._targets.lists import WeightedLosses
from keras_softsort._targets.queries import labelled_embeddings
from keras_softsort.losses._base import WeightedLoss, checked_tau, fresh_seed
from keras_softsort.ops.neighbors.soft_neighbors import OBJECTIVES, checked_search


@export
class DkNNLoss(WeightedLoss):
    """Minus the share of the k soft nearest neighbors of each embedding that have its class.

    Use it to train embeddings for a nearest neighbor classifier. The loss is the mean over queries. See `ops.dknn_loss`
    for the formula, edge cases, errors, cost and source.

    Args:
      k, tau, num_queries, objective, method, power, distance, scale: as in `ops.dknn_loss`; tau is a number.
      stochastic: whether to estimate the expected share under the Plackett-Luce distribution whose logits are the
        negative distances, by the mean over samples with Gumbel noise.
      num_samples: number of samples per query, if `stochastic`.
      seed: integer or None, if `stochastic`; see `ListLoss`.
      reduction, name, dtype: see `ListLoss`. The mean is over queries.

    Call arguments:
      y_true: labels as in `ops.dknn_loss`. Items with a negative label are padding: they are neither queries nor
        candidates, and the mean does not count them.
      y_pred: embeddings `[batch, d]`.
      sample_weight: `[batch]` or `[batch, 1]`; multiplies the losses of queries.

    `fit` keeps the last partial batch, which raises an error if it is too small; use
    `dataset.batch(n, drop_remainder=True)`. The loss of the paper's code is a sum over the k neighbors: with SGD
    multiply its learning rates by k here.

    Example:
      >>> round(float(ks.DkNNLoss(k=1, tau=0.01)([0, 0, 1, 1], [[0.0], [0.1], [1.0], [1.2]])), 4)
      -1.0
    """

    def __init__(
        self,
        k: int,
        tau: float = 1.0,
        *,
        num_queries: int | None = None,
        objective: str = "linear",
        distance: str = "squared_euclidean",
        method: str = "neural_sort",
        power: float = 1.0,
        scale: str | None = None,
        stochastic: bool = False,
        num_samples: int = 5,
        seed: int | None = None,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "dknn",
        dtype: Any = None,
        **unknown: Any,
    ) -> None:
        super().__init__(reduction=reduction, name=name, dtype=dtype, **unknown)
        self._keep_options(
            **checked_search(k=k, distance=distance, method=method, power=power, scale=scale),
            tau=checked_tau(tau),
            num_queries=arguments.optional_positive_integer("num_queries", num_queries),
            objective=arguments.one_of("objective", objective, OBJECTIVES),
            stochastic=arguments.boolean("stochastic", stochastic),
            num_samples=arguments.positive_integer("num_samples", num_samples),
            seed=arguments.optional_integer("seed", seed),
        )

    def weighted_losses(self, y_true: Any, y_pred: Any, sample_weight: Any) -> WeightedLosses:
        """The loss of each query [q], 0 for padding, and how many queries there are."""
        batch = labelled_embeddings(y_true, y_pred, sample_weight, self.given_dtype)
        options = self.options(batch.embeddings.dtype)
        is_stochastic = options.pop("stochastic")
        options |= {"seed": fresh_seed(self.seed)} if is_stochastic else {"num_samples": None, "seed": None}
        losses = ops.dknn_loss(batch.embeddings, batch.labels, mask=batch.mask, **options)
        return batch.weighted(losses, self.num_queries)
