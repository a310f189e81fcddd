"""Float64 truth for the pairwise losses: loops over the pairs of one list, metrics swapped item by item."""

from __future__ import annotations

import functools

import numpy as np


def softplus(x):
    return np.logaddexp(0.0, x)


def ranks_of(scores):
    """1 = the highest score, ties in the order of the list."""
    order = np.argsort(-np.asarray(scores), kind="stable")
    return {item: rank for rank, item in enumerate(order.tolist(), start=1)}


def _discount(name):
    return {"log2": lambda r: 1 / np.log2(1 + r), "reciprocal": lambda r: 1 / r}[name]


def _metric(kind, labels, k, gain, discount):
    """A function of the labels in ranked order."""
    gains = {"exponential": lambda y: 2.0**y - 1, "linear": lambda y: y}[gain]

    def dcg(ranked):
        return sum(gains(y) * _discount(discount)(r) for r, y in enumerate(ranked[:k], start=1))

    def average_precision(ranked):
        hits = [y >= 1 for y in ranked]
        found = [np.mean(hits[:r]) for r in range(1, len(hits[:k]) + 1) if hits[r - 1]]
        return sum(found) / max(sum(hits), 1)

    best = dcg(sorted(labels, reverse=True))
    return {
        "dcg": dcg,
        "ndcg": lambda ranked: dcg(ranked) / best if best > 0 else 0.0,
        "mrr": lambda ranked: dcg(ranked) / best if best > 0 else 0.0,
        "map": average_precision,
        "precision": lambda ranked: float(sum(y >= 1 for y in ranked[:k])),
    }[kind]


COSTS = {
    "logistic": lambda lead, gap: softplus(lead),
    "hinge": lambda lead, gap: max(0.0, 1 + lead),
    "soft_zero_one": lambda lead, gap: 1 / (1 + np.exp(-lead)),
    "squared": lambda lead, gap: (gap + lead) ** 2,
}


def relative_weights(labels, scores, *, kind="dcg", k=None, gain=None, discount=None, neighbors_only=False):
    """[m, m]: LambdaLoss' weights for the first k, the second version, from the ranks of each two items."""
    gain, discount, ranks = gain or (lambda y: 2.0**y - 1), discount or (lambda r: 1 / np.log2(1 + r)), ranks_of(scores)
    gains = [gain(y) for y in labels]
    ideal = sum(g * discount(r) for r, g in enumerate(sorted(gains, reverse=True)[:k], start=1))
    weights = np.zeros((len(labels), len(labels)))
    for i in range(len(labels)):
        for j in range(len(labels)):
            apart, last = abs(ranks[i] - ranks[j]), max(ranks[i], ranks[j])
            if apart == 1 or (apart > 1 and not neighbors_only):
                factor = 1 / (1 - discount(last)) if k is not None and last > k else 1
                weights[i, j] = abs(gains[i] - gains[j]) * (discount(apart) - discount(apart + 1)) * factor
    return weights / ideal if kind == "ndcg" and ideal > 0 else weights


def swap_weights(labels, scores, kind, *, k=None, gain=None, discount=None, smooth_fraction=None):
    """[m, m]: what swapping two items does to the metric, mixed with LambdaLoss' relative discounts."""
    if kind == "label_diff":
        return np.abs(np.subtract.outer(labels, labels))
    size, fraction = len(labels), 1.0 if smooth_fraction is None else smooth_fraction
    gain = gain or ("linear" if kind == "mrr" else "exponential")
    discount = discount or ("reciprocal" if kind == "mrr" else "log2")
    ranks = ranks_of(scores)
    ranked = [labels[i] for i in sorted(range(size), key=ranks.get)]
    metric = _metric(kind, labels, k, gain, discount)
    weights = np.zeros((size, size))
    for i in range(size):
        for j in range(size):
            swapped = list(ranked)
            a, b = ranks[i] - 1, ranks[j] - 1
            swapped[a], swapped[b] = swapped[b], swapped[a]
            weights[i, j] = fraction * abs(metric(ranked) - metric(swapped))
            if i != j and fraction < 1 and min(a, b) < (k or size):
                # The change of the metric if only the distance of the two items mattered.
                apart, only = abs(a - b), _metric("dcg", labels, None, gain, "log2")
                gap = abs(only([labels[i]]) - only([labels[j]])) / _best(kind, labels, k, gain, discount)
                step = _discount(discount)(apart) - _discount(discount)(apart + 1)
                weights[i, j] += (1 - fraction) * gap * step
    return weights


def _best(kind, labels, k, gain, discount):
    best = _metric("dcg", labels, k, gain, discount)(sorted(labels, reverse=True))
    return 1.0 if kind == "dcg" or best <= 0 else best


def list_loss(
    labels,
    scores,
    weights=None,
    *,
    tau=1.0,
    cost="logistic",
    ties="ignore",
    normalization="auto",
    frozen=None,
    keep=None,
    **swaps,
):
    """One list. Lambda weights use the scores `frozen`; `None` takes the scores of the loss."""
    kept = [j for j in range(len(labels)) if (labels[j] >= 0 if keep is None else keep[j])]
    y, s = [float(labels[j]) for j in kept], [float(scores[j]) for j in kept]
    w = [1.0 if weights is None else float(weights[j]) for j in kept]
    kind = swaps.pop("lambda_weight", None)
    ranked_by = s if frozen is None else [float(frozen[j]) for j in kept]
    if callable(kind):
        swap = kind(y, ranked_by)
    else:
        swap = np.ones((len(y), len(y))) if kind is None else swap_weights(y, ranked_by, kind, **swaps)
    total, pairs = 0.0, 0
    for i in range(len(y)):
        for j in range(len(y)):
            if cost == "squared":
                if i < j:
                    total += (w[i] + w[j]) / 2 * swap[i, j] * COSTS[cost]((s[j] - s[i]) / tau, y[i] - y[j])
                    pairs += 1
            elif y[i] > y[j]:
                total += w[i] * swap[i, j] * COSTS[cost]((s[j] - s[i]) / tau, y[i] - y[j])
                pairs += 1
            elif ties == "half" and y[i] == y[j] and i < j:
                both = softplus((s[j] - s[i]) / tau) / 2 + softplus((s[i] - s[j]) / tau) / 2
                total += (w[i] + w[j]) / 2 * swap[i, j] * both
                pairs += 1
    if normalization == "auto":
        normalization = "pairs" if kind is None else "none"
    return total / {"pairs": max(pairs, 1), "list": max(len(y), 1), "none": 1}[normalization]


def weighted_loss(labels, scores, weights, *, cost, lambda_weight=None, **options):
    """`list_loss` in the arguments of our losses, whose lambda weight may be an object of several choices."""
    return list_loss(labels, scores, weights, cost=cost, lambda_weight=by_loops(lambda_weight), **options)


def by_loops(lambda_weight):
    """A name as it is; a function of labels and scores for an object with attributes."""
    if lambda_weight is None or isinstance(lambda_weight, str):
        return lambda_weight
    kind, k = lambda_weight.metric, lambda_weight.k
    if lambda_weight.version == 2:
        choices = {name: getattr(lambda_weight, name) for name in ("gain", "discount", "neighbors_only")}
        return functools.partial(relative_weights, kind=kind, k=k, **choices)
    if lambda_weight.min_label is not None:
        return lambda y, s: swap_weights(np.float64(np.greater_equal(y, lambda_weight.min_label)), s, kind, k=k)
    choices = {name: getattr(lambda_weight, name) for name in ("gain", "discount", "smooth_fraction")}
    return lambda y, s: swap_weights(y, s, kind, k=k, **choices)
