"""Jigsaws of small photographs by how many of them a network has seen, beside greedy edges.

`jigsaw.py` is trained on the first `--images` photographs of CIFAR-10, cut into 3 x 3 pieces of 10 x 10
pixels. Without attention the network looks at each piece by itself, as in Mena et al. (2018). With it, the pieces look
at each other in so many layers of self-attention, and the network can learn which edges fit together.

    python experiments/jigsaw_photographs.py --data-dir FOLDER --picture docs/pictures/jigsaw_photographs.png
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "benchmarks" / "tools"))

import harness
import numpy as np
from experiment_tables import with_deviation

MEASURES = ("wrong", "any_wrong", "kendall_tau", "l2")
Found = dict[str, list[dict[str, float]]]  # by method, for each seed


def rows_of(title: dict[str, int | str], found: list[dict[str, float]]) -> harness.Row:
    """The measures over seeds."""
    return {**title, **{name.replace("_", " "): with_deviation([one[name] for one in found]) for name in MEASURES}}


def draw(curves: dict[int, dict[int, Found]], path: Path) -> None:
    """The share of wrong pieces over the number of photographs: a line for each number of attention layers."""
    import matplotlib.pyplot as plt  # noqa: PLC0415

    figure, axis = plt.subplots(figsize=(7, 4.5), layout="constrained")
    for (layers, by_images), color in zip(curves.items(), ("#4A5A8A", "#1F6F6B", "#C98A1B"), strict=False):
        wrong = np.array([[one["wrong"] for one in found["Gumbel-Sinkhorn"]] for found in by_images.values()])
        name = f"{layers} layers of attention" if layers else "each piece by itself"
        axis.plot(list(by_images), wrong.mean(axis=1), "o-", color=color, label=name)
        axis.fill_between(list(by_images), wrong.min(axis=1), wrong.max(axis=1), color=color, alpha=0.2, lw=0)
    baselines = next(iter(next(iter(curves.values())).values()))
    for name, style in (("only edges", "--"), ("as shuffled", ":")):
        axis.axhline(baselines[name][0]["wrong"], color="#8A8FA3", ls=style, label=name)
    axis.set(xscale="log", xlabel="photographs for training", ylabel="share of wrong pieces, unseen photographs")
    axis.set_ylim(0, 1)
    axis.legend(frameon=False)
    harness.save_picture(figure, path)


def main(arguments: list[str] | None = None) -> dict:
    parser = harness.new_parser(__doc__)
    add: Callable[..., argparse.Action] = parser.add_argument
    add("--dataset", default="cifar10", help="as of experiments/jigsaw.py")
    add("--data-dir", help="folder of cifar10.npz; without it Keras downloads it")
    add("--images", type=int, nargs="+", default=[100, 1000, 10_000, 50_000])
    add("--attention", type=int, nargs="+", default=[0, 3], help="layers")
    add("--steps", type=int, default=3000)
    add("--learning-rate", type=float, default=1e-3)
    add("--seeds", nargs="+", default=["0", "1"])
    add("--test-puzzles", type=int, default=500)
    add("--picture", type=Path, help="also draw the shares of wrong pieces")
    options = parser.parse_args(arguments)
    import jigsaw  # noqa: PLC0415

    shared = ["--dataset", options.dataset, "--steps", str(options.steps), "--dropout", "0", "--pieces", "3"]
    shared += ["--learning-rate", str(options.learning_rate), "--test-puzzles", str(options.test_puzzles)]
    shared += ["--seeds", *options.seeds, *(["--data-dir", options.data_dir] if options.data_dir else [])]
    curves: dict[int, dict[int, Found]] = {}

    def rows() -> Iterator[harness.Row]:
        for layers in options.attention:
            for images in options.images:
                again = ["--images", str(images), "--attention", str(layers), *(["--no-baselines"] if curves else [])]
                found, _ = jigsaw.solve_all(3, jigsaw.parse([*shared, *again]))
                if not curves:
                    for name in ("as shuffled", "only edges"):
                        yield rows_of({"method": name, "attention": "", "photographs": ""}, found[name])
                curves.setdefault(layers, {})[images] = found
                title = {"method": "Gumbel-Sinkhorn", "attention": str(layers), "photographs": f"{images:,}"}
                yield rows_of(title, found["Gumbel-Sinkhorn"])

    result = harness.publish("jigsaw_photographs", {"photographs": rows()}, options.json)
    if options.picture:
        draw(curves, options.picture)
    return result


if __name__ == "__main__":
    main()
