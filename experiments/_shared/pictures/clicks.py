"""The picture of `clicks_to_ranker.py`."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from _shared.pictures.style import BAD, GOOD, INK, MUTED, open_frame, save


def draw_clicks(
    results: dict[str, list[float]], curves: dict[str, list[list[float]]], truth: np.ndarray, log: str, path: Path
) -> Path:
    """NDCG@5 of each method and seed, and the estimated examination of positions beside the true one."""
    figure, (by_method, by_position) = plt.subplots(1, 2, figsize=(11, 4), width_ratios=[1, 1], layout="constrained")
    figure.suptitle(f"Learning from clicks, {log} log", color=INK, fontsize=13)
    for row, (name, values) in enumerate(reversed(results.items())):
        color = MUTED if name.startswith("labels") else BAD if name.startswith("clicks") else GOOD
        by_method.plot(values, np.full(len(values), row), "o", color=color, alpha=0.5)
        by_method.plot([np.mean(values)] * 2, [row - 0.3, row + 0.3], color=color, linewidth=3)
    by_method.set_yticks(range(len(results)), list(reversed(results)))
    by_method.set_xlabel("NDCG@5 on unseen lists; bars: means over seeds")
    positions = np.arange(1, len(truth) + 1)
    by_position.plot(positions, truth, color=INK, linewidth=3, label="true")
    for name, found in curves.items():
        mean = np.mean(found, axis=0)
        by_position.plot(positions[: len(mean)], mean, "o--", markersize=4, label=name)
    by_position.set(xlabel="position", title="examination, relative to the first position", xticks=positions)
    by_position.legend(frameon=False)
    for axis in (by_method, by_position):
        open_frame(axis)
    return save(figure, path)
