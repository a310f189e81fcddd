"""Float64 truth for soft and hard nearest neighbors, one query at a time, from the published formulas."""

from __future__ import annotations

import math

import numpy as np

from support.oracles import sorting as oracles


def distance(query, candidate, kind="squared_euclidean"):
    """The distance of two vectors."""
    query, candidate = np.asarray(query, np.float64), np.asarray(candidate, np.float64)
    if kind == "dot":
        return -float(query @ candidate)
    if kind == "cityblock":
        return float(np.sum(np.abs(query - candidate)))
    if kind == "cosine":
        lengths = math.sqrt(query @ query) * math.sqrt(candidate @ candidate)
        return 1 - float(query @ candidate) / lengths if lengths else 1.0
    squared = float(np.sum((query - candidate) ** 2))
    return squared if kind == "squared_euclidean" else math.sqrt(squared)


def soft_neighbors(
    query, candidates, k, tau=1.0, *, kind="squared_euclidean", method="neural_sort", noise=0.0, **options
):
    """Grover et al. (2019), section 6.3: the sum of the first k rows of the sort of minus the distances."""
    scores = np.array([-distance(query, candidate, kind) for candidate in candidates]) + noise
    return oracles.permutation(scores, tau, method=method, **options)[:k].sum(axis=0)


def same_class(a, b):
    """Whether two labels are equal, or the inner product of two rows of classes."""
    return float(a == b) if np.ndim(a) == 0 else float(np.asarray(a, np.float64) @ np.asarray(b, np.float64))


def dknn(labels, embeddings, k, tau=1.0, *, num_queries=None, objective="linear", **options):
    """The loss of each query. Items with a label below 0 are padding: they cost nothing and are no candidates."""
    padding = [bool(np.any(np.asarray(label) < 0)) for label in labels]
    losses = []
    for i in range(len(labels) if num_queries is None else num_queries):
        others = [j for j in range(num_queries or 0, len(labels)) if j != i and not padding[j]]
        right = np.array([same_class(labels[i], labels[j]) for j in others])
        if padding[i] or not right.any():
            losses.append(0.0)
            continue
        share = soft_neighbors(embeddings[i], embeddings[others], k, tau, **options) @ right / k
        losses.append(-share if objective == "linear" else -math.log(share))
    return np.array(losses)


def nearest(query, references, k, kind="squared_euclidean"):
    """Ids and distances of the k nearest, equals by their id."""
    distances = [distance(query, reference, kind) for reference in references]
    ids = sorted(range(len(references)), key=lambda j: (distances[j], j))[:k]
    return ids, [distances[j] for j in ids]


def votes(ids, distances, labels, num_classes, by="count"):
    """The share of each class."""
    if by == "count":
        weights = [1.0] * len(ids)
    elif 0.0 in distances:
        weights = [float(away == 0) for away in distances]
    else:
        weights = [1 / away for away in distances]
    return np.array(
        [sum(w for w, j in zip(weights, ids, strict=True) if labels[j] == c) for c in range(num_classes)]
    ) / sum(weights)
