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


def projected_membership(x, tau, k, entropic=False):
    """The memberships with the sum k that are nearest to x / tau, or by Kullback-Leibler to its exponential."""
    if k >= len(x):
        return np.ones(len(x))
    x = (x - np.sort(x)[-k]) / tau
    low, high = -2.0 if not entropic else -60.0, 60.0

    def shares(threshold):
        return np.exp(np.minimum(x - threshold, 0)) if entropic else np.clip(x - threshold, 0, 1)

    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if shares(middle).sum() > k else (low, middle)
    return shares((low + high) / 2)


def each_list(function, scores, mask, packed=False):
    """`function` of the valid items of each list, back in their places or, if `packed`, first; 0 elsewhere."""
    results = np.zeros(scores.shape)
    for index in np.ndindex(scores.shape[:-1]):
        keep = mask[index]
        found = function(np.asarray(scores[index], np.float64)[keep])
        results[index][np.arange(len(keep)) < keep.sum() if packed else keep] = found
    return results


def _softmax(x):
    weights = np.exp(x - np.max(x))
    return weights / weights.sum()


def _pooled(z, w):
    """The blocks of the entropic projection by pooling adjacent violators; `z` and `w` descend."""
    blocks = []
    for i in range(len(z)):
        blocks.append([i, i + 1])
        while len(blocks) > 1:
            (a, b), (_, c) = blocks[-2:]
            if _log_sum_exp(z[a:b]) - _log_sum_exp(w[a:b]) >= _log_sum_exp(z[b:c]) - _log_sum_exp(w[b:c]):
                break
            blocks[-2:] = [[a, c]]
    return blocks


def entropic_with_gradients(kind, x, tau, weights):
    """Entropic ranks or descending values of distinct x; and of their weighted sum the gradients of x and tau.

    The blocks are pooled by their own levels, so that none is lost beside another however far apart they are.
    """
    order = np.argsort(-x if kind == "values" else x, kind="stable")
    x, size = x[order], len(x)
    if kind == "ranks":
        weights = weights[order]
    result, d_x, d_tau = np.zeros(size), np.zeros(size), 0.0
    ranks = np.arange(size, 0.0, -1)
    for a, b in _pooled(*((ranks / tau, x) if kind == "values" else (-x / tau, np.log(ranks)))):
        u, own = weights[a:b], slice(a, b)
        if kind == "values":
            # z - log sum exp z + log sum exp x with z = rank / tau
            behind = ranks[own] - ranks[a]
            result[own] = behind / tau - _log_sum_exp(behind / tau) + _log_sum_exp(x[own])
            d_x[own] = u.sum() * _softmax(x[own])
            d_tau -= np.sum(u * (behind - np.sum(_softmax(behind / tau) * behind))) / tau**2
        else:
            # the sum of the ranks, shared out by a softmax of -x / tau
            apart = x[own] - x[a]
            shares = _softmax(-apart / tau)
            result[own] = ranks[own].sum() * shares
            slopes = result[own] * (u - np.sum(u * shares))
            d_x[own] = -slopes / tau
            d_tau += np.sum(slopes * apart) / tau**2
    items = np.zeros([2, size])
    items[:, order] = result, d_x
    return (result if kind == "values" else items[0]), items[1], d_tau
