"""Judged lists for learning to rank: SVMlight/LETOR files, or wards of real patients by default.

The default task is made of scikit-learn's diabetes data: ten measurements of each of 442 real patients, and how far the
disease had progressed a year later. A "query" is a ward of 20 patients drawn at random, to be put in the order of their
progression, graded 0 to 4 by the quintiles of all. Wards for testing hold patients that no ward for training holds.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_diabetes, load_svmlight_files

PADDING = -1.0


class Queries(NamedTuple):
    """Lists padded to one size."""

    features: np.ndarray  # [queries, n, features], 0 in the padding
    labels: np.ndarray  # [queries, n], relevance from 0 on, -1 in the padding

    def lists(self):
        """Features and labels of each query without its padding."""
        for features, labels in zip(self.features, self.labels, strict=True):
            yield features[labels >= 0], labels[labels >= 0]


def patients(wards: int = 300, size: int = 20, seed: int = 0) -> tuple[Queries, Queries]:
    """Training and test wards; two thirds of the patients are for training."""
    measurements, progression = load_diabetes(return_X_y=True)
    grades = np.searchsorted(np.quantile(progression, [0.2, 0.4, 0.6, 0.8]), progression).astype(np.float32)
    random = np.random.default_rng(seed)
    shuffled = random.permutation(len(grades))
    parts = []
    for members in (shuffled[: 2 * len(grades) // 3], shuffled[2 * len(grades) // 3 :]):
        drawn = np.stack([random.choice(members, size, replace=False) for _ in range(wards)])
        parts.append(Queries(measurements[drawn], grades[drawn]))
    return standardised(*parts)


def from_files(train: Path, test: Path) -> tuple[Queries, Queries]:
    """Two SVMlight files, the queries told by `qid:` or by a file `.query` beside each, with their sizes in order."""
    files = load_svmlight_files([str(train), str(test)], query_id=True)
    parts = []
    for path, (features, labels, ids) in zip((train, test), zip(*[iter(files)] * 3, strict=True), strict=True):
        sizes = path.with_name(path.name + ".query")
        if sizes.exists():
            counts = np.loadtxt(sizes, dtype=int, ndmin=1)
            if counts.sum() != len(labels):
                raise ValueError(f"{sizes} must add up to the {len(labels)} lines of {path}, got {counts.sum()}")
            ends = np.cumsum(counts)[:-1]
        else:
            ends = np.flatnonzero(np.diff(ids)) + 1
        parts.append(_padded(np.split(features.toarray(), ends), np.split(labels, ends)))
    return standardised(*parts)


def standardised(train: Queries, test: Queries) -> tuple[Queries, Queries]:
    """Features by the mean and deviation of the documents for training."""
    documents = train.features[train.labels >= 0]
    mean, deviation = documents.mean(axis=0), documents.std(axis=0) + 1e-9
    scaled = [
        np.where(part.labels[..., np.newaxis] >= 0, (part.features - mean) / deviation, 0).astype(np.float32)
        for part in (train, test)
    ]
    return Queries(scaled[0], train.labels), Queries(scaled[1], test.labels)


def _padded(features: list[np.ndarray], labels: list[np.ndarray]) -> Queries:
    size = max(map(len, labels))
    wide = [np.pad(part, [(0, size - len(part)), (0, 0)]) for part in features]
    judged = [np.pad(part, (0, size - len(part)), constant_values=PADDING) for part in labels]
    return Queries(np.stack(wide), np.stack(judged).astype(np.float32))
