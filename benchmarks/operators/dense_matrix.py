"""Time of the soft permutation matrix, forward and backward: ours beside the fair published formula and TFP's.

Fair: the row sums B of NeuralSort by a reduction that XLA fuses, not by the reference's n x n x n product. The
candidates of a row take turns in one process; the figures are medians, as ratios to ours.

    python benchmarks/operators/dense_matrix.py
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tools"))

import formulas
import harness
import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp
from steps import gradient_step, runner

import keras_softsort as ks

PEERS = {"formula": formulas.neural_sort, "TFP": lambda scores: tfp.math.soft_sorting_matrix(scores, 1.0)}


def weighted(operator: Callable) -> Callable:
    return lambda scores, weights: tf.reduce_sum(operator(scores) * weights)


def rows(shapes: Sequence[str], repeats: int) -> Iterator[harness.Row]:
    for shape in shapes:
        batch, size = map(int, shape.split("x"))
        random = np.random.default_rng(0)
        arrays = random.normal(size=(batch, size)).astype("f"), random.normal(size=(batch, size, size)).astype("f")
        for jit in (False, True):
            runs = {
                name: runner(gradient_step(weighted(operator), jit), *arrays)
                for name, operator in {"ours": ks.neural_sort, **PEERS}.items()
            }
            ours, *others = harness.alternating_medians(list(runs.values()), repeats)
            ratios = {f"{name} / ours": other / ours for name, other in zip(PEERS, others, strict=True)}
            yield {"shape": shape, "mode": "XLA" if jit else "TF", "ours, ms": 1e3 * ours, **ratios}


def main(arguments: list[str] | None = None) -> dict:
    parser = harness.new_parser(__doc__)
    parser.add_argument("--shapes", nargs="+", default=["256x5", "64x128", "8x1000"], help="batch x size")
    parser.add_argument("--repeats", type=int, default=30)
    options = parser.parse_args(arguments)
    return harness.publish("dense_matrix", {"time": rows(options.shapes, options.repeats)}, options.json)


if __name__ == "__main__":
    main()
