"""The median of lists of four-digit MNIST numbers, learned from medians alone (Grover et al. 2019, section 6.2).

The network is that of `examples/median.py`. Adam's rate is constant, and falls to 0 over the second half of the steps.
There are as many steps for each list size as `--steps` says.

    python benchmarks/mnist_median.py --list-sizes 5 9 15 --steps 4000 2000 1000 --data-dir FOLDER
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import harness
import numpy as np
import tensorflow as tf
from mnist_sorting import FallingRate
from tensorflow import keras

sys.path.append(str(Path(__file__).parents[1] / "examples"))
import median
from _shared import labelled_images
from _shared.handwritten_numbers import Task, sample_lists, training_lists

# MSE times 1e4 and R2 by list size, in table 2 of Grover et al. (2019).
PUBLISHED = {
    "deterministic NeuralSort": {5: (45.50, 0.95), 9: (34.98, 0.94), 15: (34.78, 0.92)},
    "stochastic NeuralSort": {5: (33.80, 0.94), 9: (31.43, 0.93), 15: (29.34, 0.90)},
}
DIGITS = 4


def curve(size: int, steps: int, options: argparse.Namespace) -> Iterator[harness.Row]:
    """Train with lists of one size; the errors on the same test lists over the steps."""
    task = Task(DIGITS, size)
    train, test = labelled_images.load("mnist", options.data_dir)
    lists, numbers = sample_lists(test, task, options.test_lists, seed=1_000_003)
    truth = np.median(numbers, axis=1) / task.base
    keras.utils.set_random_seed(options.seed)
    model = median.median_reader(lists.shape[2:], "neural_sort", options.tau)
    model.compile(keras.optimizers.Adam(options.learning_rate), loss="mse")
    falling = FallingRate(options.learning_rate, steps, steps // 2)
    fit = {"steps_per_epoch": max(1, steps // options.points), "callbacks": [falling], "shuffle": False, "verbose": 0}
    started = time.monotonic()
    for point in range(options.points):
        data = training_lists(train, task, options.batch_size, options.seed + 1000 * point)
        loss = model.fit(data.map(lambda x, values: (x, middle(values) / task.base)), **fit).history["loss"][0]
        predicted = model.predict(lists, batch_size=50, verbose=0)[:, 0]
        found = median.errors(truth, predicted)
        yield {
            "n": size,
            "steps": (point + 1) * fit["steps_per_epoch"],
            "training loss x 1e4": round(1e4 * loss, 1),
            "MSE x 1e4": round(found["mse_1e4"], 2),
            "R2": round(found["r2"], 3),
            "squared correlation": round(float(np.corrcoef(truth, predicted)[0, 1] ** 2), 3),
            "constant guess": round(1e4 * float(np.mean((truth - 0.49995) ** 2)), 1),
            "minutes": round((time.monotonic() - started) / 60, 1),
        }


def middle(values: tf.Tensor) -> tf.Tensor:
    """The medians `[batch, 1]` of lists of odd sizes."""
    at = values.shape[1] // 2
    return tf.sort(values, axis=-1)[:, at : at + 1]


def last(rows: Sequence[harness.Row], seed: int) -> Iterator[harness.Row]:
    """The end of each training beside the paper's figures."""
    for size in dict.fromkeys(row["n"] for row in rows):
        end = [row for row in rows if row["n"] == size][-1]
        published = {f"paper, {method}": "{:.2f} ({:.2f})".format(*found[size]) for method, found in PUBLISHED.items()}
        best = min(found[size][0] for found in PUBLISHED.values())
        yield {
            "n": size,
            "steps": f"{end['steps']:,}",
            "seed": seed,
            "MSE x 1e4 (R2)": f"{end['MSE x 1e4']:.2f} ({end['R2']:.2f})",
            "squared correlation": f"{end['squared correlation']:.2f}",
            "constant guess": f"{end['constant guess']:.1f}",
            **published,
            "missed by": f"{end['MSE x 1e4'] - best:.1f}",
            "minutes": end["minutes"],
        }


def by_steps(rows: Sequence[harness.Row]) -> Iterator[harness.Row]:
    """The errors of each list size after each share of its steps."""
    sizes = list(dict.fromkeys(row["n"] for row in rows))
    for parts in zip(*([row for row in rows if row["n"] == size] for size in sizes), strict=False):
        cells = {f"n = {row['n']}": f"{row['MSE x 1e4']:.1f} ({row['steps']:,})" for row in parts}
        yield {"point": next(i for i, row in enumerate(rows, 1) if row is parts[0]), **cells}


def main(arguments: list[str] | None = None) -> dict:
    parser = harness.new_parser(__doc__)
    parser.add_argument("--list-sizes", type=int, nargs="+", choices=(5, 9, 15), default=[5, 9, 15])
    parser.add_argument("--steps", type=int, nargs="+", default=[4000, 2000, 1000], help="for each of the list sizes")
    parser.add_argument("--batch-size", type=int, default=8, help="lists per step")
    parser.add_argument("--learning-rate", type=float, default=1e-3, help="of Adam, in the first half of the steps")
    parser.add_argument("--tau", type=float, default=0.1, help="temperature, in units of the largest number")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--points", type=int, default=10, help="of each curve")
    parser.add_argument("--test-lists", type=int, default=1000)
    parser.add_argument("--data-dir", help="folder of mnist.npz; without it Keras downloads MNIST")
    options = parser.parse_args(arguments)
    if len(options.steps) != len(options.list_sizes):
        parser.error(f"--steps must have a number for each list size, got {len(options.steps)}")
    found: list[harness.Row] = []

    def recorded() -> Iterator[harness.Row]:
        for size, steps in zip(options.list_sizes, options.steps, strict=True):
            for row in curve(size, steps, options):
                found.append(row)
                yield row

    tables = {"curves": recorded(), "last": last(found, options.seed), "by-steps": by_steps(found)}
    return harness.publish("mnist_median", tables, options.json)


if __name__ == "__main__":
    main()
