"""Train RankNet by its lambda gradient, in n forward passes per list, and by explicit pairs, in up to n^2.

RankNet's cost is a sum over pairs of items, but its gradient has one number per item, its lambda. So each list is
scored once, and `tape.gradient(scores, weights, output_gradients=lambdas)` is the gradient of the cost. For comparison,
the same network is trained as two towers on explicit pairs by their logistic cost. A step gives the same weights, but
takes longer. Lists are wards of real patients (see `benchmarks/tools/ranking_data.py`). The page
docs/guides/ranknet-gradients.md relates both to the code commonly published for RankNet.

    python experiments/ranknet_gradients.py                              # half a minute
"""

from __future__ import annotations

import argparse
import time

from _shared import command_line


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Options of the command line."""
    quick = {"epochs": 1, "wards": 4, "sizes": [10, 20]}
    parser = command_line.new_parser(__doc__, "ranknet_gradients", quick)
    add, at_least = parser.add_argument, command_line.at_least
    add("--wards", type=at_least(1), default=300, help="lists of patients for training, and as many for testing")
    add("--epochs", type=at_least(1), default=10, help="of the training")
    add("--learning-rate", type=command_line.positive, default=1e-4, help="of SGD, which takes a step per list")
    add("--seed", type=int, default=0, help="of the weights")
    add("--sizes", type=at_least(2), nargs="+", default=[10, 30, 100, 300], help="list sizes that are timed")
    return command_line.parse(parser, arguments, quick)


if __name__ == "__main__":
    OPTIONS = parse()  # a wrong argument fails here, before the seconds that TensorFlow takes to import
    command_line.import_tensorflow()

import sys
from collections.abc import Callable
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "benchmarks" / "tools"))

import numpy as np
import tensorflow as tf
from _shared.pictures.gradients import draw_gradients
from ranking_data import patients
from ranknet_steps import lambda_gradients, pair_gradients, scorer
from tensorflow import keras

import keras_softsort as ks

METHODS = {"explicit pairs": pair_gradients, "lambda gradient": lambda_gradients}


def make_step(gradients: Callable, model: keras.Model, learning_rate: float) -> Callable:
    """A traced step of SGD on one list of any size."""
    optimizer = keras.optimizers.SGD(learning_rate)
    optimizer.build(model.trainable_variables)

    @tf.function(reduce_retracing=True)
    def step(features: tf.Tensor, labels: tf.Tensor) -> None:
        found = gradients(model, features, labels)
        optimizer.apply_gradients(zip(found, model.trainable_variables, strict=True))

    return step


def kendall_tau(model: keras.Model, lists: ks.data.RankingDataset) -> float:
    """The mean over lists."""
    metric = ks.KendallTau()
    scores = model.predict(lists.features, batch_size=4096, verbose=0)[:, 0]
    size = lists.sizes[0]
    metric.update_state(np.asarray(lists.labels, np.float32).reshape(-1, size), scores.reshape(-1, size))
    return float(metric.result())


def train(options: argparse.Namespace) -> tuple[dict[str, list[float]], list[float]]:
    """Kendall's tau of unseen lists after each epoch by method, and how far the weights of the two are apart."""
    training, test = patients(options.wards)
    models, steps = {}, {}
    for name, gradients in METHODS.items():
        keras.utils.set_random_seed(options.seed)
        models[name] = scorer(training.features.shape[1])
        steps[name] = make_step(gradients, models[name], options.learning_rate)
    curves = {name: [kendall_tau(model, test)] for name, model in models.items()}
    apart: list[float] = []
    for epoch in range(options.epochs):
        for features, labels in training:
            list_tensors = tf.constant(features, tf.float32), tf.constant(labels, tf.float32)
            for step in steps.values():
                step(*list_tensors)
            if not apart:
                apart.append(difference(*models.values()))
                print(f"after the first step the weights differ by at most {apart[0]:.1e}")
        for name, model in models.items():
            curves[name].append(kendall_tau(model, test))
        found = ", ".join(f"{name} {curve[-1]:.4f}" for name, curve in curves.items())
        print(f"epoch {epoch + 1}: Kendall's tau by {found}", flush=True)
    apart.append(difference(*models.values()))
    print(f"after the last step the weights differ by at most {apart[1]:.1e}")
    return curves, apart


def difference(one: keras.Model, other: keras.Model) -> float:
    """The largest between two weights."""
    pairs = zip(one.get_weights(), other.get_weights(), strict=True)
    return max(float(np.abs(first - second).max()) for first, second in pairs)


def measure(options: argparse.Namespace) -> dict[str, dict[int, float]]:
    """Seconds per step by method and list size: the least of five, after one that traces."""
    random = np.random.default_rng(0)
    times: dict[str, dict[int, float]] = {name: {} for name in METHODS}
    for name, gradients in METHODS.items():
        for size in options.sizes:
            features = tf.constant(random.normal(size=(size, 10)), tf.float32)
            labels = tf.constant(random.integers(0, 5, size), tf.float32)
            step = make_step(gradients, scorer(10), options.learning_rate)
            spent = []
            for _ in range(6):
                start = time.perf_counter()
                step(features, labels)
                spent.append(time.perf_counter() - start)
            times[name][size] = min(spent[1:])
    return times


def report(times: dict[str, dict[int, float]]) -> None:
    """Print a line per list size."""
    print(f"\n{'milliseconds per step':24}" + "".join(f"{name:>18}" for name in times))
    for size in next(iter(times.values())):
        print(f"{size:6} items{'':12}" + "".join(f"{1e3 * found[size]:18.2f}" for found in times.values()))


def main(options: argparse.Namespace) -> dict:
    """Train both ways, time both, print, draw."""
    print("Training RankNet by explicit pairs and by the direct lambda gradient")
    curves, apart = train(options)
    times = measure(options)
    report(times)
    print(f"\nPicture: {draw_gradients(curves, times, options.output / 'ranknet_gradients.png')}")
    return command_line.save_report(options, "ranknet_gradients", curves=curves, apart=apart, times=times)


if __name__ == "__main__":
    main(OPTIONS)
