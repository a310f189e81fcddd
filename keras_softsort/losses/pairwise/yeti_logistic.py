"""The logistic loss of neighbors in sampled orders: YetiLoss."""

from __future__ import annotations

from typing import Any

from keras_softsort._internal import arguments
from keras_softsort._internal.keras_compat import register
from keras_softsort.losses._lambda_weight import checked_lambda_weight
from keras_softsort.losses._noise import checked_seed
from keras_softsort.losses._operator_loss import ScoreOperatorLoss
from keras_softsort.ops.ranking._pairs.arguments import NORMALIZATIONS
from keras_softsort.ops.ranking._pairs.metric import LambdaWeight
from keras_softsort.ops.ranking.pairwise.yeti_logistic import yeti_logistic


@register
class YetiLogisticLoss(ScoreOperatorLoss):
    """Compute the logistic loss of neighbors in orders sampled from the scores: YetiLoss.

    A strong loss in gradient boosting (CatBoost's YetiRank), here for networks. By default a label below 0 marks
    padding.

    A sample is `s_i + noise_scale G_i` with independent standard Gumbel noise G. In each sample a pair with label_i >
    label_j costs `log(1 + exp(-(s_i - s_j) / temperature))`, times the weight of item i, times the lambda weight of the
    pair. By default the lambda weight is above 0 only for items that are neighbors in the order of the sample. The
    result is the mean over samples.

    Args:
      temperature: positive number, in units of the scores.
      lambda_weight: the name of a metric or a `LambdaWeight`, see `RankNetLoss`; None for `LambdaWeight("dcg",
        version=2, neighbors_only=True)`.
      normalization: divisor of the sum over the pairs of a list: `"pairs"`, `"list"` or `"none"`, see `RankNetLoss`.
      num_samples: number of samples of each list.
      noise_scale: factor of the Gumbel noise, at least 0.
      seed: integer seed or None. Each call draws new noise from TensorFlow's generator. With a seed and
        `tf.random.set_seed` runs repeat, except under XLA, whose generator takes no seed.
      lists: `"rows"` or `"batch"`, see `ListLoss`.
      padding: which labels mark padding, see `ListLoss`.
      reduction: see `ListLoss`.
      name: name of the loss.
      dtype: see `ListLoss`.

    `y_true`, `y_pred`, masks and weights: see `ListLoss`. A list without any pair gives 0. A NaN label or a score that
    is not finite makes the loss of its list NaN. Only the scores have a gradient, and there are no second derivatives.

    TF-Ranking's `YetiLogisticLoss` is the sum over pairs, n times as large, divided by `batch * n`. See the
    documentation, "Coming from TF-Ranking: losses".

    Raises:
      ValueError: `temperature` is not positive, `num_samples` is below 1, `noise_scale` is negative, a weight is
        negative, a name is unknown, or shapes do not match.
      TypeError: an argument has another type, or `y_pred` is not floating-point.

    Cost: O(n^2) time per sample, including the gradient, and the memory of one block of pairs.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> labels, scores = tf.constant([[2.0, 0.0, 1.0]]), tf.constant([[9.0, -9.0, 0.0]])
    >>> float(ks.YetiLogisticLoss(seed=1)(labels, scores)) < 1.5
    True

    Source: I. Lyzhin, A. Ustimenko, A. Gulin, L. Prokhorenkova, "Which Tricks are Important for Learning to Rank?",
    ICML 2023; A. Gulin, I. Kuralenok, D. Pavlov, "Winning The Transfer Learning Track of Yahoo!'s Learning To Rank
    Challenge with YetiRank", JMLR Workshop 14, 2011.
    """

    _operator = staticmethod(yeti_logistic)
    _options = ("temperature", "lambda_weight", "normalization", "num_samples", "noise_scale", "seed")

    def __init__(
        self,
        temperature: float = 1.0,
        *,
        lambda_weight: str | LambdaWeight | None = None,
        normalization: str = "pairs",
        num_samples: int = 8,
        noise_scale: float = 1.0,
        seed: int | None = None,
        lists: str = "rows",
        padding: str | None = "negative_labels",
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "yeti_logistic",
        dtype: Any = None,
    ) -> None:
        super().__init__(lists=lists, padding=padding, reduction=reduction, name=name, dtype=dtype)
        self.temperature = arguments.positive_number("temperature", temperature)
        self.lambda_weight = checked_lambda_weight(lambda_weight)
        self.normalization = arguments.one_of("normalization", normalization, NORMALIZATIONS)
        self.num_samples = arguments.positive_integer("num_samples", num_samples)
        self.noise_scale = arguments.non_negative_number("noise_scale", noise_scale)
        self.seed = checked_seed(seed)
