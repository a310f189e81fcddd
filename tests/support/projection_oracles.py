"""Float64 truth for projections onto the permutahedron and for LapSum: minimax, all pairs and bisection."""

import numpy as np


def _log_sum_exp(x):
    return np.max(x) + np.log(np.sum(np.exp(x - np.max(x))))


def project(z, w, entropic):
    """Blondel et al. (2020), proposition 3: `z - v` in the order of z, v the best that does not rise along it.

    v by the minimax formula, `v_i = min_{a <= i} max_{b >= i} level(a, ..., b)`.
    """
    if len(z) == 0:
        return np.zeros(0)
    order = np.argsort(-z, kind="stable")
    z, size = z[order], len(z)
    levels = np.full([size, size], -np.inf)
    for a in range(size):
        if entropic:
            levels[a, a:] = [_log_sum_exp(z[a : b + 1]) - _log_sum_exp(w[a : b + 1]) for b in range(a, size)]
        else:
            levels[a, a:] = np.cumsum((z - w)[a:]) / np.arange(1, size - a + 1)
    reached = np.maximum.accumulate(levels[:, ::-1], axis=1)[:, ::-1]  # over b >= i
    v = np.array([reached[: i + 1, i].min() for i in range(size)])
    result = np.zeros(size)
    result[order] = z - v
    return result


def projected_rank(x, tau, entropic, direction="DESCENDING"):
    ranks = np.arange(len(x), 0.0, -1)
    z = (-x if direction == "DESCENDING" else x) / tau
    return np.exp(project(z, np.log(ranks), True)) if entropic else project(z, ranks, False)


def projected_values(x, tau, entropic, direction="DESCENDING"):
    sign = 1 if direction == "DESCENDING" else -1
    return sign * project(np.arange(len(x), 0.0, -1) / tau, np.sort(sign * x)[::-1], entropic)


def laplace(t):
    """The distribution function."""
    return np.where(t < 0, np.exp(np.minimum(t, 0)) / 2, 1 - np.exp(-np.maximum(t, 0)) / 2)


def lapsum_rank(x, tau, direction="DESCENDING"):
    x = x if direction == "DESCENDING" else -x
    return 0.5 + np.sum(laplace((x[None, :] - x[:, None]) / tau), axis=1)


def lapsum_membership(x, tau, k):
    """Struski et al. (2025), section 4: the threshold by bisection."""
    if k >= len(x):
        return np.ones(len(x))
    # From the middle, so that doubles resolve the threshold however far away the scores are.
    x = (x - np.median(x)) / tau
    low, high = x.min() - 50, x.max() + 50
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if laplace(x - middle).sum() > k else (low, middle)
    return laplace(x - (low + high) / 2)


def each_list(function, scores, mask, packed=False):
    """`function` of the kept items of each list, back in their places or, if `packed`, first; 0 elsewhere."""
    results = np.zeros(scores.shape)
    for index in np.ndindex(scores.shape[:-1]):
        keep = mask[index]
        found = function(np.asarray(scores[index], np.float64)[keep])
        results[index][np.arange(len(keep)) < keep.sum() if packed else keep] = found
    return results
