"""Soft permutation matrices of one list over training."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from _shared.pictures.style import INK, MUTED, save


def draw_matchings(numbers: np.ndarray, snapshots: list[tuple[str, np.ndarray]], path: Path) -> Path:
    """Matrices `[rank, item]` of one list during training, with items in their true order: a right one is diagonal."""
    order = np.argsort(numbers)
    width = 2.9 * len(snapshots) + 0.9
    figure, axes = plt.subplots(1, len(snapshots), figsize=(width, 3.8), layout="constrained", sharey=True)
    figure.suptitle(
        "Sorting numbers, learned only from sorted lists: the rank of each number (an unseen list)",
        color=INK,
        fontsize=14,
    )
    for axis, (title, matrix) in zip(np.atleast_1d(axes), snapshots, strict=True):
        image = axis.imshow(matrix[:, order], cmap="GnBu", vmin=0, vmax=1)
        axis.set_xticks(range(len(numbers)), [f"{number:.2f}" for number in numbers[order]], rotation=90, fontsize=9)
        axis.set_yticks(range(len(numbers)), [str(rank) for rank in range(1, len(numbers) + 1)], fontsize=9)
        axis.set_title(title, color=INK, fontsize=12)
        axis.set_xlabel("number", color=INK)
        axis.spines[:].set_color(MUTED)
    np.atleast_1d(axes)[0].set_ylabel("rank, smallest first", color=INK)
    figure.colorbar(image, ax=axes, shrink=0.8, pad=0.01)
    return save(figure, path)
