"""RankNet's lambdas: the gradient of the pair costs of a list."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.arguments import compute_dtype
from keras_softsort._internal.export import export
from keras_softsort.ops._core.lists import flatten_lists
from keras_softsort.ops._core.tracing import traced_if_eager
from keras_softsort.ops.ranking._pairs.arguments import PairLists, PairOptions, pair_lists, pair_options
from keras_softsort.ops.ranking._pairs.metric import LambdaWeight
from keras_softsort.ops.ranking._pairs.pair_sums import eager_blocks, pair_sums


@export
def ranknet_lambdas(
    scores: Any,
    labels: Any,
    *,
    sigma: float = 1.0,
    ties: str = "ignore",
    lambda_weight: str | LambdaWeight | None = None,
    k: int | None = None,
    gain: str | None = None,
    discount: str | None = None,
    smooth_fraction: float | None = None,
    mask: Any = None,
) -> tf.Tensor:
    """Compute RankNet's lambdas: the gradient of the sum of a list's pair costs with respect to its scores.

    `lambda_i = sum_j l_ij`, where `l_ij = -sigma W_ij / (1 + exp(sigma (s_i - s_j)))` and `l_ji = -l_ij` for each pair
    with label_i > label_j. It is the gradient of `RankNetLoss(normalization="none")`, for training loops of your own.

    Args:
      scores: floating-point `[..., n]`.
      labels: numbers `[..., n]` of any sign, larger for more relevant items. Negative labels do not mark padding here.
      sigma: slope of the cost, positive, which is 1 / temperature.
      ties: rule for pairs of equal labels. `"ignore"` leaves them out. With `"half"` they pull their scores together,
        with `l_ij = sigma (sigmoid(sigma (s_i - s_j)) - 1/2)`.
      lambda_weight: the weights W of pairs: `"ndcg"`, `"dcg"`, `"mrr"`, `"map"`, `"precision"`, `"label_diff"` or a
        `losses.LambdaWeight`; None gives all pairs weight 1. See `RankNetLoss` for this and the next arguments.
      k: number of ranks that the metric counts; None for all.
      gain: `"exponential"` (the default) or `"linear"`, for `"ndcg"` and `"dcg"`.
      discount: `"log2"` (the default) or `"reciprocal"`, for `"ndcg"` and `"dcg"`.
      smooth_fraction: number from 0 (LambdaLoss) to 1 (LambdaRank, the default).
      mask: bool `[..., n]`, True for valid items.

    Returns:
      `[..., n]` in the dtype of `scores`. The lambdas of a list sum to 0. Masked items get 0. A list with a NaN label
      or a score that is not finite gives NaN. Empty lists give empty results. The result has no gradient.

    Raises:
      TypeError: `scores` is not floating-point, or `mask` is not bool.
      ValueError: `labels` or `mask` has another shape, and the errors of `RankNetLoss`.

    Cost: O(n^2) time, and the memory of one block of pairs.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> ks.ops.ranknet_lambdas(tf.constant([0.0, 0.0, 0.0]), [2.0, 1.0, 1.0]).numpy().tolist()
    [-1.0, 0.5, 0.5]

    Source: C. Burges, "From RankNet to LambdaRank to LambdaMART: An Overview", MSR-TR-2010-82, 2010.
    """
    scores = arguments.list_tensor("scores", scores)
    labels = tf.cast(arguments.real_tensor("labels", labels), compute_dtype(scores.dtype))
    if not labels.shape.is_compatible_with(scores.shape):
        raise ValueError(f"labels must have the shape of scores, {scores.shape}, got {labels.shape}")
    labels = arguments.of_shape("labels", labels, tf.shape(scores))
    options = pair_options(
        sigma,
        ties=ties,
        lambda_weight=lambda_weight,
        k=k,
        gain=gain,
        discount=discount,
        smooth_fraction=smooth_fraction,
    )
    return _lambdas(scores, labels, arguments.list_mask(mask, scores), options, eager_blocks(scores))


@traced_if_eager
def _lambdas(
    scores: tf.Tensor, labels: tf.Tensor, mask: tf.Tensor | None, options: PairOptions, blocks: int | None
) -> tf.Tensor:
    mask = tf.ones_like(scores, tf.bool) if mask is None else mask
    flat, labels, mask = (flatten_lists(part) for part in (scores, labels, mask))
    flat = tf.cast(flat, labels.dtype)
    lists: PairLists = pair_lists(flat, labels, mask, tf.cast(mask, labels.dtype), options)
    lambdas = tf.cast(tf.stop_gradient(pair_sums(lists, options, blocks).lambdas), scores.dtype)
    return tf.ensure_shape(tf.reshape(lambdas, tf.shape(scores)), scores.shape)
