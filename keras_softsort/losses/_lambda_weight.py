"""Lambda weights as Keras objects: pairs of a list, weighed by the change of a metric."""

from __future__ import annotations

from typing import Any

from keras_softsort._internal.export import export
from keras_softsort._keras.options import FixedOptions, read_options, written_option
from keras_softsort.ops.ranking import lambda_weights


@export
class LambdaWeight(lambda_weights.LambdaWeight, FixedOptions):
    """The weight of each pair in a pairwise loss: the change of a metric if the two items of the pair were swapped.

    Pass it as `lambda_weight` if the name of a metric is not enough. `LambdaWeight("ndcg")` is the same as `"ndcg"`.
    The weight has no gradient. Items with equal scores are ranked in the order of the list. With ranks r in the current
    order of the scores, gains g, discount D, and the ideal DCG m (the largest DCG that the labels allow), the weights
    are:

    - `"ndcg"`: `|g_i - g_j| |D(r_i) - D(r_j)| / m` (LambdaRank);
    - `"dcg"`: the same with m = 1;
    - `"mrr"`: the same as `"ndcg"` with g the label and D(r) = 1 / r;
    - `"map"`: the change of average precision;
    - `"precision"`: 1 if the swap changes the number of relevant items among the first `k`, else 0;
    - `"label_diff"`: `|label_i - label_j|`, which does not depend on the ranks.

    Args:
      metric: one of these names.
      k: number of ranks that the metric counts, None for all. Required for `"precision"`.
      gain: for `"ndcg"` and `"dcg"`: `"exponential"`, 2^label - 1 (the default), `"linear"`, the label, or a function
        of the labels `[batch, n]`.
      discount: for `"ndcg"` and `"dcg"`: `"log2"`, 1 / log2(1 + r) (the default), `"reciprocal"`, 1 / r, or a function
        of a tensor of ranks, which count from 1.
      smooth_fraction: for `"ndcg"`, `"dcg"` and `"mrr"`: 1 is LambdaRank (the default), 0 is LambdaLoss, and between
        them the two are mixed. LambdaLoss replaces `|D(r_i) - D(r_j)|` by `D(|r_i - r_j|) - D(|r_i - r_j| + 1)` for
        pairs with an item among the first `k`.
      version: for the same metrics: 1 (the default), or 2 for LambdaLoss over all pairs. Version 2 divides the weight
        of a pair with an item after the first `k` by `1 - D(max(r_i, r_j))`.
      neighbors_only: for the same metrics: whether only pairs of neighbors in the current order have a weight, as in
        `YetiLogisticLoss`. The default is False.
      min_label: for `"map"` and `"precision"`: the smallest label of a relevant item. The default is 1.

    Functions must be registered by `keras.utils.register_keras_serializable` to be saved with a model.

    Raises:
      ValueError: a name is unknown; `k` is below 1; `smooth_fraction` is outside [0, 1]; `version` is not 1 or 2; or
        the metric does not use an option that is given.
      TypeError: an argument has another type.

    Example:
      >>> weight = ks.losses.LambdaWeight("ndcg", k=10, discount=lambda ranks: 1 / tf.sqrt(ranks))
      >>> round(float(ks.RankNetLoss(lambda_weight=weight)([[2.0, 0.0, 1.0]], [[0.5, 0.2, 0.9]])), 4)
      0.2485

    Source: C. Burges, "From RankNet to LambdaRank to LambdaMART: An Overview", MSR-TR-2010-82, 2010; X. Wang et al.,
    "The LambdaLoss Framework for Ranking Metric Optimization", CIKM 2018.
    """

    _option_names = ("metric", *lambda_weights.OPTIONS)

    def get_config(self) -> dict[str, Any]:
        return {name: written_option(getattr(self, name)) for name in self._option_names}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> LambdaWeight:
        return cls(**read_options(config))
