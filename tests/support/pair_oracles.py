"""Float64 truth for the pairwise losses: loops over the pairs of one list, metrics swapped item by item."""

from __future__ import annotations

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


def swap_weights(labels, scores, kind, *, k=None, gain=None, discount=None, smooth_fraction=None):
    """[m, m]: what swapping two items does to the metric, mixed with LambdaLoss' relative discounts."""
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
                # What the two items would be worth if only their distance mattered.
                apart, only = abs(a - b), _metric("dcg", labels, None, gain, "log2")
                gap = abs(only([labels[i]]) - only([labels[j]])) / _best(kind, labels, k, gain, discount)
                step = _discount(discount)(apart) - _discount(discount)(apart + 1)
                weights[i, j] += (1 - fraction) * gap * step
    return weights


def _best(kind, labels, k, gain, discount):
    best = _metric("dcg", labels, k, gain, discount)(sorted(labels, reverse=True))
    return 1.0 if kind == "dcg" or best <= 0 else best


def list_loss(
    labels, scores, weights=None, *, sigma=1.0, ties="ignore", normalization="pairs", frozen=None, keep=None, **swaps
):
    """One list; `frozen` are the scores that lambda weights go by, those of the loss if `None`."""
    kept = [j for j in range(len(labels)) if (labels[j] >= 0 if keep is None else keep[j])]
    y, s = [float(labels[j]) for j in kept], [float(scores[j]) for j in kept]
    w = [1.0 if weights is None else float(weights[j]) for j in kept]
    kind = swaps.pop("lambda_weight", None)
    ranked_by = s if frozen is None else [float(frozen[j]) for j in kept]
    swap = np.ones((len(y), len(y))) if kind is None else swap_weights(y, ranked_by, kind, **swaps)
    total, pairs = 0.0, 0
    for i in range(len(y)):
        for j in range(len(y)):
            if y[i] > y[j]:
                total += w[i] * swap[i, j] * softplus(-sigma * (s[i] - s[j]))
                pairs += 1
            elif ties == "half" and y[i] == y[j] and i < j:
                both = softplus(-sigma * (s[i] - s[j])) / 2 + softplus(-sigma * (s[j] - s[i])) / 2
                total += (w[i] + w[j]) / 2 * swap[i, j] * both
                pairs += 1
    return total / {"pairs": max(pairs, 1), "list": max(len(y), 1), "none": 1}[normalization]
