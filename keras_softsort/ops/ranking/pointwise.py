"""Losses of each item on its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.ops.ranking._items import ITEM_CHECKS, item_mean
from keras_softsort.ops.ranking.lists import ListArguments, RankingLists, finite
from keras_softsort.ops.ranking.operators import list_operator, logit_operator

if TYPE_CHECKING:
    from typing_extensions import Unpack


@export
@list_operator(finite, **ITEM_CHECKS)
def mean_squared_loss(
    lists: RankingLists, *, normalization: str = "list", **shared: Unpack[ListArguments]
) -> tf.Tensor:
    """Compute the mean squared error of each list's scores.

    Scores come first and labels second, unlike in Keras and scikit-learn.

    An item with score s, label y and weight w (1 by default) costs `w (s - y)^2`. See `MeanSquaredLoss` for its use.

    Args:
      scores: floating-point `[..., n]`.
      labels: numbers `[..., n]` of any sign.
      normalization: divisor of the sum over items. `"list"`: the number of valid items. `"none"`: 1.
      mask: bool `[..., n]`, True for valid items.
      weights: numbers that broadcast against `[..., n]`; they multiply the terms of the sum.

    Returns:
      `[...]` in the dtype of `scores`. Masked items are left out. Empty lists give 0. A score or label that is not
      finite makes its list NaN.

    Raises:
      TypeError: `scores` is not floating-point, or an argument has another type.
      ValueError: `normalization` is unknown, or shapes do not match.

    Cost: O(n) time and memory per list.

    Example:
      >>> round(float(ks.ops.mean_squared_loss([0.6, 0.8], [1.0, 0.0])), 4)
      0.4

    Source: D. Cossock, T. Zhang, "Subset Ranking Using Regression", COLT 2006.
    """
    return item_mean(lists, tf.math.squared_difference(lists.scores, lists.labels), normalization)


@export
@list_operator(finite, **ITEM_CHECKS)
def sigmoid_cross_entropy_loss(
    lists: RankingLists, *, normalization: str = "list", **shared: Unpack[ListArguments]
) -> tf.Tensor:
    """Compute the mean binary cross-entropy of each list's items.

    Scores come first and labels second, unlike in Keras and scikit-learn.

    With logits s, labels y and weights w (1 by default) an item costs `-w_i (y_i log p_i + (1 - y_i) log(1 - p_i))`
    with `p_i = 1 / (1 + exp(-s_i))`. Results, errors and cost are those of `mean_squared_loss`. See
    `SigmoidCrossEntropyLoss` for its use.

    Args:
      scores, normalization, mask, weights: as in `mean_squared_loss`.
      labels: `[..., n]` numbers from 0 to 1; others are taken as they are.

    Example:
      >>> round(float(ks.ops.sigmoid_cross_entropy_loss([0.6, 0.8], [1.0, 0.0])), 4)
      0.8043

    Source: W. Cooper et al., "Probabilistic Retrieval Based on Staged Logistic Regression", SIGIR 1992.
    """
    costs = tf.nn.sigmoid_cross_entropy_with_logits(lists.labels, lists.scores)
    return item_mean(lists, costs, normalization)


@export
@logit_operator(finite, count=None, use_fraction_label=arguments.boolean, **ITEM_CHECKS)
def ordinal_loss(
    lists: RankingLists,
    *,
    use_fraction_label: bool = False,
    normalization: str = "list",
    **shared: Unpack[ListArguments],
) -> tf.Tensor:
    """Compute the binary cross-entropy of each level of an ordinal label.

    Logits come first and labels second, unlike in Keras and scikit-learn.

    Each item has m logits, and logit l is that of the label being at least l, for the levels l = 1, ..., m. The loss of
    an item is the sum over levels of the binary cross-entropy of logit l with the target 1 if `y_i >= l`, else 0, times
    the weight of the item. To rank by such a model, score an item by the sum of its m sigmoids, the expected label.
    Results and errors are those of `mean_squared_loss`; O(n m) time and memory per list. See `OrdinalLoss` for its use.

    Args:
      logits: `[..., n, m]` floating-point, one per level.
      labels: `[..., n]` numbers of at least 0, up to m.
      use_fraction_label: whether a label between two levels has a fractional target for the upper one. The label 1.2
        then has the targets 1 and 0.2, otherwise 1 and 0.
      normalization, mask, weights: as in `mean_squared_loss`.

    Example:
      >>> round(float(ks.ops.ordinal_loss([[0.6, 0.2], [0.8, 0.3]], [1.0, 0.0])), 4)
      1.6305

    Source: Z. Niu et al., "Ordinal Regression with Multiple Output CNN for Age Estimation", CVPR 2016; P. Pobrotyn et
    al., "Context-Aware Learning to Rank with Self-Attention", SIGIR eCom 2020.
    """
    levels = tf.cast(tf.range(1, tf.shape(lists.scores)[-1] + 1), lists.labels.dtype)
    reached = lists.labels[..., tf.newaxis] - levels + 1
    if not use_fraction_label:
        reached = tf.floor(reached)
    targets = tf.clip_by_value(reached, 0, 1)
    costs = tf.nn.sigmoid_cross_entropy_with_logits(targets, lists.scores)
    return item_mean(lists, tf.reduce_sum(costs, axis=-1), normalization)
