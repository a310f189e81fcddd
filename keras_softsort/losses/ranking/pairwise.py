"""Pairwise losses with other costs than RankNet's, and with sampled neighbors."""

from __future__ import annotations

from typing import Any

from keras_softsort._internal.export import export
from keras_softsort.losses._lambda_weight import LambdaWeight
from keras_softsort.losses._score_loss import OperatorLoss
from keras_softsort.ops.ranking.pairwise import (
    pairwise_hinge_loss,
    pairwise_mse_derivatives,
    pairwise_mse_loss,
    pairwise_soft_zero_one_loss,
    yeti_logistic_loss,
)


class _PairwiseLoss(OperatorLoss):
    """A loss of pairs without options of its own."""

    def __init__(
        self,
        tau: float = 1.0,
        *,
        lambda_weight: str | LambdaWeight | None = None,
        normalization: str = "auto",
        **kwargs: Any,
    ) -> None:
        super().__init__(locals(), **kwargs)


@export
class PairwiseHingeLoss(_PairwiseLoss, operator=pairwise_hinge_loss):
    """Compute the hinge loss of the pairs of items with different labels.

    Use it for preferences if pairs that are in the right order by a margin should no longer change. By default a label
    below 0 marks padding.

    A pair with label_i > label_j and scores s costs `max(0, 1 - (s_i - s_j) / tau)`, times the weight of item i, the
    more relevant one, times the pair's lambda weight. Pairs in the right order by at least `tau` cost 0.

    Args:
      tau: temperature, a positive number in units of the scores.
      lambda_weight: the metric to optimize, as in `RankNetLoss`, or a `LambdaWeight` with its options.
      normalization: divisor of the sum over the pairs of a list: `"auto"`, `"pairs"`, `"list"` or `"none"`, see
        `RankNetLoss`.
      **kwargs: `scale`, see `ScoreLoss`; `lists`, `padding`, `reduction`, `name` and `dtype`, see `ListLoss`.

    Masks, weights, lists without pairs, numbers that are not finite, and gradients: as in `RankNetLoss`.

    TF-Ranking's `PairwiseHingeLoss` is the sum over pairs divided by `batch * n`, padding included. See the
    documentation, "Coming from TF-Ranking: losses".

    Raises:
      ValueError: `tau` is not positive, a name is unknown, shapes do not match, or a weight is negative.
      TypeError: an argument has another type, or `y_pred` is not floating-point.
      InvalidArgumentError: a weight is negative in a traced function (not checked under XLA).

    Cost: O(n^2) time, including the gradient, and the memory of one block of pairs.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> labels, scores = tf.constant([[2.0, 0.0, 1.0]]), tf.constant([[0.5, 0.2, 0.9]])
    >>> round(float(ks.PairwiseHingeLoss()(labels, scores)), 4)
    0.8

    Source: R. Herbrich, T. Graepel, K. Obermayer, "Large Margin Rank Boundaries for Ordinal Regression", Advances in
    Large Margin Classifiers, 2000.
    """


@export
class PairwiseMSELoss(_PairwiseLoss, operator=pairwise_mse_loss, derivatives=pairwise_mse_derivatives):
    """Compute the squared error of the score differences of all pairs.

    Use it for numeric targets if only their differences within a list matter, and for distillation. By default a label
    below 0 marks padding.

    A pair of items i and j with labels y and scores s costs `((s_i - s_j) / tau - (y_i - y_j))^2`, times the mean
    weight of the two items, times the pair's lambda weight. Pairs of equal labels count. Each pair counts once.

    Args:
      tau: temperature, a positive number in units of the scores.
      lambda_weight: the metric to optimize, as in `RankNetLoss`, or a `LambdaWeight` with its options.
      normalization: divisor of the sum over the pairs of a list: `"auto"`, `"pairs"`, `"list"` or `"none"`, see
        `RankNetLoss`.
      **kwargs: `scale`, see `ScoreLoss`; `lists`, `padding`, `reduction`, `name` and `dtype`, see `ListLoss`.

    Masks, weights and gradients: as in `RankNetLoss`. A list of fewer than two items gives 0 and has zero gradient. A
    score or label that is not finite makes the result of its list NaN.

    TF-Ranking's `PairwiseMSELoss` is the sum over pairs divided by `batch * n`, padding included. See the
    documentation, "Coming from TF-Ranking: losses".

    Raises:
      ValueError: `tau` is not positive, a name is unknown, shapes do not match, or a weight is negative.
      TypeError: an argument has another type, or `y_pred` is not floating-point.
      InvalidArgumentError: a weight is negative in a traced function (not checked under XLA).

    Cost: O(n^2) time, including the gradient, and the memory of one block of pairs.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> labels, scores = tf.constant([[2.0, 0.0, 1.0]]), tf.constant([[0.5, 0.2, 0.9]])
    >>> round(float(ks.PairwiseMSELoss()(labels, scores)), 4)
    1.6467

    Source: R. Pasumarthi et al., "TF-Ranking: Scalable TensorFlow Library for Learning-to-Rank", KDD 2019
    (`PairwiseMSELoss`).
    """


@export
class PairwiseSoftZeroOneLoss(_PairwiseLoss, operator=pairwise_soft_zero_one_loss):
    """Compute the soft zero-one loss of the pairs of items with different labels.

    Use it for labels with errors, since a pair never costs more than 1. By default a label below 0 marks padding.

    A pair with label_i > label_j and scores s costs `1 / (1 + exp((s_i - s_j) / tau))`, times the weight of
    item i, the more relevant one, times the pair's lambda weight. As the temperature goes to 0 this counts the pairs in
    the wrong order, so the mean over pairs becomes (1 - Kendall's tau) / 2.

    Args:
      tau: temperature, a positive number in units of the scores.
      lambda_weight: the metric to optimize, as in `RankNetLoss`, or a `LambdaWeight` with its options.
      normalization: divisor of the sum over the pairs of a list: `"auto"`, `"pairs"`, `"list"` or `"none"`, see
        `RankNetLoss`.
      **kwargs: `scale`, see `ScoreLoss`; `lists`, `padding`, `reduction`, `name` and `dtype`, see `ListLoss`.

    Masks, weights, lists without pairs, numbers that are not finite, and gradients: as in `RankNetLoss`.

    TF-Ranking's `PairwiseSoftZeroOneLoss` is the sum over pairs divided by `batch * n`, padding included. See the
    documentation, "Coming from TF-Ranking: losses".

    Raises:
      ValueError: `tau` is not positive, a name is unknown, shapes do not match, or a weight is negative.
      TypeError: an argument has another type, or `y_pred` is not floating-point.
      InvalidArgumentError: a weight is negative in a traced function (not checked under XLA).

    Cost: O(n^2) time, including the gradient, and the memory of one block of pairs.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> labels, scores = tf.constant([[2.0, 0.0, 1.0]]), tf.constant([[0.5, 0.2, 0.9]])
    >>> round(float(ks.PairwiseSoftZeroOneLoss()(labels, scores)), 4)
    0.452

    Source: Y. Song, A. Schwing, R. Zemel, R. Urtasun, "Training Deep Neural Networks via Direct Loss Minimization",
    ICML 2016, for the aim; the smooth count is that of TF-Ranking: R. Pasumarthi et al., "TF-Ranking: Scalable
    TensorFlow Library for Learning-to-Rank", KDD 2019.
    """


@export
class YetiLogisticLoss(OperatorLoss, operator=yeti_logistic_loss):
    """Compute the logistic loss of neighbors in orders sampled from the scores: YetiLoss.

    A strong loss in gradient boosting (CatBoost's YetiRank), here for networks. By default a label below 0 marks
    padding.

    A sample is `s_i + noise_scale G_i` with independent standard Gumbel noise G. In each sample a pair with label_i >
    label_j costs `log(1 + exp(-(s_i - s_j) / tau))`, times the weight of item i, times the lambda weight of the
    pair. By default the lambda weight is above 0 only for items that are neighbors in the order of the sample. The
    result is the mean over samples.

    Args:
      tau: temperature, a positive number in units of the scores.
      lambda_weight: the name of a metric or a `LambdaWeight`, see `RankNetLoss`; None for `LambdaWeight("dcg",
        version=2, neighbors_only=True)`.
      normalization: divisor of the sum over the pairs of a list: `"auto"`, `"pairs"`, `"list"` or `"none"`, see
        `RankNetLoss`.
      num_samples: number of samples of each list.
      noise_scale: factor of the Gumbel noise, at least 0.
      seed: integer seed or None. Each call draws new noise from TensorFlow's generator. With a seed and
        `tf.random.set_seed` runs repeat, except under XLA, whose generator takes no seed.
      **kwargs: `scale`, see `ScoreLoss`; `lists`, `padding`, `reduction`, `name` and `dtype`, see `ListLoss`.

    `y_true`, `y_pred`, masks and weights: see `ListLoss`. A list without any pair gives 0. A NaN label or a score that
    is not finite makes the loss of its list NaN. Only the scores have a gradient, and there are no second derivatives.

    TF-Ranking's `YetiLogisticLoss` is the sum over pairs, n times as large, divided by `batch * n`. See the
    documentation, "Coming from TF-Ranking: losses".

    Raises:
      ValueError: `tau` is not positive, `num_samples` is below 1, `noise_scale` is negative, a weight is
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

    def __init__(
        self,
        tau: float = 1.0,
        *,
        lambda_weight: str | LambdaWeight | None = None,
        normalization: str = "auto",
        num_samples: int = 8,
        noise_scale: float = 1.0,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(locals(), **kwargs)
