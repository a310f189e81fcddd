"""Judged lists for learning to rank: SVMlight/LETOR files, or wards of real patients by default.

The default task is made of scikit-learn's diabetes data: ten measurements of each of 442 real patients, and how far the
disease had progressed a year later. A "query" is a ward of 20 patients drawn at random, to be put in the order of their
progression, graded 0 to 4 by the quintiles of all. Wards for testing hold patients that no ward for training holds.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.datasets import load_diabetes

import keras_softsort as ks


def patients(
    wards: int = 300, size: int = 20, seed: int = 0, *, validation: bool = False
) -> list[ks.data.RankingDataset]:
    """Training and test wards, and between them wards for validation if asked for.

    Two thirds of the patients are for training, a quarter of them for validation. Another seed is another split.
    """
    measurements, progression = load_diabetes(return_X_y=True)
    grades = np.searchsorted(np.quantile(progression, [0.2, 0.4, 0.6, 0.8]), progression)
    random = np.random.default_rng(seed)
    shuffled = random.permutation(len(grades))
    ends = [len(grades) // 2] * validation + [2 * len(grades) // 3, len(grades)]
    parts = []
    for start, end in zip([0, *ends], ends, strict=False):
        members = shuffled[start:end]
        drawn = np.concatenate([random.choice(members, size, replace=False) for _ in range(wards)])
        parts.append(ks.data.RankingDataset(measurements[drawn], grades[drawn], np.full(wards, size)))
    return standardized(parts)


def from_files(paths: list[Path]) -> list[ks.data.RankingDataset]:
    """SVMlight files, that for training first; a feature that one of them does not name is 0 there."""
    parts = [ks.data.read_svmlight(path) for path in paths]
    width = max(part.features.shape[1] for part in parts)
    wide = [np.pad(part.features, [(0, 0), (0, width - part.features.shape[1])]) for part in parts]
    return standardized(
        [ks.data.RankingDataset(x, part.labels, part.sizes) for x, part in zip(wide, parts, strict=True)]
    )


def standardized(parts: list[ks.data.RankingDataset]) -> list[ks.data.RankingDataset]:
    """Features, in place, by the mean and deviation of the documents for training, which are the first part."""
    for i in range(parts[0].features.shape[1]):
        # One feature in float64 at a time: some files have numbers near the largest float32, and many documents.
        training = parts[0].features[:, i].astype(np.float64)
        scale = 1 / training.std() if np.ptp(training) else 0.0  # one that is constant there tells nothing
        for part in parts:
            part.features[:, i] = (part.features[:, i].astype(np.float64) - training.mean()) * scale
    return parts
