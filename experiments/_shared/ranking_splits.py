"""Splits of judged lists, encodings of their features, and measures, for comparisons of rankers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import QuantileTransformer

import keras_softsort as ks

CUTOFFS = (1, 3, 5, 10)
WARDS, SIZE, BINS, FREQUENCIES = 240, 20, 8, 4


class Lists(NamedTuple):
    """Lists padded to one size: features `[lists, n, d]`, labels `[lists, n]` (padding -1), mask `[lists, n]`."""

    features: np.ndarray
    labels: np.ndarray
    mask: np.ndarray

    @classmethod
    def of(cls, features: np.ndarray, labels: np.ndarray, sizes: np.ndarray) -> Lists:
        """Lists from flat items."""
        mask = np.arange(sizes.max()) < sizes[:, np.newaxis]
        wide = np.zeros([*mask.shape, features.shape[1]], np.float32)
        wide[mask] = features
        padded = np.full(mask.shape, -1.0, np.float32)
        padded[mask] = labels
        return cls(wide, padded, mask)

    def flat(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Items, labels and sizes."""
        return self.features[self.mask], self.labels[self.mask], self.mask.sum(axis=1)

    def padded(self, scores: np.ndarray) -> np.ndarray:
        """Scores of flat items as `[lists, n]`."""
        wide = np.zeros(self.mask.shape)
        wide[self.mask] = scores
        return wide

    def encoded(self, encode: Any) -> Lists:
        """These lists with features `encode(items)`."""
        return Lists.of(encode(self.features[self.mask]), self.labels[self.mask], self.mask.sum(axis=1))


class Split(NamedTuple):
    """Lists to train on, to tune on and to test on."""

    train: Lists
    valid: Lists
    test: Lists

    def both(self) -> Lists:
        """Lists to train on once all is chosen."""
        parts = [self.train.flat(), self.valid.flat()]
        return Lists.of(*(np.concatenate(each) for each in zip(*parts, strict=True)))


def wards(split: int) -> Split:
    """Wards of 20 patients; half of the patients are for training, a sixth for validation and a third for testing."""
    measurements, progression = load_diabetes(return_X_y=True)
    grades = np.searchsorted(np.quantile(progression, [0.2, 0.4, 0.6, 0.8]), progression)
    random = np.random.default_rng(split)
    shuffled = random.permutation(len(grades))
    ends = [0, len(grades) // 2, 2 * len(grades) // 3, len(grades)]
    parts = []
    for start, end, count in zip(ends, ends[1:], (WARDS, WARDS // 3, WARDS), strict=False):
        drawn = np.concatenate([random.choice(shuffled[start:end], SIZE, replace=False) for _ in range(count)])
        parts.append(Lists.of(measurements[drawn], grades[drawn], np.full(count, SIZE)))
    return Split(*parts)


def letor(folder: Path, split: int) -> Split:
    """The queries of `rank.train`, a fifth of them for validation, and those of `rank.test`."""
    known, test = (ks.data.read_svmlight(folder / f"rank.{part}") for part in ("train", "test"))
    width = max(known.features.shape[1], test.features.shape[1])
    order = np.random.default_rng(split).permutation(len(known))
    fifth = len(known) // 5

    def lists(part: Any) -> Lists:
        return Lists.of(np.pad(part.features, [(0, 0), (0, width - part.features.shape[1])]), part.labels, part.sizes)

    return Split(lists(known[order[fifth:]]), lists(known[order[:fifth]]), lists(test))


def simulated(seed: int, counts: Sequence[int], level: float) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Features, labels and sizes of several sets of queries with 5 to 40 documents.

    Half of the labels are 0, few are 4. They depend on 20 features, on noise, and on a number of each query that is not
    among the features, whose spread is `level` times that of what the features tell.
    """
    random = np.random.default_rng(seed)
    weights, parts = random.normal(size=20), []
    for count in counts:
        sizes = random.integers(5, 41, count)
        features = random.normal(size=(sizes.sum(), 20))
        known = features @ weights + np.abs(features[:, :5]).sum(axis=1)
        offsets = np.repeat(random.normal(scale=known.std(), size=count), sizes)
        utility = known + level * offsets + random.normal(scale=known.std() / 2, size=len(known))
        parts.append((features, np.searchsorted(np.quantile(utility, [0.5, 0.75, 0.9, 0.97]), utility), sizes))
    return parts


def encoded(split: Split, encoding: str, *, refit: bool = False) -> tuple[Lists, Lists, Lists]:
    """The parts with encoded features, by what the training items alone tell; with `refit` both parts are training."""
    training = split.both() if refit else split.train
    encode = encoder(encoding, training.flat()[0])
    return training.encoded(encode), split.valid.encoded(encode), split.test.encoded(encode)


def width(split: Split, encoding: str) -> int:
    """The number of encoded features."""
    count = split.train.features.shape[2]
    return {"piecewise": count * BINS, "periodic": count * (1 + 2 * FREQUENCIES)}.get(encoding, count)


def encoder(encoding: str, items: np.ndarray) -> Any:
    """A function of items `[m, d]`, made from the training items."""
    mean, scale = items.mean(axis=0), items.std(axis=0)
    scale = np.where(scale > 0, scale, np.inf)

    def standardized(x: np.ndarray) -> np.ndarray:
        return (x - mean) / scale

    if encoding == "quantile":
        return QuantileTransformer(n_quantiles=100, output_distribution="normal", random_state=0).fit(items).transform
    if encoding == "piecewise":  # of Gorishniy et al., 2022: in which bin, and where in it
        edges = np.quantile(items, np.linspace(0, 1, BINS + 1), axis=0)
        spans = np.diff(edges, axis=0)
        spans = np.where(spans > 0, spans, np.inf)
        return lambda x: np.clip((x[:, np.newaxis] - edges[:-1]) / spans, 0, 1).reshape(len(x), -1)
    if encoding == "periodic":  # the same paper's, with frequencies that are not trained
        rates = np.pi * 2.0 ** np.arange(-2, FREQUENCIES - 2)

        def periodic(x: np.ndarray) -> np.ndarray:
            x = standardized(x)
            angles = (x[..., np.newaxis] * rates).reshape(len(x), -1)
            return np.concatenate([x, np.sin(angles), np.cos(angles)], axis=1)

        return periodic
    return standardized


def random_trees(random: np.random.Generator) -> dict[str, Any]:
    """Settings of LambdaMART."""
    return {
        "learning_rate": float(10 ** random.uniform(-2, -0.7)),
        "num_leaves": int(random.integers(3, 32)),
        "min_child_samples": int(10 ** random.uniform(0.7, 2.5)),
        "subsample": float(random.uniform(0.5, 1)),
        "subsample_freq": 1,
        "colsample_bytree": float(random.uniform(0.3, 1)),
        "reg_lambda": float(10 ** random.uniform(-2, 1.5)),
        "lambdarank_truncation_level": int(random.integers(5, 31)),
    }


def ndcg(lists: Lists, scores: np.ndarray, k: int) -> np.ndarray:
    """NDCG@k of each list with a relevant item: gain 2^label - 1, discount log2."""
    gains = np.where(lists.mask, 2.0 ** np.maximum(lists.labels, 0) - 1, 0.0)
    order = np.argsort(np.where(lists.mask, -scores, np.inf), axis=1, kind="stable")
    discounts = 1 / np.log2(np.arange(min(k, gains.shape[1])) + 2)
    reached = np.take_along_axis(gains, order, axis=1)[:, :k] @ discounts
    best = -np.sort(-gains, axis=1)[:, :k] @ discounts
    return reached[best > 0] / best[best > 0]


def measures(lists: Lists, scores: np.ndarray) -> dict[str, float]:
    """Means over lists with a relevant item."""
    order = np.argsort(np.where(lists.mask, -scores, np.inf), axis=1, kind="stable")
    relevant = np.take_along_axis(lists.labels, order, axis=1) > 0
    first = np.argmax(relevant[relevant.any(axis=1)], axis=1) + 1
    return {**{f"NDCG@{k}": float(ndcg(lists, scores, k).mean()) for k in CUTOFFS}, "MRR": float((1 / first).mean())}
