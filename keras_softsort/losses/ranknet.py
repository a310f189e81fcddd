"""RankNet and LambdaRank: the logistic loss of the pairs of a list."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.keras_compat import register
from keras_softsort._targets.lists import Lists
from keras_softsort.losses._base import ListLoss
from keras_softsort.ops._core import validation
from keras_softsort.ops.ranking._arguments import NORMALIZATIONS, PairLists, pair_lists, pair_options
from keras_softsort.ops.ranking._pairwise import pair_sums


@register
class RankNetLoss(ListLoss):
    """Logistic loss of each pair of items of which one has the greater label: RankNet, LambdaRank and LambdaLoss.

    A pair with label_i > label_j and scores s costs `C_ij = log(1 + exp(-sigma (s_i - s_j)))`, times the weight of its
    item i, which is the more relevant one, times the pair's lambda weight. A list's loss is the sum over its pairs,
    divided as `normalization` says, by no weights and no padding. The loss is the mean over lists.

    Args:
      sigma: how fast the cost falls with the difference of scores, positive: 1 / temperature.
      lambda_weight: what the swap of a pair's items in the current order of scores would change of a metric, which
        weighs the pair and has no gradient. Items of equal scores are ranked as they stand in the list. With ranks r,
        gains g, the discount D, and m the largest sum of gain times discount that the labels allow: `"ndcg"` is
        `|g_i - g_j| |D(r_i) - D(r_j)| / m` (LambdaRank), `"dcg"` the same with m = 1, `"mrr"` that of `"ndcg"` with
        linear gains and D(r) = 1 / r. Of items that are relevant from a label of 1 on, `"map"` is the change of
        average precision, and `"precision"` 1 where the swap would change how many are relevant among the first
        `top_n`. `None` weighs all pairs alike.
      ties: pairs of equal labels: `"ignore"` leaves them out; with `"half"` they cost the cross-entropy with a target
        of 1/2, `(C_ij + C_ji) / 2`, times the mean weight of the two items. Under a lambda weight they cost 0.
      normalization: what a list's sum is divided by: `"pairs"`, how many pairs it has, so that its loss is the mean
        cost of a pair; `"list"`, how many items it has; `"none"`, 1.
      top_n: how many places the metric counts, `None` for all. Must be given for `"precision"`.
      gain: of `"ndcg"` and `"dcg"`: `"exponential"`, 2^label - 1 (the default), or `"linear"`, the label.
      discount: of `"ndcg"` and `"dcg"`: `"log2"`, 1 / log2(1 + r) (the default), or `"reciprocal"`, 1 / r.
      smooth_fraction: of `"ndcg"`, `"dcg"` and `"mrr"`: the share of `|D(r_i) - D(r_j)|`, from 1, which is LambdaRank
        and the default, to 0, which is LambdaLoss: the rest is of `D(|r_i - r_j|) - D(|r_i - r_j| + 1)`, in pairs
        of which one item is among the first `top_n`.
      reduction: `"sum_over_batch_size"` (mean over lists), `"sum"`, or `None` or `"none"`: each list's.
      name: of the loss.

    Call arguments: `y_true` `[batch, n]`, labels of which one below 0 is padding; `y_pred` `[batch, n]`, scores (both
    dense or ragged); `sample_weight` `[batch]`, `[batch, 1]` or `[batch, n]`, not negative. A Keras mask on `y_pred`
    marks items. Padding changes nothing. A list without any pair costs 0 and has zero gradient. Computed in float32 for
    half precision. A NaN label, or a score that is not finite, makes its list's loss NaN. There is a gradient for
    scores alone, and none of second order.

    `PairwiseLogisticLoss` of TF-Ranking and of Keras-RS, whose temperature is 1 / sigma, is the mean over all
    `batch * n` items, padding included, of each item's pairs: this loss with `normalization="none"`, over n. A pair
    weighs there what its more relevant item does, too. TF-Ranking's lambda weights are n times as large:
    `NDCGLambdaWeight()` is `"ndcg"` with `smooth_fraction=0`, and `DCGLambdaWeight()` is `"dcg"` with that,
    `gain="linear"` and `discount="reciprocal"`; `create_reciprocal_rank_lambda_weight()` is `"mrr"` with it.
    `PrecisionLambdaWeight(k)`, which is not scaled, is `"precision"`. There is none for average precision, and items
    of equal scores are ranked at random.

    Raises:
      ValueError: `sigma` that is not positive, an unknown name, `top_n` below 1, `smooth_fraction` outside [0, 1], an
        argument that the lambda weight does not read, shapes that do not match, a negative weight.
      TypeError: an argument of another type, `y_pred` that is not floating-point.
      InvalidArgumentError: a negative weight in a traced function (under XLA it is not looked at).

    Cost: O(n^2) time, the gradient included; memory of a block of rows of pairs, of which the number is chosen by
    size. Without lambda weights and ties, and while sigma times the range of scores is at most 20 in each list, no
    exponential is taken of a pair.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> labels, scores = tf.constant([[2.0, 0.0, 1.0]]), tf.constant([[0.5, 0.2, 0.9]])
    >>> round(float(ks.RankNetLoss()(labels, scores)), 4)
    0.6235
    >>> round(float(ks.RankNetLoss(lambda_weight="ndcg", normalization="none")(labels, scores)), 4)
    0.3011

    Source: C. Burges, T. Shaked, E. Renshaw, A. Lazier, M. Deeds, N. Hamilton, G. Hullender, "Learning to Rank using
    Gradient Descent", ICML 2005; C. Burges, "From RankNet to LambdaRank to LambdaMART: An Overview", MSR-TR-2010-82,
    2010; X. Wang, C. Li, N. Golbandi, M. Bendersky, M. Najork, "The LambdaLoss Framework for Ranking Metric
    Optimization", CIKM 2018.
    """

    predicts = "scores"

    def __init__(
        self,
        sigma: float = 1.0,
        *,
        lambda_weight: str | None = None,
        ties: str = "ignore",
        normalization: str = "pairs",
        top_n: int | None = None,
        gain: str | None = None,
        discount: str | None = None,
        smooth_fraction: float | None = None,
        lists: str = "rows",
        padding: str | None = "negative_labels",
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "ranknet",
        dtype: Any = None,
    ) -> None:
        super().__init__(lists=lists, padding=padding, reduction=reduction, name=name, dtype=dtype)
        self._options = pair_options(
            sigma,
            ties=ties,
            lambda_weight=lambda_weight,
            top_n=top_n,
            gain=gain,
            discount=discount,
            smooth_fraction=smooth_fraction,
        )
        self.sigma = self._options.sigma
        self.lambda_weight = lambda_weight
        self.ties = ties
        self.normalization = arguments.one_of("normalization", normalization, NORMALIZATIONS)
        self.top_n = self._options.top_n
        self.gain = gain
        self.discount = discount
        self.smooth_fraction = smooth_fraction

    def list_losses(self, lists: Lists, y_pred: tf.Tensor) -> tf.Tensor:
        """The loss of each list: [batch]."""
        weights = validation.non_negative_tensor("sample_weight", lists.weights)

        @tf.custom_gradient
        def summed(scores: tf.Tensor) -> tuple:
            pairs: PairLists = pair_lists(scores, lists.labels, lists.mask, weights, self._options)
            sums = pair_sums(pairs, self._options)
            return (sums.losses, sums.counts), lambda upstream, _: upstream[:, tf.newaxis] * sums.lambdas

        losses, counts = summed(y_pred)
        if self.normalization == "none":
            return losses
        divisors = lists.sizes() if self.normalization == "list" else tf.maximum(counts, 1)
        return losses / tf.stop_gradient(divisors)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        names = ("sigma", "lambda_weight", "ties", "normalization", "top_n", "gain", "discount", "smooth_fraction")
        return {**super().get_config(), **{name: getattr(self, name) for name in names}}
