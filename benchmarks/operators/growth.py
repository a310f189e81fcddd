"""How the time of softly sorted values grows with the list, and their error in float32, on lists without a matrix.

NeuralSort weighs the items whose scores are near, in units of tau over the rank's slope. On normal scores of one spread
more items are near as lists grow; where scores spread with the list, as n / 4096 does, as many are near. One list,
forward and backward; medians. The exponent p says that time grows as n^p, fitted to all sizes. Errors are the largest
against the same operator in float64: of values relative to the range of the scores, of the gradient of half the sum of
squares relative to its largest number.

    python benchmarks/operators/growth.py
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tools"))

import harness
import numpy as np
import tensorflow as tf
from steps import gradient_step, runner

import keras_softsort as ks

METHODS = ("neural_sort", "soft_sort")
SPREADS = {"normal": lambda n: 1.0, "normal * n / 4096": lambda n: n / 4096}


def half_square(method: str):
    return lambda scores: tf.reduce_sum(tf.square(ks.soft_values(scores, method=method))) / 2


def data(size: int, kind: str) -> np.ndarray:
    return (SPREADS[kind](size) * np.random.default_rng(0).normal(size=(1, size))).astype(np.float32)


def times(sizes: list[int], modes: list[str], repeats: int) -> Iterator[harness.Row]:
    for method in METHODS:
        for kind in SPREADS:
            for mode in modes:
                step = gradient_step(half_square(method), mode == "XLA")
                runs = [runner(step, data(size, kind)) for size in sizes]
                spent = harness.alternating_medians(runs, repeats, seconds=60, least=2, warmup=1)
                found = {f"n = {size}, ms": 1e3 * each for size, each in zip(sizes, spent, strict=True)}
                exponent = float(np.polyfit(np.log(sizes), np.log(spent), 1)[0])
                yield {"method": method, "scores": kind, "mode": mode, **found, "exponent": exponent}


def errors(sizes: list[int]) -> Iterator[harness.Row]:
    for method in METHODS:
        for size in sizes:
            scores = data(size, "normal")
            values, gradients = [], []
            for dtype in (np.float32, np.float64):
                values.append(ks.soft_values(tf.constant(scores.astype(dtype)), method=method).numpy())
                gradients.append(runner(gradient_step(half_square(method), False), scores.astype(dtype))()[1])
            yield {
                "method": method,
                "n": size,
                "error of values": float(np.abs(values[0] - values[1]).max() / np.ptp(scores)),
                "error of the gradient": float(np.abs(gradients[0] - gradients[1]).max() / np.abs(gradients[1]).max()),
            }


def main(arguments: list[str] | None = None) -> dict:
    parser = harness.new_parser(__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[2**12, 2**14, 2**16, 2**17])
    parser.add_argument("--error-sizes", type=int, nargs="+", default=[1000, 10_000, 100_000])
    parser.add_argument("--modes", nargs="+", choices=("TF", "XLA"), default=["TF", "XLA"])
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args(arguments)
    tables = {"time": times(options.sizes, options.modes, options.repeats), "error": errors(options.error_sizes)}
    return harness.publish("growth", tables, options.json)


if __name__ == "__main__":
    main()
