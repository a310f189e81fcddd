"""The median of lists of four-digit MNIST numbers, learned from medians alone (Grover et al. 2019, section 6.2).

With `--method shared` the network is that of `median.py`: one CNN reads values, which also decide the order.
The other methods are those of the paper, where a CNN decides the order and another one reads the values:
`deterministic` with NeuralSort, `stochastic` with five samples of it. Adam's rate is constant, and falls to 0 over the
second half of the steps. There are as many steps for each list size as `--steps` says.

    python experiments/mnist_median.py --list-sizes 5 9 15 --steps 4000 2000 1000 --data-dir FOLDER
    python experiments/mnist_median.py --method stochastic --seeds 0 1 --data-dir FOLDER
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "benchmarks" / "tools"))

import harness
import median
import numpy as np
import tensorflow as tf
from _shared import labelled_images
from _shared.handwritten_numbers import OnEachItem, Task, reader, sample_lists, training_lists
from mnist_sorting import FallingRate
from tensorflow import keras

import keras_softsort as ks

# MSE times 1e4 and R2 by list size, in table 2 of Grover et al. (2019).
PUBLISHED = {
    "deterministic NeuralSort": {5: (45.50, 0.95), 9: (34.98, 0.94), 15: (34.78, 0.92)},
    "stochastic NeuralSort": {5: (33.80, 0.94), 9: (31.43, 0.93), 15: (29.34, 0.90)},
}
DIGITS = 4
# The temperature of each method: in units of the largest number, and otherwise of scores, which the CNN scales.
TAU = {"shared": 0.1, "deterministic": 1.0, "stochastic": 1.0}


def network(method: str, image_shape: tuple[int, ...], list_size: int, tau: float) -> keras.Model:
    """Lists of images `[batch, n, height, width, 1]` to soft medians `[batch, 1]`, or one for each sample."""
    if method == "shared":
        return median.median_reader(image_shape, "neural_sort", tau, dropout=None)
    lists = keras.Input((list_size, *image_shape))
    scores = OnEachItem(reader(image_shape, outputs=1))(lists)
    values = OnEachItem(reader(image_shape, outputs=1, first_bias=0.5))(lists)
    if method == "stochastic":
        permutations = ks.PlackettLuceSampler(5, tau)(scores)
    else:
        permutations = ks.NeuralSortLayer(tau)(scores)[:, None]
    return keras.Model(lists, keras.ops.einsum("bsn,bn->bs", permutations[:, :, list_size // 2], values))


def curve(size: int, steps: int, seed: int, options: argparse.Namespace) -> Iterator[harness.Row]:
    """Train with lists of one size; the errors on the same test lists over the steps."""
    task = Task(DIGITS, size)
    train, test = labelled_images.load("mnist", options.data_dir)
    lists, numbers = sample_lists(test, task, options.test_lists, seed=1_000_003)
    truth = np.median(numbers, axis=1) / task.base
    keras.utils.set_random_seed(seed)
    model = network(options.method, lists.shape[2:], size, options.tau)
    model.compile(keras.optimizers.Adam(options.learning_rate), loss="mse")
    falling = FallingRate(options.learning_rate, steps, steps // 2)
    fit = {"steps_per_epoch": max(1, steps // options.points), "callbacks": [falling], "shuffle": False, "verbose": 0}
    started = time.monotonic()
    for point in range(options.points):
        data = training_lists(train, task, options.batch_size, seed + 1000 * point)
        loss = model.fit(data.map(lambda x, values: (x, middle(values) / task.base)), **fit).history["loss"][0]
        predicted = model.predict(lists, batch_size=50, verbose=0)[:, 0]
        found = median.errors(truth, predicted)
        yield {
            "n": size,
            "seed": seed,
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


def trainings(rows: Sequence[harness.Row]) -> list[list[harness.Row]]:
    """The rows of each list size and seed."""
    found: dict[tuple[int, int], list[harness.Row]] = {}
    for row in rows:
        found.setdefault((row["n"], row["seed"]), []).append(row)
    return list(found.values())


def last(rows: Sequence[harness.Row]) -> Iterator[harness.Row]:
    """The end of each training beside the paper's figures."""
    for *_, end in trainings(rows):
        size = end["n"]
        published = {f"paper, {method}": "{:.2f} ({:.2f})".format(*found[size]) for method, found in PUBLISHED.items()}
        best = min(found[size][0] for found in PUBLISHED.values())
        yield {
            "n": size,
            "steps": f"{end['steps']:,}",
            "seed": end["seed"],
            "MSE x 1e4 (R2)": f"{end['MSE x 1e4']:.2f} ({end['R2']:.2f})",
            "squared correlation": f"{end['squared correlation']:.2f}",
            "constant guess": f"{end['constant guess']:.1f}",
            **published,
            "missed by": f"{end['MSE x 1e4'] - best:.1f}",
            "minutes": end["minutes"],
        }


def by_steps(rows: Sequence[harness.Row]) -> Iterator[harness.Row]:
    """The errors of each training after each share of its steps."""
    several = len({row["seed"] for row in rows}) > 1
    for point, parts in enumerate(zip(*trainings(rows), strict=True), 1):
        names = [f"n = {row['n']}" + (f", seed {row['seed']}" if several else "") for row in parts]
        errors = [f"{row['MSE x 1e4']:.1f} ({row['steps']:,})" for row in parts]
        yield {"point": point, **dict(zip(names, errors, strict=True))}


def main(arguments: list[str] | None = None) -> dict:
    parser = harness.new_parser(__doc__)
    parser.add_argument("--list-sizes", type=int, nargs="+", choices=(5, 9, 15), default=[5, 9, 15])
    parser.add_argument("--steps", type=int, nargs="+", default=[4000, 2000, 1000], help="for each of the list sizes")
    parser.add_argument("--batch-size", type=int, default=8, help="lists per step")
    parser.add_argument("--learning-rate", type=float, default=1e-3, help="of Adam, in the first half of the steps")
    parser.add_argument("--method", choices=tuple(TAU), default="shared")
    parser.add_argument("--tau", type=float, help="temperature; default 0.1 of the largest number, or 1 for two CNNs")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--points", type=int, default=10, help="of each curve")
    parser.add_argument("--test-lists", type=int, default=1000)
    parser.add_argument("--data-dir", help="folder of mnist.npz; without it Keras downloads MNIST")
    options = parser.parse_args(arguments)
    if len(options.steps) != len(options.list_sizes):
        parser.error(f"--steps must have a number for each list size, got {len(options.steps)}")
    if options.tau is None:
        options.tau = TAU[options.method]
    found: list[harness.Row] = []

    def recorded() -> Iterator[harness.Row]:
        for size, steps in zip(options.list_sizes, options.steps, strict=True):
            for seed in options.seeds:
                for row in curve(size, steps, seed, options):
                    found.append(row)
                    yield row

    tables = {"curves": recorded(), "last": last(found), "by-steps": by_steps(found)}
    return harness.publish("mnist_median", tables, options.json)


if __name__ == "__main__":
    main()
