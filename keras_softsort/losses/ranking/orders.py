"""Losses of whole orders: likelihoods, cross-entropies of permutations, and errors of ranks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from keras_softsort import ops
from keras_softsort._internal.export import export
from keras_softsort._targets.lists import Lists, sort_direction
from keras_softsort.losses._list_loss import ListLoss, OperatorLoss


@export
class PlackettLuceLoss(OperatorLoss, operator=ops.plackett_luce_loss):
    """Negative log-likelihood of the order of the labels under the Plackett-Luce model of the scores (ListMLE).

    A good first loss for long lists: it is fast and has few arguments. It is not divided by the list size, so `k=1` is
    the conditional logit. The scores are logits of any size; -inf is allowed. See `ops.plackett_luce_loss` for the
    formula, edge cases, errors, cost and source.

    Args:
      k, ties, tau, discount: as in `ops.plackett_luce_loss`. A function is saved with a model if registered with Keras.
      **kwargs: `scale`, `lists`, `padding`, `reduction`, `name` and `dtype`; see `ScoreLoss`.

    Example:
      >>> labels, logits = [[2.0, 0.0, 1.0]], tf.math.log([[3.0, 1.0, 2.0]])
      >>> round(float(tf.exp(-ks.PlackettLuceLoss()(labels, logits))), 6)  # 3 / (3 + 2 + 1) * 2 / (2 + 1)
      0.333333
    """

    def __init__(
        self,
        *,
        k: int | None = None,
        ties: str = "breslow",
        tau: float = 1.0,
        discount: str | Callable | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(locals(), **kwargs)


@export
class CoupledRankDistilLoss(OperatorLoss, operator=ops.coupled_rank_distil_loss):
    """Compute the mean negative log-likelihood of orders sampled from a teacher's scores (RankDistil).

    Use it to distill the ranking of a large model, the teacher, into a smaller one. `y_true` holds the teacher's
    scores. If these may be negative, pass `padding="nan_labels"` or None: by default a label below 0 marks padding. See
    `ops.coupled_rank_distil_loss` for the formula, edge cases, errors, cost and source.

    Args:
      tau, k, num_samples: as in `ops.coupled_rank_distil_loss`.
      seed: integer or None; see `ListLoss`.
      **kwargs: `scale`, `lists`, `padding`, `reduction`, `name` and `dtype`; see `ScoreLoss`.

    Example:
      >>> float(ks.CoupledRankDistilLoss(seed=1)([[0.0, 90.0, 45.0]], [[0.0, 1.0986123, 0.6931472]])) > 0
      True
    """

    def __init__(
        self,
        tau: float = 1.0,
        *,
        k: int | None = None,
        num_samples: int = 8,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(locals(), **kwargs)


@export
class PermutationCrossEntropyLoss(ListLoss):
    """Cross-entropy of soft permutations `[batch, rank, item]` with the true order.

    Larger labels come first, in row 0. For ranks from 1, where 1 is first, pass `target="ranks"`: as labels, they would
    train a sorter that is upside down.

    Use it after `NeuralSortLayer` or `SoftSortLayer`, to train through a sort. `y_pred` is `[batch, n, n]`, the first k
    rows `[batch, k, n]`, or samples `[batch, num_samples, k, n]`, which are averaged. See
    `ops.permutation_cross_entropy_loss` for the formula, edge cases, errors, cost and source.

    A matrix of `SinkhornLayer` is `[batch, item, place]`, the transpose. A square one raises no error, but would be
    learned transposed. Use `keras.losses.SparseCategoricalCrossentropy()` with the place of each item from 0, or
    `keras.layers.Permute((2, 1))` and `target="ranks"`.

    Args:
      target, direction: as in `metrics.PermutationAccuracy`.
      **kwargs: `lists`, `padding`, `reduction`, `name` and `dtype`; see `ListLoss`.

    Example:
      >>> matrix = ks.ops.neural_sort([[2.0, 5.0, 3.0]], tau=1.0)
      >>> round(float(ks.PermutationCrossEntropyLoss()([[20.0, 50.0, 30.0]], matrix)), 3)
      0.285
      >>> round(float(ks.PermutationCrossEntropyLoss(target="ranks")([[3, 1, 2]], matrix)), 3)
      0.285
    """

    def __init__(self, *, target: str = "labels", direction: str = "DESCENDING", **kwargs: Any) -> None:
        kwargs.setdefault("name", "permutation_cross_entropy")
        super().__init__(**kwargs)
        self._sort_direction = sort_direction(target, direction)
        self._keep_options(target=target, direction=direction)

    def list_losses(self, lists: Lists, y_pred: tf.Tensor) -> tf.Tensor:
        """The loss of each list: [batch]."""
        return ops.permutation_cross_entropy_loss(
            y_pred, lists.labels, direction=self._sort_direction, mask=lists.mask, weights=lists.weights
        )


@export
class NeuralSortCrossEntropyLoss(OperatorLoss, operator=ops.neural_sort_cross_entropy_loss):
    """Cross-entropy of the NeuralSort of the scores with the true order of the labels.

    Items with larger labels get larger scores. For ranks from 1, where 1 is first, pass n minus the rank.

    Use it to learn an order if the model outputs one score per item. If it outputs a soft permutation, use
    `PermutationCrossEntropyLoss`. Here lists in a very wrong order have a gradient, too. See
    `ops.neural_sort_cross_entropy_loss` for the formula, edge cases, errors, cost and source.

    Args:
      tau, label_tau, stochastic, num_samples, noise_scale: as in `ops.neural_sort_cross_entropy_loss`.
      seed: integer or None, if `stochastic`; see `ListLoss`.
      **kwargs: `scale`, `lists`, `padding`, `reduction`, `name` and `dtype`; see `ScoreLoss`.

    Example:
      >>> round(float(ks.NeuralSortCrossEntropyLoss(tau=1.0)([[20.0, 50.0, 30.0]], [[2.0, 5.0, 3.0]])), 3)
      0.285
      >>> ranks = tf.constant([[3, 1, 2]])
      >>> round(float(ks.NeuralSortCrossEntropyLoss(tau=1.0)(3 - ranks, [[2.0, 5.0, 3.0]])), 3)
      0.285
    """

    def __init__(
        self,
        tau: float = 1.0,
        *,
        label_tau: float | None = None,
        stochastic: bool = False,
        num_samples: int = 8,
        noise_scale: float = 1.0,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(locals(), **kwargs)


@export
class SpearmanLoss(OperatorLoss, operator=ops.spearman_loss):
    """1 minus Spearman's rank correlation of labels and scores, from 0 (same order) to 2 (reversed).

    Use it to make predictions follow the order of continuous targets, whatever their scale: tabular models, scores per
    day or era. For a model of rows that ends in `Dense(1)`, pass `lists="batch"` to correlate over the batch. If your
    targets are centered around 0, as returns are, pass `padding=None` or `"nan_labels"`; otherwise negative targets are
    left out. See `ops.spearman_loss` for the formula, edge cases, errors, cost and source.

    Args:
      tau, method, power: as in `ops.soft_rank`. For lists of hundreds of items use `method="soft_sort"` or `"lapsum"`,
        or a larger tau.
      **kwargs: `scale`, `lists`, `padding`, `reduction`, `name` and `dtype`; see `ScoreLoss`.

    Example:
      >>> loss = ks.SpearmanLoss(tau=0.001, lists="batch", padding=None)
      >>> round(float(loss([0.3, -0.2, 0.1, -0.4], [0.5, 0.2, 0.4, 0.1])), 4)
      0.0
    """

    def __init__(self, tau: float = 1.0, *, method: str = "neural_sort", power: float = 1.0, **kwargs: Any) -> None:
        super().__init__(locals(), **kwargs)


@export
class ApproxRankMSELoss(OperatorLoss, operator=ops.approx_rank_mse_loss):
    """The discounted mean squared error of smooth ranks: ADR-MSE.

    Start with it for graded relevance. It also distills an order, such as a large language model's, into a reranker.
    See `ops.approx_rank_mse_loss` for the formula, edge cases, errors, cost and source.

    Args:
      tau, discount: as in `ops.approx_rank_mse_loss`.
      **kwargs: `scale`, `lists`, `padding`, `reduction`, `name` and `dtype`; see `ScoreLoss`.

    Example:
      >>> round(float(ks.ApproxRankMSELoss()([[2.0, 0.0, 1.0]], [[0.3, 0.9, 0.4]])), 4)
      0.7268
    """

    def __init__(self, tau: float = 1.0, *, discount: str | None = "log2", **kwargs: Any) -> None:
        super().__init__(locals(), **kwargs)
