"""The squared error of the differences of all pairs of a list."""

from __future__ import annotations

from keras_softsort._internal.export import export
from keras_softsort.losses.pairwise._pairwise_loss import PairwiseLoss
from keras_softsort.ops.ranking.pairwise.pairwise_mse import pairwise_mse


@export
class PairwiseMSELoss(PairwiseLoss):
    """Compute the squared error of the score differences of all pairs.

    Use it for numeric targets if only their differences within a list matter, and for distillation. By default a label
    below 0 marks padding.

    A pair of items i and j with labels y and scores s costs `((s_i - s_j) / temperature - (y_i - y_j))^2`, times the
    mean weight of the two items, times the pair's lambda weight. Pairs of equal labels count. Each pair counts once.

    Args:
      temperature: positive number, in units of the scores.
      lambda_weight: the metric to optimize, as in `RankNetLoss`, or a `LambdaWeight` with its options.
      normalization: divisor of the sum over the pairs of a list: `"pairs"`, `"list"` or `"none"`, see `RankNetLoss`.
      lists: `"rows"` or `"batch"`, see `ListLoss`.
      padding: which labels mark padding, see `ListLoss`.
      reduction: see `ListLoss`.
      name: name of the loss.
      dtype: see `ListLoss`.

    Masks, weights and gradients: as in `RankNetLoss`. A list of fewer than two items gives 0 and has zero gradient. A
    score or label that is not finite makes the result of its list NaN.

    TF-Ranking's `PairwiseMSELoss` is the sum over pairs divided by `batch * n`, padding included. See the
    documentation, "Coming from TF-Ranking: losses".

    Raises:
      ValueError: `temperature` is not positive, a name is unknown, shapes do not match, or a weight is negative.
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

    default_name = "pairwise_mse"
    _operator = staticmethod(pairwise_mse)
