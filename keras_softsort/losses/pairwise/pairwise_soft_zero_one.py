"""The soft zero-one loss of all pairs of a list."""

from __future__ import annotations

from keras_softsort._internal.keras_compat import register
from keras_softsort.losses.pairwise._pairwise_loss import PairwiseLoss
from keras_softsort.ops.ranking.pairwise.pairwise_soft_zero_one import pairwise_soft_zero_one


@register
class PairwiseSoftZeroOneLoss(PairwiseLoss):
    """Compute the soft zero-one loss of the pairs of items with different labels.

    For labels with errors, since a pair never costs more than 1. By default a label below 0 marks padding.

    A pair with label_i > label_j and scores s costs `1 / (1 + exp((s_i - s_j) / temperature))`, times the weight of
    item i, the more relevant one, times the pair's lambda weight. As the temperature goes to 0 this counts the pairs in
    the wrong order, so the mean over pairs becomes (1 - Kendall's tau) / 2.

    Args:
      temperature: positive number, in units of the scores.
      lambda_weight: the metric to optimize: None, a name (`"ndcg"`, `"dcg"`, `"mrr"`, `"map"`, `"label_diff"`), or a
        `LambdaWeight` with its options; see `RankNetLoss` for what they weigh.
      normalization: divisor of the sum over the pairs of a list. `"pairs"`: their number, which gives the mean cost of
        a pair. `"list"`: the number of items. `"none"`: 1.
      lists: `"rows"` or `"batch"`, see `ListLoss`.
      padding: which labels mark padding, see `ListLoss`.
      reduction: see `ListLoss`.
      name: name of the loss.
      dtype: see `ListLoss`.

    `y_true`, `y_pred`, masks and weights: see `ListLoss`. Weights must not be negative. A list without any pair gives 0
    and has zero gradient. A NaN label, or a score that is not finite, makes the result of its list NaN.
    Only the scores have a gradient, and there are no second derivatives.

    TF-Ranking's `PairwiseSoftZeroOneLoss` is the sum over pairs divided by `batch * n`, padding included: see the
    documentation, "Coming from TF-Ranking: losses".

    Raises:
      ValueError: `temperature` <= 0, an unknown name, shapes that do not match, a negative weight.
      TypeError: an argument of another type, `y_pred` is not floating-point.
      InvalidArgumentError: a negative weight in a traced function (not checked under XLA).

    Cost: O(n^2) time, including the gradient, and the memory of one block of pairs.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> labels, scores = tf.constant([[2.0, 0.0, 1.0]]), tf.constant([[0.5, 0.2, 0.9]])
    >>> round(float(ks.PairwiseSoftZeroOneLoss()(labels, scores)), 4)
    0.452

    Source: Y. Song, A. Schwing, R. Zemel, R. Urtasun, "Training Deep Neural Networks via Direct Loss Minimization",
    ICML 2016, for the aim; the smooth count is that of TF-Ranking, R. Pasumarthi et al., "TF-Ranking: Scalable
    TensorFlow Library for Learning-to-Rank", KDD 2019.
    """

    default_name = "pairwise_soft_zero_one"
    function = staticmethod(pairwise_soft_zero_one)
