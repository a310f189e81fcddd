"""Ranking metrics of one list in NumPy, straight from their formulas; ties by trying all orders."""

import itertools

import numpy as np


def orders(scores, ties):
    """All orders of the items by score: one, or with `ties="mean"` every order of tied items."""
    if ties == "position":
        return [np.argsort(-scores, kind="stable")]
    groups = [np.flatnonzero(scores == value) for value in sorted(set(scores.tolist()), reverse=True)]
    every = itertools.product(*[list(itertools.permutations(group)) for group in groups])
    return [np.array([item for group in each for item in group], int) for each in every]


def metric(
    name,
    scores,
    labels,
    *,
    mask=None,
    weights=None,
    ties="mean",
    min_label=1.0,
    keep_zero_weights=False,
    no_pairs=0.0,
    **options,
):
    """The metric of one list, float64. `labels` are [n], or [n, topics]. Items with the score -inf take no rank."""
    scores, labels = np.asarray(scores, float), np.asarray(labels, float)
    weights = np.ones(len(scores)) if weights is None else np.broadcast_to(np.asarray(weights, float), scores.shape)
    valid = (weights > 0) | keep_zero_weights
    valid = valid if mask is None else np.asarray(mask, bool) & valid
    scores, labels, weights = scores[valid], labels[valid], weights[valid]
    if name == "ordered_pair_accuracy":
        return ordered_pair_accuracy(scores, labels, weights, ties, no_pairs)
    if not len(scores):
        return 0.0
    ties = "position" if name in IN_ORDER_OF_THE_LIST else ties  # which have no other rule
    of_order = OF_GRADES.get(name)
    if of_order is None:
        relevant = (labels >= min_label).astype(float)
        of_order, labels = BINARY[name], relevant
    options["ranked"] = np.sum(scores > -np.inf)
    return np.mean([of_order(labels[order], weights[order], **options) for order in orders(scores, ties)])


def gains_of(labels, gain):
    return gain(labels) if callable(gain) else {"exponential": 2**labels - 1, "linear": labels}[gain]


def discounts_of(size, k, discount):
    ranks = np.arange(1.0, size + 1)
    named = {"log2": 1 / np.log2(1 + ranks), "reciprocal": 1 / ranks}
    return np.where(ranks <= (k or size), discount(ranks) if callable(discount) else named[discount], 0)


def mean_by(relevance, weights):
    return np.sum(weights * relevance) / np.sum(relevance)


def dcg(labels, weights, ranked, *, k=None, gain="exponential", discount="log2"):
    gains = gains_of(labels, gain)
    if not gains.sum():
        return 0.0
    return np.sum((weights * gains * discounts_of(len(labels), k, discount))[:ranked]) / mean_by(gains, weights)


def ndcg(labels, weights, ranked, *, k=None, gain="exponential", discount="log2"):
    gains = weights * gains_of(labels, gain)
    rank_weights = discounts_of(len(labels), k, discount)
    return np.sum((gains * rank_weights)[:ranked]) / np.sum(np.sort(gains)[::-1] * rank_weights) if gains.sum() else 0.0


def alpha_dcg(labels, weights, ranked, *, k=None, alpha=0.5, discount="log2"):
    labels = np.maximum(labels, 0)
    before = np.cumsum(labels, axis=0) - labels
    gains = np.sum(labels * (1 - alpha) ** before, axis=-1)
    relevant = (labels.max(axis=-1) > 0).astype(float)
    if not relevant.sum():
        return 0.0
    return np.sum((weights * gains * discounts_of(len(labels), k, discount))[:ranked]) / mean_by(relevant, weights)


def arp(labels, weights, ranked):
    relevance = (weights * labels)[:ranked]
    return np.sum(np.arange(1, ranked + 1) * relevance) / np.sum(relevance) if relevance.sum() else 0.0


def precision(relevant, _, ranked, k=None):
    return np.sum(relevant[:ranked][:k]) / len(relevant[:k])


def recall(relevant, _, ranked, k=None):
    return np.sum(relevant[:ranked][:k]) / np.sum(relevant) if relevant.sum() else 0.0


def hits(relevant, _, ranked, k=None):
    return np.max(relevant[:ranked][:k], initial=0)


def mrr(relevant, _, ranked, k=None):
    return np.max((relevant[:ranked] / np.arange(1, ranked + 1))[:k], initial=0)


def mean_average_precision(relevant, weights, ranked, k=None, divisor="relevant"):
    precisions = np.cumsum(relevant) / np.arange(1, len(relevant) + 1)
    total = np.sum(np.sort(weights * relevant)[::-1][: k if divisor == "at_most_k" else None])
    return np.sum((weights * relevant * precisions)[:ranked][:k]) / total if total else 0.0


def precision_ia(relevant, _, ranked, k=None):
    topics = np.sum(relevant.max(axis=0))
    return np.sum(relevant[:ranked][:k]) / (topics * len(relevant[:k])) if topics else 0.0


def err(labels, _, ranked, k=None, max_label=4.0):
    total, reached = 0.0, 1.0
    for rank, label in enumerate(labels[:ranked][:k], start=1):
        stops = (2**label - 1) / 2**max_label
        total, reached = total + reached * stops / rank, reached * (1 - stops)
    return total


IN_ORDER_OF_THE_LIST = {"alpha_dcg", "expected_reciprocal_rank"}
OF_GRADES = {
    "ndcg": ndcg,
    "dcg": dcg,
    "alpha_dcg": alpha_dcg,
    "average_relevance_position": arp,
    "expected_reciprocal_rank": err,
}
BINARY = {
    "precision": precision,
    "recall": recall,
    "hits": hits,
    "mrr": mrr,
    "mean_average_precision": mean_average_precision,
    "precision_ia": precision_ia,
}


def ordered_pair_accuracy(scores, labels, weights, ties, no_pairs):
    pairs = labels[:, None] > labels[None, :]
    right = (scores[:, None] > scores[None, :]) + (0.5 if ties == "mean" else 0) * (scores[:, None] == scores[None, :])
    total = np.sum(pairs * weights[:, None])
    return np.sum(pairs * right * weights[:, None]) / total if total else no_pairs
