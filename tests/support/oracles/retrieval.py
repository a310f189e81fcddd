"""Float64 truth for soft retrieval metrics, a query at a time, from the formulas; and the hard metrics by rank."""

from __future__ import annotations

import math

import numpy as np


def sigmoid(x):
    return 0.5 * (1 + math.tanh(x / 2))


def memberships(similarities, k, tau):
    """Shares of the first k ranks: Laplace's distribution function at a threshold found by bisection."""

    def shares(threshold):
        z = (similarities - threshold) / tau
        return np.where(z < 0, np.exp(np.minimum(z, 0)) / 2, 1 - np.exp(-np.maximum(z, 0)) / 2)

    if len(similarities) <= k:
        return np.ones(len(similarities))
    low, high = similarities.min() - 50 * tau, similarities.max() + 50 * tau
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if shares(middle).sum() > k else (low, middle)
    return shares(low)


def soft_metric(similarities, relevant, metric, *, k=None, tau=1.0, divisor="relevant"):
    """The soft metric of one query; `relevant` holds a bool per candidate."""
    similarities, relevant = np.asarray(similarities, np.float64), np.asarray(relevant, bool)
    size, found = len(similarities), np.flatnonzero(relevant)
    if not found.size:
        return 0.0
    members = np.ones(size) if k is None else memberships(similarities, k, tau)
    most = found.size if k is None else min(k, found.size)

    def rank(i, among):
        return 1 + sum(sigmoid((similarities[j] - similarities[i]) / tau) for j in among if j != i)

    if metric == "average_precision":
        total = sum(members[i] * rank(i, found) / rank(i, range(size)) for i in found)
        return total / (most if divisor == "at_most_k" else found.size)
    if metric == "ndcg":
        ideal = sum(1 / math.log2(1 + r) for r in range(1, most + 1))
        return sum(members[i] / math.log2(1 + rank(i, range(size))) for i in found) / ideal
    if metric == "mrr":
        best = found[np.argmax(similarities[found])]
        return members[best] / rank(best, np.flatnonzero(~relevant))
    return members[found].sum() / (min(k, size) if metric == "precision" else found.size)


def hard_metric(similarities, relevant, metric, *, k=None, divisor="relevant"):
    """The metric of one query without ties, by its definition."""
    order = np.argsort(-np.asarray(similarities))
    hits = np.asarray(relevant, bool)[order]
    count = hits.sum()
    if not count:
        return 0.0
    ranks = np.flatnonzero(hits) + 1
    ranks, most = (ranks, count) if k is None else (ranks[ranks <= k], min(k, count))
    if metric == "average_precision":
        return sum((i + 1) / rank for i, rank in enumerate(ranks)) / (most if divisor == "at_most_k" else count)
    if metric == "ndcg":
        return sum(1 / np.log2(1 + ranks)) / sum(1 / np.log2(1 + np.arange(1, most + 1)))
    if metric == "mrr":
        return 1 / ranks[0] if ranks.size else 0.0
    return ranks.size / (min(k, len(hits)) if metric == "precision" else count)
