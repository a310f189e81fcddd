"""Models of clicks: examination and relevance, by expectation maximization and by dual learning; mixtures."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.ops.core.temperature import softmax_logits
from keras_softsort.ops.core.tracing import on_device
from keras_softsort.ops.ranking._items import ITEM_CHECKS, item_mean
from keras_softsort.ops.ranking.lists import ListArguments, RankingLists, finite
from keras_softsort.ops.ranking.operators import logit_operator

if TYPE_CHECKING:
    from typing_extensions import Unpack


@export
@logit_operator(
    finite,
    count=2,
    exam_loss_weight=arguments.non_negative_number,
    rel_loss_weight=arguments.non_negative_number,
    **ITEM_CHECKS,
)
def click_em_loss(
    lists: RankingLists,
    *,
    exam_loss_weight: float = 1.0,
    rel_loss_weight: float = 1.0,
    normalization: str = "list",
    **shared: Unpack[ListArguments],
) -> tf.Tensor:
    """Compute the expectation-maximization loss of clicks as examination times relevance.

    Logits come first and labels second, unlike in Keras and scikit-learn.

    In this model a user clicks an item that is both examined and relevant. The posterior probabilities of both, given
    the clicks, are computed from two logits per item, without gradient; they are 1 for a clicked item. The loss of an
    item is the weighted sum of the binary cross-entropies of the two logits with these probabilities as targets.
    Results, errors and cost are those of `mean_squared_loss`. See `ClickEMLoss` for its use.

    Args:
      logits: `[..., n, 2]` floating-point: first of examination, then of relevance.
      labels: `[..., n]` clicks: 1 or more for a clicked item.
      exam_loss_weight, rel_loss_weight: weights of the cross-entropies of examination and of relevance, at least 0.
      normalization, mask, weights: as in `mean_squared_loss`.

    Example:
      >>> round(float(ks.ops.click_em_loss([[0.6, 0.9], [0.8, 0.2]], [1.0, 0.0])), 4)
      1.1463

    Source: X. Wang et al., "Position Bias Estimation for Unbiased Learning to Rank in Personal Search", WSDM 2018.
    """
    examination, relevance = lists.scores[..., 0], lists.scores[..., 1]
    clicked = lists.labels >= 1
    costs = tf.zeros_like(lists.labels)
    for own, other, weight in (
        (examination, relevance, exam_loss_weight),
        (relevance, examination, rel_loss_weight),
    ):
        # The probability without a click is p (1 - q) / (1 - p q); the argument is its logit.
        posterior = tf.sigmoid(own - tf.math.softplus(other))
        target = tf.stop_gradient(tf.where(clicked, tf.ones_like(posterior), posterior))
        costs += weight * tf.nn.sigmoid_cross_entropy_with_logits(target, own)
    return item_mean(lists, costs, normalization)


def _max_weight(name: str, value: Any) -> float:
    if arguments.positive_number(name, value) < 1:
        raise ValueError(f"{name} must be at least 1, got {value!r}")
    return float(value)


@export
@logit_operator(finite, count=2, max_weight=_max_weight)
def dual_learning_loss(lists: RankingLists, *, max_weight: float = 20.0, **shared: Unpack[ListArguments]) -> tf.Tensor:
    """Compute the loss of dual learning: relevance and examination, each debiased by the other.

    Logits come first and labels second, unlike in Keras and scikit-learn.

    Each item has two logits, e for being examined and r for being relevant. With clicks c and weights w (1 by default)
    the loss is `-sum_i w_i c_i (u_i log softmax(r)_i + v_i log softmax(e)_i)`, where
    `u_i = min(exp(e_1 - e_i), max_weight)` and `v_i = min(exp(r_1 - r_i), max_weight)` have no gradient. Item 1 is the
    first valid item. So a click counts more for relevance the less its place is examined, and the other way round. See
    `DualLearningLoss` for its use.

    Args:
      logits, mask, weights: as in `click_em_loss`.
      labels: `[..., n]` clicks, at least 0.
      max_weight: largest value of u and v, at least 1.

    Lists without a click, and empty lists, give 0. Other results, errors and cost are as in `mean_squared_loss`.

    Example:
      >>> round(float(ks.ops.dual_learning_loss([[0.6, 0.9], [0.2, 0.4]], [0.0, 1.0])), 4)
      2.9585

    Source: Q. Ai et al., "Unbiased Learning to Rank with Unbiased Propensity Estimation", SIGIR 2018.
    """
    towers = tf.unstack(tf.stop_gradient(lists.scores), 2, axis=-1)
    # Not by the index of the first item, which lists without items do not have.
    valid = lists.valid()
    is_first = tf.logical_and(valid, tf.equal(on_device(tf.cumsum(tf.cast(valid, tf.int32), axis=-1)), 1))
    terms = tf.zeros_like(lists.labels)
    for own, other in zip(tf.unstack(lists.scores, 2, axis=-1), reversed(towers), strict=True):
        first = tf.reduce_sum(tf.where(is_first, other, tf.zeros_like(other)), axis=-1, keepdims=True)
        ratios = tf.exp(tf.minimum(first - other, math.log(max_weight)))
        costs = -tf.nn.log_softmax(softmax_logits(own, lists.mask, tf.ones([], own.dtype)))
        terms += tf.math.multiply_no_nan(ratios * costs, lists.weighted(lists.labels))
    return tf.reduce_sum(terms, axis=-1)


@export
@logit_operator(finite, count=None, alpha=arguments.non_negative_number)
def mixture_em_loss(lists: RankingLists, *, alpha: float = 1.0, **shared: Unpack[ListArguments]) -> tf.Tensor:
    """Compute the expectation-maximization loss of a mixture of click models.

    Logits come first and labels second, unlike in Keras and scikit-learn.

    Each item has m logits: the log-odds of a click by m models. With c_im the binary cross-entropy of the click of item
    i under model m, the list has the responsibilities `p_m = softmax_m(-alpha sum_i c_im)`, which have no gradient. The
    loss of the list is `sum_m p_m sum_i w_i c_im`, with weights w (1 by default). See `MixtureEMLoss` for its use.

    Args:
      logits: `[..., n, m]` floating-point, one per model.
      labels: `[..., n]` clicks, from 0 to 1.
      alpha: at least 0. The larger it is, the more a list trains only its best model; 0 trains all equally.
      mask: bool `[..., n]`, True for valid items.
      weights: numbers that broadcast against `[..., n]`. They do not enter p.

    Lists without a click, and empty lists, give 0. The rest is as in `mean_squared_loss`. O(n m) time and memory per
    list.

    Example:
      >>> round(float(ks.ops.mixture_em_loss([[0.6, 0.9], [0.8, 0.2]], [1.0, 0.0])), 4)
      1.3199

    Source: L. Yan et al., "Revisiting Two-tower Models for Unbiased Learning to Rank", SIGIR 2022.
    """
    labels = tf.broadcast_to(lists.labels[..., tf.newaxis], tf.shape(lists.scores))
    costs = tf.nn.sigmoid_cross_entropy_with_logits(labels, lists.scores)
    costs = lists.only_valid(costs)
    chances = tf.stop_gradient(tf.nn.softmax(-alpha * tf.reduce_sum(costs, axis=1)))
    total = tf.reduce_sum(chances * tf.reduce_sum(lists.weighted(costs), axis=1), axis=-1)
    clicked = tf.reduce_sum(lists.labels, axis=-1) > 0
    return tf.where(clicked, total, tf.zeros_like(total))
