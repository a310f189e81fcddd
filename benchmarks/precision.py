"""How far float32 matrices are from the float64 formula on the same scores: ours, and the formula as it is written.

python benchmarks/precision.py
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import formulas
import harness
import numpy as np
import tensorflow as tf

import keras_softsort as ks


def rows(sizes: Sequence[int], taus: Sequence[float]) -> Iterator[harness.Row]:
    for size in sizes:
        scores = np.random.default_rng(0).normal(size=size).astype(np.float32)
        for tau in taus:
            truth = formulas.neural_sort(tf.constant(scores.astype(np.float64)), tau).numpy()
            errors = {
                name: float(np.abs(function(tf.constant(scores), tau).numpy() - truth).max())
                for name, function in {"ours": ks.neural_sort, "as written": formulas.neural_sort}.items()
            }
            yield {"n": size, "tau": tau, **errors}


def main(arguments: list[str] | None = None) -> dict:
    parser = harness.new_parser(__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[50, 128, 1000, 5000])
    parser.add_argument("--taus", type=float, nargs="+", default=[100.0, 1.0, 0.1, 0.01])
    options = parser.parse_args(arguments)
    return harness.publish("precision", {"error": rows(options.sizes, options.taus)}, options.json)


if __name__ == "__main__":
    main()
