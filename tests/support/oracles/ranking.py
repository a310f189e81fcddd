"""Float64 truth for the losses of scores, a list at a time and without its padding, from the published formulas."""

from __future__ import annotations

import itertools
import math

import numpy as np

from support.oracles import sorting as oracles

GAINS = {"exponential": lambda label: 2.0**label - 1, "linear": lambda label: label}


def each_list(oracle, labels, scores, weights=None, frozen=None, **arguments):
    """`oracle` of the items whose label is not below 0, for each list; with what its gradient holds, if it takes it."""
    labels, scores = np.asarray(labels, np.float64), np.asarray(scores, np.float64)
    weights = np.ones(labels.shape) if weights is None else np.broadcast_to(weights, labels.shape)
    results = np.zeros(len(labels))
    for i, valid in enumerate(labels >= 0):
        held = {} if frozen is None else {"frozen": frozen[i, valid]}
        if valid.any():
            results[i] = oracle(labels[i, valid], scores[i, valid], weights[i, valid], **held, **arguments)
    return results


DISCOUNTS = {"log2": lambda rank: 1 / math.log2(1 + rank), "reciprocal": lambda rank: 1 / rank}


def rank_weights(size, k=None, discount="log2"):
    """The discounts of the ranks 1, ..., k, and 0 for those after a list of discounts."""
    if isinstance(discount, str):
        return [DISCOUNTS[discount](rank) for rank in range(1, size + 1)][:k]
    return [*discount[:k], *[0] * size][:size]


def ideal_dcg(gains, k=None):
    return float(np.dot(sorted(gains, reverse=True)[:k], rank_weights(len(gains), k)))


def negative_ndcg(dcg, gains, normalization, **ranks):
    if normalization == "none":
        return -dcg
    weights = rank_weights(len(gains), **ranks)
    ideal = sum(gain * weight for gain, weight in zip(sorted(gains, reverse=True), weights, strict=False))
    return -dcg / ideal if ideal else 0.0


def approx_ndcg(
    labels, scores, weights, *, tau=0.1, k=None, gain="exponential", discount="log2", normalization="ideal"
):
    gains = [GAINS[gain](label) for label in labels]
    total = 0.0
    for i, own in enumerate(scores):
        others = [score for j, score in enumerate(scores) if j != i]
        rank = 1 + sum(1 / (1 + math.exp((own - other) / tau)) for other in others)
        counts = 1 if k is None else min(max(k + 1 - rank, 0), 1)
        total += weights[i] * gains[i] * counts * DISCOUNTS[discount](rank)
    return negative_ndcg(total, gains, normalization, k=k, discount=discount)


def sinkhorn(matrix, iterations, tolerance=1e-6):
    """Rows and columns by turns, until the rows are right after a round of iterations."""
    length = max(each for each in range(1, 9) if iterations % each == 0)
    for iteration in range(1, iterations + 1):
        matrix = matrix / matrix.sum(axis=1, keepdims=True)
        matrix = matrix / matrix.sum(axis=0, keepdims=True)
        if iteration % length == 0 and np.abs(matrix.sum(axis=1) - 1).max() <= tolerance:
            break
    return matrix


def neural_ndcg(
    labels,
    scores,
    weights,
    *,
    tau=1.0,
    k=None,
    method="neural_sort",
    gain="exponential",
    discount="log2",
    normalization="ideal",
    num_iterations=50,
    **power,
):
    gains = np.array([GAINS[gain](label) for label in labels])
    matrix = sinkhorn(oracles.permutation(scores, tau, method=method, **power), num_iterations)
    sorted_gains = matrix @ (weights * gains)
    dcg = sum(got * weight for got, weight in zip(sorted_gains, rank_weights(len(gains), k, discount), strict=False))
    return negative_ndcg(dcg, gains, normalization, k=k, discount=discount)


def mean_ranks(values):
    """1 = the largest, tied values at their mean."""
    return np.array([1 + np.sum(values > own) + (np.sum(values == own) - 1) / 2 for own in values])


def spearman(labels, scores, weights, *, tau=1.0, method="neural_sort", **power):
    if len(set(labels)) < 2:
        return 0.0
    found, wanted = oracles.soft_rank(scores, tau, method=method, **power), mean_ranks(labels)
    return np.mean(weights) * (1 - np.corrcoef(found, wanted)[0, 1])


def neural_sort_cross_entropy(labels, scores, weights, *, tau=1.0, label_tau=None):
    if not labels.any():
        return 0.0
    matrix, total = oracles.neural_sort(scores, tau), 0.0
    soft = None if label_tau is None else oracles.neural_sort(labels, label_tau)
    for i, label in enumerate(sorted(labels, reverse=True)):
        shares = (labels == label) / np.sum(labels == label) if soft is None else soft[i]
        total -= np.sum(shares * weights * np.log(matrix[i]))
    return total / len(labels)


def approx_mrr(labels, scores, weights, *, tau=0.1):
    ranks = [0.5 + np.sum(1 / (1 + np.exp((own - scores) / tau))) for own in scores]
    return -np.sum(weights * labels / ranks) / np.sum(labels) if np.any(labels) else 0.0


def unique_softmax(labels, scores, weights, *, tau=1.0, gain="exponential"):
    strengths, total = np.exp(scores / tau), 0.0
    for i, label in enumerate(labels):
        against = strengths[i] + np.sum(strengths[labels < label])
        total -= weights[i] * GAINS[gain](label) * np.log(strengths[i] / against)
    return total


def calibrated_softmax(labels, scores, weights, *, tau=1.0, virtual_label=0.0):
    strengths = np.exp(scores / tau)
    total = 1 + np.sum(strengths)
    return -np.sum(weights * labels * np.log(strengths / total)) + np.mean(weights) * virtual_label * np.log(total)


def approx_rank_mse(labels, scores, weights, *, tau=1.0, discount="log2"):
    ranks = np.array([0.5 + np.sum(1 / (1 + np.exp((own - scores) / tau))) for own in scores])
    true = np.array([1 + np.sum(labels > own) + (np.sum(labels == own) - 1) / 2 for own in labels])
    discounts = {"log2": 1 / np.log2(1 + true), "reciprocal": 1 / true, None: 1.0}[discount]
    return np.mean(weights * discounts * (true - ranks) ** 2)


def softmax(labels, scores, weights, *, tau=1.0, poly_epsilon=0.0):
    chances = np.exp(scores / tau) / np.sum(np.exp(scores / tau))
    return np.sum(weights * labels * (poly_epsilon * (1 - chances) - np.log(chances)))


def list_net(labels, scores, weights, *, tau=1.0, label_tau=1.0):
    targets = np.exp(labels / label_tau) / np.sum(np.exp(labels / label_tau))
    return softmax(targets, scores, weights, tau=tau)


def circle(labels, scores, weights, *, frozen, tau=1 / 64, margin=0.25):
    scores, frozen = np.clip(scores, 0, 1), np.clip(frozen, 0, 1)
    total = 1.0
    for i, j in itertools.permutations(range(len(labels)), 2):
        if labels[i] > labels[j]:
            near = max(1 + margin - frozen[i], 0) * (1 - margin - scores[i])
            far = max(frozen[j] + margin, 0) * (scores[j] - margin)
            total += np.exp((near + far) / tau)
    return np.log(total) * np.mean(weights)
