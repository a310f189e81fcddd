"""Minus the NDCG with smooth ranks of scores with Gumbel noise: GumbelApproxNDCG."""

from __future__ import annotations

from typing import Any

from keras_softsort._internal import arguments
from keras_softsort._internal.keras_compat import register
from keras_softsort.losses._noise import checked_seed
from keras_softsort.losses._operator_loss import ScoreOperatorLoss
from keras_softsort.ops.ranking._dcg import ndcg_options
from keras_softsort.ops.ranking.listwise.gumbel_approx_ndcg import gumbel_approx_ndcg


@register
class GumbelApproxNDCGLoss(ScoreOperatorLoss):
    """Compute the mean of ApproxNDCG over samples of the scores with Gumbel noise.

    The noise lets training leave orders in which ApproxNDCG gets stuck. By default a label below 0 marks padding.

    A sample is `s_i + noise_scale G_i` with independent standard Gumbel noise G. With `noise_scale=1` the order of a
    sample has the Plackett-Luce distribution of the scores. The result is the mean of `ApproxNDCGLoss` over the
    samples.

    Args:
      tau: temperature, positive, in units of the scores with their noise.
      k: number of ranks that count; None for all.
      gain: gain of a label l: `"exponential"`, 2^l - 1, or `"linear"`, l.
      discount: discount of rank r: `"log2"`, 1 / log2(1 + r), or `"reciprocal"`, 1 / r.
      normalization: `"ideal"` divides by the DCG of the best order, which gives NDCG; `"none"` gives DCG.
      num_samples: number of samples of each list.
      noise_scale: factor of the Gumbel noise, at least 0.
      seed: integer seed or None. Each call draws new noise from TensorFlow's generator. With a seed and
        `tf.random.set_seed` runs repeat, except under XLA, whose generator takes no seed.
      lists: `"rows"` or `"batch"`, see `ListLoss`.
      padding: which labels mark padding, see `ListLoss`.
      reduction: see `ListLoss`.
      name: name of the loss.
      dtype: see `ListLoss`.

    `y_true`, `y_pred`, masks and weights: see `ListLoss`. Lists without a label above 0, and empty lists, give 0. A
    score or label that is not finite, or a label below 0 that is not padding, makes the loss of its list NaN.

    TF-Ranking's `GumbelApproxNDCGLoss` has the same value for the same noise, with `tau` its `temperature` times its
    `gumbel_temperature`. See the documentation, "Coming from TF-Ranking: losses".

    Raises:
      ValueError: `tau` is not positive, `k` or `num_samples` is below 1, `noise_scale` is negative, a name is unknown,
        or shapes do not match.
      TypeError: an argument has another type, or `y_pred` is not floating-point.

    Cost: that of `ops.approx_ndcg`, per sample.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> labels, scores = tf.constant([[2.0, 0.0, 1.0]]), tf.constant([[9.0, -9.0, 0.0]])
    >>> -1 <= float(ks.GumbelApproxNDCGLoss(seed=1)(labels, scores)) <= 0
    True

    Source: S. Bruch, S. Han, M. Bendersky, M. Najork, "A Stochastic Treatment of Learning to Rank Scoring Functions",
    WSDM 2020.
    """

    _operator = staticmethod(gumbel_approx_ndcg)
    _options = ("tau", "k", "gain", "discount", "normalization", "num_samples", "noise_scale", "seed")

    def __init__(
        self,
        tau: float = 0.1,
        *,
        k: int | None = None,
        gain: str = "exponential",
        discount: str = "log2",
        normalization: str = "ideal",
        num_samples: int = 8,
        noise_scale: float = 1.0,
        seed: int | None = None,
        lists: str = "rows",
        padding: str | None = "negative_labels",
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "gumbel_approx_ndcg",
        dtype: Any = None,
    ) -> None:
        super().__init__(lists=lists, padding=padding, reduction=reduction, name=name, dtype=dtype)
        self.tau = arguments.positive_number("tau", tau)
        options = ndcg_options(k, gain, discount, normalization, ranks_are_soft=True)
        self.k, self.gain, _, self.normalization = options
        self.discount = discount
        self.num_samples = arguments.positive_integer("num_samples", num_samples)
        self.noise_scale = arguments.non_negative_number("noise_scale", noise_scale)
        self.seed = checked_seed(seed)
