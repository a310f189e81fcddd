"""The likelihood of orders sampled from a teacher's scores: RankDistil."""

from __future__ import annotations

from typing import Any

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.losses._operator_loss import ScoreOperatorLoss
from keras_softsort.ops.ranking.listwise.coupled_rank_distil import coupled_rank_distil


@export
class CoupledRankDistilLoss(ScoreOperatorLoss):
    """Compute the mean negative log-likelihood of orders sampled from a teacher's scores (RankDistil).

    Use it to distill the ranking of a large model, the teacher, into a smaller one. `y_true` holds the teacher's
    scores. By default a label below 0 marks padding, so pass `padding="nan_labels"` or None if these scores may be
    negative.

    The teacher's scores are the logits of a Plackett-Luce distribution, from which orders z are sampled. With the
    scores s, divided by the temperature, the loss of a sample is `-sum_{i <= k} (s_{z_i} - logsumexp_{j >= i}
    s_{z_j})`. The result is the mean over samples.

    Args:
      temperature: positive number, in units of the scores.
      k: number of ranks of the sampled orders that count; None for all.
      num_samples: number of samples of each list.
      seed: integer seed or None. Each call draws new samples from TensorFlow's generator. With a seed and
        `tf.random.set_seed` runs repeat, except under XLA, whose generator takes no seed.
      lists: `"rows"` or `"batch"`, see `ListLoss`.
      padding: which labels mark padding, see `ListLoss`.
      reduction: see `ListLoss`.
      name: name of the loss.
      dtype: see `ListLoss`.

    `y_true`, `y_pred`, masks and weights: see `ListLoss`. Lists whose labels are all 0, and empty lists, give 0. A
    score or label that is not finite makes the loss of its list NaN.

    Without padding TF-Ranking's `CoupledRankDistilLoss` has the same value for the same noise. See the documentation,
    "Coming from TF-Ranking: losses".

    Raises:
      ValueError: `temperature` is not positive, `k` or `num_samples` is below 1, a name is unknown, or shapes do not
        match.
      TypeError: an argument has another type, or `y_pred` is not floating-point.

    Cost: O(n log n) time and O(n) memory per sample.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> labels, scores = tf.constant([[0.0, 90.0, 45.0]]), tf.constant([[0.0, 1.0986123, 0.6931472]])
    >>> float(ks.CoupledRankDistilLoss(seed=1)(labels, scores)) > 0
    True

    Source: S. Reddi, R. Pasumarthi, A. Menon, A. Rawat, F. Yu, S. Kim, A. Veit, S. Kumar, "RankDistil: Knowledge
    Distillation for Ranking", AISTATS 2021.
    """

    _operator = staticmethod(coupled_rank_distil)
    _options = ("temperature", "k", "num_samples", "seed")

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
        self.seed = arguments.optional_integer("seed", seed)
