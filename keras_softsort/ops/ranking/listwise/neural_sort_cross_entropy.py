"""Cross-entropy of the NeuralSort of the scores with the order of the labels."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.ops._core.thresholds import Thresholds
from keras_softsort.ops.ranking._lists import RankingLists, finite, per_list, ranking_arguments
from keras_softsort.ops.ranking._true_order import cross_entropies, true_shares
from keras_softsort.ops.sorting import _dispatch, _operators
from keras_softsort.ops.sorting._arguments import sort_arguments


@export
def neural_sort_cross_entropy(
    scores: Any, labels: Any, *, tau: Any = 1.0, label_tau: float | None = None, mask: Any = None, weights: Any = None
) -> tf.Tensor:
    """Compute the cross-entropy of the NeuralSort of the scores with the true order of the labels, a mean over ranks.

    It is `permutation_cross_entropy(neural_sort(scores, tau), labels)`, but log P is exact even if P underflows, so
    that lists in a very wrong order also have a gradient.

    Args:
      scores: floating-point `[..., n]`.
      labels: numbers `[..., n]`.
      tau: temperature of P, positive, in units of the scores times the list size: a number, or a tensor that broadcasts
        against the leading axes.
      label_tau: None for the exact order of the labels, or a positive number: the target is the NeuralSort of the
        labels at this temperature, so that items with similar labels share ranks.
      mask: bool `[..., n]`, True for valid items.
      weights: numbers that broadcast against `[..., n]`, one per item; None for 1.

    Returns:
      `[...]` in the dtype of `scores`. Lists whose labels are all 0 give 0, as in TF-Ranking, and so do empty lists. A
      label or score that is not finite makes the result of its list NaN.

    Raises:
      TypeError: `scores` is not floating-point, or `mask` is not bool.
      ValueError: `tau` or `label_tau` is not positive, or shapes do not match.

    Cost: O(n^2) time and memory per list.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> round(float(ks.ops.neural_sort_cross_entropy(tf.constant([2.0, 5.0, 3.0]), [20.0, 50.0, 30.0])), 3)
    0.285

    Source: A. Grover, E. Wang, A. Zweig, S. Ermon, "Stochastic Optimization of Sorting Networks via Continuous
    Relaxations", ICLR 2019, section 6.1.
    """
    args = ranking_arguments(scores, labels, mask, weights, tau=tau)
    label_tau = None if label_tau is None else arguments.positive_number("label_tau", label_tau)
    return _losses(args, label_tau, _operators.sized_thresholds(args.scores, "neural_sort", 1.0, _operators.MATRIX))


@per_list(finite)
def _losses(lists: RankingLists, label_tau: float | None, thresholds: Thresholds) -> tf.Tensor:
    if label_tau is None:
        shares = true_shares(lists.labels, lists.mask, "DESCENDING", tf.shape(lists.scores)[1])
    else:
        shares = _dispatch.permutation(sort_arguments(lists.labels, label_tau, mask=lists.mask, thresholds=thresholds))
    log_weights = _dispatch.log_permutation(
        sort_arguments(lists.scores, lists.tau, mask=lists.mask, thresholds=thresholds)
    )
    # They may be -inf where no item belongs.
    counts = tf.not_equal(shares * lists.weights[:, tf.newaxis, :], 0)
    log_weights = tf.where(counts, log_weights, tf.zeros_like(log_weights))
    losses = cross_entropies(shares, lists.weights, log_weights, lists.sizes())
    return tf.where(tf.reduce_any(tf.not_equal(lists.labels, 0), axis=-1), losses, tf.zeros_like(losses))
