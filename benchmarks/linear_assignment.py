"""Time of the exact assignment of a batch: ours, with and without XLA, beside SciPy's C++ in a loop over the batch.

The candidates alternate within one process; the figures are the median of each, and ratios to SciPy. Every total is
asserted to be SciPy's.

    python benchmarks/linear_assignment.py
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import tensorflow as tf
from scipy.optimize import linear_sum_assignment

import keras_softsort as ks

KINDS = {
    "normal": lambda random, shape: random.normal(size=shape),
    "integers 0 to 9": lambda random, shape: random.integers(0, 10, shape),
    "-i * j": lambda _, shape: -np.outer(range(shape[1]), range(shape[2])) + np.zeros(shape),  # every search is long
}


def scipy_loop(scores: np.ndarray) -> np.ndarray:
    columns = np.full(scores.shape[:2], -1)
    for matrix, found in zip(scores, columns, strict=True):
        rows, found_columns = linear_sum_assignment(matrix, maximize=True)
        found[rows] = found_columns
    return columns


def total(scores: np.ndarray, columns: np.ndarray) -> np.ndarray:
    pairs = np.take_along_axis(scores, np.maximum(columns, 0)[..., np.newaxis], axis=-1)[..., 0]
    return np.sum(np.where(columns >= 0, pairs, 0), axis=-1, dtype=np.float64)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    shapes = ["64x20x20", "8x25x25", "8x50x50", "8x100x100", "8x200x200", "8x300x300", "8x50x200", "8x200x50"]
    parser.add_argument("--shapes", nargs="+", default=shapes)
    parser.add_argument("--repeats", type=int, default=9)
    options = parser.parse_args()
    print("| shape | scores | SciPy, ms | XLA, ms | TensorFlow, ms | XLA / SciPy | TensorFlow / SciPy |")
    print("|---|---|---:|---:|---:|---:|---:|")
    for shape, (kind, draw) in ((shape, kind) for shape in options.shapes for kind in KINDS.items()):
        scores = draw(np.random.default_rng(0), tuple(map(int, shape.split("x")))).astype(np.float32)
        tensor = tf.constant(scores)
        xla, plain = (tf.function(ks.linear_assignment, jit_compile=jit, autograph=False) for jit in (True, None))
        candidates = [
            lambda scores=scores: scipy_loop(scores),
            lambda xla=xla, tensor=tensor: xla(tensor).numpy(),
            lambda plain=plain, tensor=tensor: plain(tensor).numpy(),
        ]
        best, *others = (total(scores, run()) for run in candidates)  # this call traces and compiles
        for other in others:
            np.testing.assert_allclose(other, best, rtol=1e-12)
        times: list[list[float]] = [[] for _ in candidates]
        for _ in range(options.repeats):
            for run, found in zip(candidates, times, strict=True):
                start = time.perf_counter()
                run()
                found.append(time.perf_counter() - start)
        scipy, *ours = (1e3 * float(np.median(found)) for found in times)
        figures = [f"{scipy:.2f}", *(f"{time:.2f}" for time in ours), *(f"{time / scipy:.1f}" for time in ours)]
        print(f"| {shape} | {kind} | {' | '.join(figures)} |", flush=True)


if __name__ == "__main__":
    main()
