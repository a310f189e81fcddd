"""Minus the NDCG with softly sorted gains: NeuralNDCG and PiRank."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.keras_compat import register
from keras_softsort._targets.lists import Lists
from keras_softsort.losses._noise import sampled_scores
from keras_softsort.losses._scores import TemperatureLoss
from keras_softsort.ops._core.straight_through import straight_through
from keras_softsort.ops.matching._arguments import checked_matching, solve
from keras_softsort.ops.ranking._dcg import GAINS, negative_ndcg, rank_discounts, relative_gains
from keras_softsort.ops.sorting import _dispatch
from keras_softsort.ops.sorting._arguments import SortArguments, sort_arguments
from keras_softsort.ops.sorting._methods import registry

# Of the row sums, and that of the reference: iterations end for each list by itself when it is reached.
TOLERANCE = 1e-6


@register
class NeuralNDCGLoss(TemperatureLoss):
    """Minus the NDCG at k of each list, its gains softly sorted by the scores: from -1 (the best order) to 0.

    Of a list with gains g and weights w (1 by default): `-sum_{i <= k} (P (w g))_i / log2(1 + i) / IDCG`, where P is
    the soft permutation of the scores, made doubly stochastic by Sinkhorn's normalisation, and IDCG is the DCG of the
    first k of the best order, its weights 1. The loss is the mean over lists.

    Without that normalisation (`num_iterations=0`) it is PiRank: the columns of P do not sum to 1, so a gain
    may count more or less than once and the value may leave [-1, 0]. PiRank is trained with `hard=True`: the value is
    the NDCG itself, the gradient that of the soft one.

    Args:
      tau: temperature of `method`, a positive number in units of its logits (for NeuralSort scores times list size,
        for SoftSort scores). As it goes to 0 the loss becomes minus the NDCG.
      k: how many ranks count; `None` for all.
      method: `"neural_sort"` or `"soft_sort"` (with power 1).
      gain: of a label l: `"exponential"`, 2^l - 1, or `"linear"`, l.
      num_iterations: how often at most rows and columns are normalised in turn; a list is done when its row sums
        are within 1e-6 of 1. 0 leaves P as it is.
      hard: give minus the NDCG of the scores' order (ties in stable order) with the gradient of the soft one.
      stochastic: sort scores with Gumbel noise instead, and take the mean over samples. Scores are log-scores then:
        with `noise_scale=1` and as tau goes to 0 the value is minus the expected NDCG of Plackett-Luce orders.
      num_samples: of `stochastic`.
      noise_scale: of `stochastic`, what its noise is multiplied by; at least 0.
      seed: of `stochastic`, an integer or `None`. Each call draws anew from TensorFlow's generator of random numbers;
        with a seed and `tf.random.set_seed` runs repeat, except under XLA, whose generator takes no seed.
      reduction: `"sum_over_batch_size"` (mean over lists), `"sum"`, or `None` or `"none"`: each list's.
      name: of the loss.

    Call arguments: `y_true` `[batch, n]`, relevance from 0 on, a label below 0 being padding; `y_pred` `[batch, n]`,
    scores (both dense or ragged); `sample_weight` `[batch]`, `[batch, 1]` or `[batch, n]`, which multiplies the gains
    in the DCG and not in the ideal one. A Keras mask on `y_pred` marks items. Padding changes nothing, wherever it
    stands (at the end of lists not even the noise of the others). A list without a label above 0, and an empty one,
    costs 0 with zero gradient. Tied scores share their ranks evenly. Computed in float32 for half precision. A label or
    score that is not finite makes its list's loss NaN.

    TF-Ranking's `NeuralSortNDCGLoss` has the value of `num_iterations=0`.

    Raises:
      ValueError: `tau` <= 0, `k` or `num_samples` < 1, `num_iterations` or `noise_scale` < 0, unknown `method`,
        `gain` or `reduction`, shapes that do not match.
      TypeError: an argument of another type, `y_pred` is not floating-point.

    Cost: O(n^2) memory a list and sample, and O(n^2) time for each iteration; without iterations O(k n), or with no `k`
    that of `soft_values`.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> labels, scores = tf.constant([[0.0, 2.0, 1.0]]), tf.constant([[0.4, 0.3, 0.9]])
    >>> round(float(ks.NeuralNDCGLoss(tau=1.0)(labels, scores)), 4)
    -0.7552
    >>> round(float(ks.NeuralNDCGLoss(tau=0.01)(labels, scores)), 4)
    -0.6885
    >>> round(float(ks.NeuralNDCGLoss(tau=1.0, num_iterations=0, hard=True)(labels, scores)), 4)
    -0.6885

    Source: P. Pobrotyn, R. Bialobrzeski, "NeuralNDCG: Direct Optimisation of a Ranking Metric via Differentiable
    Relaxation of Sorting", SIGIR eCom 2021; PiRank: R. Swezey, A. Grover, B. Charron, S. Ermon, "PiRank: Scalable
    Learning To Rank via Differentiable Sorting", NeurIPS 2021; the sorts: see `neural_sort` and `soft_sort`.
    """

    needs_gains = True

    def __init__(
        self,
        tau: float = 1.0,
        *,
        k: int | None = None,
        method: str = "neural_sort",
        gain: str = "exponential",
        num_iterations: int = 50,
        hard: bool = False,
        stochastic: bool = False,
        num_samples: int = 8,
        noise_scale: float = 1.0,
        seed: int | None = None,
        lists: str = "rows",
        padding: str | None = "negative_labels",
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "neural_ndcg",
        dtype: Any = None,
    ) -> None:
        super().__init__(tau, lists=lists, padding=padding, reduction=reduction, name=name, dtype=dtype)
        self.k = None if k is None else arguments.positive_integer("k", k)
        self.method = registry.checked_method(method)
        self.gain = arguments.one_of("gain", gain, GAINS)
        self.num_iterations = arguments.non_negative_integer("num_iterations", num_iterations)
        self.hard = arguments.boolean("hard", hard)
        self.stochastic = arguments.boolean("stochastic", stochastic)
        self.num_samples = arguments.positive_integer("num_samples", num_samples)
        self.noise_scale = arguments.non_negative_number("noise_scale", noise_scale)
        self.seed = None if seed is None else arguments.integer("seed", seed)

    def score_losses(self, lists: Lists, scores: tf.Tensor) -> tf.Tensor:
        """The loss of each list: [batch]."""
        gains = relative_gains(lists.labels, lists.mask, self.gain)
        mask = lists.mask
        if self.stochastic:
            scores = sampled_scores(scores, self.num_samples, self.noise_scale, self.seed)
            mask = tf.broadcast_to(mask, tf.shape(scores))
        problem = sort_arguments(scores, self.tau, mask=mask, method=self.method)
        size = tf.shape(gains)[1]
        rows = size if self.k is None else tf.minimum(self.k, size)
        weighted = tf.broadcast_to(lists.weights * gains, tf.shape(scores))
        if self.k or self.hard or self.num_iterations:
            ordered = tf.linalg.matvec(self._matrix(problem, mask, rows), weighted)
        else:
            ordered = _dispatch.multiply(problem, weighted[..., tf.newaxis])[..., 0]
        rank_weights = rank_discounts(rows, gains.dtype)
        dcg = tf.linalg.matvec(ordered, rank_weights)
        return negative_ndcg(tf.reduce_mean(dcg, axis=0) if self.stochastic else dcg, gains, rank_weights)

    def _matrix(self, problem: SortArguments, mask: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
        """The first `rows` of the soft permutation, or of exact ones with its gradient: [..., rows, n]."""
        if not self.num_iterations:
            return _dispatch.permutation(problem, rows, self.hard)
        soft = self._normalised(problem, mask)[..., :rows, :]
        return straight_through(_dispatch.permutation(problem, rows, hard=True), soft) if self.hard else soft

    def _normalised(self, problem: SortArguments, mask: tf.Tensor) -> tf.Tensor:
        """The soft permutation, doubly stochastic: [..., n, n]."""
        matching = checked_matching(
            _dispatch.log_permutation(problem),
            1.0,
            num_iterations=self.num_iterations,
            tolerance=TOLERANCE,
            hard=False,
            row_mask=tf.sequence_mask(tf.reduce_sum(tf.cast(mask, tf.int32), axis=-1), tf.shape(mask)[-1]),
            column_mask=mask,
        )
        return solve(matching)[0]

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        own = ("k", "method", "gain", "num_iterations", "hard", "stochastic", "num_samples", "noise_scale", "seed")
        return {**super().get_config(), **{name: getattr(self, name) for name in own}}
