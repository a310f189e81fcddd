"""RankNet and LambdaRank: the logistic loss of the pairs of a list."""

from __future__ import annotations

from typing import Any

from keras_softsort._internal.export import export
from keras_softsort.losses._lambda_weight import LambdaWeight
from keras_softsort.losses._score_loss import OperatorLoss
from keras_softsort.ops.ranking.ranknet import ranknet_derivatives, ranknet_loss


@export
class RankNetLoss(OperatorLoss, operator=ranknet_loss, derivatives=ranknet_derivatives):
    """The logistic loss of all pairs of items with different labels: RankNet, LambdaRank and LambdaLoss.

    Use `RankNetLoss()` for preferences between items, and `RankNetLoss(lambda_weight="ndcg")`, which is LambdaRank, to
    compare with LightGBM's LambdaMART. For graded relevance start with `UniqueSoftmaxLoss` or `ApproxRankMSELoss`. By
    default a label below 0 marks padding.

    A pair with label_i > label_j and scores s costs `C_ij = log(1 + exp(-(s_i - s_j) / tau))`, times the weight of item
    i, the more relevant one, times the lambda weight of the pair. The loss of a list is the sum over its pairs, divided
    as `normalization` says. Weights and padding do not change the divisor.

    Args:
      tau: temperature, a positive number in units of the scores. The smaller it is, the faster the cost of a pair falls
        with the difference of its scores. RankNet's sigma is 1 / tau.
      lambda_weight: the metric to optimize. The weight of a pair is the change of the metric if its two items were
        swapped in the current order of the scores. It has no gradient. Items with equal scores are ranked in the order
        of the list. None gives all pairs weight 1. With ranks r, gains g, discount D, and the ideal DCG m (the largest
        DCG that the labels allow), the weights are:

        - `"ndcg"`: `|g_i - g_j| |D(r_i) - D(r_j)| / m` (LambdaRank);
        - `"dcg"`: the same with m = 1;
        - `"mrr"`: the same as `"ndcg"` with g the label and D(r) = 1 / r;
        - `"map"`: the change of average precision; items are relevant from a label of 1 on;
        - `"precision"`: 1 if the swap changes the number of relevant items among the first `k`, else 0;
        - `"label_diff"`: `|label_i - label_j|`, which does not depend on the ranks;
        - a `LambdaWeight`: one of these with options, such as the number of ranks that count. `"precision"` needs it.
      ties: rule for pairs of equal labels. `"ignore"` leaves them out. With `"half"` they cost the cross-entropy with a
        target of 1/2, `(C_ij + C_ji) / 2`, times the mean weight of the two items. With a lambda weight they cost 0.
      normalization: divisor of the sum over the pairs of a list. `"pairs"`: their number, which gives the mean cost of
        a pair. `"list"`: the number of items. `"none"`: 1. `"auto"`: `"none"` with a lambda weight, because the mean
        over pairs would make long lists count less, and `"pairs"` without.
      **kwargs: `scale`, see `ScoreLoss`; `lists`, `padding`, `reduction`, `name` and `dtype`, see `ListLoss`.

    `y_true`, `y_pred`, masks and weights: see `ListLoss`. Weights must not be negative. A list without any pair gives 0
    and has zero gradient. A NaN label or a score that is not finite makes the loss of its list NaN. So does, for
    `"ndcg"` and `"mrr"`, a label below 0 that is not padding. Only the scores have a gradient, and there are no second
    derivatives.

    `PairwiseLogisticLoss` of TF-Ranking and of Keras-RS, whose `temperature` is tau, is the mean over all
    `batch * n` items, padding included, of the sum of each item's pairs: this loss with `normalization="none"`, divided
    by n. There, too, a pair has the weight of its more relevant item. TF-Ranking's lambda weights are n times as
    large: `NDCGLambdaWeight()` is `LambdaWeight("ndcg", smooth_fraction=0)`; `DCGLambdaWeight()` is
    `LambdaWeight("dcg", smooth_fraction=0, gain="linear", discount="reciprocal")`;
    `create_reciprocal_rank_lambda_weight()` is `LambdaWeight("mrr", smooth_fraction=0)`. `PrecisionLambdaWeight(k)`,
    which is not scaled, is `LambdaWeight("precision", k=k)`. TF-Ranking has
    no weight for average precision, and ranks items with equal scores at random.

    Raises:
      ValueError: `tau` is not positive, a name is unknown, shapes do not match, or a weight is negative.
      TypeError: an argument has another type, or `y_pred` is not floating-point.
      InvalidArgumentError: a weight is negative in a traced function (not checked under XLA).

    Cost: O(n^2) time, including the gradient, and the memory of one block of pairs.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> labels, scores = tf.constant([[2.0, 0.0, 1.0]]), tf.constant([[0.5, 0.2, 0.9]])
    >>> round(float(ks.RankNetLoss()(labels, scores)), 4)
    0.6235
    >>> round(float(ks.RankNetLoss(lambda_weight="ndcg")(labels, scores)), 4)
    0.3011

    In a model, one `Dense(1)` per item gives the scores `[batch, n, 1]`:

    >>> model = tf.keras.Sequential([tf.keras.Input((None, 5)), tf.keras.layers.Dense(1)])
    >>> model.compile("adam", loss=ks.RankNetLoss(lambda_weight=ks.losses.LambdaWeight("ndcg", k=10)))

    Source: C. Burges, T. Shaked, E. Renshaw, A. Lazier, M. Deeds, N. Hamilton, G. Hullender, "Learning to Rank using
    Gradient Descent", ICML 2005; C. Burges, "From RankNet to LambdaRank to LambdaMART: An Overview", MSR-TR-2010-82,
    2010; X. Wang, C. Li, N. Golbandi, M. Bendersky, M. Najork, "The LambdaLoss Framework for Ranking Metric
    Optimization", CIKM 2018.
    """

    def __init__(
        self,
        tau: float = 1.0,
        *,
        lambda_weight: str | LambdaWeight | None = None,
        ties: str = "ignore",
        normalization: str = "auto",
        **kwargs: Any,
    ) -> None:
        super().__init__(locals(), **kwargs)
