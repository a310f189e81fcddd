"""Predicted against true medians."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from _shared.pictures.style import GOOD, INK, MUTED, open_frame, save


def draw_medians(truth: np.ndarray, predicted: dict[str, np.ndarray], path: Path) -> Path:
    """Predicted against true medians, one panel per method."""
    figure, axes = plt.subplots(1, len(predicted), figsize=(4.6 * len(predicted), 5.6), layout="constrained")
    figure.suptitle("Median of handwritten numbers, learned only from medians (unseen images)", color=INK, fontsize=14)
    for axis, (name, values) in zip(np.atleast_1d(axes), predicted.items(), strict=True):
        axis.plot([0, 1], [0, 1], color=MUTED, linewidth=1)
        axis.scatter(truth, values, s=8, alpha=0.5, color=GOOD, edgecolors="none")
        axis.set_title(f"{name}\nMSE x 1e4 = {1e4 * np.mean((values - truth) ** 2):.1f}", color=INK)
        axis.set_xlabel("true median / largest number")
        axis.set_ylabel("predicted")
        axis.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
        open_frame(axis)
    return save(figure, path)
