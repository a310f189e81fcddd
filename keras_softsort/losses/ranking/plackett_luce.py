"""The negative log-likelihood of orders under the Plackett-Luce model: ListMLE, and RankDistil of sampled orders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from keras_softsort._internal.export import export
from keras_softsort.losses._score_loss import OperatorLoss
from keras_softsort.ops.ranking.plackett_luce import (
    coupled_rank_distil_loss,
    plackett_luce_derivatives,
    plackett_luce_loss,
)


@export
class PlackettLuceLoss(OperatorLoss, operator=plackett_luce_loss, derivatives=plackett_luce_derivatives):
    """Negative log-likelihood of the order of the labels under the Plackett-Luce model of the scores (ListMLE).

    In this model the items are chosen one after another, each with a probability proportional to exp(score). It is a
    good first loss for learning to rank: fast on long lists, with few arguments. By default a label below 0 marks
    padding.

    For a list of m items in descending order of their labels, with logits a and weights w (1 by default):
    `-sum_i w_i (a_i - logsumexp_{j >= i} a_j)` over the first min(k, m) ranks i. It is not divided by the list size, so
    `k=1` is the conditional logit.

    Args:
      k: number of ranks that count, those of the largest labels; None for all.
      ties: rule for items with equal labels. `"breslow"`: each of them is chosen from all items that are not ranked
        before their group, as for tied times in Cox's model. If only p ranks of a group of g items count, because the
        k-th rank lies within it, each item costs p / g of that. This rule does not depend on the order of the items.
        `"first"`: items with equal labels are ranked in the order of the list.
      tau: temperature, a positive number by which the scores are divided first.
      discount: the weight of the term of rank r: None, 1; `"log2"`, 1 / log2(1 + r); `"reciprocal"`, 1 / r;
        `"exponential"`, (2^(m - r) - 1) / (2^(m - 1) - 1), as in p-ListMLE; or a function of a tensor of ranks, saved
        with a model if it is registered with Keras. This is position-aware ListMLE. Tied items have the mean of their
        ranks' weights.
      **kwargs: `scale`, see `ScoreLoss`; `lists`, `padding`, `reduction`, `name` and `dtype`, see `ListLoss`.

    `y_true`, `y_pred` (logits of any size), masks and weights: see `ListLoss`. A weight multiplies the term of the item
    that is chosen. An item with a logit of -inf cannot be chosen. If it is ranked before an item that can be chosen, or
    tied with it under `"breslow"`, the loss is infinite, unless its weight is 0; ranked after all of them it costs 0. A
    NaN among the labels or logits of a list, or a logit of +inf, makes its loss NaN.

    Without ties, padding and `k` this is `ListMLELoss` of TF-Ranking and of Keras-RS. TF-Ranking breaks ties at random,
    Keras-RS as `"first"`; padding changes TF-Ranking's value.

    Raises:
      ValueError: `k` is below 1, `tau` is not positive, a name is unknown, or shapes do not match.
      TypeError: `k` is not an integer, `y_pred` is not floating-point.

    Cost: that of `ops.plackett_luce_loss`.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> labels, logits = tf.constant([[2.0, 0.0, 1.0]]), tf.math.log([[3.0, 1.0, 2.0]])
    >>> round(float(tf.exp(-ks.PlackettLuceLoss()(labels, logits))), 6)  # 3 / (3 + 2 + 1) * 2 / (2 + 1)
    0.333333
    >>> round(float(tf.exp(-ks.PlackettLuceLoss(k=1)(labels, logits))), 6)
    0.5

    Source: F. Xia, T.-Y. Liu, J. Wang, W. Zhang, H. Li, "Listwise Approach to Learning to Rank: Theory and Algorithm",
    ICML 2008; the first k: Y. Lan, T.-Y. Liu, Z. Ma, H. Li, "Generalization Analysis of Listwise Learning-to-Rank
    Algorithms", ICML 2009, and F. Xia, T.-Y. Liu, H. Li, "Statistical Consistency of Top-k Ranking", NIPS 2009;
    weights of ranks: Y. Lan, Y. Zhu, J. Guo, S. Niu, X. Cheng, "Position-Aware ListMLE: A Sequential Learning Process
    for Ranking", UAI 2014; the model: R. D. Luce, "Individual Choice Behavior", 1959, and R. L. Plackett, "The Analysis
    of Permutations", Applied Statistics 24, 1975; ties: N. Breslow, "Covariance Analysis of Censored Survival Data",
    Biometrics 30, 1974.
    """

    def __init__(
        self,
        *,
        k: int | None = None,
        ties: str = "breslow",
        tau: float = 1.0,
        discount: str | Callable | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(locals(), **kwargs)


@export
class CoupledRankDistilLoss(OperatorLoss, operator=coupled_rank_distil_loss):
    """Compute the mean negative log-likelihood of orders sampled from a teacher's scores (RankDistil).

    Use it to distill the ranking of a large model, the teacher, into a smaller one. `y_true` holds the teacher's
    scores. By default a label below 0 marks padding, so pass `padding="nan_labels"` or None if these scores may be
    negative.

    The teacher's scores are the logits of a Plackett-Luce distribution, from which orders z are sampled. With the
    scores s, divided by tau, the loss of a sample is `-sum_{i <= k} (s_{z_i} - logsumexp_{j >= i}
    s_{z_j})`. The result is the mean over samples.

    Args:
      tau: temperature, a positive number in units of the scores.
      k: number of ranks of the sampled orders that count; None for all.
      num_samples: number of samples of each list.
      seed: integer seed or None. Each call draws new samples from TensorFlow's generator. With a seed and
        `tf.random.set_seed` runs repeat, except under XLA, whose generator takes no seed.
      **kwargs: `scale`, see `ScoreLoss`; `lists`, `padding`, `reduction`, `name` and `dtype`, see `ListLoss`.

    `y_true`, `y_pred`, masks and weights: see `ListLoss`. Lists whose labels are all 0, and empty lists, give 0. A
    score or label that is not finite makes the loss of its list NaN.

    Without padding TF-Ranking's `CoupledRankDistilLoss` has the same value for the same noise. See the documentation,
    "Coming from TF-Ranking: losses".

    Raises:
      ValueError: `tau` is not positive, `k` or `num_samples` is below 1, a name is unknown, or shapes do not
        match.
      TypeError: an argument has another type, or `y_pred` is not floating-point.

    Cost: O(n log n) time and O(n) memory per sample.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> labels, scores = tf.constant([[0.0, 90.0, 45.0]]), tf.constant([[0.0, 1.0986123, 0.6931472]])
    >>> float(ks.CoupledRankDistilLoss(seed=1)(labels, scores)) > 0
    True

    Source: S. Reddi, R. Pasumarthi, A. Menon, A. Rawat, F. Yu, S. Kim, A. Veit, S. Kumar, "RankDistil: Knowledge
    Distillation for Ranking", AISTATS 2021.
    """

    def __init__(
        self,
        tau: float = 1.0,
        *,
        k: int | None = None,
        num_samples: int = 8,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(locals(), **kwargs)
