"""The negative log-likelihood of the labels' order under the Plackett-Luce model: ListMLE."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from keras_softsort._internal.export import export
from keras_softsort.losses._functions import read_function
from keras_softsort.losses._operator_loss import ScoreOperatorLoss
from keras_softsort.ops.ranking._likelihood import list_mle_options
from keras_softsort.ops.ranking.listwise.list_mle import list_mle


@export
class PlackettLuceLoss(ScoreOperatorLoss):
    """Negative log-likelihood of the order of the labels under the Plackett-Luce model of the scores (ListMLE).

    In this model the items are chosen one after another, each with a probability proportional to exp(score). It is a
    good first loss for learning to rank: fast on long lists, with few arguments. By default a label below 0 marks
    padding.

    For a list of m items in descending order of their labels, with logits a and weights w (1 by default):
    `-sum_i w_i (a_i - logsumexp_{j >= i} a_j)` over the first min(k, m) ranks i. It is not divided by the list size, so
    `k=1` is the conditional logit.

    Args:
      k: number of ranks that count, those of the largest labels; None for all.
      ties: rule for items with equal labels. `"breslow"`: each of them is chosen from all items that are not ranked
        before their group, as for tied times in Cox's model. If only p ranks of a group of g items count, because the
        k-th rank lies within it, each item costs p / g of that. This rule does not depend on the order of the items.
        `"first"`: items with equal labels are ranked in the order of the list.
      temperature: positive number by which the logits are divided first.
      discount: the weight of the term of rank r: None, 1; `"log2"`, 1 / log2(1 + r); `"reciprocal"`, 1 / r; or a
        function of a tensor of ranks, saved with a model if it is registered with Keras. This is position-aware
        ListMLE. Tied items have the mean of their ranks' weights.
      lists: `"rows"` or `"batch"`, see `ListLoss`.
      padding: which labels mark padding, see `ListLoss`.
      reduction: see `ListLoss`.
      name: name of the loss.
      dtype: see `ListLoss`.

    `y_true`, `y_pred` (logits of any size), masks and weights: see `ListLoss`. A weight multiplies the term of the item
    that is chosen. An item with a logit of -inf cannot be chosen. If it is ranked before an item that can be chosen, or
    tied with it under `"breslow"`, the loss is infinite, unless its weight is 0; ranked after all of them it costs 0. A
    NaN among the labels or logits of a list, or a logit of +inf, makes its loss NaN.

    Without ties, padding and `k` this is `ListMLELoss` of TF-Ranking and of Keras-RS. TF-Ranking breaks ties at random,
    Keras-RS as `"first"`; padding changes TF-Ranking's value.

    Raises:
      ValueError: `k` is below 1, `temperature` is not positive, a name is unknown, or shapes do not match.
      TypeError: `k` is not an integer, `y_pred` is not floating-point.

    Cost: that of `ops.list_mle`: a sort and O(n) per list; O(n^1.5) if logits span more than 600.

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

    _operator = staticmethod(list_mle)
    _options = ("k", "ties", "temperature", "discount")

    def __init__(
        self,
        *,
        k: int | None = None,
        ties: str = "breslow",
        temperature: float = 1.0,
        discount: str | Callable | None = None,
        lists: str = "rows",
        padding: str | None = "negative_labels",
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "plackett_luce",
        dtype: Any = None,
    ) -> None:
        super().__init__(lists=lists, padding=padding, reduction=reduction, name=name, dtype=dtype)
        options = list_mle_options(k, ties, temperature, read_function(discount))
        self.k, self.ties, self.temperature, self.discount = options
