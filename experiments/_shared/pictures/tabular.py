"""The picture of `tabular_ranks.py`."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from _shared.pictures.style import open_frame, save


def draw_tabular(results: dict[str, np.ndarray], years: list[int], path: Path) -> Path:
    """Rank correlation by year, mean and range over seeds, for each method; and the means of each seed."""
    figure, (by_year, by_seed) = plt.subplots(1, 2, figsize=(10, 4), width_ratios=[2, 1], layout="constrained")
    order = np.argsort(years)
    for number, (name, by_half) in enumerate(results.items()):
        color, values = f"C{number}", by_half[:, order]
        by_year.plot(np.sort(years), values.mean(axis=0), "o-", color=color, label=name)
        by_year.fill_between(np.sort(years), values.min(axis=0), values.max(axis=0), color=color, alpha=0.15)
        means = values.mean(axis=1)
        by_seed.plot(np.full(len(means), number), means, "o", color=color, alpha=0.6)
        by_seed.plot([number - 0.25, number + 0.25], [means.mean()] * 2, color=color, linewidth=3)
    by_year.set(xlabel="year", ylabel="rank correlation, unseen men", title="by year, mean and range over halves")
    by_year.legend()
    by_seed.set(title="mean over years, each half", xticks=range(len(results)), xlim=(-0.6, len(results) - 0.4))
    by_seed.set_xticklabels([name.replace(" ", "\n") for name in results])
    for axis in (by_year, by_seed):
        open_frame(axis)
    return save(figure, path)
