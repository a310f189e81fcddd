"""The negative log-likelihood of orders under the Plackett-Luce model: ListMLE, and RankDistil of sampled orders."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.ops.core.choices import Compared, Ordered, choice_costs, choice_derivatives, choices_of
from keras_softsort.ops.core.order import masked_last
from keras_softsort.ops.core.temperature import relative_scores
from keras_softsort.ops.ranking._noise import Noise, mean_over_samples
from keras_softsort.ops.ranking.dcg import DISCOUNTS, rank_discounts
from keras_softsort.ops.ranking.lists import Derivatives, RankingLists, TauArguments, finite
from keras_softsort.ops.ranking.operators import SEED, list_operator

if TYPE_CHECKING:
    from typing_extensions import Unpack

# The discount of position-aware ListMLE, which depends on the number of items.
EXPONENTIAL = "exponential"


_discount = functools.partial(arguments.name_or_function, choices=(*DISCOUNTS, EXPONENTIAL))


def _has_meaning(scores: tf.Tensor, labels: tf.Tensor, **_: Any) -> tf.Tensor:
    """Whether scores are numbers below infinity, also minus infinity, and labels numbers, also infinite."""
    return tf.logical_and(scores <= scores.dtype.max, tf.logical_not(tf.math.is_nan(labels)))


@export
@list_operator(
    _has_meaning,
    tau=1.0,
    k=arguments.optional_positive_integer,
    ties=arguments.choice("breslow", "first"),
    discount=arguments.optional(_discount),
)
def plackett_luce_loss(
    lists: RankingLists,
    *,
    k: int | None = None,
    ties: str = "breslow",
    discount: str | Callable | None = None,
    **shared: Unpack[TauArguments],
) -> tf.Tensor:
    """Compute the negative log-likelihood of the order of the labels under the Plackett-Luce model of the scores.

    Scores come first and labels second, unlike in Keras and scikit-learn.

    In this model the items are chosen one after another, each with a probability proportional to exp(score). For a list
    of m items in descending order of their labels, with scores a and weights w (1 by default):
    `-sum_i w_i (a_i - logsumexp_{j >= i} a_j)` over the first min(k, m) ranks i. This is the loss ListMLE. See
    `PlackettLuceLoss` for its use.

    Args:
      scores: logits, floating-point `[..., n]`.
      labels: numbers `[..., n]` of any sign.
      k: number of ranks that count, those of the largest labels; None for all. 1 is the conditional logit.
      ties: rule for items with equal labels. `"breslow"`: each of them is chosen from all items that are not ranked
        before their group, as in Cox's model; if only p ranks of a group of g items count, each item costs p / g of
        that. `"first"`: items with equal labels are ranked in the order of the list.
      tau: temperature in units of the scores, positive: a number, or a tensor that broadcasts against the leading axes.
      discount: the weight of the term of rank r: None, 1; `"log2"`, 1 / log2(1 + r); `"reciprocal"`, 1 / r;
        `"exponential"`, (2^(m - r) - 1) / (2^(m - 1) - 1), as in p-ListMLE; or a function of a tensor of ranks. This is
        position-aware ListMLE. Tied items have the mean of their ranks' weights.
      mask, weights: as in `mean_squared_loss`.

    Returns:
      `[...]` in the dtype of `scores`, not divided by the list size. Masked items are left out. Empty lists give 0. An
      item with a score of -inf cannot be chosen. If it is ranked before an item that can be chosen, or tied with it
      under `"breslow"`, the result is infinite, unless its weight is 0; ranked after all of them it costs 0. A NaN
      label or score, or a score of +inf, makes its list NaN.

    Raises:
      TypeError: `scores` is not floating-point, `k` is not an integer, or `mask` is not bool.
      ValueError: `k` is below 1, `tau` is not positive, a name is unknown, or shapes do not match.

    Cost: a sort and O(n) per list; O(n^1.5) if the scores of a list span more than 70 temperatures.

    Example:
      >>> round(float(ks.ops.plackett_luce_loss([1.0986123, 0.0, 0.6931472], [2, 0, 1])), 4)  # log(6 / 3) + log(3 / 2)
      1.0986

    Source: F. Xia et al., "Listwise Approach to Learning to Rank", ICML 2008; Y. Lan et al., "Generalization Analysis
    of Listwise Learning-to-Rank Algorithms", ICML 2009 (k); F. Xia et al., "Statistical Consistency of Top-k Ranking",
    NIPS 2009 (k); Y. Lan et al., "Position-Aware ListMLE", UAI 2014; N. Breslow, "Covariance Analysis of Censored
    Survival Data", Biometrics 30, 1974 (ties).
    """
    return choice_costs(*_choices(lists, k, ties, discount))


@plackett_luce_loss.derivatives
def plackett_luce_derivatives(lists: RankingLists, **options: Any) -> Derivatives:
    """Compute the derivatives of `plackett_luce_loss`."""
    slopes, curvatures = choice_derivatives(*_choices(lists, **options))
    scale = 1 / lists.tau
    return Derivatives(scale * slopes, tf.square(scale) * curvatures)


@export
@list_operator(
    finite, tau=1.0, k=arguments.optional_positive_integer, num_samples=arguments.positive_integer, seed=SEED
)
def coupled_rank_distil_loss(
    lists: RankingLists,
    *,
    seed: Any,
    k: int | None = None,
    num_samples: int = 8,
    **shared: Unpack[TauArguments],
) -> tf.Tensor:
    """Compute the mean negative log-likelihood of orders sampled from a teacher's scores (RankDistil).

    Scores come first and labels second, unlike in Keras and scikit-learn.

    The teacher's scores are the logits of a Plackett-Luce distribution, from which orders z are sampled. With the
    scores s, divided by tau, the loss of a sample is `-sum_{i <= k} (s_{z_i} - logsumexp_{j >= i} s_{z_j})`. The result
    is the mean over samples. See `CoupledRankDistilLoss` for its use.

    Args:
      scores, tau, mask, weights: as in `plackett_luce_loss`, but scores are finite.
      labels: `[..., n]` the teacher's scores, numbers of any sign.
      seed: two integers, the stateless seed of the noise.
      k: number of ranks of the sampled orders that count; None for all.
      num_samples: number of samples per list.

    Returns:
      `[...]` in the dtype of `scores`. Masked items are left out. Lists whose labels are all 0, and empty lists, give
      0. A score or label that is not finite makes its list NaN.

    Raises:
      TypeError: `scores` is not floating-point, or an argument has another type.
      ValueError: `tau` is not positive, `k` or `num_samples` is below 1, or shapes do not match.

    Cost: O(n log n) time and O(n) memory per sample.

    Example:
      >>> teacher, scores = [0.0, 90.0, 45.0], [0.0, 1.0986123, 0.6931472]  # the order is certain
      >>> round(float(ks.ops.coupled_rank_distil_loss(scores, teacher, seed=[1, 2])), 4)
      1.0986

    Source: S. Reddi et al., "RankDistil: Knowledge Distillation for Ranking", AISTATS 2021.
    """
    noise, formula = Noise(num_samples, 1.0, seed), plackett_luce_loss.formula
    losses = mean_over_samples(lists, noise, formula, k=k, ties="first", of="labels")
    taught = tf.reduce_any(tf.not_equal(lists.labels, 0), axis=-1)
    return tf.where(taught, losses, tf.zeros_like(losses))


def _choices(
    lists: RankingLists, k: int | None, ties: str, discount: str | Callable | None
) -> tuple[Ordered | Compared, tf.Tensor, tf.Tensor | None]:
    """The choices in the order of the labels, the scores [B, n] in units of tau, and the weights of the choices."""
    # Masked items come after all others, where no score is left to choose from, and so cost nothing.
    choices = choices_of(masked_last(lists.labels, lists.mask), ties)
    scores = relative_scores(lists.scores, lists.mask, lists.tau)
    weights = None if lists.weights is None else choices.arranged(lists.weights)
    if k is not None or discount is not None:
        rank_weights = choices.at_ranks(_rank_weights(lists, k, discount))
        weights = rank_weights if weights is None else weights * rank_weights
    return choices, scores, weights


def _rank_weights(lists: RankingLists, k: int | None, discount: str | Callable | None) -> tf.Tensor:
    """The weights of the ranks, 0 after the k-th: [n], or [B, n] if they depend on the number of items."""
    if discount != EXPONENTIAL:
        return rank_discounts(lists.scores, k, discount or tf.ones_like)
    two = tf.constant(2, lists.scores.dtype)
    # Divided by 2^(m - 1), so that it does not overflow.
    last = tf.pow(two, 1 - lists.sizes()[:, tf.newaxis])
    each = rank_discounts(lists.scores, kind=lambda ranks: tf.pow(two, 1 - ranks))
    counted = rank_discounts(lists.scores, k, tf.ones_like)
    return counted * tf.math.divide_no_nan(tf.nn.relu(each - last), 1 - last)
