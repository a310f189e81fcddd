"""Time of the soft permutation matrix, forward and backward: ours beside the fair published formula and TFP's.

Fair: the row sums B of NeuralSort by a reduction that XLA fuses, not by the reference's n x n x n product. The
candidates of a row alternate within one process; the figure is the median of each, as a ratio to ours.

    python benchmarks/dense_matrix.py
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp

import keras_softsort as ks


def formula(scores: tf.Tensor) -> tf.Tensor:
    """NeuralSort as published, tau 1."""
    size = scores.shape[-1]
    sums = tf.reduce_sum(tf.abs(scores[..., tf.newaxis] - scores[..., tf.newaxis, :]), axis=-1)
    slopes = tf.cast(size - 1 - 2 * tf.range(size), scores.dtype)
    return tf.nn.softmax(slopes[:, tf.newaxis] * scores[..., tf.newaxis, :] - sums[..., tf.newaxis, :])


CANDIDATES = {
    "ours": ks.neural_sort,
    "formula": formula,
    "tfp soft_sorting_matrix": lambda scores: tfp.math.soft_sorting_matrix(scores, 1.0),
}


def step(operator: Callable, jit: bool) -> Callable:
    """Gradient of a weighted sum of the matrix, as one function."""

    @tf.function(jit_compile=jit)
    def run(scores: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            tape.watch(scores)
            total = tf.reduce_sum(operator(scores) * weights)
        return tape.gradient(total, scores)

    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shapes", nargs="+", default=["256x5", "64x128", "8x1000"])
    parser.add_argument("--repeats", type=int, default=30)
    options = parser.parse_args()
    print(f"| shape | mode | ours, ms | {' | '.join(f'{name} / ours' for name in list(CANDIDATES)[1:])} |")
    print("|---|---|---:|" + "---:|" * (len(CANDIDATES) - 1))
    for shape in options.shapes:
        batch, size = map(int, shape.split("x"))
        random = np.random.default_rng(0)
        scores = tf.constant(random.normal(size=(batch, size)), tf.float32)
        weights = tf.constant(random.normal(size=(batch, size, size)), tf.float32)
        for jit in (False, True):
            steps = [step(operator, jit) for operator in CANDIDATES.values()]
            times: list[list[float]] = [[] for _ in steps]
            for repeat in range(options.repeats + 2):
                for run, found in zip(steps, times, strict=True):
                    start = time.perf_counter()
                    run(scores, weights).numpy()
                    if repeat >= 2:  # the first calls trace and compile
                        found.append(time.perf_counter() - start)
            ours, *others = (float(np.median(found)) for found in times)
            ratios = " | ".join(f"{other / ours:.2f}" for other in others)
            print(f"| {shape} | {'XLA' if jit else 'TensorFlow'} | {1e3 * ours:.2f} | {ratios} |", flush=True)


if __name__ == "__main__":
    main()
