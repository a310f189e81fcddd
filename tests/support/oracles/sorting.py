"""Float64 truth for the soft sorts, written from the published formulas. Slow, and independent of the package."""

from __future__ import annotations

import numpy as np


def _softmax(logits):
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def neural_sort_rows(x, tau, rows):
    """Rows (from 0) of Grover et al. (2019), eq. 5, for one list, most significant first."""
    spread = np.concatenate([np.abs(part[:, None] - x).sum(axis=1) for part in np.array_split(x, 1 + len(x) // 500)])
    factors = len(x) + 1 - 2 * (np.asarray(rows) + 1)
    return _softmax((factors[:, None] * x - spread) / tau)


def soft_sort_rows(x, tau, rows, power=1.0):
    """Rows (from 0) of Prillo and Eisenschlos (2020), eq. 4, for one list."""
    ordered = np.sort(x)[::-1][np.asarray(rows)]
    return _softmax(-(np.abs(ordered[:, None] - x) ** power) / tau)


# Method -> the rows of its permutation matrix.
ROWS = {"neural_sort": neural_sort_rows, "soft_sort": soft_sort_rows}


def soft_sort_gradient(x, tau, weights, power=1.0):
    """d sum(weights * P) / dx by the chain rule with sign(0) = 0; a rank's share goes evenly to items tied with it."""
    rows = np.sort(x)[::-1]
    difference = rows[:, None] - x
    matrix = soft_sort_rows(x, tau, np.arange(len(x)), power)
    d_logits = matrix * (weights - np.sum(matrix * weights, axis=1, keepdims=True)) / tau
    slopes = d_logits * np.sign(difference) * power * np.where(difference == 0, 1, np.abs(difference)) ** (power - 1)
    equal = rows[:, None] == x
    return slopes.sum(axis=0) - np.sum(
        slopes.sum(axis=1, keepdims=True) * equal / equal.sum(axis=1, keepdims=True), axis=0
    )


def _kept(scores, mask, direction, method, tau, power):  # noqa: PLR0917
    """The formula on the sublist of valid items, and their positions. Masked items are never read."""
    keep = np.flatnonzero(mask)
    x = scores[keep] if direction == "DESCENDING" else -scores[keep]
    rows = np.arange(len(keep))
    if len(keep) == 0:
        return np.zeros([0, 0]), keep
    return ROWS[method](x, tau, rows, **({} if power == 1 else {"power": power})), keep


def _each_list(function, scores, mask, *others):
    """`function(list, its mask, *its others)` over all leading axes."""
    scores = np.asarray(scores, np.float64)
    mask = np.ones(scores.shape, bool) if mask is None else np.asarray(mask)
    leading = scores.shape[:-1]
    results = [function(scores[i], mask[i], *(other[i] for other in others)) for i in np.ndindex(leading)]
    return np.reshape(np.stack(results), leading + np.shape(results[0]))


def permutation(scores, tau=1.0, *, method, mask=None, direction="DESCENDING", power=1.0, top_k=None):
    """P [..., rank, item]: valid items by the formula, the ranks after them spread over masked items."""

    def one(x, keep_mask):
        kept, keep = _kept(x, keep_mask, direction, method, tau, power)
        matrix = np.zeros([len(x), len(x)])
        matrix[: len(keep), keep] = kept
        if len(keep) < len(x):
            matrix[len(keep) :, ~keep_mask] = 1 / (len(x) - len(keep))
        return matrix[:top_k]

    return _each_list(one, scores, mask)


def neural_sort(scores, tau=1.0, **options):
    return permutation(scores, tau, method="neural_sort", **options)


def soft_sort(scores, tau=1.0, **options):
    return permutation(scores, tau, method="soft_sort", **options)


def soft_values(scores, tau=1.0, *, method="neural_sort", values=None, mask=None, direction="DESCENDING", power=1.0):
    """P @ values over valid items; the ranks after them hold 0."""

    def one(x, keep_mask, carried):
        kept, keep = _kept(x, keep_mask, direction, method, tau, power)
        result = np.zeros(carried.shape)
        result[: len(keep)] = kept @ carried[keep]
        return result

    return _each_list(one, scores, mask, np.asarray(scores if values is None else values, np.float64))


def soft_rank(scores, tau=1.0, *, method="neural_sort", power=1.0, mask=None, direction="DESCENDING"):
    """P^T (1..n) for valid items, 0 for others."""

    def one(x, keep_mask):
        kept, keep = _kept(x, keep_mask, direction, method, tau, power)
        result = np.zeros(len(x))
        result[keep] = kept.T @ np.arange(1.0, len(keep) + 1)
        return result

    return _each_list(one, scores, mask)


def soft_top_k(scores, k, tau=1.0, *, method="neural_sort", mask=None):
    values = soft_values(scores, tau, method=method, mask=mask)[..., :k]
    return values, permutation(scores, tau, method=method, mask=mask, top_k=k)


def soft_quantile(scores, q, tau=1.0, *, method="neural_sort", mask=None):
    """NumPy's 'linear' interpolation of the ascending soft values of the valid items."""

    def one(x, keep_mask):
        kept, keep = _kept(x, keep_mask, "ASCENDING", method, tau, 1.0)
        if len(keep) == 0:
            return np.zeros(np.shape(q))
        return np.interp(np.asarray(q) * (len(keep) - 1), np.arange(len(keep)), kept @ x[keep])

    return _each_list(one, scores, mask)


def harden(permutation):
    """Greedy: each rank takes its heaviest item that is still open, the first of equals."""
    permutation = np.asarray(permutation, np.float64)
    result = np.zeros(permutation.shape)
    for leading in np.ndindex(permutation.shape[:-2]):
        taken = set()
        for rank, weights in enumerate(permutation[leading]):
            choice = min((j for j in range(len(weights)) if j not in taken), key=lambda j, w=weights: (-w[j], j))
            taken.add(choice)
            result[(*leading, rank, choice)] = 1
    return result
