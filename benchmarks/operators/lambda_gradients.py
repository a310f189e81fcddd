"""Time and memory of the gradient of RankNet's cost with respect to a scorer's weights, in two ways.

Explicit pairs, two towers of shared weights, score two items per pair; the direct lambda gradient scores each item
once (`tools/ranknet_steps.py`). One list of N items with 100 features and labels 0 to 4, a scorer with hidden layers of
64 and 32. The two take turns in one process and the figures are medians; their gradients are compared
first. Memory is what a process of its own grew by.

    python benchmarks/operators/lambda_gradients.py
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tools"))

import harness
import numpy as np
import tensorflow as tf
from ranknet_steps import lambda_gradients, pair_gradients, scorer
from steps import runner

WAYS = {"pairs": pair_gradients, "lambdas": lambda_gradients}
FEATURES = 100


def data(size: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    return random.normal(size=(size, FEATURES)).astype("f"), random.integers(0, 5, size).astype("f")


def make_run(way: str, size: int) -> Callable:
    tf.keras.utils.set_random_seed(0)
    model = scorer(FEATURES)

    @tf.function
    def all_gradients(features: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
        """In one vector: that of the last bias is 0, and no scale to compare with."""
        return tf.concat([tf.reshape(each, [-1]) for each in WAYS[way](model, features, labels)], axis=0)

    return runner(all_gradients, *data(size))


def memory_runs(way: str, size: int) -> tuple[Callable, Callable]:
    return make_run(way, 5), make_run(way, size)


def rows(sizes: list[int], repeats: int, seconds: float, with_memory: bool) -> Iterator[harness.Row]:
    for size in sizes:
        runs = {way: make_run(way, size) for way in WAYS}
        harness.check_agreement(runs, [1e-3])
        spent = harness.alternating_medians(list(runs.values()), repeats, seconds=seconds)
        times = {f"{way}, ms": 1e3 * each for way, each in zip(WAYS, spent, strict=True)}
        labels = data(size)[1]
        pairs = int(np.sum(labels[:, np.newaxis] > labels))
        memory = {f"{way}, MiB": harness.memory_growth(memory_runs, way, size) for way in WAYS} if with_memory else {}
        yield {"N": size, "pairs scored": pairs, **times, "pairs / lambdas": spent[0] / spent[1], **memory}


def main(arguments: list[str] | None = None) -> dict:
    parser = harness.new_parser(__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 30, 100, 300, 1000])
    parser.add_argument("--repeats", type=int, default=25)
    parser.add_argument("--seconds", type=float, default=10.0, help="for the runs of one size")
    parser.add_argument("--no-memory", dest="memory", action="store_false", help="only time")
    options = parser.parse_args(arguments)
    table = rows(options.sizes, options.repeats, options.seconds, options.memory)
    return harness.publish("lambda_gradients", {"steps": table}, options.json)


if __name__ == "__main__":
    main()
