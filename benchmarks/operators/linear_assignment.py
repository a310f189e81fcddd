"""Time of the exact assignment of a batch: ours, with and without XLA, beside SciPy's C++ in a loop over the batch.

The candidates take turns in one process; the figures are medians, and ratios to SciPy. Every total is asserted to be
SciPy's. The exponents p say that time grows as n^p, fitted to the square shapes of the largest batch of one size.

    python benchmarks/operators/linear_assignment.py
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tools"))

import harness
import numpy as np
import tensorflow as tf
from scipy.optimize import linear_sum_assignment
from steps import runner

import keras_softsort as ks

KINDS = {
    "normal": lambda random, shape: random.normal(size=shape),
    "integers 0 to 9": lambda random, shape: random.integers(0, 10, shape),
    "-i * j": lambda _, shape: -np.outer(range(shape[1]), range(shape[2])) + np.zeros(shape),  # every search is long
}
SHAPES = ["64x20x20", "8x25x25", "8x50x50", "8x100x100", "8x200x200", "8x300x300", "8x50x200", "8x200x50"]
TIMES = ("SciPy, ms", "XLA, ms", "TensorFlow, ms")


def scipy_loop(scores: np.ndarray) -> np.ndarray:
    columns = np.full(scores.shape[:2], -1)
    for matrix, found in zip(scores, columns, strict=True):
        rows, found_columns = linear_sum_assignment(matrix, maximize=True)
        found[rows] = found_columns
    return columns


def total(scores: np.ndarray, columns: np.ndarray) -> np.ndarray:
    pairs = np.take_along_axis(scores, np.maximum(columns, 0)[..., np.newaxis], axis=-1)[..., 0]
    return np.sum(np.where(columns >= 0, pairs, 0), axis=-1, dtype=np.float64)


def rows(shapes: list[str], kinds: list[str], repeats: int) -> Iterator[harness.Row]:
    for shape in shapes:
        for kind in kinds:
            size = tuple(map(int, shape.split("x")))
            scores = KINDS[kind](np.random.default_rng(0), size).astype(np.float32)
            traced = (tf.function(ks.linear_assignment, jit_compile=jit, autograph=False) for jit in (True, None))
            xla, plain = (runner(function, scores) for function in traced)
            runs = [lambda scores=scores: [scipy_loop(scores)], xla, plain]
            best, *others = (total(scores, run()[0]) for run in runs)
            for other in others:
                np.testing.assert_allclose(other, best, rtol=1e-12)
            times = [1e3 * each for each in harness.alternating_medians(runs, repeats, warmup=1)]
            ratios = {"XLA / SciPy": times[1] / times[0], "TensorFlow / SciPy": times[2] / times[0]}
            yield {"shape": shape, "scores": kind, **dict(zip(TIMES, times, strict=True)), **ratios}


def growth(found: list[harness.Row]) -> Iterator[harness.Row]:
    """Exponents of the rows that the first table has by then."""
    shapes = [tuple(map(int, row["shape"].split("x"))) for row in found]
    square = [row for row, (_, n, m) in zip(found, shapes, strict=True) if n == m]
    batches = [row["shape"].split("x")[0] for row in square]
    most = max(set(batches), key=batches.count, default="")
    for kind in KINDS:
        chosen = [row for row in square if row["scores"] == kind and row["shape"].split("x")[0] == most]
        if len(chosen) >= 3:
            sizes = np.log([int(row["shape"].split("x")[1]) for row in chosen])
            fits = {name: float(np.polyfit(sizes, np.log([row[name] for row in chosen]), 1)[0]) for name in TIMES}
            exponents = {f"{name.split(',')[0]}, exponent": fit for name, fit in fits.items()}
            span = f"{chosen[0]['shape'].split('x')[1]} to {chosen[-1]['shape'].split('x')[1]}"
            yield {"scores": kind, "n": span, **exponents}


def main(arguments: list[str] | None = None) -> dict:
    parser = harness.new_parser(__doc__)
    parser.add_argument("--shapes", nargs="+", default=SHAPES, help="batch x rows x columns")
    parser.add_argument("--scores", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--repeats", type=int, default=9)
    options = parser.parse_args(arguments)
    found: list[harness.Row] = []
    measured = (found.append(row) or row for row in rows(options.shapes, options.scores, options.repeats))
    return harness.publish("linear_assignment", {"time": measured, "growth": growth(found)}, options.json)


if __name__ == "__main__":
    main()
