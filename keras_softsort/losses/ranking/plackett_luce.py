"""The negative log-likelihood of orders under the Plackett-Luce model: ListMLE, and RankDistil of sampled orders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from keras_softsort._internal.export import export
from keras_softsort.losses._list_loss import OperatorLoss
from keras_softsort.ops.ranking.plackett_luce import (
    coupled_rank_distil_loss,
    plackett_luce_derivatives,
    plackett_luce_loss,
)


@export
class PlackettLuceLoss(OperatorLoss, operator=plackett_luce_loss, derivatives=plackett_luce_derivatives):
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
class CoupledRankDistilLoss(OperatorLoss, operator=coupled_rank_distil_loss):
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
