"""Minus the NDCG with softly sorted gains: NeuralNDCG and PiRank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.ops.core.numbers import straight_through, vector_product
from keras_softsort.ops.matching.sinkhorn_iterations import doubly_stochastic
from keras_softsort.ops.ranking._noise import STOCHASTIC_CHECKS, Noise, sampled_scores
from keras_softsort.ops.ranking.dcg import NDCG_CHECKS, ndcg_parts
from keras_softsort.ops.ranking.lists import RankingLists, TauArguments, finite_with_gain
from keras_softsort.ops.ranking.operators import list_operator
from keras_softsort.ops.sorting import dispatch, methods
from keras_softsort.ops.sorting.methods import SortArguments, sort_of_lists

if TYPE_CHECKING:
    from typing_extensions import Unpack

# A list stops once its row sums are this close to 1, as in the code of the paper.
TOLERANCE = 1e-6


@export
@list_operator(
    finite_with_gain,
    methods.check_power,
    tau=1.0,
    **NDCG_CHECKS,
    **STOCHASTIC_CHECKS,
    method=lambda _, method: methods.checked_method(method),
    power=arguments.positive_number,
    num_iterations=arguments.non_negative_integer,
    hard=arguments.boolean,
)
def neural_ndcg_loss(
    lists: RankingLists,
    *,
    k: int | None = None,
    gain: str = "exponential",
    discount: str | Sequence[float] = "log2",
    normalization: str = "ideal",
    method: str = "neural_sort",
    power: float = 1.0,
    num_iterations: int = 50,
    hard: bool = False,
    stochastic: bool = False,
    num_samples: int = 8,
    noise_scale: float = 1.0,
    seed: Any = None,
    **shared: Unpack[TauArguments],
) -> tf.Tensor:
    """Compute minus the NDCG at k with softly sorted gains (NeuralNDCG, PiRank), from -1 (the best order) to 0.

    Scores come first and labels second, unlike in Keras and scikit-learn.

    With gains g and weights w (1 by default): `-sum_{i <= k} (P (w g))_i / log2(1 + i) / IDCG`, where P is the soft
    permutation of the scores, made doubly stochastic by Sinkhorn's normalization, and IDCG is the DCG of the first k of
    the best order, with weights 1. Without that normalization (`num_iterations=0`) it is PiRank, trained with
    `hard=True`. The columns of P then do not sum to 1, so a gain may count more or less than once, and the value may
    leave [-1, 0]. See `NeuralNDCGLoss` for its use.

    Args:
      scores, labels, gain, normalization, mask, weights: as in `approx_ndcg_loss`.
      tau: temperature in units of `method` (see `soft_values`), positive: a number, or a tensor that broadcasts against
        the leading axes. As it goes to 0 the result becomes minus the NDCG.
      k: number of ranks that count; None for all.
      discount: as in `pl_rank_loss`.
      method, power: as in `soft_values`, but `method` is `"neural_sort"` or `"soft_sort"`.
      num_iterations: maximum number of Sinkhorn iterations. They are made in equal rounds of up to 8, after each of
        which a list stops if its row sums are within 1e-6 of 1. 0 skips the normalization.
      hard: whether the value is that of the exact order of the scores (ties in the order of the items), with the
        gradient of the soft one.
      stochastic: whether to add Gumbel noise to the scores and take the mean over samples. With `noise_scale=1` and as
        tau goes to 0, the value is minus the expected NDCG of Plackett-Luce orders.
      num_samples, noise_scale: number of samples, and factor of the noise, at least 0, if `stochastic`.
      seed: two integers, the stateless seed of the noise; required if `stochastic`.

    Returns:
      `[...]` in the dtype of `scores`. Tied scores share their ranks evenly, or keep the order of the items if `hard`.
      Other results are as in `approx_ndcg_loss`.

    Raises:
      TypeError: `scores` is not floating-point, or an argument has another type.
      ValueError: a number is out of range, a name is unknown, discounts rise or are negative, `stochastic` without
        `seed`, or shapes do not match.

    Cost: O(n^2) memory per list and sample, plus O(n) for each iteration, and O(n^2) time per iteration. With
    `num_iterations=0` it is O(k n), or without `k` that of `soft_values`.

    Example:
      >>> round(float(ks.ops.neural_ndcg_loss([0.4, 0.3, 0.9], [0, 2, 1])), 4)
      -0.7552

    Source: P. Pobrotyn, R. Bialobrzeski, "NeuralNDCG: Direct Optimisation of a Ranking Metric via Differentiable
    Relaxation of Sorting", SIGIR eCom 2021; PiRank: R. Swezey et al., "PiRank: Scalable Learning To Rank via
    Differentiable Sorting", NeurIPS 2021.
    """
    gains, rank_weights = ndcg_parts(lists, k, gain, discount, normalization)
    scores, mask = lists.scores, lists.mask
    if stochastic:
        scores = sampled_scores(scores, Noise(num_samples, noise_scale, seed))
        gains = tf.broadcast_to(gains, tf.shape(scores))
        mask = None if mask is None else tf.broadcast_to(mask, tf.shape(scores))
    sort = sort_of_lists(scores, lists.tau, mask, method, power)
    rows = tf.shape(rank_weights)[0]
    if k is None and not hard and not num_iterations:
        ordered = dispatch.multiply(sort, gains[..., tf.newaxis])[..., :rows, 0]
    else:
        ordered = vector_product(_permutation(sort, rows, num_iterations, hard), gains)
    dcg = tf.reduce_sum(ordered * rank_weights, axis=-1)
    return -(tf.reduce_mean(dcg, axis=0) if stochastic else dcg)


def _permutation(sort: SortArguments, rows: tf.Tensor, num_iterations: int, hard: bool) -> tf.Tensor:
    """The first `rows` of the soft permutation, or of the exact one with its gradient: [..., rows, n]."""
    if not num_iterations:
        return dispatch.permutation(sort, rows, hard)
    soft = doubly_stochastic(dispatch.permutation(sort), num_iterations, TOLERANCE)[..., :rows, :]
    return straight_through(dispatch.permutation(sort, rows, hard=True), soft) if hard else soft
