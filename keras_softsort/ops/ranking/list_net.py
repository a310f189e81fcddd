"""ListNet: the cross-entropy of the softmax of the labels with the softmax of the scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.arguments import dtype_tiny
from keras_softsort._internal.export import export
from keras_softsort.ops.ranking._softmax import softmax_losses, softmax_shares, softmax_slopes
from keras_softsort.ops.ranking.lists import Derivatives, RankingLists, TauArguments, finite
from keras_softsort.ops.ranking.operators import list_operator

if TYPE_CHECKING:
    from typing_extensions import Unpack


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
    label_tau = tf.constant(max(label_tau, dtype_tiny(lists.labels.dtype)), lists.labels.dtype)
    return lists._replace(labels=softmax_shares(lists.labels, lists, label_tau))
