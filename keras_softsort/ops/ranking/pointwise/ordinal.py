"""The cross-entropy of the levels that a label reaches."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort.ops.ranking._lists import RankingLists, finite_item_logits, item_logit_arguments, per_list
from keras_softsort.ops.ranking.pointwise._items import checked_normalization, item_mean


def ordinal(
    logits: Any,
    labels: Any,
    *,
    use_fraction_label: bool = False,
    normalization: str = "list",
    mask: Any = None,
    weights: Any = None,
) -> tf.Tensor:
    """Compute the binary cross-entropy of each level of an ordinal label.

    The m logits of an item say whether its label reaches the levels 1, ..., m. With weights w (1 by default) an item
    costs `w_i` times the sum over the levels l of the binary cross-entropy of logit l with the target 1 if `y_i >= l`,
    else 0. The sum of the m sigmoids is the expected label.

    Args:
      logits: `[..., n, m]` floating-point, one per level.
      labels: `[..., n]` numbers of at least 0, up to m.
      use_fraction_label: whether a label between two levels counts for the upper one in proportion: 1.2 has the targets
        1 and 0.2.
      normalization: what the sum over items is divided by: `"list"`, the number of valid items, or `"none"`, 1.
      mask: bool `[..., n]`, True for valid items.
      weights: numbers that broadcast against `[..., n]`; they multiply the terms of the sum.

    Returns:
      `[...]` in the dtype of `logits`. Masked items take no part. Empty lists give 0. A logit or label that is not
      finite makes its list's result NaN.

    Raises:
      TypeError: `logits` are not floating-point, an argument of another type.
      ValueError: an unknown `normalization`, shapes that do not match.

    Cost: O(n m) time and memory per list.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> round(float(ks.ops.ordinal(tf.constant([[0.6, 0.2], [0.8, 0.3]]), [1.0, 0.0])), 4)
    1.6305

    Source: Z. Niu, M. Zhou, L. Wang, X. Gao, G. Hua, "Ordinal Regression with Multiple Output CNN for Age Estimation",
    CVPR 2016; R. Pobrotyn, T. Bartczak, M. Synowiec, R. Bialobrzeski, J. Bojar, "Context-Aware Learning to Rank with
    Self-Attention", SIGIR eCom 2020.
    """
    arguments.boolean("use_fraction_label", use_fraction_label)
    args = item_logit_arguments(logits, labels, mask, weights)
    return _losses(args, use_fraction_label, checked_normalization(normalization))


@per_list(finite_item_logits)
def _losses(lists: RankingLists, use_fraction_label: bool, normalization: str) -> tf.Tensor:
    levels = tf.cast(tf.range(1, tf.shape(lists.scores)[-1] + 1), lists.labels.dtype)
    reached = lists.labels[..., tf.newaxis] - levels + 1
    if not use_fraction_label:
        reached = tf.floor(reached)
    targets = tf.clip_by_value(reached, 0, 1)
    costs = tf.nn.sigmoid_cross_entropy_with_logits(targets, lists.scores)
    return item_mean(lists, tf.reduce_sum(costs, axis=-1), normalization)
