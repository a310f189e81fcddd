"""RankNet's lambdas: how hard the pairs of a list pull at each item."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort.ops._core import validation
from keras_softsort.ops._core.batching import flatten_lists
from keras_softsort.ops._core.dtypes import compute_dtype
from keras_softsort.ops._core.tracing import traced_if_eager
from keras_softsort.ops.ranking._pairs.arguments import PairLists, PairOptions, pair_lists, pair_options
from keras_softsort.ops.ranking._pairs.metric import LambdaWeight
from keras_softsort.ops.ranking._pairs.pair_sums import eager_blocks, pair_sums


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
    """The gradient of a list's summed pair costs with respect to its scores, in closed form.

    `lambda_i = sum_j l_ij`, with `l_ij = -sigma W_ij / (1 + exp(sigma (s_i - s_j)))` where label_i > label_j, which is
    what item j gets with the other sign. It is what `RankNetLoss(normalization="none")` gives back to the scores.

    Args:
      scores: `[..., n]` floating-point.
      labels: of the same shape; the greater, the more relevant. Numbers of any sign: padding is for the `mask` to say.
      sigma: positive number.
      ties: `"ignore"`, or `"half"`: tied labels pull scores together, by `sigma (sigmoid(sigma (s_i - s_j)) - 1/2)`.
      lambda_weight: the weights W of pairs, `None` (all 1), `"ndcg"`, `"dcg"`, `"mrr"`, `"map"`, `"precision"`,
        `"label_diff"` or a `losses.LambdaWeight`; this and `k`, `gain`, `discount` and `smooth_fraction` are those of
        `RankNetLoss`.
      k: how many places the metric counts.
      gain: `"exponential"` or `"linear"`.
      discount: `"log2"` or `"reciprocal"`.
      smooth_fraction: from 0, LambdaLoss, to 1, LambdaRank.
      mask: bool `[..., n]`, True = keep.

    Returns:
      `[..., n]` in the dtype of `scores`. Each list's lambdas sum to 0. Masked items have 0. A list with a NaN label
      or a score that is not finite gives NaN. Empty lists give empty results. No gradient flows through it.

    Raises:
      TypeError: `scores` are not floating-point, `mask` is not bool.
      ValueError: `labels` or `mask` of another shape, and the arguments that `RankNetLoss` refuses.

    Cost: O(n^2) time, memory of a block of rows.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> ks.ops.ranknet_lambdas(tf.constant([0.0, 0.0, 0.0]), [2.0, 1.0, 1.0]).numpy().tolist()
    [-1.0, 0.5, 0.5]

    Source: C. Burges, "From RankNet to LambdaRank to LambdaMART: An Overview", MSR-TR-2010-82, 2010.
    """
    scores = validation.list_tensor("scores", scores)
    labels = tf.cast(validation.real_tensor("labels", labels), compute_dtype(scores.dtype))
    if not labels.shape.is_compatible_with(scores.shape):
        raise ValueError(f"labels must have the shape of scores, {scores.shape}, got {labels.shape}")
    labels = validation.of_shape("labels", labels, tf.shape(scores))
    options = pair_options(
        sigma,
        ties=ties,
        lambda_weight=lambda_weight,
        k=k,
        gain=gain,
        discount=discount,
        smooth_fraction=smooth_fraction,
    )
    return _lambdas(scores, labels, validation.list_mask(mask, scores), options, eager_blocks(scores))


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
