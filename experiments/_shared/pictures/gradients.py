"""Two ways to train one model: what both reach, and what each takes."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt

from _shared.pictures.style import BAD, GOOD, INK, open_frame, save


def draw_gradients(curves: dict[str, list[float]], times: dict[str, dict[int, float]], path: Path) -> Path:
    """`curves` holds Kendall's tau after each epoch, `times` the seconds per step by list size, both by method."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.8), layout="constrained")
    figure.suptitle("RankNet by explicit pairs and by the direct lambda gradient", color=INK, fontsize=14)
    styles = ({"color": BAD, "linewidth": 5, "alpha": 0.45}, {"color": GOOD, "linewidth": 2})
    for (name, curve), style in zip(curves.items(), styles, strict=True):
        left.plot(range(len(curve)), curve, label=name, **style)
        sizes = list(times[name])
        right.plot(sizes, [1e3 * times[name][size] for size in sizes], marker="o", label=name, **style)
    left.set(xlabel="epoch", title="Kendall's tau of unseen lists: the same model")
    right.set(xscale="log", yscale="log", xlabel="items in a list", title="milliseconds per step")
    for axis in (left, right):
        axis.legend()
        open_frame(axis)
    return save(figure, path)
