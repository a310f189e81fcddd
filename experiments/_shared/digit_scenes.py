"""Scenes of several handwritten digits, their boxes and classes, and how well predicted boxes find them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits

import keras_softsort as ks

CANVAS = 40
SIZES = (10, 12, 14, 16)
CLASSES = 10
NO_DIGIT = CLASSES  # the class of a slot without a digit
# Digits of a scene overlap at most by this share of the smaller one's box.
MOST_OVERLAP = 0.15


class Scenes(NamedTuple):
    """Images and what is to be found in them; scenes with fewer digits are padded with a class of -1."""

    images: np.ndarray  # [scenes, CANVAS, CANVAS, 1] uint8
    targets: np.ndarray  # [scenes, most, 5]: x, y, width, height in units of the canvas, and the class


def load(first: int, last: int) -> tuple[dict[int, np.ndarray], np.ndarray]:
    """Digits of scikit-learn in every size, and their classes. Other ranges are other images."""
    data = load_digits()
    images = data.images[first:last, ..., np.newaxis].astype("float32") / 16
    resized = {size: tf.image.resize(images, (size, size)).numpy()[..., 0] for size in SIZES}
    return {size: np.uint8(255 * pixels) for size, pixels in resized.items()}, data.target[first:last]


def draw_scenes(digits: tuple[dict[int, np.ndarray], np.ndarray], count: int, most: int, seed: int) -> Scenes:
    """Scenes of 1 to `most` digits from left to right, in random places, as far as they find one."""
    images, classes = digits
    rng = np.random.default_rng(seed)
    canvas = np.zeros((count, CANVAS, CANVAS), np.uint8)
    targets = np.zeros((count, most, 5), np.float32)
    targets[..., 4] = -1
    for scene, target in zip(canvas, targets, strict=True):
        placed: list[tuple[int, int, int, int]] = []
        for _ in range(rng.integers(1, most + 1)):
            digit, size = int(rng.integers(len(classes))), SIZES[rng.integers(len(SIZES))]
            place = _free_place(rng, size, placed)
            if place is not None:
                x, y = place
                placed.append((x, y, size, digit))
                patch = scene[y : y + size, x : x + size]
                np.maximum(patch, images[size][digit], out=patch)
        for row, (x, y, size, digit) in zip(target, sorted(placed), strict=False):
            row[:] = (x + size / 2) / CANVAS, (y + size / 2) / CANVAS, size / CANVAS, size / CANVAS, classes[digit]
    return Scenes(canvas[..., np.newaxis], targets)


def _free_place(rng: np.random.Generator, size: int, placed: list) -> tuple[int, int] | None:
    for x, y in rng.integers(0, CANVAS - size + 1, (10, 2)).tolist():
        shared = [
            max(0, min(x + size, a + other) - max(x, a)) * max(0, min(y + size, b + other) - max(y, b))
            for a, b, other, _ in placed
        ]
        most = [MOST_OVERLAP * min(size, other) ** 2 for _, _, other, _ in placed]
        if all(one <= limit for one, limit in zip(shared, most, strict=True)):
            return x, y
    return None


def intersection_over_union(boxes: np.ndarray, others: np.ndarray) -> np.ndarray:
    """The IoU of all pairs of boxes `[..., m, 4]` and `[..., n, 4]`: `[..., m, n]`."""
    low, high = (
        [edge(box[..., :2], box[..., 2:4] / 2) for box in (boxes[..., :, None, :], others[..., None, :, :])]
        for edge in (np.subtract, np.add)
    )
    shared = np.prod(np.maximum(np.minimum(*high) - np.maximum(*low), 0), axis=-1)
    areas = [np.prod(box[..., 2:4], axis=-1) for box in (boxes[..., :, None, :], others[..., None, :, :])]
    return shared / np.maximum(areas[0] + areas[1] - shared, 1e-9)


def right_boxes(targets: np.ndarray, predictions: np.ndarray) -> np.ndarray:
    """True for slots `[scenes, slots]` that are right: the class of a digit, an IoU of 0.5, and no digit twice."""
    classes = np.argmax(predictions[..., 4:], axis=-1)
    overlap = intersection_over_union(targets[..., :4], predictions[..., :4])
    right = (overlap >= 0.5) & (targets[..., 4][..., None] == classes[:, None])
    matching = ks.ops.match(-right.astype("float32"))
    pairs = np.take_along_axis(right, matching.rows.numpy()[:, None], axis=1)[:, 0]
    return pairs & matching.column_matched.numpy()


def measure(targets: np.ndarray, predictions: np.ndarray) -> dict[str, float]:
    """Shares of digits found, of boxes that are right, and of scenes without an error."""
    shown = np.argmax(predictions[..., 4:], axis=-1) != NO_DIGIT
    found = right_boxes(targets, predictions).sum(axis=1)
    digits, boxes = np.sum(targets[..., 4] >= 0, axis=1), shown.sum(axis=1)
    return {
        "recall": float(found.sum() / digits.sum()),
        "precision": float(found.sum() / max(boxes.sum(), 1)),
        "f1": float(2 * found.sum() / (digits.sum() + boxes.sum())),
        "scenes_right": float(np.mean((found == digits) & (found == boxes))),
    }
