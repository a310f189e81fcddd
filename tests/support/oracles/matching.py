"""Float64 truth for soft matchings: Sinkhorn in log space, one matrix at a time, on what is kept of it."""

from __future__ import annotations

import functools

import numpy as np
from scipy.special import logsumexp


def sinkhorn_with_slack(logits, tau, num_iterations, masses, penalty):
    """Mena et al. (2018), eq. 2, on one matrix; what rows or columns have too many goes to one slack of that mass.

    Its logits are the smallest maximum of a row, so that an offset of all logits changes nothing.

    With a penalty the scaling iterations of Chizat et al. (2018), without a slack.
    """
    n, m = logits.shape
    row_masses, column_masses = masses
    logits = np.asarray(logits, np.float64) / tau
    surplus = np.sum(column_masses) - np.sum(row_masses)
    maxima = np.max(logits, axis=1)
    level = np.min(maxima[np.isfinite(maxima)])
    if penalty is None and surplus > 1e-9:
        logits, row_masses = np.vstack([logits, np.full(m, level)]), np.append(row_masses, surplus)
    if penalty is None and surplus < -1e-9:
        logits, column_masses = np.column_stack([logits, np.full(n, level)]), np.append(column_masses, -surplus)
    rho = 1.0 if penalty is None else penalty / (penalty + tau)
    g = np.zeros(len(column_masses))
    for _ in range(num_iterations):
        f = rho * (np.log(row_masses) - logsumexp(logits + g, axis=1))
        g = rho * (np.log(column_masses) - logsumexp(logits + f[:, None], axis=0))
    return np.exp(logits + f[:, None] + g)


def sinkhorn(
    logits,
    tau=1.0,
    *,
    num_iterations=20,
    row_mask=None,
    column_mask=None,
    row_sums=None,
    column_sums=None,
    marginal_penalty=None,
):
    """The matrices [..., n, m], 0 where a row or column is masked; masked entries are never read."""
    logits = np.asarray(logits, np.float64)
    row_sums = np.broadcast_to(1.0 if row_sums is None else row_sums, logits.shape[:-1])
    column_sums = np.broadcast_to(1.0 if column_sums is None else column_sums, logits.shape[:-2] + logits.shape[-1:])
    result = np.zeros(logits.shape)
    for index in np.ndindex(logits.shape[:-2]):
        n, m = logits.shape[-2:]
        used = np.ones([n, m], bool) if row_mask is None else np.repeat(row_mask[index][:, None], m, axis=1)
        used &= True if column_mask is None else np.asarray(column_mask[index])
        used &= logits[index] != -np.inf  # a row or column of -inf only takes no part
        rows, columns = np.flatnonzero(used.any(axis=1)), np.flatnonzero(used.any(axis=0))
        if len(rows) and len(columns):
            kept = np.ix_(rows, columns)
            masses = row_sums[index][rows], column_sums[index][columns]
            whole = sinkhorn_with_slack(logits[index][kept], tau, num_iterations, masses, marginal_penalty)
            result[index][kept] = whole[: len(rows), : len(columns)]
    return result


def transport_cost(x, y, tau=1.0, *, x_weights=None, y_weights=None, num_iterations=20):
    """The entropic cost of two clouds [n, d] and [m, d] for squared distances."""
    a, b = (
        np.full(len(points), 1 / len(points)) if weights is None else np.asarray(weights) / np.sum(weights)
        for points, weights in ((x, x_weights), (y, y_weights))
    )
    distances = np.sum((np.asarray(x, np.float64)[:, None] - y) ** 2, axis=-1)
    plan = sinkhorn(-distances, tau, num_iterations=num_iterations, row_sums=a, column_sums=b)
    return np.sum(plan * distances) + tau * np.sum(plan * np.log(plan / (a[:, None] * b)))


def sinkhorn_divergence(x, y, tau=1.0, *, num_iterations=20):
    """The cost of two clouds, less half the cost of each to itself."""
    cost = functools.partial(transport_cost, tau=tau, num_iterations=num_iterations)
    return cost(x, y) - (cost(x, x) + cost(y, y)) / 2
