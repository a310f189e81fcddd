"""The cross-entropy of soft permutations with the true order of the labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.arguments import compute_dtype
from keras_softsort._internal.export import export
from keras_softsort.ops.core.numbers import nan_lists
from keras_softsort.ops.core.order import descending, masked_last, take, valid_counts
from keras_softsort.ops.core.tracing import traced_if_eager
from keras_softsort.ops.ranking._noise import STOCHASTIC_CHECKS, Noise, mean_over_samples
from keras_softsort.ops.ranking.lists import (
    RankingArguments,
    RankingLists,
    TauArguments,
    checked_weights,
    finite,
    flat_lists,
    with_leading_axes,
)
from keras_softsort.ops.ranking.operators import list_operator
from keras_softsort.ops.sorting import dispatch
from keras_softsort.ops.sorting.methods import sort_arguments, sort_of_lists

if TYPE_CHECKING:
    from typing_extensions import Unpack


def sorted_labels(labels: tf.Tensor, mask: tf.Tensor | None, direction: str) -> tf.Tensor:
    """Sort `labels` [B, n], with masked ones last as the lowest number."""
    _, order = descending(masked_last(labels if direction == "DESCENDING" else -labels, mask))
    valid = labels if mask is None else tf.where(mask, labels, tf.constant(labels.dtype.min, labels.dtype))
    return take(valid, order)


def true_shares(labels: tf.Tensor, mask: tf.Tensor | None, direction: str, ranks: tf.Tensor) -> tf.Tensor:
    """The share of each item in each of the first `ranks` ranks, `[B, ranks, n]`. Tied items share evenly."""
    ordered = sorted_labels(labels, mask, direction)[:, :ranks]
    belongs = tf.equal(ordered[:, :, tf.newaxis], labels[:, tf.newaxis, :])
    belongs = belongs if mask is None else tf.logical_and(belongs, mask[:, tf.newaxis, :])
    allowed = tf.cast(belongs, labels.dtype)
    return tf.math.divide_no_nan(allowed, tf.reduce_sum(allowed, axis=2, keepdims=True))


def cross_entropies(lists: RankingLists, weighted_shares: tf.Tensor, log_weights: tf.Tensor) -> tf.Tensor:
    """The mean over each list's ranks of `-sum_j shares_ij w_j log_weights_ij`: [B]."""
    ranks = tf.cast(tf.maximum(tf.shape(log_weights)[1], 1), log_weights.dtype)
    return -tf.reduce_sum(weighted_shares * log_weights, axis=[1, 2]) / tf.minimum(lists.sizes(), ranks)


def _weighted(lists: RankingLists, shares: tf.Tensor) -> tf.Tensor:
    """The shares [B, ranks, n] times the weights of their items; 0 where masked."""
    is_plain = lists.mask is None and lists.weights is None
    return shares if is_plain else shares * lists.item_weights()[:, tf.newaxis, :]


@export
@list_operator(finite, tau=1.0, label_tau=arguments.optional(arguments.positive_number), **STOCHASTIC_CHECKS)
def neural_sort_cross_entropy_loss(
    lists: RankingLists,
    *,
    label_tau: float | None = None,
    stochastic: bool = False,
    num_samples: int = 8,
    noise_scale: float = 1.0,
    seed: Any = None,
    **shared: Unpack[TauArguments],
) -> tf.Tensor:
    """Compute the cross-entropy of the NeuralSort of the scores with the true order of the labels, a mean over ranks.

    Scores come first and labels second, unlike in Keras and scikit-learn.

    It is `permutation_cross_entropy_loss(neural_sort(scores, tau), labels)`, with its source, but log P is exact even
    if P underflows, so that lists in a very wrong order have a gradient. See `NeuralSortCrossEntropyLoss` for its use.

    Args:
      scores: floating-point `[..., n]`.
      labels, mask, weights: as in `permutation_cross_entropy_loss`.
      tau: temperature in units of the scores times the list size, positive: a number, or a tensor that broadcasts
        against the leading axes.
      label_tau: None for the exact order of the labels, or a positive number: the target is the NeuralSort of the
        labels at this temperature, so that items with similar labels share ranks.
      stochastic: whether to add Gumbel noise to the scores and take the mean over samples: stochastic NeuralSort.
      num_samples, noise_scale, seed: as in `neural_ndcg_loss`.

    Returns:
      `[...]` in the dtype of `scores`. Masked items are left out. Lists whose labels are all 0 give 0, and so do empty
      lists. A label or score that is not finite makes its list NaN.

    Raises:
      TypeError: `scores` is not floating-point, or `mask` is not bool.
      ValueError: a number is out of range, `stochastic` without `seed`, or shapes do not match.

    Cost: O(n^2) time and memory per list and sample.

    Example:
      >>> round(float(ks.ops.neural_sort_cross_entropy_loss([2.0, 5.0, 3.0], [20.0, 50.0, 30.0])), 3)
      0.285
    """
    noise = Noise(num_samples, noise_scale, seed) if stochastic else None
    return mean_over_samples(lists, noise, _neural_sort_cross_entropies, label_tau)


def _neural_sort_cross_entropies(lists: RankingLists, label_tau: float | None) -> tf.Tensor:
    """The cross-entropy of each list [B]."""
    if label_tau is None:
        shares = true_shares(lists.labels, lists.mask, "DESCENDING", tf.shape(lists.scores)[1])
    else:
        shares = dispatch.permutation(sort_arguments(lists.labels, label_tau, mask=lists.mask))
    log_weights = dispatch.log_permutation(sort_of_lists(lists.scores, lists.tau, lists.mask))
    # Logarithms of excluded items are left out.
    shares = _weighted(lists, shares)
    log_weights = tf.where(tf.not_equal(shares, 0), log_weights, tf.zeros_like(log_weights))
    losses = cross_entropies(lists, shares, log_weights)
    return tf.where(tf.reduce_any(tf.not_equal(lists.labels, 0), axis=-1), losses, tf.zeros_like(losses))


@export
def permutation_cross_entropy_loss(
    permutation: Any, labels: Any, *, direction: str = "DESCENDING", mask: Any = None, weights: Any = None
) -> tf.Tensor:
    """Compute the cross-entropy of soft permutations with the true order of the labels, a mean over ranks.

    The permutation comes first and labels second, unlike in Keras and scikit-learn. Larger labels come first, in row 0.
    For ranks from 1, where 1 is first, pass `direction="ASCENDING"`, or minus the rank.

    For a list of m items: `-(1 / m) sum_i sum_j T_ij w_j log P_ij`, where T_ij is 1 for the item j that belongs at rank
    i (tied items share their ranks evenly) and w_j is the item's weight. See `PermutationCrossEntropyLoss` for its use.

    Args:
      permutation: floating-point `[..., rank, item]`, all rows of a soft permutation or the first k. Samples
        `[..., sample, rank, item]`, with an additional axis that the labels do not have, are averaged.
      labels: numbers `[..., n]`.
      direction: order of the rows, `"DESCENDING"` (row 0 is the largest label) or `"ASCENDING"`.
      mask: bool `[..., n]`, True for valid items.
      weights: numbers that broadcast against `[..., n]`, one per item; None for 1.

    Returns:
      `[...]` in the dtype of `permutation`. With k rows the mean is over the first min(k, m) ranks. Masked items, and
      rows after the valid items of a list, never affect the result. Empty lists give 0. An entry of P that has
      underflowed to 0 counts as the smallest normal number, and has no gradient. A NaN label, or a valid NaN in P,
      makes its list NaN.

    Raises:
      TypeError: `permutation` is not floating-point, or `mask` is not bool.
      ValueError: `direction` is unknown, or shapes do not match.

    Cost: O(n^2) time and memory per list.

    Example:
      >>> matrix = ks.ops.neural_sort([2.0, 5.0, 3.0], tau=1.0)
      >>> round(float(ks.ops.permutation_cross_entropy_loss(matrix, [20.0, 50.0, 30.0])), 3)
      0.285
      >>> round(float(ks.ops.permutation_cross_entropy_loss(matrix, [-3, -1, -2])), 3)  # minus the ranks
      0.285

    Source: section 6.1 of the paper on NeuralSort, see `neural_sort`.
    """
    permutation = arguments.matrix_tensor("permutation", permutation)
    dtype = compute_dtype(permutation.dtype)
    labels = arguments.list_tensor("labels", tf.cast(arguments.real_tensor("labels", labels), dtype))
    if permutation.shape.rank - labels.shape.rank not in (1, 2):
        raise ValueError(
            "permutation must have shape [..., rank, item] or [..., sample, rank, item] with labels [..., n] of shape "
            f"{labels.shape}, got {permutation.shape}"
        )
    leading = labels.shape.rank - 1
    expected = permutation.shape[:leading].concatenate(permutation.shape[-1:])
    if not labels.shape.is_compatible_with(expected):
        raise ValueError(
            f"labels must have shape {expected} with this permutation, got {labels.shape}: it is [..., rank, item], so "
            "a matrix of sinkhorn, [..., item, place], has to be transposed"
        )
    ranks, items = permutation.shape[-2:]
    if ranks is not None and items is not None and ranks > items:
        raise ValueError(
            f"permutation must have at most as many ranks as items, got shape {permutation.shape}: it is [..., rank, "
            "item], so a matrix of sinkhorn, [..., item, place], has to be transposed"
        )
    sizes = tf.shape(permutation)
    labels = arguments.of_shape("labels", labels, tf.concat([sizes[:leading], sizes[-1:]], axis=0))
    mask = arguments.list_mask(mask, labels, "labels")
    weights = checked_weights(weights, expected, dtype, like="labels")
    args = RankingArguments(permutation, labels, mask, weights, tau=None)
    return _permutation_losses(args, arguments.one_of("direction", direction, arguments.DIRECTIONS))


@traced_if_eager
def _permutation_losses(args: RankingArguments, direction: str) -> tf.Tensor:
    lists = flat_lists(args)
    flat, mask = lists.scores, lists.valid()
    failed = tf.reduce_any(tf.logical_and(mask, tf.math.is_nan(lists.labels)), axis=-1)
    readable = tf.logical_and(mask, tf.logical_not(failed)[:, tf.newaxis])
    labels = tf.where(readable, lists.labels, tf.zeros_like(lists.labels))
    ranks = tf.shape(flat)[-2]
    counts = tf.sequence_mask(valid_counts(mask), ranks)[:, :, tf.newaxis]
    counts = tf.logical_and(counts, mask[:, tf.newaxis, :])
    if flat.shape.rank == 4:
        counts = counts[:, tf.newaxis]
    # Masked before the logarithm, so that NaN and 0 do not reach its gradient.
    safe = tf.where(counts, flat, tf.ones_like(flat))
    tiny = tf.constant(arguments.dtype_tiny(flat.dtype), flat.dtype)
    log_weights = tf.math.log(tf.maximum(safe, tiny))
    log_weights = tf.where(tf.math.is_nan(safe), safe, log_weights)  # TensorFlow's maximum may drop NaN
    if flat.shape.rank == 4:
        log_weights = tf.reduce_mean(log_weights, axis=1)  # the loss is linear in the logarithms
    losses = cross_entropies(lists, _weighted(lists, true_shares(labels, mask, direction, ranks)), log_weights)
    return with_leading_axes(nan_lists(failed, losses, tf.where(counts, flat, tf.zeros_like(flat))), args)
