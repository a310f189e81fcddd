"""The negative log-likelihood of orders under the Plackett-Luce model: ListMLE, and RankDistil of sampled orders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from keras_softsort._internal.export import export
from keras_softsort.losses._score_loss import OperatorLoss
from keras_softsort.ops.ranking.plackett_luce import (
    coupled_rank_distil_loss,
    plackett_luce_derivatives,
    plackett_luce_loss,
)


@export
class PlackettLuceLoss(OperatorLoss, operator=plackett_luce_loss, derivatives=plackett_luce_derivatives):
    """Negative log-likelihood of the order of the labels under the Plackett-Luce model of the scores (ListMLE).

    A good first loss for long lists: it is fast and has few arguments. It is not divided by the list size, so `k=1` is
    the conditional logit. The scores are logits of any size; -inf is allowed.

    The formula, edge cases, errors, cost and source are those of `ops.plackett_luce_loss`.

    Args:
      k: number of ranks that count, those of the largest labels; None for all.
      ties: rule for items with equal labels. `"breslow"`: each of them is chosen from all items that are not ranked
        before their group. This rule does not depend on the order of the items. `"first"`: items with equal labels are
        ranked in the order of the list.
      tau: temperature in units of the scores; see `ListLoss`.
      discount: the weight of the term of rank r in a list of m items: None, 1; `"log2"`, 1 / log2(1 + r);
        `"reciprocal"`, 1 / r; `"exponential"`, (2^(m - r) - 1) / (2^(m - 1) - 1), as in p-ListMLE; or a function of a
        tensor of ranks, saved with a model if it is registered with Keras. This is position-aware ListMLE.
      **kwargs: `scale`, `lists`, `padding`, `reduction`, `name` and `dtype`; see `ScoreLoss`.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> labels, logits = tf.constant([[2.0, 0.0, 1.0]]), tf.math.log([[3.0, 1.0, 2.0]])
    >>> round(float(tf.exp(-ks.PlackettLuceLoss()(labels, logits))), 6)  # 3 / (3 + 2 + 1) * 2 / (2 + 1)
    0.333333
    >>> round(float(tf.exp(-ks.PlackettLuceLoss(k=1)(labels, logits))), 6)
    0.5
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
    scores. If these may be negative, pass `padding="nan_labels"` or None: by default a label below 0 marks padding.

    The formula, edge cases, errors, cost and source are those of `ops.coupled_rank_distil_loss`.

    Args:
      tau: temperature in units of the scores; see `ListLoss`.
      k: number of ranks of the sampled orders that count; None for all.
      num_samples: number of samples of each list.
      seed: integer or None; see `ListLoss`.
      **kwargs: `scale`, `lists`, `padding`, `reduction`, `name` and `dtype`; see `ScoreLoss`.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> labels, scores = tf.constant([[0.0, 90.0, 45.0]]), tf.constant([[0.0, 1.0986123, 0.6931472]])
    >>> float(ks.CoupledRankDistilLoss(seed=1)(labels, scores)) > 0
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
