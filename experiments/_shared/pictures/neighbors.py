"""Images with their nearest neighbors, and their embeddings in two dimensions."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from _shared.pictures.style import BAD, GOOD, INK, save, show_image


def draw_neighbors(images: tuple, snapshots: list[tuple[str, np.ndarray, np.ndarray]], path: Path) -> Path:
    """Some queries with their nearest neighbors, and all embeddings in two dimensions, one row per snapshot.

    `images` holds the images for training and for testing, with their classes. A snapshot holds its title, and the
    neighbors and embeddings of all test images.
    """
    train, test = images
    wrong = [(train.classes[neighbors] != test.classes[:, np.newaxis]).mean(axis=1) for _, neighbors, _ in snapshots]
    # The queries with the most wrong neighbors in the first snapshot, one of each of five classes.
    hardest = np.argsort(-wrong[0], kind="stable")
    _, firsts = np.unique(test.classes[hardest], return_index=True)
    shown = hardest[np.sort(firsts)[:5]]
    figure = plt.figure(figsize=(14, 5.2 * len(snapshots)), layout="constrained", facecolor="white")
    figure.suptitle(
        "Unseen images with the most wrong neighbors before training (green: of the same class)",
        fontsize=15,
        color=INK,
    )
    rows = figure.subfigures(len(snapshots), 1)
    for row, errors, (title, neighbors, embeddings) in zip(np.atleast_1d(rows), wrong, snapshots, strict=True):
        left, right = row.subfigures(1, 2, width_ratios=[1.5, 1])
        left.suptitle(f"{title}: {errors.mean():.1%} of all neighbors are of another class", color=INK)
        count = min(7, neighbors.shape[1])
        axes = left.subplots(len(shown), count + 1)
        for line, query in zip(axes, shown, strict=True):
            show_image(line[0], test.pixels[query], INK, width=3)
            for axis, item in zip(line[1:], neighbors[query], strict=False):
                same = train.classes[item] == test.classes[query]
                show_image(axis, train.pixels[item], GOOD if same else BAD, width=3)
        _flattened(right.subplots(), embeddings, test.classes)
    return save(figure, path)


def _flattened(axis, embeddings: np.ndarray, classes: np.ndarray) -> None:
    """The two directions in which embeddings spread most."""
    centered = embeddings - embeddings.mean(axis=0)
    _, _, directions = np.linalg.svd(centered, full_matrices=False)
    points = centered @ directions[:2].T
    for each in np.unique(classes):
        axis.scatter(*points[classes == each].T, s=10, color=plt.cm.tab10(each % 10), label=str(each), linewidths=0)
    axis.set(xticks=[], yticks=[])
    axis.set_title("embeddings, their two principal components", color=INK, fontsize=11)
    axis.legend(loc="best", fontsize=8, ncols=2, markerscale=2)
