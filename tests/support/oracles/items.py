"""Float64 truth for the losses of items and of several logits per item, a list at a time and without its padding.

Losses that hold a function of the logits constant in their gradient take those logits as `frozen`.
"""

import numpy as np


def bernoulli(target, logit):
    """The binary cross-entropy of a logit."""
    chance = 1 / (1 + np.exp(-logit))
    return -target * np.log(chance) - (1 - target) * np.log(1 - chance)


def per_list(total, labels, normalization):
    return total / len(labels) if normalization == "list" else total


def sigmoid_cross_entropy(labels, scores, weights, *, normalization="list"):
    total = sum(w * bernoulli(y, s) for y, s, w in zip(labels, scores, weights, strict=True))
    return per_list(total, labels, normalization)


def mean_squared(labels, scores, weights, *, normalization="list"):
    total = sum(w * (y - s) ** 2 for y, s, w in zip(labels, scores, weights, strict=True))
    return per_list(total, labels, normalization)


def ordinal(labels, logits, weights, *, use_fraction_label=False, normalization="list"):
    total = 0.0
    for label, own, weight in zip(labels, logits, weights, strict=True):
        for level, logit in enumerate(own, start=1):
            partial = label - level + 1 if use_fraction_label and 0 < label - level + 1 < 1 else 0.0
            total += weight * bernoulli(1.0 if label >= level else partial, logit)
    return per_list(total, labels, normalization)


def click_em(labels, logits, weights, *, frozen, exam_loss_weight=1.0, rel_loss_weight=1.0, normalization="list"):
    total = 0.0
    for label, own, before, weight in zip(labels, logits, frozen, weights, strict=True):
        seen, liked = 1 / (1 + np.exp(-before))
        rest = 1 - seen * liked
        targets = (1.0, 1.0) if label >= 1 else (seen * (1 - liked) / rest, liked * (1 - seen) / rest)
        total += weight * exam_loss_weight * bernoulli(targets[0], own[0])
        total += weight * rel_loss_weight * bernoulli(targets[1], own[1])
    return per_list(total, labels, normalization)


def mixture_em(labels, logits, weights, *, frozen, alpha=1.0):
    if not np.sum(labels) > 0:
        return 0.0
    likelihoods = np.exp(-alpha * np.sum(bernoulli(labels[:, None], frozen), axis=0))
    return np.sum(likelihoods / np.sum(likelihoods) * (weights @ bernoulli(labels[:, None], logits)))


def dual_learning(labels, logits, weights, *, frozen, max_weight=20.0):
    total = 0.0
    for own, other in ((0, 1), (1, 0)):
        shares = np.exp(logits[:, own]) / np.sum(np.exp(logits[:, own]))
        ratios = np.minimum(np.exp(frozen[0, other] - frozen[:, other]), max_weight)
        total -= np.sum(weights * labels * ratios * np.log(shares))
    return total
