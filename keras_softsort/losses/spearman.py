"""One minus Spearman's rank correlation, with soft ranks of the scores."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal.keras_compat import register
from keras_softsort._targets.lists import Lists
from keras_softsort.losses._scores import TemperatureLoss
from keras_softsort.ops._core.batching import take
from keras_softsort.ops.sorting import _dispatch
from keras_softsort.ops.sorting._arguments import sort_arguments
from keras_softsort.ops.sorting._methods import registry
from keras_softsort.ops.sorting._ordering import ordered_lists

# Below this share of the spread that the ranks 1, ..., n have, soft ranks count as spread so much.
LEAST_SPREAD = 0.01


@register
class SpearmanLoss(TemperatureLoss):
    """1 - Spearman's rank correlation of labels and scores, from 0 (the right order) to 2 (reversed).

    The correlation of a list is Pearson's, of the ranks of its labels (tied ones at their mean) and the soft ranks
    of its scores, `ops.soft_rank`: `sum_i (r_i - mean r)(q_i - mean q) / sqrt(sum_i (r_i - mean r)^2 sum_i (q_i -
    mean q)^2)` over the items that are kept. The loss is the mean over lists.

    Args:
      tau: temperature of `method`, a positive number in units of its logits (for NeuralSort scores times list size,
        else scores). As it goes to 0 the soft ranks become ranks, tied scores at their mean.
      method: `"neural_sort"`, `"soft_sort"` (with power 1), `"projection"`, `"projection_kl"` or `"lapsum"`, as in
        `ops.soft_rank`. Projections have no gradient between scores that they do not pool: choose their tau well
        above the distance of neighbours.
      reduction: `"sum_over_batch_size"` (mean over lists), `"sum"`, or `None` or `"none"`: each list's.
      name: of the loss.

    Call arguments: `y_true` `[batch, n]`, labels from 0 on, one below 0 being padding; `y_pred` `[batch, n]`, scores,
    large for large labels (both dense or ragged); `sample_weight` `[batch]`, `[batch, 1]` or `[batch, n]`: a list's
    weight, weights of items being averaged over the list. A Keras mask on `y_pred` marks items. Padding changes
    nothing. A list whose labels are all equal has no order to find and costs 0 with zero gradient, and so does one of
    fewer than two items. Soft ranks that are spread by less than a hundredth of what the ranks 1 to n are (by standard
    deviation) are divided by that hundredth: equal scores have correlation 0 and a finite gradient that tells them
    apart. Computed in float32 for half precision. A label or score that is not finite makes its list's loss NaN.

    Raises:
      ValueError: `tau` <= 0, unknown `method` or `reduction`, shapes that do not match.
      TypeError: `tau` is not a number, `y_pred` is not floating-point.

    Cost: that of `ops.soft_rank` a list.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> labels, scores = tf.constant([[1.0, 2.0, 3.0, 4.0]]), tf.constant([[0.1, 0.4, 0.3, 0.9]])
    >>> round(float(ks.SpearmanLoss(tau=1.0)(labels, scores)), 4)
    0.3169
    >>> round(float(ks.SpearmanLoss(tau=0.001)(labels, scores)), 4)  # 1 - 0.8
    0.2

    Source: C. Spearman, "The Proof and Measurement of Association between Two Things", American Journal of
    Psychology 15, 1904; as a loss on soft ranks: M. Blondel, O. Teboul, Q. Berthet, J. Djolonga, "Fast Differentiable
    Sorting and Ranking", ICML 2020.
    """

    def __init__(
        self,
        tau: float = 1.0,
        *,
        method: str = "neural_sort",
        lists: str = "rows",
        padding: str | None = "negative_labels",
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "spearman",
        dtype: Any = None,
    ) -> None:
        super().__init__(tau, lists=lists, padding=padding, reduction=reduction, name=name, dtype=dtype)
        self.method = registry.checked_method(method, "ranks")

    def score_losses(self, lists: Lists, scores: tf.Tensor) -> tf.Tensor:
        """The loss of each list: [batch]."""
        problem = sort_arguments(scores, self.tau, mask=lists.mask, method=self.method, capability="ranks")
        found, wanted = _centered(_dispatch.soft_ranks(problem), lists), _centered_ranks(lists)
        sizes = lists.sizes()
        least = LEAST_SPREAD**2 * sizes * (tf.square(sizes) - 1) / 12
        found_spread = tf.maximum(tf.reduce_sum(tf.square(found), axis=-1), least)
        wanted_spread = tf.reduce_sum(tf.square(wanted), axis=-1)
        ordered = wanted_spread > 0
        product = tf.where(ordered, found_spread * wanted_spread, tf.ones_like(sizes))
        correlation = tf.reduce_sum(found * wanted, axis=-1) / tf.sqrt(product)
        weights = tf.reduce_sum(lists.weights, axis=-1) / sizes
        return tf.where(ordered, weights * (1 - correlation), tf.zeros_like(sizes))

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {**super().get_config(), "method": self.method}


def _centered_ranks(lists: Lists) -> tf.Tensor:
    """The ranks of the labels [batch, n], tied ones at their mean, less the mean of all; 0 where masked.

    That mean is known, so that nothing is rounded and equal labels give 0.
    """
    ordered = ordered_lists(lists.labels, tf.ones([], lists.labels.dtype), lists.mask)
    first, last = ordered.ties()
    twice = tf.cast(take(first + last, ordered.ranks), lists.labels.dtype) - (lists.sizes() - 1)[:, tf.newaxis]
    return tf.where(lists.mask, twice / 2, tf.zeros_like(twice))


def _centered(ranks: tf.Tensor, lists: Lists) -> tf.Tensor:
    """`ranks`, 0 where masked, less their mean over the kept items."""
    means = tf.reduce_sum(ranks, axis=-1) / lists.sizes()
    return tf.where(lists.mask, ranks - means[:, tf.newaxis], tf.zeros_like(ranks))
