"""Float64 truth for Plackett-Luce: choices one after another, on one list, and sums over all there are."""

from __future__ import annotations

import functools
import itertools

import numpy as np


def masked(logits, mask=None):
    """Log-scores of one list in float64, -inf where masked."""
    scores = np.array(logits, np.float64)
    return scores if mask is None else np.where(mask, scores, -np.inf)


def suffix_logsumexp(values):
    """logsumexp(values[..., i:]) for each i."""
    return np.logaddexp.accumulate(np.asarray(values, np.float64)[..., ::-1], axis=-1)[..., ::-1]


def choice_log_probs(scores, open_items):
    """The log-probability of each item to be chosen next among the open ones: -inf for the others."""
    kept = np.full(len(scores), -np.inf)
    kept[list(open_items)] = np.asarray(scores, np.float64)[list(open_items)]
    kept -= kept.max()
    return kept - np.logaddexp.reduce(kept)


def log_prob(scores, order):
    """The log-probability of an order, complete or not. If only items of -inf are open, any has probability 1."""
    total, open_items = 0.0, set(range(len(scores)))
    for item in order:
        if any(scores[j] > -np.inf for j in open_items):
            total += choice_log_probs(scores, open_items)[item]
        open_items.remove(item)
    return total


def log_prob_gradient(scores, order):
    """Each choice adds 1 to the chosen item's and takes everyone's probability to be chosen off."""
    result, open_items = np.zeros(len(scores)), set(range(len(scores)))
    for item in order:
        if any(scores[j] > -np.inf for j in open_items):
            result[item] += 1
            result -= np.exp(choice_log_probs(scores, open_items))
        open_items.remove(item)
    return result


def outcomes(scores, count=None, mask=None):
    """Every possible order of the first `count` items: what cannot be chosen last by index, padding after the rest."""
    scores, mask = np.asarray(scores), np.ones(len(scores), bool) if mask is None else np.asarray(mask)
    count = len(scores) if count is None else count
    possible = np.flatnonzero(scores > -np.inf)
    tail = [*np.flatnonzero(mask & (scores == -np.inf)), *np.flatnonzero(~mask)]
    beginnings = itertools.permutations(possible, min(count, len(possible)))
    return [tuple(int(item) for item in (*first, *tail))[:count] for first in beginnings]


def probabilities(scores, count=None, mask=None):
    """{order: probability} over all possible ones."""
    return {order: np.exp(log_prob(scores, order)) for order in outcomes(scores, count, mask)}


def marginal_top_k(scores, k):
    """The probability of each item to be among the first k."""
    result = np.zeros(len(scores))
    for order, probability in probabilities(scores, k).items():
        for item in order:
            result[item] += probability * (scores[item] > -np.inf)
    return result


def expected(scores, function, count=None, mask=None):
    """The expectation of a function of orders, and its gradient with respect to the logits."""
    value, gradient = 0.0, np.zeros(len(scores))
    for order, probability in probabilities(scores, count, mask).items():
        result = probability * function(np.array(order))
        value += result
        gradient += result * log_prob_gradient(scores, order)
    return value, gradient


def kl_divergence(scores, others=None, count=None):
    """E[log p - log q] by a recursion over the sets of open items; with no `others` E[log p], minus the entropy."""
    count = len(scores) if count is None else count

    @functools.cache
    def rest(open_items, left):
        if left == 0 or not any(scores[j] > -np.inf for j in open_items):
            return 0.0
        log_p = choice_log_probs(scores, open_items)
        log_q = np.zeros(len(scores)) if others is None else choice_log_probs(others, open_items)
        return sum(
            np.exp(log_p[j]) * (log_p[j] - log_q[j] + rest(open_items - {j}, left - 1))
            for j in open_items
            if scores[j] > -np.inf
        )

    return rest(frozenset(range(len(scores))), count)


def entropy(scores, count=None):
    """E[-log p]."""
    return -kl_divergence(scores, count=count)
