"""Losses and NDCG over the epochs: where a loss falls on and what it stands for does not.

Networks of `ranking_methods.py` are trained by several losses on the sample that LightGBM ships, in the folder
`--letor`, or on wards of patients. After each epoch the loss and NDCG@5 of the training lists and NDCG@5 of the test
lists are measured, without dropout. For each loss the table has the epoch at which NDCG@5 is highest, in the mean over
splits, and how far the loss of the training lists falls after it.

    python experiments/surrogates.py --letor FOLDER --picture docs/pictures/surrogates.png
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "benchmarks" / "tools"))

import harness
import numpy as np
import ranking_methods as methods
import tensorflow as tf
from _shared import ranking_splits as data

LOSSES = (
    "RankNet",
    "Softmax",
    "ListMLE",
    "Sigmoid cross-entropy",
    "Mean squared",
    "ApproxNDCG",
    "NeuralNDCG",
    "NeuralSort cross-entropy",
    "Spearman",
)
Curves = dict[str, np.ndarray]


def curves(name: str, splits: list[data.Split], epochs: int) -> Curves:
    """The loss and NDCG@5 of training lists, and NDCG@5 of test lists: `[splits, epochs]` each."""
    trainer = methods.Trainer(methods.METHODS[name], data.width(splits[0], "standardized"))
    loss = tf.function(methods.LOSSES[name](), reduce_retracing=True)
    found: dict[str, list] = {"loss": [], "training": [], "test": []}
    for number, split in enumerate(splits):
        train, _, test = data.encoded(split, "standardized", refit=True)
        points = []
        for _ in trainer.fit(train, epochs, number):
            scores, unseen = trainer.scores(train), trainer.scores(test)
            costs = float(loss(tf.constant(train.labels), tf.constant(scores)))
            points.append((costs, data.ndcg(train, scores, 5).mean(), data.ndcg(test, unseen, 5).mean()))
        for key, values in zip(found, np.transpose(points), strict=True):
            found[key].append(values)
    return {key: np.stack(values) for key, values in found.items()}


def row(name: str, found: Curves) -> harness.Row:
    """The epoch with the highest NDCG@5, and the change after it, in the mean over splits."""
    loss, training, test = (found[key].mean(axis=0) for key in ("loss", "training", "test"))
    best, top = int(np.argmax(test)), int(np.argmax(training))

    def falls(after: int) -> str:
        return f"{100 * (loss[after] - loss[-1]) / (loss[0] - loss.min()):.0f} %"

    return {
        "loss": name,
        "best test epoch": best + 1,
        "test NDCG@5 there": round(float(test[best]), 3),
        "at the end": round(float(test[-1]), 3),
        "loss falls after it by": falls(best),
        "best training epoch": top + 1,
        "training NDCG@5 there": round(float(training[top]), 3),
        "at its end": round(float(training[-1]), 3),
        "loss falls after that by": falls(top),
    }


def draw(every: Mapping[str, Curves], path: Path) -> None:
    """A panel for each loss: its value on training lists, and NDCG@5 of both; bands are the spread over splits."""
    import matplotlib.pyplot as plt  # noqa: PLC0415

    rows = -(-len(every) // 3)
    figure, axes = plt.subplots(rows, 3, figsize=(12, 2.7 * rows + 0.6), sharex=True, layout="constrained")
    lowest = min(found["test"].mean(axis=0).min() for found in every.values())
    for axis, (name, found) in zip(np.ravel(axes), every.items(), strict=False):
        falling = axis.twinx()
        for target, key, label, color in (
            (falling, "loss", "loss, training lists (right)", "#8A8FA3"),
            (axis, "training", "NDCG@5, training lists", "#1F6F6B"),
            (axis, "test", "NDCG@5, test lists", "#B33A3A"),
        ):
            mean, spread = found[key].mean(axis=0), found[key].std(axis=0)
            epochs = np.arange(1, len(mean) + 1)
            target.plot(epochs, mean, color=color, label=label)
            target.fill_between(epochs, mean - spread, mean + spread, color=color, alpha=0.2, lw=0)
            target.spines["top"].set_visible(False)
        falling.tick_params(axis="y", colors="#8A8FA3")
        axis.axvline(np.argmax(found["test"].mean(axis=0)) + 1, color="#B33A3A", lw=1, ls=":")
        axis.set_title(name, loc="left", fontsize=11)
        axis.set_ylim(lowest - 0.02, 1)
    for axis in np.ravel(axes)[-3:]:
        axis.set_xlabel("epochs")
    lines = [*axis.get_lines()[:2], *falling.get_lines()]
    figure.legend(lines, [line.get_label() for line in lines], loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main(arguments: list[str] | None = None) -> dict:
    parser = harness.new_parser(__doc__)
    add: Callable[..., argparse.Action] = parser.add_argument
    add("--letor", type=Path, help="folder of rank.train and rank.test with their .query files; else wards")
    add("--losses", nargs="+", choices=methods.LOSSES, default=LOSSES, metavar="LOSS")
    add("--splits", type=int, default=3)
    add("--epochs", type=int, default=60)
    add("--picture", type=Path, help="also draw the curves")
    options = parser.parse_args(arguments)
    folder = options.letor
    splits = [data.letor(folder, n) if folder else data.wards(n) for n in range(options.splits)]
    every: dict[str, Curves] = {}

    def rows() -> Iterator[harness.Row]:
        for name in options.losses:
            every[name] = curves(name, splits, options.epochs)
            yield row(name, every[name])

    result: dict[str, Any] = harness.publish("surrogates", {"surrogates": rows()}, options.json)
    if options.picture:
        draw(every, options.picture)
    return result


if __name__ == "__main__":
    main()
