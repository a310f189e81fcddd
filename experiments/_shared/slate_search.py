"""Slates of large reward, found by search, and an upper bound of the reward of every slate.

All take the shop's formula as `liking [visits, n]`, `likeness [visits, n, n]` and `seen [places]`, how likely each
place is looked at: the reward of a slate z is sum_k seen_k liking(z_k) prod_{j < k} (1 - likeness(z_k, z_j)).
"""

from __future__ import annotations

import itertools
import math

import numpy as np

import keras_softsort as ks

MOST_ENUMERATED = 20_000


def rewards(slates: np.ndarray, liking: np.ndarray, likeness: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """The rewards `[visits, ...]` of slates `[visits, ..., places]`."""
    visit = np.arange(len(liking)).reshape(-1, *[1] * (slates.ndim - 1))
    fresh = 1 - likeness[visit[..., np.newaxis], slates[..., :, np.newaxis], slates[..., np.newaxis, :]]
    fresh = np.where(np.tri(slates.shape[-1], k=-1, dtype=bool), fresh, 1).prod(axis=-1)
    return np.sum(seen * liking[visit, slates] * fresh, axis=-1)


def can_enumerate(size: int, places: int) -> bool:
    """Whether all slates of `places` out of `size` candidates are few enough to be tried."""
    return math.perm(size, places) <= MOST_ENUMERATED


def best_slates(liking: np.ndarray, likeness: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """The slates `[visits, places]` of the largest reward, found by trying all of them."""
    orders = np.array(list(itertools.permutations(range(liking.shape[1]), len(seen))))
    every = (
        rewards(orders[np.newaxis], liking[[visit]], likeness[[visit]], seen)[0].argmax()
        for visit in range(len(liking))
    )
    return orders[list(every)]


def beam_search(liking: np.ndarray, likeness: np.ndarray, seen: np.ndarray, width: int) -> np.ndarray:
    """Slates `[visits, places]` by beam search, with the `width` best partial slates at each step; 1 is greedy."""
    visit = np.arange(len(liking))[:, np.newaxis]
    size = liking.shape[1]
    slates = np.zeros([len(liking), 1, 0], int)
    value = np.zeros([len(liking), 1])
    gain = liking[:, np.newaxis].astype(np.float64)  # of each candidate in each beam
    taken = np.zeros(gain.shape, bool)
    for factor in seen:
        together = np.where(taken, -np.inf, value[..., np.newaxis] + factor * gain).reshape(len(liking), -1)
        best = np.argsort(-together, axis=1, kind="stable")[:, :width]
        beam, item = np.divmod(best, size)
        value = together[visit, best]
        slates = np.concatenate([slates[visit, beam], item[..., np.newaxis]], axis=-1)
        gain, taken = gain[visit, beam] * (1 - likeness[visit, item]), taken[visit, beam]
        np.put_along_axis(taken, item[..., np.newaxis], True, axis=-1)
    return slates[:, 0]


def with_exchanges(slates: np.ndarray, liking: np.ndarray, likeness: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Improve slates `[visits, places]` by the best exchange of two candidates or move of one, until none helps."""
    slates = slates.copy()
    for visit, own in enumerate(zip(liking[:, np.newaxis], likeness[:, np.newaxis], strict=True)):
        reward = -math.inf
        while True:
            near = _near_slates(slates[visit], liking.shape[1])
            found = rewards(near[np.newaxis], *own, seen)[0]
            if found.max() <= reward + 1e-9:
                break
            reward, slates[visit] = found.max(), near[found.argmax()]
    return slates


def best_of(slates: list[np.ndarray], liking: np.ndarray, likeness: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """The slate of the largest reward of each visit, out of those of several searches."""
    every = np.stack(slates, axis=1)
    best = rewards(every, liking, likeness, seen).argmax(axis=1)
    return every[np.arange(len(every)), best]


def _near_slates(slate: np.ndarray, size: int) -> np.ndarray:
    """Slates `[count, places]` one exchange, also with a candidate that is not on it, or one move from `slate`."""
    places = len(slate)
    every = np.concatenate([slate, np.setdiff1d(np.arange(size), slate)])
    first, second = np.triu_indices(places, k=0, m=size)
    exchanged = np.tile(every, [len(first), 1])
    exchanged[np.arange(len(first)), first] = every[second]
    exchanged[np.arange(len(first)), second] = every[first]
    moved = [np.insert(np.delete(slate, place), to, slate[place]) for place in range(places) for to in range(places)]
    return np.concatenate([exchanged[:, :places], moved])


def determinantal_slates(liking: np.ndarray, likeness: np.ndarray, places: int) -> np.ndarray:
    """Greedy MAP inference of a determinantal point process (Chen, Zhang and Zhou 2018), `[visits, places]`.

    Its kernel is L = diag(liking) likeness diag(liking): each place takes the candidate of the largest factor of the
    determinant, which is updated by one row of a Cholesky decomposition per place.
    """
    visit = np.arange(len(liking))
    kernel = liking[:, :, np.newaxis] * likeness.astype(np.float64) * liking[:, np.newaxis]
    factor = np.einsum("vii->vi", kernel).copy()
    taken = np.zeros(liking.shape, bool)
    rows = np.zeros([places, *liking.shape])
    slates = np.zeros([len(liking), places], int)
    for place in range(places):
        slates[:, place] = item = np.where(taken, -np.inf, factor).argmax(axis=1)
        taken[visit, item] = True
        known = np.einsum("pv,pvn->vn", rows[:place, visit, item], rows[:place])
        pivot = np.sqrt(np.maximum(factor[visit, item], 1e-12))[:, np.newaxis]
        rows[place] = (kernel[visit, item] - known) / pivot
        factor = np.maximum(factor - rows[place] ** 2, 0)
    return slates


def upper_bounds(liking: np.ndarray, likeness: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """A number `[visits]` that the reward of no slate exceeds.

    Candidate i at place k has k - 1 others above it, and is at best as fresh as the k - 1 that are least like it leave
    it. The bound is the best matching of candidates and places by that.
    """
    size, places = liking.shape[1], len(seen)
    others = np.sort(np.where(np.eye(size, dtype=bool), np.inf, likeness), axis=-1)[..., : places - 1]
    fresh = np.cumprod(np.concatenate([np.ones([*liking.shape, 1]), 1 - others], axis=-1), axis=-1)
    most = np.swapaxes(seen * liking[..., np.newaxis] * fresh, 1, 2)  # [visits, places, candidates]
    columns = ks.linear_assignment(most).numpy()
    return np.take_along_axis(most, columns[..., np.newaxis], axis=-1)[..., 0].sum(axis=-1)
