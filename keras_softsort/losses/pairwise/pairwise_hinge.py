"""The hinge loss of all pairs of a list."""

from __future__ import annotations

from keras_softsort._internal.export import export
from keras_softsort.losses.pairwise._pairwise_loss import PairwiseLoss
from keras_softsort.ops.ranking.pairwise.pairwise_hinge import pairwise_hinge


@export
class PairwiseHingeLoss(PairwiseLoss):
    """Compute the hinge loss of the pairs of items with different labels.

    Use it for preferences if pairs that are in the right order by a margin should no longer change. By default a label
    below 0 marks padding.

    A pair with label_i > label_j and scores s costs `max(0, 1 - (s_i - s_j) / temperature)`, times the weight of item
    i, the more relevant one, times the pair's lambda weight. Pairs in the right order by at least `temperature` cost 0.

    Args:
      temperature: positive number, in units of the scores.
      lambda_weight: the metric to optimize, as in `RankNetLoss`, or a `LambdaWeight` with its options.
      normalization: divisor of the sum over the pairs of a list: `"pairs"`, `"list"` or `"none"`, see `RankNetLoss`.
      lists: `"rows"` or `"batch"`, see `ListLoss`.
      padding: which labels mark padding, see `ListLoss`.
      reduction: see `ListLoss`.
      name: name of the loss.
      dtype: see `ListLoss`.

    Masks, weights, lists without pairs, numbers that are not finite, and gradients: as in `RankNetLoss`.

    TF-Ranking's `PairwiseHingeLoss` is the sum over pairs divided by `batch * n`, padding included. See the
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
    >>> round(float(ks.PairwiseHingeLoss()(labels, scores)), 4)
    0.8

    Source: R. Herbrich, T. Graepel, K. Obermayer, "Large Margin Rank Boundaries for Ordinal Regression", Advances in
    Large Margin Classifiers, 2000.
    """

    default_name = "pairwise_hinge"
    _operator = staticmethod(pairwise_hinge)
