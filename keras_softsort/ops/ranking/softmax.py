"""The cross-entropy of the labels, or of their softmax, with softmaxes of the scores: softmax losses and ListNet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.ops.core.choices import choice_costs, choices_of
from keras_softsort.ops.core.order import masked_last
from keras_softsort.ops.core.temperature import relative_scores, softmax_logits
from keras_softsort.ops.ranking.dcg import GAINS, absolute_gains, checked_gains, discounts
from keras_softsort.ops.ranking.lambda_weights import (
    LambdaWeight,
    checked_lambda_weight,
    delta_features,
    lambda_options,
)
from keras_softsort.ops.ranking.lists import Derivatives, RankingLists, TauArguments, finite, finite_with_gain
from keras_softsort.ops.ranking.operators import Held, list_operator

if TYPE_CHECKING:
    from typing_extensions import Unpack

# The gains of smaller labels have a finite sum: a loss is then only infinite because of its scores.
MAX_LABEL_WITH_FINITE_SUMS = 64


def checked_softmax_weight(name: str, value: Any) -> str | LambdaWeight | None:
    """Return `value`, a lambda weight whose discounted gains stand in for the labels, or None."""
    weight = checked_lambda_weight(name, value)
    options = lambda_options(weight)
    if options is None:
        return None
    arguments.one_of(f"{name} of a softmax", options.metric, ("dcg", "mrr", "ndcg"))
    if options.version == 2 or options.neighbors_only or options.smooth_fraction != 1:
        raise ValueError(f"version, neighbors_only and smooth_fraction need pairs of items, got {value!r}")
    return weight


SOFTMAX_WEIGHT = Held(checked_softmax_weight, lambda name, value: lambda_options(checked_softmax_weight(name, value)))


def softmax_losses(lists: RankingLists, lambda_weight: Any = None, poly_epsilon: float = 0.0) -> tf.Tensor:
    """The weighted cross-entropy [B] of the labels, or of their discounted gains, with the softmax of the scores."""
    logs = tf.nn.log_softmax(softmax_logits(lists.scores, lists.mask, lists.tau))
    costs = poly_epsilon * -tf.math.expm1(logs) - logs if poly_epsilon else -logs
    # A cost with weight 0 counts 0, even if it is infinite.
    return tf.reduce_sum(tf.math.multiply_no_nan(costs, _weighted_relevance(lists, lambda_weight)), axis=-1)


def softmax_slopes(lists: RankingLists, lambda_weight: Any = None) -> Derivatives:
    """With shares p and weighted labels y: `sum(y) p - y` and `sum(y) p (1 - p)`, in units of tau."""
    shares = softmax_shares(lists.scores, lists, lists.tau)
    weights, scale = _weighted_relevance(lists, lambda_weight), 1 / lists.tau
    expected = tf.reduce_sum(weights, axis=-1, keepdims=True) * shares
    return Derivatives(scale * (expected - weights), tf.square(scale) * expected * (1 - shares))


def softmax_shares(scores: tf.Tensor, lists: RankingLists, tau: tf.Tensor) -> tf.Tensor:
    """The softmax of the valid `scores` [B, n] in units of `tau`; 0 where masked, also if no item is valid."""
    return lists.only_valid(tf.nn.softmax(softmax_logits(scores, lists.mask, tau)))


def _weighted_relevance(lists: RankingLists, lambda_weight: Any) -> tf.Tensor:
    """The weights times the labels, or times their discounted gains: [B, n]."""
    if lambda_weight is None:
        return lists.weighted(lists.labels)
    features = delta_features(lists, lambda_weight)
    return lists.weighted(features.gains) * discounts(features.ranks, lambda_weight.discount)


@export
@list_operator(finite_with_gain, tau=1.0, lambda_weight=SOFTMAX_WEIGHT, poly_epsilon=arguments.number)
def softmax_loss(
    lists: RankingLists,
    *,
    lambda_weight: str | LambdaWeight | None = None,
    poly_epsilon: float = 0.0,
    **shared: Unpack[TauArguments],
) -> tf.Tensor:
    """Compute the cross-entropy of the labels with the softmax of each list's scores, and PolyLoss.

    Scores come first and labels second, unlike in Keras and scikit-learn.

    With scores s, labels y and weights w (1 by default): `sum_i w_i y_i (poly_epsilon (1 - p_i) - log p_i)`, where
    `p_i = exp(s_i / tau) / sum_j exp(s_j / tau)`. The labels are not divided by their sum, so a list counts in
    proportion to its labels. `list_net_loss` takes a softmax of the labels instead. See `SoftmaxLoss` for its use.

    Args:
      scores: floating-point `[..., n]`.
      labels: relevance `[..., n]`, numbers of at least 0.
      tau: temperature in units of the scores, positive: a number, or a tensor that broadcasts against the leading axes.
      lambda_weight: None, `"ndcg"`, `"dcg"`, `"mrr"` or a `losses.LambdaWeight` of one of these. It replaces each label
        by its gain times the discount of the item's rank in the current order. `"ndcg"` and `"mrr"` also divide by the
        ideal DCG, the only number that `k` changes.
      poly_epsilon: factor of the first term of PolyLoss, `1 - p_i`, which adds to the gradient of likely items.
      mask, weights: as in `mean_squared_loss`.

    Returns:
      `[...]` in the dtype of `scores`. Masked items are left out. Lists without a label above 0, and empty lists, give
      0. A score or label that is not finite, or a label below 0, makes its list NaN.

    Raises:
      TypeError: `scores` is not floating-point, or an argument has another type.
      ValueError: `tau` is not positive, the lambda weight has no meaning for this loss, or shapes do not match.

    Cost: O(n) time and memory per list; a sort with a lambda weight.

    Example:
      >>> round(float(ks.ops.softmax_loss([1.0986123, 0.0, 1.3862944], [1.0, 0.0, 0.0])), 4)
      0.9808

    Source: Z. Cao et al., "Learning to Rank: From Pairwise Approach to Listwise Approach", ICML 2007; S. Bruch et al.,
    "An Analysis of the Softmax Cross Entropy Loss for Learning-to-Rank with Binary Relevance", ICTIR 2019; Z. Leng et
    al., "PolyLoss: A Polynomial Expansion Perspective of Classification Loss Functions", ICLR 2022.
    """
    return softmax_losses(lists, lambda_weight, poly_epsilon)


@softmax_loss.derivatives
def softmax_derivatives(lists: RankingLists, lambda_weight: Any, poly_epsilon: float) -> Derivatives | None:
    """Compute the derivatives of `softmax_loss`; None with `poly_epsilon`, whose second ones may be negative."""
    return None if poly_epsilon else softmax_slopes(lists, lambda_weight)


@export
@list_operator(finite_with_gain, tau=1.0, virtual_label=arguments.non_negative_number, lambda_weight=SOFTMAX_WEIGHT)
def calibrated_softmax_loss(
    lists: RankingLists,
    *,
    virtual_label: float = 0.0,
    lambda_weight: str | LambdaWeight | None = None,
    **shared: Unpack[TauArguments],
) -> tf.Tensor:
    """Compute the softmax cross-entropy of each list and a virtual item of score 0.

    Scores come first and labels second, unlike in Keras and scikit-learn.

    With scores s, labels y and weights w (1 by default): `-sum_i w_i y_i log p_i - w y_0 log p_0`, where
    `p_i = exp(s_i / tau) / (1 + sum_j exp(s_j / tau))`. For the virtual item, `p_0 = 1 - sum_i p_i`, y_0 is its label,
    and its weight w is the mean weight of the list. See `CalibratedSoftmaxLoss` for its use.

    Args:
      scores, labels, tau, mask, weights: as in `softmax_loss`.
      virtual_label: the label of the virtual item, at least 0.
      lambda_weight: as in `softmax_loss`. The virtual item counts as an item of the list.

    In a list without a label above 0 only the term of the virtual item remains. Empty lists give 0. Numbers that are
    not finite, errors and cost are as in `softmax_loss`.

    Example:
      >>> round(float(ks.ops.calibrated_softmax_loss([0.6, 0.8], [1.0, 0.0], virtual_label=0.1)), 4)
      1.1808

    Source: L. Yan et al., "Scale Calibration of Deep Ranking Models", KDD 2022.
    """
    zeros = tf.zeros([tf.shape(lists.scores)[0], 1], lists.scores.dtype)

    def extended(values: tf.Tensor | None, last: tf.Tensor) -> tf.Tensor | None:
        return None if values is None else tf.concat([values, last], axis=-1)

    with_virtual_item = lists._replace(
        scores=extended(lists.scores, zeros),
        labels=extended(lists.labels, zeros + virtual_label),
        mask=extended(lists.mask, tf.ones_like(zeros, tf.bool)),
        weights=extended(lists.weights, lists.mean_weights()[:, tf.newaxis]),
    )
    return softmax_losses(with_virtual_item, lambda_weight)


@export
@list_operator(finite_with_gain, tau=1.0, gain=arguments.choice(*GAINS))
def unique_softmax_loss(lists: RankingLists, *, gain: str = "exponential", **shared: Unpack[TauArguments]) -> tf.Tensor:
    """Compute the softmax cross-entropy of each item against the less relevant ones.

    Scores come first and labels second, unlike in Keras and scikit-learn.

    With scores s, labels y and weights w (1 by default): `-sum_i w_i (2^y_i - 1) log(exp(s_i) / (exp(s_i) + sum_{j: y_j
    < y_i} exp(s_j)))`, with s divided by tau. Results and other errors are those of `softmax_loss`. See
    `UniqueSoftmaxLoss` for its use.

    Args:
      scores, labels, tau, mask, weights: as in `softmax_loss`.
      gain: factor of an item with label y: `"exponential"`, 2^y - 1, or `"linear"`, y, for large labels, such as
        prices.

    Raises:
      InvalidArgumentError: labels are too large for exponential gains: about 127 in float32, 1,023 in float64. It is
        not checked under XLA, where the result is infinite or NaN.

    Cost: as for `plackett_luce_loss`.

    Example:
      >>> round(float(ks.ops.unique_softmax_loss([0.6, 0.8], [1.0, 0.0])), 4)
      0.7981

    Source: X. Zhu, D. Klabjan, "Listwise Learning to Rank by Exploring Unique Ratings", WSDM 2020.
    """
    # Masked items come after all others, and have no weight.
    choices = choices_of(masked_last(lists.labels, lists.mask), "never")
    gains = lists.weighted(absolute_gains(lists, gain))
    scores = relative_scores(lists.scores, lists.mask, lists.tau)
    losses = choice_costs(choices, scores, choices.arranged(gains))
    if gain == "linear":
        return losses
    # The gains are finite, but the loss of larger labels may not be.
    has_finite_sums = tf.reduce_max(lists.labels, axis=-1) < MAX_LABEL_WITH_FINITE_SUMS
    is_finite = tf.reduce_all(tf.logical_or(tf.math.is_finite(losses), has_finite_sums))
    return checked_gains(losses, is_finite, lists.labels)


@export
@list_operator(finite, tau=1.0, label_tau=arguments.positive_number)
def list_net_loss(lists: RankingLists, *, label_tau: float = 1.0, **shared: Unpack[TauArguments]) -> tf.Tensor:
    """Compute the cross-entropy of the softmax of the labels with the softmax of the scores: ListNet.

    Scores come first and labels second, unlike in Keras and scikit-learn.

    With scores s, labels y and weights w (1 by default): `-sum_i w_i q_i log p_i`, where
    `p_i = exp(s_i / tau) / sum_j exp(s_j / tau)` and `q_i = exp(y_i / label_tau) / sum_j exp(y_j / label_tau)`. Every
    list counts alike, whatever its labels are. See `ListNetLoss` for its use.

    Args:
      scores, tau, mask, weights: as in `softmax_loss`.
      labels: numbers `[..., n]`, larger for more relevant items.
      label_tau: temperature of the labels, a positive number in their units. As it goes to 0, only the highest labels
        are targets.

    The least value is the entropy of q, not 0. Tied labels have equal targets. Empty lists give 0. Numbers that are not
    finite, errors and cost are as in `softmax_loss`.

    Example:
      >>> round(float(ks.ops.list_net_loss([0.5, -0.5], [1.0, 0.0])), 4)
      0.5822

    Source: Z. Cao et al., "Learning to Rank: From Pairwise Approach to Listwise Approach", ICML 2007.
    """
    return softmax_losses(_with_shares(lists, label_tau))


@list_net_loss.derivatives
def list_net_derivatives(lists: RankingLists, label_tau: float) -> Derivatives:
    """Compute the derivatives of `list_net_loss`."""
    return softmax_slopes(_with_shares(lists, label_tau))


def _with_shares(lists: RankingLists, label_tau: float) -> RankingLists:
    """The lists with the softmax of their labels in place of the labels."""
    label_tau = tf.constant(max(label_tau, arguments.dtype_tiny(lists.labels.dtype)), lists.labels.dtype)
    return lists._replace(labels=softmax_shares(lists.labels, lists, label_tau))
