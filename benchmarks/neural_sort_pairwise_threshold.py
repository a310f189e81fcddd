"""Up to which list size NeuralSort's matrix is faster by comparing items than by sorting them, forward and backward.

For the thresholds in `keras_softsort/ops/sorting/_methods/neural_sort.py`. The two ways alternate within one process
and the figures are medians.

    python benchmarks/neural_sort_pairwise_threshold.py
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator

import harness
import numpy as np
import tensorflow as tf

from keras_softsort.ops._core.thresholds import Thresholds
from keras_softsort.ops.sorting import _dispatch
from keras_softsort.ops.sorting._arguments import sort_arguments


def step(scores: tf.Tensor, top_k: int | None, most: int, jit: bool) -> Callable:
    """The gradient of half the sum of squares, traced for lists of up to `most` items to be compared."""
    thresholds = Thresholds(pairwise_max_size=most, pairwise_max_size_top_k=most)

    @tf.function(jit_compile=True if jit else None, autograph=False)
    def run(scores: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            tape.watch(scores)
            matrix = _dispatch.permutation(sort_arguments(scores, 1.0, thresholds=thresholds), top_k)
            total = tf.reduce_sum(tf.square(matrix)) / 2
        return tape.gradient(total, scores)

    return lambda: run(scores).numpy()


def rows(options: argparse.Namespace) -> Iterator[harness.Row]:
    for top_k in (None, 9):
        for jit in (True, False):
            ratios = {}
            for size in options.sizes:
                shape = (max(options.items // size, 1), size)
                scores = tf.constant(np.random.default_rng(0).normal(size=shape), tf.float32)
                runs = [step(scores, top_k, most, jit) for most in (0, size)]
                by_sorting, by_comparing = harness.alternating_medians(runs, options.repeats, seconds=options.seconds)
                ratios[str(size)] = by_sorting / by_comparing
            yield {"rows": str(top_k or "all"), "mode": "XLA" if jit else "TF", **ratios}


def main(arguments: list[str] | None = None) -> dict:
    parser = harness.new_parser(__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[16, 32, 48, 64, 100, 128, 200])
    parser.add_argument("--items", type=int, default=8192, help="of all lists together")
    parser.add_argument("--repeats", type=int, default=31)
    parser.add_argument("--seconds", type=float, default=2.0, help="for the runs of one size")
    options = parser.parse_args(arguments)
    print("sorted / compared, above 1 where sorting is slower\n")
    return harness.publish("neural_sort_pairwise_threshold", {"ratio": rows(options)}, options.json)


if __name__ == "__main__":
    main()
