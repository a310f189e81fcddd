"""One training step of DkNN beside the reference formula: the loss and its gradient with respect to the embeddings.

The peers are NeuralSort as published, in plain TensorFlow, with B_j as a sum of absolute differences in O(n^2), not by
the O(n^3) product of the reference code, and with distances by a matrix product. `whole` makes the n x n matrix of each
query and takes its first k rows, as the reference code does; `rows` makes the first k rows alone. Where n^2 numbers for
all queries together would not fit, a peer takes a query at a time. Values and gradients are compared first.

    python benchmarks/dknn.py                    # milliseconds: medians, alternating in one process
    python benchmarks/dknn.py --memory           # MiB by which a step grows a process
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence

import numpy as np
import tensorflow as tf

import keras_softsort as ks

K, TAU, DIMENSION, CLASSES = 9, 16.0, 64, 10
TOGETHER = 1e7  # numbers of n x n matrices that a peer makes at once


def reference(rows_alone: bool) -> Callable:
    def loss(labels: tf.Tensor, embeddings: tf.Tensor, count: int) -> tf.Tensor:
        """Minus the share of right neighbours of the first `count` items, summed over them."""
        queries, candidates = embeddings[:count], embeddings[count:]
        squares = tf.reduce_sum(queries**2, -1)[:, None] + tf.reduce_sum(candidates**2, -1)
        scores = 2 * tf.matmul(queries, candidates, transpose_b=True) - squares
        n = candidates.shape[0]
        spread = tf.reduce_sum(tf.abs(scores[:, :, None] - scores[:, None, :]), axis=-1)
        factors = tf.cast(n + 1 - 2 * tf.range(1, (K if rows_alone else n) + 1), scores.dtype)
        matrix = tf.nn.softmax((factors[None, :, None] * scores[:, None, :] - spread[:, None, :]) / TAU)
        right = tf.cast(labels[:count, None] == labels[count:], scores.dtype)
        return -tf.reduce_sum(tf.reduce_sum(matrix[:, :K], axis=1) * right) / K

    return loss


def ours(labels: tf.Tensor, embeddings: tf.Tensor, count: int) -> tf.Tensor:
    return ks.DkNNLoss(K, TAU, num_queries=count, reduction="sum")(labels, embeddings)


LOSSES = {"ours": ours, "whole": reference(rows_alone=False), "rows": reference(rows_alone=True)}


def step(loss: Callable, jit: bool, shape: str) -> Callable:
    """Value and gradient of all queries, those of a peer a query at a time where they are large."""
    count, size = map(int, shape.split("x"))
    together = count if loss is ours or count * size**2 <= TOGETHER else 1

    @tf.function(jit_compile=True if jit else None)
    def run(labels: tf.Tensor, embeddings: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        with tf.GradientTape() as tape:
            tape.watch(embeddings)
            value = loss(labels, embeddings, together)
        return value, tape.gradient(value, embeddings)

    def all_queries(labels: np.ndarray, embeddings: np.ndarray) -> tuple[float, np.ndarray]:
        if together == count:
            value, gradient = run(tf.constant(labels), tf.constant(embeddings))
            return float(value), gradient.numpy()
        total, gradients = 0.0, np.zeros_like(embeddings)
        for query in range(count):
            chosen = np.r_[query, count : count + size]
            value, gradient = run(tf.constant(labels[chosen]), tf.constant(embeddings[chosen]))
            total += float(value)
            gradients[chosen] += gradient
        return total, gradients

    return all_queries


def candidates(shape: str, skipped: Sequence[str] = ()) -> dict[str, Callable]:
    found = {
        f"{name}, {'XLA' if jit else 'TF'}": step(loss, jit, shape) for name, loss in LOSSES.items() for jit in (1, 0)
    }
    return {name: run for name, run in found.items() if name not in skipped}


def data(shape: str) -> tuple[np.ndarray, np.ndarray]:
    """Classes, and embeddings about their centers, near enough for neighbours of other classes at every size."""
    random = np.random.default_rng(0)
    labels = random.integers(0, CLASSES, size=sum(map(int, shape.split("x"))))
    centers = random.normal(size=(CLASSES, DIMENSION))
    return labels, (0.3 * (0.2 * centers[labels] + random.normal(size=(len(labels), DIMENSION)))).astype("f")


def medians(shape: str, repeats: int, skipped: Sequence[str]) -> dict[str, float]:
    """Milliseconds of each candidate, once their results have been seen to agree."""
    arrays, steps = data(shape), candidates(shape, skipped)
    value, gradient = next(iter(steps.values()))(*arrays)
    for name, run in steps.items():
        other_value, other_gradient = run(*arrays)
        np.testing.assert_allclose(other_value, value, rtol=1e-3, err_msg=name)
        np.testing.assert_allclose(other_gradient, gradient, atol=5e-2 * np.abs(gradient).max(), err_msg=name)
    times: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(repeats):
        for name, run in steps.items():
            start = time.perf_counter()
            run(*arrays)
            times[name].append(time.perf_counter() - start)
    return {name: 1e3 * float(np.median(found)) for name, found in times.items()}


def peak_memory(shape: str, name: str) -> float:
    """MiB by which a step grows a process that has all libraries loaded and has compiled something."""
    small = "2x20"
    candidates(small)[name](*data(small))
    run, arrays = candidates(shape)[name], data(shape)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    run(*arrays)
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


def memory_of_each(shape: str, skipped: Sequence[str]) -> dict[str, float]:
    found = {}
    for name in candidates(shape, skipped):
        command = [sys.executable, __file__, "--one", name, "--shapes", shape]
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        found[name] = float(output.splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shapes", nargs="+", default=["100x100", "100x10000"], help="queries x candidates")
    parser.add_argument("--repeats", type=int, nargs="+", default=[31, 3], help="one for each shape")
    parser.add_argument("--skip", nargs="+", default=[], help='leave out these, as "whole, TF"')
    parser.add_argument("--memory", action="store_true", help="peak memory in MiB in place of time")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(peak_memory(options.shapes[0], options.one))
        return
    names = list(candidates("2x20", options.skip))
    print(f"| shape | {' | '.join(names)} | in {'MiB' if options.memory else 'ms'}")
    print("|---|" + "---:|" * len(names))
    for shape, repeats in zip(options.shapes, options.repeats, strict=False):
        found = memory_of_each(shape, options.skip) if options.memory else medians(shape, repeats, options.skip)
        print(f"| {shape} | {' | '.join(f'{value:.1f}' for value in found.values())} |", flush=True)


if __name__ == "__main__":
    main()
