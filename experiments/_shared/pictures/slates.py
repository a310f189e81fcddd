"""Rewards of slates over training, and slates on a map of their candidates."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from _shared.pictures.style import BAD, BLUE, GOLD, GOOD, INK, MUTED, open_frame, save

MOST_NUMBERED = 6  # wines of a slate that are drawn on the map


def draw_slates(curves: tuple[np.ndarray, dict], known: dict[str, float], visit: tuple, path: Path) -> Path:
    """Rewards over training, mean and range over seeds; and one visit's slates, each on a map of its wines.

    `known` holds the rewards of slates that are not learned, by name.

    `visit` holds the ideal and the candidates of one shopper, and slates of these by name.
    """
    figure = plt.figure(figsize=(15, 6.4), layout="constrained", facecolor="white")
    figure.suptitle("Filling a slate one wine after another (unseen shoppers, unseen wines)", color=INK, fontsize=15)
    left, right = figure.subfigures(1, 2, width_ratios=[1.5, 1])
    _rewards(left.subplots(), curves, known)
    (ideal, wines), slates = visit
    places = min(MOST_NUMBERED, len(next(iter(slates.values()))))
    right.suptitle(f"One shopper: the first {places} wines of three slates", color=INK)
    for axis, (name, slate) in zip(right.subplots(len(slates), 1), slates.items(), strict=True):
        _map_of_slate(axis, (ideal, wines), slate[:places], name)
    return save(figure, path)


def _rewards(axis: plt.Axes, curves: tuple[np.ndarray, dict], known: dict[str, float]) -> None:
    steps, methods = curves
    for (name, seeds), color in zip(methods.items(), (GOOD, GOLD, BAD, BLUE), strict=True):
        runs = np.array(seeds)
        axis.plot(steps, runs.mean(axis=0), color=color, label=name, linewidth=2)
        axis.fill_between(steps, runs.min(axis=0), runs.max(axis=0), color=color, alpha=0.18, linewidth=0)
    low, high = axis.get_ylim()
    axis.set_ylim(min(low, *known.values()), max(high, *known.values()) + 0.03 * (high - low))
    for (name, reward), height in zip(known.items(), _apart(axis, list(known.values())), strict=True):
        right = {"transform": axis.get_yaxis_transform(), "clip_on": False}
        axis.axhline(reward, color=MUTED, linestyle="--", linewidth=1, zorder=0)
        axis.plot([1, 1.025], [reward, height], color=MUTED, linewidth=0.8, **right)
        axis.text(1.03, height, name, color=INK, fontsize=9, va="center", **right)
    axis.set_xlabel("training step")
    axis.set_title("Reward of the slate: mean and range over seeds", color=INK)
    axis.legend(loc="best", fontsize=10)
    axis.margins(x=0)
    open_frame(axis)


def _apart(axis: plt.Axes, heights: list[float]) -> list[float]:
    """Heights for labels, moved down where they would overlap one that is higher."""
    low, high = axis.get_ylim()
    least, top, found = 0.045 * (high - low), np.inf, [0.0] * len(heights)
    for i in np.argsort(-np.array(heights), kind="stable"):
        found[i] = top = min(heights[i], top - least)
    return found


def _map_of_slate(axis: plt.Axes, visit: tuple[np.ndarray, np.ndarray], slate: np.ndarray, name: str) -> None:
    """Wines around the ideal, in the plane of their two main directions; the slate as numbered wines."""
    ideal, wines = visit
    _, _, directions = np.linalg.svd(wines - ideal, full_matrices=False)
    points = (wines - ideal) @ directions[:2].T
    axis.scatter(*points.T, s=45, color=MUTED, zorder=1, edgecolors="white")
    axis.scatter(0, 0, s=190, marker="*", color=GOLD, zorder=2)
    axis.annotate("ideal", (0, 0), (0, -15), textcoords="offset points", color=GOLD, fontsize=9, ha="center")
    path = points[slate]
    axis.plot(*path.T, color=GOOD, linewidth=1.2, alpha=0.7, zorder=3)
    axis.scatter(*path.T, s=170, color=GOOD, zorder=4)
    for place, point in enumerate(path, start=1):
        axis.annotate(
            str(place), point, color="white", fontsize=9, fontweight="bold", ha="center", va="center", zorder=5
        )
    axis.set(xticks=[], yticks=[])
    axis.margins(0.12)
    axis.set_ylabel(name.replace(", ", ",\n"), color=INK, fontsize=10)
    axis.spines[:].set_color(MUTED)
