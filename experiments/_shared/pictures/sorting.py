"""Sorted lists of images, their soft permutation, and accuracy over training."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from _shared.pictures.style import BAD, GOOD, INK, MUTED, open_frame, save, show_image


def draw_sorting(
    lists: tuple[np.ndarray, np.ndarray, np.ndarray], curve: list[dict], results: dict, path: Path
) -> Path:
    """Lists before and after, the soft permutation of the first, and accuracy over training.

    `lists` holds the images, the numbers and the soft permutations of a few lists.
    """
    images, numbers, permutations = lists
    figure = plt.figure(figsize=(15, 7.5), layout="constrained", facecolor="white")
    figure.suptitle(
        "Sorting handwritten numbers, learned only from their order (unseen images, largest first)",
        fontsize=15,
        color=INK,
    )
    left, right = figure.subfigures(1, 2, width_ratios=[1.35, 1])
    rows = left.subfigures(len(images), 1)
    for row, one_list, values, permutation in zip(np.atleast_1d(rows), images, numbers, permutations, strict=True):
        _before_and_after(row, one_list, values, permutation.argmax(axis=1))
    upper, lower = right.subplots(2, 1, height_ratios=[1.15, 1])
    _heat_map(upper, permutations[0], numbers[0])
    _curves(lower, curve, results)
    return save(figure, path)


def _before_and_after(figure, lists: np.ndarray, values: np.ndarray, order: np.ndarray) -> None:
    axes = figure.subplots(2, len(lists))
    truth = np.sort(values)[::-1]
    for position, item in enumerate(order):
        _show(axes[0, position], lists[position], f"{values[position]:.0f}", MUTED)
        right = values[item] == truth[position]
        _show(axes[1, position], lists[item], f"{values[item]:.0f}", GOOD if right else BAD)
    axes[0, 0].set_ylabel("given", color=INK, fontsize=11)
    axes[1, 0].set_ylabel("sorted", color=INK, fontsize=11)


def _show(axis: plt.Axes, image: np.ndarray, caption: str, color: str) -> None:
    show_image(axis, image, color)
    axis.set_xlabel(caption, color=color, fontsize=12, fontweight="bold", labelpad=2)


def _heat_map(axis, permutation: np.ndarray, values: np.ndarray) -> None:
    size = len(values)
    axis.imshow(permutation, cmap="GnBu", vmin=0, vmax=1)
    axis.set_xticks(range(size), [f"{value:.0f}" for value in values])
    axis.set_yticks(range(size), [str(rank) for rank in range(1, size + 1)])
    axis.set_xlabel("item (its number, which the network never saw)")
    axis.set_ylabel("rank")
    axis.set_title("Soft permutation of the first list", color=INK)
    if size <= 9:
        for (rank, item), weight in np.ndenumerate(permutation):
            axis.text(
                item,
                rank,
                f"{weight:.2f}",
                ha="center",
                va="center",
                fontsize=9,
                color="white" if weight > 0.6 else INK,
            )


def _curves(axis, curve: list[dict], results: dict) -> None:
    steps = [0] + [point["step"] for point in curve]
    chance = results["chance"]
    for key, label, color in (("element", "ranks correct", MUTED), ("all_correct", "whole lists correct", GOOD)):
        axis.plot(steps, [chance[key]] + [point[key] for point in curve], "o-", color=color, label=label, markersize=4)
    styles = ((BAD, "--"), (INK, ":"))
    others = [name for name in results if name == "rank regression" or name.startswith("ceiling")]
    for name, (color, style) in zip(others, styles, strict=False):
        axis.axhline(results[name]["all_correct"], color=color, linestyle=style, label=f"{name} (whole lists)")
    axis.set_ylim(0, 1.02)
    axis.set_xlabel("training step")
    axis.set_title("Accuracy on unseen images", color=INK)
    # Below the axis, where no curve is.
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=2, fontsize=9, frameon=False)
    open_frame(axis)
