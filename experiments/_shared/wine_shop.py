"""A simulated wine shop: real wines, simulated shoppers.

The items are scikit-learn's 178 wines (13 chemical measurements each, standardized). Everything about shoppers is made
up: each has an ideal wine, likes a wine the more the nearer it is, looks on down the slate with probability p at each
place, and has little use for a wine like one higher up:

    reward(z) = sum_k p^(k - 1) liking(z_k) prod_{j < k} (1 - likeness(z_k, z_j))
    liking(x) = exp(-|x - ideal|^2 / 20), likeness(x, y) = exp(-|x - y|^2 / 12)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import tensorflow as tf
from sklearn.datasets import load_wine

LIKING_SCALE, LIKENESS_SCALE = 20.0, 12.0
NEAREST = 15  # half of the candidates are among at least this many wines that are nearest to the ideal


class Visits(NamedTuple):
    """Shoppers, and the wines that could be put on their slates."""

    ideals: np.ndarray | tf.Tensor  # [visits, features]
    candidates: np.ndarray | tf.Tensor  # [visits, n, features]


def wines(test_count: int = 60, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Wines for training and `test_count` others for testing, `[wines, features]`, standardized by the former."""
    features = np.random.default_rng(seed).permutation(load_wine().data)
    train, test = features[test_count:], features[:test_count]
    mean, deviation = train.mean(axis=0), train.std(axis=0)
    return ((train - mean) / deviation).astype(np.float32), ((test - mean) / deviation).astype(np.float32)


def draw_visits(items: np.ndarray, count: int, size: int, random: np.random.Generator) -> Visits:
    """`count` shoppers, each with `size` candidates: half near the ideal, half from anywhere, shuffled."""
    ideals = items[random.integers(len(items), size=count)] + 0.3 * random.normal(size=(count, items.shape[1]))
    by_distance = np.argsort(np.sum((items - ideals[:, np.newaxis]) ** 2, axis=-1), axis=-1)
    nearest = max(NEAREST, size // 2)
    near = random.permuted(by_distance[:, :nearest], axis=1)[:, : size // 2]
    far = random.permuted(by_distance[:, nearest:], axis=1)[:, : size - size // 2]
    chosen = random.permuted(np.concatenate([near, far], axis=1), axis=1)
    return Visits(ideals.astype(np.float32), items[chosen])


def likings(visits: Visits) -> tf.Tensor:
    """[visits, n]."""
    return tf.exp(-_squared(visits.candidates - visits.ideals[:, np.newaxis]) / LIKING_SCALE)


def likenesses(visits: Visits) -> tf.Tensor:
    """[visits, n, n]."""
    pairs = _squared(visits.candidates[:, :, np.newaxis] - visits.candidates[:, np.newaxis])
    return tf.exp(-pairs / LIKENESS_SCALE)


def rewards(visits: Visits, slates: tf.Tensor, looks_on: float) -> tf.Tensor:
    """The reward `[visits]` of slates `[visits, place, candidate]`, rows one-hot or soft."""
    liked = tf.linalg.matvec(slates, likings(visits))
    likeness = slates @ likenesses(visits) @ tf.linalg.matrix_transpose(slates)
    earlier = np.tri(slates.shape[1], k=-1, dtype=np.float32)
    fresh = tf.reduce_prod(1 - earlier * likeness, axis=-1)
    seen = looks_on ** np.arange(slates.shape[1], dtype=np.float32)
    return tf.reduce_sum(seen * liked * fresh, axis=-1)


def _squared(difference: tf.Tensor) -> tf.Tensor:
    return tf.reduce_sum(tf.square(difference), axis=-1)
