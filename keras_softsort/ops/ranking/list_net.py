"""ListNet: the cross-entropy of the softmax of the labels with the softmax of the scores."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.arguments import dtype_tiny
from keras_softsort._internal.export import export
from keras_softsort.ops.ranking._checks import TAU, checks
from keras_softsort.ops.ranking._softmax import SoftmaxOptions, softmax_losses, softmax_shares, softmax_slopes
from keras_softsort.ops.ranking.lists import Derivatives, RankingLists, finite, per_list, ranking_arguments


@export
@checks(label_tau=arguments.positive_number, tau=TAU)
def list_net_loss(
    scores: Any,
    labels: Any,
    *,
    tau: Any = 1.0,
    label_tau: float = 1.0,
    mask: Any = None,
    weights: Any = None,
) -> tf.Tensor:
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
    return _list_net_losses(ranking_arguments(scores, labels, mask, weights, tau=tau), label_tau)


def _with_shares(lists: RankingLists, label_tau: float) -> RankingLists:
    """The lists with the softmax of their labels in place of the labels."""
    label_tau = tf.constant(max(label_tau, dtype_tiny(lists.labels.dtype)), lists.labels.dtype)
    return lists._replace(labels=softmax_shares(lists.labels, lists, label_tau))


@per_list(finite)
def _list_net_losses(lists: RankingLists, label_tau: float) -> tf.Tensor:
    return softmax_losses(_with_shares(lists, label_tau), SoftmaxOptions())


def list_net_derivatives(
    scores: Any, labels: Any, *, tau: Any, label_tau: Any, mask: Any = None, weights: Any = None
) -> Derivatives:
    """The derivatives of `list_net_loss`."""
    return _list_net_derivatives(ranking_arguments(scores, labels, mask, weights, tau=tau), label_tau)


@per_list(finite)
def _list_net_derivatives(lists: RankingLists, label_tau: float) -> Derivatives:
    return softmax_slopes(_with_shares(lists, label_tau), SoftmaxOptions())
