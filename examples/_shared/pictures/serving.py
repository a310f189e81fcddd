"""The picture of `serve_ranker.py`."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from _shared.pictures.style import BLUE, GOLD, GOOD, INK, MUTED, open_frame, save


def draw_served(
    ward: tuple[np.ndarray, np.ndarray], seconds: dict[str, list[float]], path: Path, *, first: int = 3
) -> Path:
    """One answer, a ward in the order of its scores; and the share of requests that were answered in a given time.

    `ward` holds the scores and the grades of its patients. The first of the `seconds` of a kind of request is that of
    the first request after a load.
    """
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.4), layout="constrained")
    scores, grades = ward
    order = np.argsort(-scores, kind="stable")
    shades = plt.get_cmap("viridis_r")(grades[order] / max(grades.max(), 1))
    left.bar(np.arange(1, len(order) + 1), scores[order] - scores.min() + 0.1, color=shades)
    left.axvline(first + 0.5, color=MUTED, linestyle=":")
    left.set_title("One answer: a ward of unseen patients, by score", loc="left", color=INK)
    left.set(
        xlabel=f"rank by the server (dotted: the first {first})",
        ylabel="score above the lowest",
        xticks=[1, 5, 10, 15, 20],
    )
    handles = [plt.Rectangle((0, 0), 1, 1, color=plt.get_cmap("viridis_r")(grade / 4)) for grade in range(5)]
    left.legend(handles, range(5), title="true grade", frameon=False, ncols=5, columnspacing=1)
    for (name, spent), color in zip(seconds.items(), (GOOD, BLUE, GOLD), strict=False):
        later = 1000 * np.sort(spent[1:])
        right.step(later, np.arange(1, len(later) + 1) / len(later), where="post", color=color, label=name, linewidth=2)
        right.plot(1000 * spent[0], 1.0, "o", color=color)
    right.set(xscale="log", xlabel="milliseconds (the dot is the first request)", ylim=(0, 1.05))
    right.set_title("Share of requests answered in that time", loc="left", color=INK)
    right.legend(frameon=False, loc="center right")
    for axis in (left, right):
        open_frame(axis)
    return save(figure, path)
