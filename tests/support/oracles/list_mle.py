"""Float64 truth for ListMLE: a choice after another, on one list."""

import numpy as np


def log_sum_exp(values):
    peak = max(values)
    return peak if np.isinf(peak) else peak + np.log(np.sum(np.exp(np.array(values) - peak)))


def likelihood_loss(labels, scores, item_weights=None, *, k=None, ties="breslow"):
    """The loss of one list, group after group of tied items; in `"first"` order every item is a group."""
    remaining = [j for j, label in enumerate(labels) if label >= 0]
    groups = [[j for j in remaining if labels[j] == label] for label in sorted(set(labels), reverse=True) if label >= 0]
    if ties == "first":
        groups = [[j] for group in groups for j in group]
    total, placed = 0.0, 0
    for group in groups:
        normalizer = log_sum_exp([scores[j] for j in remaining])
        inside = len(group) if k is None else min(max(k - placed, 0), len(group))
        for j in group:
            weight = 1.0 if item_weights is None else item_weights[j]
            total -= inside / len(group) * weight * (scores[j] - normalizer)
        placed += len(group)
        remaining = [j for j in remaining if j not in group]
    return total
