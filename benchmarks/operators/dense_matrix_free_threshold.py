"""Find the list size from which products without the matrix are faster than the dense engine, forward and backward.

For `min_size` in `keras_softsort/ops/sorting/methods.py`. Softly sorted values and soft ranks by each engine, with
about `--items` items in all lists together; the two alternate within one process and the figures are medians.

    python benchmarks/operators/dense_matrix_free_threshold.py
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tools"))

import harness
import numpy as np
import tensorflow as tf

from keras_softsort.ops.sorting import dispatch
from keras_softsort.ops.sorting.methods import sort_arguments

METHODS = ["neural_sort", "soft_sort"]


def step(method: str, what: str, scores: tf.Tensor, is_long: bool, jit: bool) -> Callable:
    """The gradient of half the sum of squares of values or ranks, without the matrix if `is_long`."""
    product = dispatch.sorted_scores if what == "values" else dispatch.soft_ranks

    @tf.function(jit_compile=True if jit else None, autograph=False)
    def run(scores: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            tape.watch(scores)
            result = product(sort_arguments(scores, 1.0, method=method)._replace(is_long=is_long))
            total = tf.reduce_sum(tf.square(result)) / 2
        return tape.gradient(total, scores)

    return lambda: run(scores).numpy()


def crossing(sizes: list[int], ratios: list[float]) -> str:
    """The first size from which on the dense engine takes longer at every size that was tried."""
    slower = [i for i, ratio in enumerate(ratios) if ratio < 1]
    first = max(slower) + 1 if slower else 0
    return str(sizes[first]) if first < len(sizes) else f"above {sizes[-1]}"


def rows(options: argparse.Namespace) -> Iterator[harness.Row]:
    for method in options.methods:
        for what in ("values", "ranks"):
            for jit in (False, True):
                ratios = {}
                for size in options.sizes:
                    shape = (max(options.items // size, 1), size)
                    scores = tf.constant(np.random.default_rng(0).normal(size=shape), tf.float32)
                    runs = [step(method, what, scores, is_long, jit) for is_long in (True, False)]
                    free, dense = harness.alternating_medians(runs, options.repeats, seconds=options.seconds)
                    ratios[str(size)] = dense / free
                start = {"method": method, "what": what, "mode": "XLA" if jit else "TF"}
                yield {**start, **ratios, "from": crossing(options.sizes, list(ratios.values()))}


def main(arguments: list[str] | None = None) -> dict:
    parser = harness.new_parser(__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[64, 128, 256, 384, 512, 768, 1024, 2048])
    parser.add_argument("--items", type=int, default=4096, help="of all lists together")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=2.0, help="for the runs of one size")
    options = parser.parse_args(arguments)
    print("dense / matrix-free, above 1 where the matrix is slower; from which size on it always was\n")
    return harness.publish("dense_matrix_free_threshold", {"ratio": rows(options)}, options.json)


if __name__ == "__main__":
    main()
