"""Puzzles as shuffled, reassembled and in truth."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from _shared import puzzles
from _shared.pictures.style import BAD, INK, MUTED, save


def draw_puzzles(grids: dict[int, dict[str, np.ndarray]], path: Path) -> Path:
    """For each grid of `k` x `k` pieces a group of columns; the last one is the truth, as for wrong pieces of "exact".

    A column is a title and pieces `[row, n, height, width, channels]`.
    """
    rows = len(next(iter(next(iter(grids.values())).values())))
    figure = plt.figure(figsize=(6.2 * len(grids), 1.5 * rows + 0.9), layout="constrained", facecolor="white")
    figure.suptitle("Unseen images, reassembled from pieces (red: a piece at a wrong place)", fontsize=17, color=INK)
    groups = np.atleast_1d(figure.subfigures(1, len(grids), wspace=0.04))
    for group, (k, columns) in zip(groups, grids.items(), strict=True):
        truth = list(columns.values())[-1]
        axes = group.subplots(rows, len(columns), squeeze=False)
        for column, (name, pieces) in enumerate(columns.items()):
            axes[0, column].set_title(f"{name}, {k} x {k}" if column == 0 else name, color=INK, fontsize=12)
            for row in range(rows):
                wrong = np.any(np.abs(pieces[row] - truth[row]) > 1e-5, axis=(1, 2, 3)) & (name == "exact")
                _show(axes[row, column], pieces[row], wrong)
    return save(figure, path, dpi=90)


def _show(axis: plt.Axes, pieces: np.ndarray, wrong: np.ndarray) -> None:
    """One image, with lines between its pieces and a frame around the wrong ones."""
    n, height, width = pieces.shape[:3]
    k = round(n**0.5)
    image = puzzles.join(pieces[np.newaxis])[0]
    axis.imshow(np.clip(image, 0, 1).squeeze(), cmap="gray_r", vmin=0, vmax=1)
    axis.set_xticks(np.arange(1, k) * width - 0.5, [])
    axis.set_yticks(np.arange(1, k) * height - 0.5, [])
    axis.grid(color=MUTED, linewidth=0.8)
    axis.tick_params(length=0)
    for position in np.flatnonzero(wrong):
        corner = position % k * width - 0.5, position // k * height - 0.5
        axis.add_patch(plt.Rectangle(corner, width, height, fill=False, color=BAD, linewidth=2))
    axis.spines[:].set_color(MUTED)
