"""How far float32 matrices are from the float64 formula on the same scores: ours, and the formula as it is written.

python benchmarks/precision.py
"""

from __future__ import annotations

import argparse

import numpy as np
import tensorflow as tf

import keras_softsort as ks


def textbook(scores: tf.Tensor, tau: float) -> tf.Tensor:
    """NeuralSort as published, in the dtype of `scores`; the row sums B by a fused reduction."""
    size = scores.shape[0]
    sums = tf.reduce_sum(tf.abs(scores[:, tf.newaxis] - scores), axis=1)
    slopes = tf.cast(size - 1 - 2 * tf.range(size), scores.dtype)
    return tf.nn.softmax((slopes[:, tf.newaxis] * scores - sums) / tau)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1000, 5000])
    parser.add_argument("--taus", type=float, nargs="+", default=[100.0, 1.0, 0.1, 0.01])
    options = parser.parse_args()
    print("| n | tau | ours | as written |\n|---:|---:|---:|---:|")
    for size in options.sizes:
        scores = np.random.default_rng(0).normal(size=size).astype(np.float32)
        for tau in options.taus:
            truth = textbook(tf.constant(scores.astype(np.float64)), tau).numpy()
            errors = [np.abs(f(tf.constant(scores), tau).numpy() - truth).max() for f in (ks.neural_sort, textbook)]
            print(f"| {size} | {tau:g} | {errors[0]:.1e} | {errors[1]:.1e} |", flush=True)


if __name__ == "__main__":
    main()
