"""The likelihood of orders sampled from a teacher's scores: RankDistil."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.keras_compat import register
from keras_softsort.losses._noise import fresh_seed
from keras_softsort.losses._score_loss import ScoreLoss
from keras_softsort.ops.ranking.listwise.coupled_rank_distil import coupled_rank_distil


@register
class CoupledRankDistilLoss(ScoreLoss):
    """Compute the mean negative log-likelihood of orders that a teacher's scores draw.

    Distills a teacher's ranking into a smaller model: `y_true` holds the teacher's scores. By default a label below 0
    marks padding.

    The labels are logits of a Plackett-Luce distribution, from which orders are sampled. With an order z and scores s,
    divided by the temperature, a sample costs `-sum_{i <= k} (s_{z_i} - logsumexp_{j >= i} s_{z_j})`; the result is the
    mean over samples.

    Args:
      temperature: positive number, in units of the scores.
      k: number of ranks of the sampled orders that count; None for all.
      num_samples: number of samples of each list.
      seed: integer for reproducible noise; None draws one with every call from TensorFlow's generator, which
        `tf.random.set_seed` starts.
      lists: `"rows"` or `"batch"`, see `ListLoss`.
      padding: which labels mark padding, see `ListLoss`.
      reduction: see `ListLoss`.
      name: name of the loss.
      dtype: see `ListLoss`.

    `y_true`, `y_pred`, masks and weights: see `ListLoss`. Lists whose labels are all 0, and empty ones, give 0. A score
    or label that is not finite makes its list's result NaN.

    TF-Ranking's `CoupledRankDistilLoss` has the same value for the same noise, without padding: see the documentation,
    "Coming from TF-Ranking: losses".

    Raises:
      ValueError: `temperature` <= 0, `k` or `num_samples` < 1, an unknown name, shapes that do not match.
      TypeError: an argument of another type, `y_pred` is not floating-point.

    Cost: a sort and O(n) per sample.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> labels, scores = tf.constant([[0.0, 90.0, 45.0]]), tf.constant([[0.0, 1.0986123, 0.6931472]])
    >>> float(ks.CoupledRankDistilLoss(seed=1)(labels, scores)) > 0
    True

    Source: S. Reddi, R. Pasumarthi, A. Menon, A. Rawat, F. Yu, S. Kim, A. Veit, S. Kumar, "RankDistil: Knowledge
    Distillation for Ranking", AISTATS 2021.
    """

    def __init__(
        self,
        temperature: float = 1.0,
        *,
        k: int | None = None,
        num_samples: int = 8,
        seed: int | None = None,
        lists: str = "rows",
        padding: str | None = "negative_labels",
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "coupled_rank_distil",
        dtype: Any = None,
    ) -> None:
        super().__init__(lists=lists, padding=padding, reduction=reduction, name=name, dtype=dtype)
        self.temperature = arguments.positive_number("temperature", temperature)
        self.k = None if k is None else arguments.positive_integer("k", k)
        self.num_samples = arguments.positive_integer("num_samples", num_samples)
        self.seed = None if seed is None else arguments.integer("seed", seed)

    def score_losses(self, scores: tf.Tensor, labels: tf.Tensor, *, mask: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
        """The loss of each list: [batch]."""
        return coupled_rank_distil(
            scores,
            labels,
            seed=fresh_seed(self.seed),
            temperature=self.temperature,
            k=self.k,
            num_samples=self.num_samples,
            mask=mask,
            weights=weights,
        )

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {
            **super().get_config(),
            "temperature": self.temperature,
            "k": self.k,
            "num_samples": self.num_samples,
            "seed": self.seed,
        }
