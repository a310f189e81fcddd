"""Pictures of what the examples learned."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")  # draws to files on machines without a screen
import matplotlib.pyplot as plt

INK, GOOD, BAD, MUTED = "#1b2a41", "#2a9d8f", "#d1495b", "#8d99ae"


def draw_sorting(
    lists: tuple[np.ndarray, np.ndarray, np.ndarray], curve: list[dict], results: dict, path: Path
) -> Path:
    """Lists before and after, the soft permutation of the first, and accuracy over training.

    `lists` holds the images, the numbers and the soft permutations of a few lists.
    """
    images, numbers, permutations = lists
    figure = plt.figure(figsize=(15, 7.5), layout="constrained", facecolor="white")
    figure.suptitle(
        "Sorting handwritten numbers, learned from order alone (unseen images, largest first)", fontsize=15, color=INK
    )
    left, right = figure.subfigures(1, 2, width_ratios=[1.35, 1])
    rows = left.subfigures(len(images), 1)
    for row, one_list, values, permutation in zip(np.atleast_1d(rows), images, numbers, permutations, strict=True):
        _before_and_after(row, one_list, values, permutation.argmax(axis=1))
    upper, lower = right.subplots(2, 1, height_ratios=[1.15, 1])
    _heat_map(upper, permutations[0], numbers[0])
    _curves(lower, curve, results)
    figure.savefig(path, dpi=110, bbox_inches="tight")
    plt.close(figure)
    return path


def _before_and_after(figure, lists: np.ndarray, values: np.ndarray, order: np.ndarray) -> None:
    axes = figure.subplots(2, len(lists))
    truth = np.sort(values)[::-1]
    for position, item in enumerate(order):
        _show(axes[0, position], lists[position], f"{values[position]:.0f}", MUTED)
        right = values[item] == truth[position]
        _show(axes[1, position], lists[item], f"{values[item]:.0f}", GOOD if right else BAD)
    axes[0, 0].set_ylabel("given", color=INK, fontsize=11)
    axes[1, 0].set_ylabel("sorted", color=INK, fontsize=11)


def _show(axis, image: np.ndarray, caption: str, color: str) -> None:
    axis.imshow(image[..., 0], cmap="gray_r", aspect="equal")
    axis.set_xticks([])
    axis.set_yticks([])
    axis.set_xlabel(caption, color=color, fontsize=12, fontweight="bold", labelpad=2)
    for spine in axis.spines.values():
        spine.set_color(color)
        spine.set_linewidth(1.5)


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
    for key, label, color in (("element", "element-wise", MUTED), ("all_correct", "whole list right", GOOD)):
        axis.plot(steps, [chance[key]] + [point[key] for point in curve], "o-", color=color, label=label, markersize=4)
    styles = ((BAD, "--"), (INK, ":"))
    others = [name for name in results if name == "rank regression" or name.startswith("ceiling")]
    for name, (color, style) in zip(others, styles, strict=False):
        axis.axhline(results[name]["all_correct"], color=color, linestyle=style, label=f"{name} (whole list)")
    axis.set_ylim(0, 1.02)
    axis.set_xlabel("training step")
    axis.set_title("Accuracy on unseen images", color=INK)
    axis.legend(loc="lower right", fontsize=9)
    axis.spines[["top", "right"]].set_visible(False)


def draw_medians(truth: np.ndarray, predicted: dict[str, np.ndarray], path: Path) -> Path:
    """Predicted against true medians, one panel a method."""
    figure, axes = plt.subplots(1, len(predicted), figsize=(4.6 * len(predicted), 5.6), layout="constrained")
    figure.suptitle(
        "Median of handwritten numbers, learned from the median alone (unseen images)", color=INK, fontsize=14
    )
    for axis, (name, values) in zip(np.atleast_1d(axes), predicted.items(), strict=True):
        axis.plot([0, 1], [0, 1], color=MUTED, linewidth=1)
        axis.scatter(truth, values, s=8, alpha=0.5, color=GOOD, edgecolors="none")
        axis.set_title(f"{name}\nMSE x 1e4 = {1e4 * np.mean((values - truth) ** 2):.1f}", color=INK)
        axis.set_xlabel("true median / largest number")
        axis.set_ylabel("predicted")
        axis.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
        axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=110, bbox_inches="tight")
    plt.close(figure)
    return path


def draw_matchings(numbers: np.ndarray, snapshots: list[tuple[str, np.ndarray]], path: Path) -> Path:
    """Matrices `[place, item]` of one list as training went on, items in their true order: a right one is diagonal."""
    order = np.argsort(numbers)
    width = 2.9 * len(snapshots) + 0.9
    figure, axes = plt.subplots(1, len(snapshots), figsize=(width, 3.8), layout="constrained", sharey=True)
    figure.suptitle(
        "Sorting numbers, learned from sorted lists alone: which number goes to which place (an unseen list)",
        color=INK,
        fontsize=14,
    )
    for axis, (title, matrix) in zip(np.atleast_1d(axes), snapshots, strict=True):
        image = axis.imshow(matrix[:, order], cmap="GnBu", vmin=0, vmax=1)
        axis.set_xticks(range(len(numbers)), [f"{number:.2f}" for number in numbers[order]], rotation=90, fontsize=9)
        axis.set_yticks(range(len(numbers)), [str(place) for place in range(1, len(numbers) + 1)], fontsize=9)
        axis.set_title(title, color=INK, fontsize=12)
        axis.set_xlabel("number", color=INK)
        axis.spines[:].set_color(MUTED)
    np.atleast_1d(axes)[0].set_ylabel("place, smallest first", color=INK)
    figure.colorbar(image, ax=axes, shrink=0.8, pad=0.01)
    figure.savefig(path, dpi=110, bbox_inches="tight")
    plt.close(figure)
    return path


def draw_slates(curves: tuple[np.ndarray, dict], known: dict[str, float], visit: tuple, path: Path) -> Path:
    """Rewards as training went on, mean and range over seeds; and one visit's slates on a map of its wines.

    `visit` holds the ideal and the candidates of one shopper, and slates of these by name.
    """
    figure, (left, right) = plt.subplots(1, 2, figsize=(14, 6), layout="constrained", width_ratios=[1.25, 1])
    figure.suptitle("Filling a slate one wine after another (unseen shoppers, unseen wines)", color=INK, fontsize=15)
    steps, methods = curves
    for (name, seeds), color in zip(methods.items(), (GOOD, "#e9a23b", BAD, "#4361a8"), strict=True):
        runs = np.array(seeds)
        left.plot(steps, runs.mean(axis=0), color=color, label=name, linewidth=2)
        left.fill_between(steps, runs.min(axis=0), runs.max(axis=0), color=color, alpha=0.18, linewidth=0)
    for (name, reward), style in zip(known.items(), ((0, (1, 3)), ":", "--", "-"), strict=True):
        left.axhline(reward, color=MUTED, linestyle=style, linewidth=1.3, label=name, zorder=0)
    left.set_xlabel("training step")
    left.set_title("Reward of the slate: mean and range over seeds", color=INK)
    left.legend(loc="center right", fontsize=9)
    left.spines[["top", "right"]].set_visible(False)
    _map_of_slates(right, *visit)
    figure.savefig(path, dpi=110, bbox_inches="tight")
    plt.close(figure)
    return path


def _map_of_slates(axis, visit: tuple[np.ndarray, np.ndarray], slates: dict[str, np.ndarray]) -> None:
    """Wines around the ideal, in the plane of their two main directions; slates as paths."""
    ideal, wines = visit
    _, _, directions = np.linalg.svd(wines - ideal, full_matrices=False)
    points = (wines - ideal) @ directions[:2].T
    axis.scatter(*points.T, s=60, color=MUTED, zorder=1, edgecolors="white", label="candidates")
    axis.scatter(0, 0, s=220, marker="*", color="#e9a23b", zorder=4, label="the shopper's ideal")
    for offset, ((name, slate), color) in enumerate(zip(slates.items(), (BAD, INK, GOOD), strict=False)):
        path = points[slate] + 0.06 * (offset - 1)
        axis.plot(*path.T, "-o", color=color, label=name, linewidth=1.8, markersize=5, alpha=0.85, zorder=2 + offset)
        for place, point in enumerate(path, start=1):
            shift = (8 * (offset - 1), 9)
            axis.annotate(str(place), point, color=color, fontweight="bold", xytext=shift, textcoords="offset points")
    axis.set_title("One shopper: places 1 to 4 of three slates", color=INK)
    axis.set(xticks=[], yticks=[])
    axis.legend(fontsize=9)
    axis.spines[:].set_color(MUTED)


def draw_ranking(results: dict[str, list[dict[str, float]]], path: Path) -> Path:
    """Each measure of each method: the mean over seeds as a dot, the range as a line."""
    names = [name for name in results if name != "random order"]
    measures = list(results[names[0]][0])
    figure, axes = plt.subplots(1, len(measures), figsize=(3.1 * len(measures), 4.2), layout="constrained", sharey=True)
    figure.suptitle("Learning to rank, one scorer and one budget (unseen queries)", color=INK, fontsize=14)
    for axis, measure in zip(axes, measures, strict=True):
        for row, name in enumerate(reversed(names)):
            values = [run[measure] for run in results[name]]
            color = BAD if name.startswith("LightGBM") else GOOD
            axis.plot([min(values), max(values)], [row, row], color=color, linewidth=3, alpha=0.4)
            axis.plot(np.mean(values), row, "o", color=color, markersize=8)
        axis.axvline(np.mean([run[measure] for run in results["random order"]]), color=MUTED, linestyle=":")
        axis.set_title(measure, color=INK)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_yticks(range(len(names)), list(reversed(names)))
    axes[0].set_xlabel("dotted: a random order", color=MUTED)
    figure.savefig(path, dpi=110, bbox_inches="tight")
    plt.close(figure)
    return path


def draw_neighbors(images: tuple, snapshots: list[tuple[str, np.ndarray, np.ndarray]], path: Path) -> Path:
    """Some queries with their nearest neighbours, and all embeddings in two dimensions, a row a snapshot.

    `images` holds those to train on and to test on, with their classes; a snapshot its title, and the neighbours and
    the embeddings of all test images.
    """
    train, test = images
    wrong = [(train.classes[neighbors] != test.classes[:, np.newaxis]).mean(axis=1) for _, neighbors, _ in snapshots]
    # The queries with the most wrong neighbours in the first snapshot, one of each of five classes.
    hardest = np.argsort(-wrong[0], kind="stable")
    _, firsts = np.unique(test.classes[hardest], return_index=True)
    shown = hardest[np.sort(firsts)[:5]]
    figure = plt.figure(figsize=(14, 5.2 * len(snapshots)), layout="constrained", facecolor="white")
    figure.suptitle(
        "Unseen images and their nearest neighbours among the training images (green: of the same class)",
        fontsize=15,
        color=INK,
    )
    rows = figure.subfigures(len(snapshots), 1)
    for row, errors, (title, neighbors, embeddings) in zip(np.atleast_1d(rows), wrong, snapshots, strict=True):
        left, right = row.subfigures(1, 2, width_ratios=[1.5, 1])
        left.suptitle(f"{title}: {errors.mean():.1%} of neighbours are of another class", color=INK)
        count = min(7, neighbors.shape[1])
        axes = left.subplots(len(shown), count + 1)
        for line, query in zip(axes, shown, strict=True):
            _small_image(line[0], test.pixels[query], INK)
            for axis, item in zip(line[1:], neighbors[query], strict=False):
                same = train.classes[item] == test.classes[query]
                _small_image(axis, train.pixels[item], GOOD if same else BAD)
        _flattened(right.subplots(), embeddings, test.classes)
    figure.savefig(path, dpi=110, bbox_inches="tight")
    plt.close(figure)
    return path


def _small_image(axis, image: np.ndarray, color: str) -> None:
    axis.imshow(image[..., 0] if image.shape[-1] == 1 else image, cmap="gray_r")
    axis.set(xticks=[], yticks=[])
    axis.spines[:].set_color(color)
    axis.spines[:].set_linewidth(3)


def _flattened(axis, embeddings: np.ndarray, classes: np.ndarray) -> None:
    """The two directions in which embeddings spread most."""
    centered = embeddings - embeddings.mean(axis=0)
    _, _, directions = np.linalg.svd(centered, full_matrices=False)
    places = centered @ directions[:2].T
    for each in np.unique(classes):
        axis.scatter(*places[classes == each].T, s=10, color=plt.cm.tab10(each % 10), label=str(each), linewidths=0)
    axis.set(xticks=[], yticks=[])
    axis.set_title("embeddings, their two principal components", color=INK, fontsize=11)
    axis.legend(loc="best", fontsize=8, ncols=2, markerscale=2)
