"""One training step of DkNN beside the reference formula: the loss and its gradient with respect to the embeddings.

The peers are NeuralSort as published, in plain TensorFlow, with B_j as a sum of absolute differences in O(n^2), not by
the O(n^3) product of the reference code, and with distances by a matrix product. `whole` makes the n x n matrix of each
query and takes its first k rows, as the reference code does; `rows` makes only the first k rows. A peer takes a query
at a time if n^2 numbers for all queries together would not fit. It is left out if there are more than `--max-numbers`
of them in all. The candidates take turns in one process and the figures are medians, as ratios to ours; values and
gradients are compared first. Memory is what a process of its own grew by.

    python benchmarks/operators/dknn.py
    python benchmarks/operators/dknn.py --tables memory
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tools"))

import formulas
import harness
import numpy as np
import tensorflow as tf
from steps import gradient_step, runner

import keras_softsort as ks

K, TAU, DIMENSION, CLASSES = 9, 16.0, 64, 10
TOGETHER = 1e7  # numbers of n x n matrices that a peer makes at once


def reference(only_rows: bool, count: int) -> Callable:
    def loss(embeddings: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
        """Minus the share of right neighbors of the first `count` items, summed over them."""
        queries, candidates = embeddings[:count], embeddings[count:]
        squares = tf.reduce_sum(queries**2, -1)[:, None] + tf.reduce_sum(candidates**2, -1)
        scores = 2 * tf.matmul(queries, candidates, transpose_b=True) - squares
        matrix = formulas.neural_sort(scores, TAU, rows=K if only_rows else None)
        right = tf.cast(labels[:count, None] == labels[count:], scores.dtype)
        return -tf.reduce_sum(tf.reduce_sum(matrix[:, :K], axis=1) * right) / K

    return loss


def ours(count: int) -> Callable:
    loss = ks.DkNNLoss(K, TAU, num_queries=count, reduction="sum")
    return lambda embeddings, labels: loss(labels, embeddings)


LOSSES: dict[str, Callable] = {
    "ours": ours,
    "whole": lambda count: reference(False, count),
    "rows": lambda count: reference(True, count),
}


def data(shape: str) -> tuple[np.ndarray, np.ndarray]:
    """Embeddings around the centers of their classes, close enough for neighbors of other classes; the classes."""
    random = np.random.default_rng(0)
    labels = random.integers(0, CLASSES, size=sum(map(int, shape.split("x"))))
    centers = random.normal(size=(CLASSES, DIMENSION))
    return (0.3 * (0.2 * centers[labels] + random.normal(size=(len(labels), DIMENSION)))).astype("f"), labels


def make_run(shape: str, name: str, jit: bool) -> Callable[[], list[np.ndarray]]:
    """Value and gradient of all queries, a query at a time for a peer where they are large."""
    count, size = map(int, shape.split("x"))
    embeddings, labels = data(shape)
    if name == "ours" or count * size**2 <= TOGETHER:
        return runner(gradient_step(LOSSES[name](count), jit), embeddings, labels)
    step = gradient_step(LOSSES[name](1), jit)

    def one_at_a_time() -> list[np.ndarray]:
        total, gradients = 0.0, np.zeros_like(embeddings)
        for query in range(count):
            chosen = np.r_[query, count : count + size]
            value, gradient = runner(step, embeddings[chosen], labels[chosen])()
            total += float(value)
            gradients[chosen] += gradient
        return [np.asarray(total), gradients]

    return one_at_a_time


def chosen(shape: str, max_numbers: float) -> list[str]:
    count, size = map(int, shape.split("x"))
    return list(LOSSES) if count * size**2 <= max_numbers else ["ours"]


def times(shapes: list[str], repeats: int, max_numbers: float) -> Iterator[harness.Row]:
    for shape in shapes:
        for jit in (True, False):
            runs = {name: make_run(shape, name, jit) for name in chosen(shape, max_numbers)}
            harness.check_agreement(runs, [1e-3, 5e-2])
            spent = harness.alternating_medians(list(runs.values()), repeats, seconds=20, least=2, warmup=1)
            found = dict(zip(runs, spent, strict=True))
            ratios = {f"{name} / ours": found[name] / found["ours"] if name in found else None for name in LOSSES}
            del ratios["ours / ours"]
            yield {"shape": shape, "mode": "XLA" if jit else "TF", "ours, ms": 1e3 * found["ours"], **ratios}


def memory_runs(shape: str, name: str, jit: bool) -> tuple[Callable, Callable]:
    return make_run("2x20", name, jit), make_run(shape, name, jit)


def memory(shapes: list[str], max_numbers: float) -> Iterator[harness.Row]:
    for shape in shapes:
        for jit in (True, False):
            names = chosen(shape, max_numbers)
            found = {
                f"{name}, MiB": harness.memory_growth(memory_runs, shape, name, jit) if name in names else None
                for name in LOSSES
            }
            yield {"shape": shape, "mode": "XLA" if jit else "TF", **found}


def main(arguments: list[str] | None = None) -> dict:
    parser = harness.new_parser(__doc__)
    parser.add_argument("--tables", nargs="+", choices=("time", "memory"), default=["time"])
    parser.add_argument("--shapes", nargs="+", default=["100x100", "4x10000", "100x10000"], help="queries x candidates")
    parser.add_argument("--repeats", type=int, default=31)
    parser.add_argument("--max-numbers", type=float, default=1e9, help="of n x n matrices, beyond which no peer runs")
    options = parser.parse_args(arguments)
    tables = {
        "time": times(options.shapes, options.repeats, options.max_numbers),
        "memory": memory(options.shapes, options.max_numbers),
    }
    return harness.publish("dknn", {name: tables[name] for name in options.tables}, options.json)


if __name__ == "__main__":
    main()
