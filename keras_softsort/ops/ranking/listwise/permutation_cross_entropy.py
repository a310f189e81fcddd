"""Cross-entropy of soft permutations with the true order."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.arguments import compute_dtype
from keras_softsort._internal.export import export
from keras_softsort.ops._core.gradients import nan_lists
from keras_softsort.ops._core.lists import flatten_lists
from keras_softsort.ops._core.tracing import traced_if_eager
from keras_softsort.ops.ranking._lists import checked_weights, flat_weights
from keras_softsort.ops.ranking._true_order import cross_entropies, true_shares


@export
def permutation_cross_entropy(
    permutation: Any, labels: Any, *, direction: str = "DESCENDING", mask: Any = None, weights: Any = None
) -> tf.Tensor:
    """Compute the cross-entropy of soft permutations with the true order of the labels, a mean over ranks.

    For a list of m items: `-(1 / m) sum_i sum_j T_ij w_j log P_ij`, where T_ij is 1 for the item j that belongs at
    rank i (tied items share their ranks evenly) and w_j is the item's weight.

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
      underflowed to 0 counts as the smallest normal number, and has no gradient. A NaN label, or a NaN in a valid entry
      of P, makes the result of its list NaN.

    Raises:
      TypeError: `permutation` is not floating-point, or `mask` is not bool.
      ValueError: `direction` is unknown, or shapes do not match.

    Cost: O(n^2) time and memory per list.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> matrix = ks.ops.neural_sort(tf.constant([2.0, 5.0, 3.0]), tau=1.0)
    >>> round(float(ks.ops.permutation_cross_entropy(matrix, [20.0, 50.0, 30.0])), 3)
    0.285

    Source: A. Grover, E. Wang, A. Zweig, S. Ermon, "Stochastic Optimization of Sorting Networks via Continuous
    Relaxations", ICLR 2019, section 6.1.
    """
    permutation = arguments.matrix_tensor("permutation", permutation)
    dtype = compute_dtype(permutation.dtype)
    labels = tf.cast(arguments.real_tensor("labels", labels), dtype)
    if labels.shape.rank is None or permutation.shape.rank - labels.shape.rank not in (1, 2):
        raise ValueError(
            "permutation must have shape [..., rank, item] or [..., sample, rank, item] with labels [..., n] of shape "
            f"{labels.shape}, got {permutation.shape}"
        )
    leading = labels.shape.rank - 1
    expected = permutation.shape[:leading].concatenate(permutation.shape[-1:])
    if not labels.shape.is_compatible_with(expected):
        raise ValueError(f"labels must have shape {expected} with this permutation, got {labels.shape}")
    sizes = tf.shape(permutation)
    labels = arguments.of_shape("labels", labels, tf.concat([sizes[:leading], sizes[-1:]], axis=0))
    mask = arguments.list_mask(mask, labels, "labels")
    weights = checked_weights(weights, expected, dtype)
    return _losses(permutation, labels, mask, weights, arguments.one_of("direction", direction, arguments.DIRECTIONS))


@traced_if_eager
def _losses(
    permutation: tf.Tensor, labels: tf.Tensor, mask: tf.Tensor | None, weights: tf.Tensor | None, direction: str
) -> tf.Tensor:
    shape, labels_shape = tf.shape(labels), labels.shape
    flat = tf.cast(flatten_lists(permutation, inner=permutation.shape.rank - labels.shape.rank + 1), labels.dtype)
    mask = tf.ones_like(labels, tf.bool) if mask is None else mask
    labels, mask = tf.stop_gradient(flatten_lists(labels)), flatten_lists(mask)
    weights = flat_weights(weights, mask, shape, labels.dtype)
    failed = tf.reduce_any(tf.logical_and(mask, tf.math.is_nan(labels)), axis=-1)
    readable = tf.logical_and(mask, tf.logical_not(failed)[:, tf.newaxis])
    labels = tf.where(readable, labels, tf.zeros_like(labels))
    ranks = tf.shape(flat)[-2]
    counts = tf.sequence_mask(tf.reduce_sum(tf.cast(mask, tf.int32), axis=-1), ranks)[:, :, tf.newaxis]
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
    sizes = tf.maximum(tf.reduce_sum(tf.cast(mask, labels.dtype), axis=-1), 1)
    losses = cross_entropies(true_shares(labels, mask, direction, ranks), weights, log_weights, sizes)
    losses = nan_lists(failed, losses, tf.where(counts, flat, tf.zeros_like(flat)))
    shaped = tf.reshape(tf.cast(losses, permutation.dtype), shape[:-1])
    return tf.ensure_shape(shaped, labels_shape[:-1])
