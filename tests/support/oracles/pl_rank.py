"""Float64 truth for PL-Rank: its estimate from one order, by the sums of the paper as they stand."""

import numpy as np

from support.oracles import plackett_luce
from support.oracles.plackett_luce import choice_log_probs


def reward(order, rewards, rank_weights):
    return sum(weight * rewards[item] for weight, item in zip(rank_weights, order[: len(rank_weights)], strict=True))


def estimate(scores, order, rewards, rank_weights):
    """The estimate of the gradient of each item from one order.

    It is the reward after the item, plus, for each place that the item could have taken, its probability there times
    the difference of its own reward and the reward from there on.
    """
    order, count = list(order), len(rank_weights)
    result = np.zeros(len(scores))
    for item in range(len(scores)):
        place = order.index(item)
        result[item] = sum(rank_weights[i] * rewards[order[i]] for i in range(place + 1, count))
        for i in range(min(place + 1, count)):
            chance = np.exp(choice_log_probs(scores, order[i:])[item])
            came = sum(rank_weights[j] * rewards[order[j]] for j in range(i, count))
            result[item] += chance * (rank_weights[i] * rewards[item] - came)
    return result


def expected_loss(labels, scores, weights, *, k=None, gain="exponential", discount="log2", normalization="ideal"):
    """The loss and its gradient by enumeration, of the items that are not padding."""
    kept, gradient = labels >= 0, np.zeros(len(labels))
    gains = (2.0**labels - 1 if gain == "exponential" else labels)[kept]
    ranks = np.arange(1, kept.sum() + 1)
    discounts = {"log2": 1 / np.log2(1 + ranks), "reciprocal": 1 / ranks}
    rank_weights = (discounts[discount] if isinstance(discount, str) else np.array(discount))[: len(ranks)][:k]
    if not gains.any():
        return 0.0, gradient
    best = np.dot(rank_weights, np.sort(gains)[::-1][: len(rank_weights)])
    value, gradient[kept] = plackett_luce.expected(
        scores[kept], lambda order: -reward(order, (weights[kept] * gains), rank_weights)
    )
    scale = best if normalization == "ideal" else 1.0
    return value / scale, gradient / scale
