"""The negative log-likelihood of the labels' order under the Plackett-Luce model: ListMLE, whole or of the first k."""

from __future__ import annotations

import math
from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.keras_compat import register
from keras_softsort._targets.lists import Lists
from keras_softsort.losses._base import ListLoss
from keras_softsort.ops._core.batching import take
from keras_softsort.ops._core.permutations import tied_ranks
from keras_softsort.ops.sampling._plackett_luce import log_shares, subtract_max, suffix_logsumexp

TIES = ("breslow", "first")


@register
class PlackettLuceLoss(ListLoss):
    """Negative log-likelihood of the order of the labels, the items being chosen one after another by log-scores.

    Of a list with m items in descending order of their labels, with log-scores a and weights w (1 by default):
    `-sum_i w_i (a_i - logsumexp_{j >= i} a_j)` over the first min(k, m) places i. A list's likelihood is not divided
    by its length, so that `top_k=1` is that of the conditional logit. The loss is the mean over lists.

    Args:
      top_k: how many places count, those of the largest labels; `None` for all. More than a list has are all of it.
      ties: what items of equal labels cost. `"breslow"`: each is chosen from all that are not placed before its tied
        group, the rule of that name for tied times in Cox' model. If the k-th place lies within a group of g items, of
        which only p places count, each costs p / g of that. The value does not depend on the order of the items.
        `"first"`: equal labels are put in the order in which they stand in the list, and cost what that order does.
      reduction: `"sum_over_batch_size"` (mean over lists), `"sum"`, or `None` or `"none"`: each list's.
      name: of the loss.

    Call arguments: `y_true` `[batch, n]`, labels of which one below 0 is padding; `y_pred` `[batch, n]`, log-scores of
    any size (both dense or ragged); `sample_weight` `[batch]`, `[batch, 1]` or `[batch, n]`, which multiplies the terms
    of the items chosen. A Keras mask on `y_pred` marks items. Padding changes nothing, an empty list costs 0. Computed
    in float32 for half precision. An item of log-score -inf cannot be chosen: placed before one that can, or tied with
    it under `"breslow"`, it costs infinity unless its weight is 0; after them all it costs 0. A NaN among a list's
    labels or log-scores, or a log-score of +inf, makes that list's loss NaN.

    Without ties, padding and `top_k` this is `ListMLELoss` of TF-Ranking and of Keras-RS. TF-Ranking breaks ties at
    random, Keras-RS as `"first"`; padding changes TF-Ranking's value.

    Raises:
      ValueError: `top_k` below 1, unknown `ties` or `reduction`, shapes that do not match.
      TypeError: `top_k` is not an integer, `y_pred` is not floating-point.

    Cost: a sort and O(n) a list; O(n^1.5) where log-scores span more than 600.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> labels, log_scores = tf.constant([[2.0, 0.0, 1.0]]), tf.math.log([[3.0, 1.0, 2.0]])
    >>> round(float(tf.exp(-ks.PlackettLuceLoss()(labels, log_scores))), 6)  # 3 / (3 + 2 + 1) * 2 / (2 + 1)
    0.333333
    >>> round(float(tf.exp(-ks.PlackettLuceLoss(top_k=1)(labels, log_scores))), 6)
    0.5

    Source: F. Xia, T.-Y. Liu, J. Wang, W. Zhang, H. Li, "Listwise Approach to Learning to Rank: Theory and Algorithm",
    ICML 2008; the first k: Y. Lan, T.-Y. Liu, Z. Ma, H. Li, "Generalization Analysis of Listwise Learning-to-Rank
    Algorithms", ICML 2009, and F. Xia, T.-Y. Liu, H. Li, "Statistical Consistency of Top-k Ranking", NIPS 2009; the
    model: R. D. Luce, "Individual Choice Behavior", 1959, and R. L. Plackett, "The Analysis of Permutations",
    Applied Statistics 24, 1975; ties: N. Breslow, "Covariance Analysis of Censored Survival Data", Biometrics 30, 1974.
    """

    predicts = "scores"

    def __init__(
        self,
        *,
        top_k: int | None = None,
        ties: str = "breslow",
        lists: str = "rows",
        padding: str | None = "negative_labels",
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "plackett_luce",
        dtype: Any = None,
    ) -> None:
        super().__init__(lists=lists, padding=padding, reduction=reduction, name=name, dtype=dtype)
        self.top_k = None if top_k is None else arguments.positive_integer("top_k", top_k)
        self.ties = arguments.one_of("ties", ties, TIES)

    def list_losses(self, lists: Lists, y_pred: tf.Tensor) -> tf.Tensor:
        """The loss of each list: [batch]."""
        nowhere = tf.constant(-math.inf, y_pred.dtype)
        # Without NaN and -0.0, which XLA sorts differently.
        is_number = tf.logical_and(tf.not_equal(lists.labels, 0), tf.math.is_finite(lists.labels))
        labels = tf.where(is_number, lists.labels, tf.zeros_like(lists.labels))
        keys = tf.where(lists.mask, labels, nowhere)
        order = tf.argsort(keys, axis=-1, direction="DESCENDING", stable=True)
        chosen = subtract_max(take(tf.where(lists.mask, y_pred, nowhere), order))
        normalizers = suffix_logsumexp(chosen)
        places = tf.cast(tf.range(tf.shape(keys)[1]), y_pred.dtype)
        counted = self._counted(places, tf.ones_like(places))
        if self.ties == "breslow":
            first, last = tied_ranks(take(keys, order))
            normalizers = take(normalizers, first)
            first, sizes = tf.cast(first, y_pred.dtype), tf.cast(last - first + 1, y_pred.dtype)
            counted = self._counted(first, sizes)
        # What does not count may be infinite.
        shares = tf.cast(log_shares(chosen, normalizers), y_pred.dtype)
        terms = tf.math.multiply_no_nan(shares, take(lists.weights, order) * counted)
        wrong = tf.logical_or(tf.math.is_nan(lists.labels), tf.logical_not(y_pred < math.inf))
        wrong = tf.reduce_any(tf.logical_and(lists.mask, wrong), axis=-1)
        # A factor, so that the gradient of such a list is NaN too.
        factors = tf.where(wrong, tf.constant(math.nan, y_pred.dtype), tf.constant(1, y_pred.dtype))
        return factors * tf.reduce_sum(-terms, axis=-1)

    def _counted(self, first: tf.Tensor, sizes: tf.Tensor) -> tf.Tensor:
        """The share of `sizes` places from place `first` on, counted from 0, that lies within the first k."""
        if self.top_k is None:
            return tf.ones_like(sizes)
        return tf.clip_by_value(self.top_k - first, 0, sizes) / sizes

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {**super().get_config(), "top_k": self.top_k, "ties": self.ties}
