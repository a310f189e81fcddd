"""A simulated wine shop: real wines, simulated shoppers.

The items are scikit-learn's 178 wines (13 chemical measurements each, standardised). Everything about shoppers is made
up: each has an ideal wine, likes a wine the more the nearer it is, looks on down the slate with probability 0.8 at each
place, and has little use for a wine like one higher up:

    reward(z) = sum_k 0.8^(k - 1) liking(z_k) prod_{j < k} (1 - likeness(z_k, z_j))
    liking(x) = exp(-|x - ideal|^2 / 20), likeness(x, y) = exp(-|x - y|^2 / 12)
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
import tensorflow as tf
from sklearn.datasets import load_wine

LOOKS_ON, LIKING_SCALE, LIKENESS_SCALE = 0.8, 20.0, 12.0
NEAREST = 15  # half of the candidates are among so many wines that are nearest to the ideal


class Visits(NamedTuple):
    """Shoppers, and the wines that could be put on their slates."""

    ideals: np.ndarray | tf.Tensor  # [visits, features]
    candidates: np.ndarray | tf.Tensor  # [visits, n, features]


def wines(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Wines for training and 60 others for testing, `[wines, features]`, standardised by the former."""
    features = np.random.default_rng(seed).permutation(load_wine().data)
    train, test = features[60:], features[:60]
    mean, deviation = train.mean(axis=0), train.std(axis=0)
    return ((train - mean) / deviation).astype(np.float32), ((test - mean) / deviation).astype(np.float32)


def draw_visits(items: np.ndarray, count: int, size: int, random: np.random.Generator) -> Visits:
    """`count` shoppers, each with `size` candidates: half near the ideal, half from anywhere, shuffled."""
    ideals = items[random.integers(len(items), size=count)] + 0.3 * random.normal(size=(count, items.shape[1]))
    by_distance = np.argsort(np.sum((items - ideals[:, np.newaxis]) ** 2, axis=-1), axis=-1)
    near = random.permuted(by_distance[:, :NEAREST], axis=1)[:, : size // 2]
    far = random.permuted(by_distance[:, NEAREST:], axis=1)[:, : size - size // 2]
    chosen = random.permuted(np.concatenate([near, far], axis=1), axis=1)
    return Visits(ideals.astype(np.float32), items[chosen])


def likings(visits: Visits) -> tf.Tensor:
    """[visits, n]."""
    return tf.exp(-_squared(visits.candidates - visits.ideals[:, np.newaxis]) / LIKING_SCALE)


def rewards(visits: Visits, slates: tf.Tensor) -> tf.Tensor:
    """The reward `[visits]` of slates `[visits, place, candidate]`, rows one-hot or soft."""
    liked = tf.linalg.matvec(slates, likings(visits))
    pairs = _squared(visits.candidates[:, :, np.newaxis] - visits.candidates[:, np.newaxis])
    likeness = slates @ tf.exp(-pairs / LIKENESS_SCALE) @ tf.linalg.matrix_transpose(slates)
    earlier = np.tri(slates.shape[1], k=-1, dtype=np.float32)
    fresh = tf.reduce_prod(1 - earlier * likeness, axis=-1)
    seen = LOOKS_ON ** np.arange(slates.shape[1], dtype=np.float32)
    return tf.reduce_sum(seen * liked * fresh, axis=-1)


def best_slates(visits: Visits, places: int) -> np.ndarray:
    """The slate of the largest reward of each visit, found by trying all of them: `[visits, places]`."""
    size = visits.candidates.shape[1]
    orders = np.array(list(itertools.permutations(range(size), places)), np.int32)
    every = tf.one_hot(orders, size)

    @tf.function
    def best(ideal: tf.Tensor, candidates: tf.Tensor) -> tf.Tensor:
        one = Visits(ideal[tf.newaxis], candidates[tf.newaxis])
        return tf.argmax(rewards(one, every))

    return orders[[best(*visit).numpy() for visit in zip(*map(tf.constant, visits), strict=True)]]


def _squared(difference: tf.Tensor) -> tf.Tensor:
    return tf.reduce_sum(tf.square(difference), axis=-1)
