"""The picture of `travel_choices.py`."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from _shared.pictures.style import BAD, BLUE, GOLD, GOOD, INK, MUTED, open_frame, save


def draw_choices(
    estimates: dict[str, tuple[float, float, float]], factors: np.ndarray, shares: np.ndarray, path: Path
) -> Path:
    """Coefficients, each (estimate, standard error, published); shares of the alternatives by travel time."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    rows, (values, errors, published) = np.arange(len(estimates))[::-1], np.array(list(estimates.values())).T
    left.errorbar(values, rows, xerr=1.96 * errors, fmt="o", color=GOOD, capsize=4, label="estimate, 95% interval")
    left.plot(published, rows, "|", color=INK, markersize=22, label="published")
    left.axvline(0, color=MUTED, linestyle=":")
    left.set_yticks(rows, list(estimates))
    left.set(title="conditional logit", ylim=(-0.6, len(estimates) - 0.4))
    left.legend(frameon=False, loc="lower right")
    names = {"train": BLUE, "Swissmetro": BAD, "car": GOLD}
    for (name, color), share in zip(names.items(), shares.T, strict=True):
        right.plot(factors, 100 * share, color=color, linewidth=2, label=name)
    right.axvline(1, color=MUTED, linestyle=":")
    right.set(title="if Swissmetro were faster or slower", xlabel="multiple of its travel time", ylabel="share, %")
    right.legend(frameon=False)
    for axis in (left, right):
        open_frame(axis)
    return save(figure, path)
