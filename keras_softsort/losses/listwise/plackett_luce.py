"""The negative log-likelihood of the labels' order under the Plackett-Luce model: ListMLE."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.keras_compat import register
from keras_softsort.losses._score_loss import ScoreLoss
from keras_softsort.ops.ranking.listwise.list_mle import TIES, list_mle


@register
class PlackettLuceLoss(ScoreLoss):
    """Negative log-likelihood of the labels' order, items being chosen one after another by their scores: ListMLE.

    A good first loss for learning to rank: fast on long lists, with few arguments. By default a label below 0 marks
    padding.

    For a list of m items in descending order of their labels, with logits a and weights w (1 by default):
    `-sum_i w_i (a_i - logsumexp_{j >= i} a_j)` over the first min(k, m) ranks i. A list's likelihood is not divided by
    its length, so `k=1` is that of the conditional logit.

    Args:
      k: number of ranks that count, those of the largest labels; None for all. More than a list has are all of it.
      ties: what items with equal labels cost. `"breslow"`: each is chosen from all items that are not ranked before its
        group, the rule of that name for tied times in Cox' model. If the k-th rank lies within a group of g items, of
        which p ranks count, each item costs p / g of that. The value does not depend on the order of the items.
        `"first"`: equal labels are ranked as they stand in the list, and cost what that order does.
      lists: `"rows"` or `"batch"`, see `ListLoss`.
      padding: which labels mark padding, see `ListLoss`.
      reduction: see `ListLoss`.
      name: name of the loss.
      dtype: see `ListLoss`.

    `y_true`, `y_pred` (logits of any size), masks and weights: see `ListLoss`. Weights multiply the terms of the items
    chosen. An item with logit -inf cannot be chosen: ranked before one that can, or tied with it under `"breslow"`, it
    costs infinity unless its weight is 0; after all of them it costs 0. A NaN among a list's labels or logits, or a
    logit of +inf, makes that list's loss NaN.

    Without ties, padding and `k` this is `ListMLELoss` of TF-Ranking and of Keras-RS. TF-Ranking breaks ties at random,
    Keras-RS as `"first"`; padding changes TF-Ranking's value.

    Raises:
      ValueError: `k` < 1, an unknown name, shapes that do not match.
      TypeError: `k` is not an integer, `y_pred` is not floating-point.

    Cost: that of `ops.list_mle`: a sort and O(n) per list; O(n^1.5) where logits span more than 600.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> labels, logits = tf.constant([[2.0, 0.0, 1.0]]), tf.math.log([[3.0, 1.0, 2.0]])
    >>> round(float(tf.exp(-ks.PlackettLuceLoss()(labels, logits))), 6)  # 3 / (3 + 2 + 1) * 2 / (2 + 1)
    0.333333
    >>> round(float(tf.exp(-ks.PlackettLuceLoss(k=1)(labels, logits))), 6)
    0.5

    Source: F. Xia, T.-Y. Liu, J. Wang, W. Zhang, H. Li, "Listwise Approach to Learning to Rank: Theory and Algorithm",
    ICML 2008; the first k: Y. Lan, T.-Y. Liu, Z. Ma, H. Li, "Generalization Analysis of Listwise Learning-to-Rank
    Algorithms", ICML 2009, and F. Xia, T.-Y. Liu, H. Li, "Statistical Consistency of Top-k Ranking", NIPS 2009; the
    model: R. D. Luce, "Individual Choice Behavior", 1959, and R. L. Plackett, "The Analysis of Permutations",
    Applied Statistics 24, 1975; ties: N. Breslow, "Covariance Analysis of Censored Survival Data", Biometrics 30, 1974.
    """

    def __init__(
        self,
        *,
        k: int | None = None,
        ties: str = "breslow",
        lists: str = "rows",
        padding: str | None = "negative_labels",
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "plackett_luce",
        dtype: Any = None,
    ) -> None:
        super().__init__(lists=lists, padding=padding, reduction=reduction, name=name, dtype=dtype)
        self.k = None if k is None else arguments.positive_integer("k", k)
        self.ties = arguments.one_of("ties", ties, TIES)

    def score_losses(self, scores: tf.Tensor, labels: tf.Tensor, *, mask: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
        """The loss of each list: [batch]."""
        return list_mle(scores, labels, k=self.k, ties=self.ties, mask=mask, weights=weights)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {
            **super().get_config(),
            "k": self.k,
            "ties": self.ties,
        }
