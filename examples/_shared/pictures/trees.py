"""The picture of `ranking_trees.py`."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from _shared.pictures.style import INK, open_frame, save

TITLES = {"ndcg@5": "NDCG@5", "spearman": "Spearman's correlation"}


def draw_rounds(curves: dict[str, list[dict[str, list[float]]]], path: Path) -> Path:
    """Each metric over the rounds for each method, the mean over splits."""
    figure, axes = plt.subplots(1, len(TITLES), figsize=(10.5, 4.2), layout="constrained")
    figure.suptitle("Validation lists, means over splits", color=INK, fontsize=13)
    for axis, (metric, title) in zip(axes, TITLES.items(), strict=True):
        for name, runs in curves.items():
            mean = np.mean([run[metric] for run in runs], axis=0)
            (line,) = axis.plot(np.arange(1, len(mean) + 1), mean, "--" if "LightGBM" in name else "-", label=name)
            best = int(np.argmax(mean))
            axis.plot(best + 1, mean[best], "o", color=line.get_color())
        axis.set(title=title, xlabel="round")
        open_frame(axis)
    axes[0].legend(frameon=False)
    return save(figure, path)
