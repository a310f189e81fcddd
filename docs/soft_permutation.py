"""Draws `pictures/soft_permutation.png`, the picture of README and of the first page."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import keras_softsort as ks

SCORES = np.array([0.9, -0.6, 1.6, 0.2, -1.3], "float32")
HARD, SOFT = "#888888", "#d1495b"


def rank_of_a_moving_score(axis: plt.Axes) -> None:
    moving = np.linspace(-2.5, 2.5, 400, dtype="float32")
    lists = np.concatenate([moving[:, None], np.tile(SCORES[1:], (400, 1))], axis=1)
    axis.plot(moving, ks.soft_rank(lists, 1e-6)[:, 0], color=HARD, label="rank: no gradient")
    axis.plot(
        moving,
        ks.soft_rank(lists, 0.4, method="lapsum")[:, 0],
        color=SOFT,
        linewidth=2,
        label="soft rank: a gradient everywhere",
    )
    axis.set(xlabel="score of an item", ylabel="its rank among five", yticks=range(1, 6))
    axis.invert_yaxis()
    axis.legend(frameon=False, loc="upper left")


def matrix(axis: plt.Axes, tau: float, title: str) -> None:
    weights = ks.neural_sort(SCORES, tau).numpy()
    axis.imshow(weights, cmap="Reds", vmin=0, vmax=1)
    for (rank, item), weight in np.ndenumerate(weights):
        axis.text(item, rank, f"{weight:.1f}", ha="center", va="center", color="white" if weight > 0.6 else "black")
    axis.set(title=title, xlabel="item", ylabel="rank", xticks=range(5), xticklabels=range(1, 6))
    axis.set(yticks=range(5), yticklabels=range(1, 6))


def main() -> None:
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.8), width_ratios=[1.5, 1, 1], layout="constrained")
    rank_of_a_moving_score(axes[0])
    matrix(axes[1], 1e-6, "permutation matrix")
    matrix(axes[2], 1.5, "soft permutation")
    figure.get_layout_engine().set(rect=(0, 0, 1, 0.97))
    figure.savefig(Path(__file__).parent / "pictures" / "soft_permutation.png", dpi=110)


if __name__ == "__main__":
    main()
