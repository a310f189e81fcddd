"""How far float32 matrices are from the float64 formula on the same scores: ours, and the formula as it is written.

python benchmarks/precision/precision.py
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tools"))

import formulas
import harness
import numpy as np
import tensorflow as tf

import keras_softsort as ks

# How the scores differ from standard normal ones: what is added to all, and what the first one is.
KINDS = {"around 0": (0, None), "around 1,000": (1000, None), "an outlier of 1e30": (0, 1e30)}


def rows(sizes: Sequence[int], taus: Sequence[float], kinds: Sequence[str]) -> Iterator[harness.Row]:
    for size in sizes:
        for kind in kinds:
            offset, outlier = KINDS[kind]
            scores = (offset + np.random.default_rng(0).normal(size=size)).astype(np.float32)
            exact = scores.astype(np.float64)
            if outlier is not None:
                # So far that no weight reaches it, and near enough for float64 to add it up without loss.
                scores[0], exact[0] = outlier, 1e6
            for tau in taus:
                truth = formulas.neural_sort(tf.constant(exact), tau).numpy()
                errors = {
                    name: float(np.abs(function(tf.constant(scores), tau).numpy() - truth).max())
                    for name, function in {"ours": ks.neural_sort, "as written": formulas.neural_sort}.items()
                }
                yield {"n": size, "tau": tau, **({"scores": kind} if len(kinds) > 1 else {}), **errors}


def main(arguments: list[str] | None = None) -> dict:
    parser = harness.new_parser(__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[50, 128, 1000, 5000])
    parser.add_argument("--taus", type=float, nargs="+", default=[100.0, 1.0, 0.1, 0.01])
    options = parser.parse_args(arguments)
    sizes = options.sizes
    tables = {"error": rows(sizes, options.taus, ["around 0"]), "elsewhere": rows(sizes[:3], [1.0], list(KINDS))}
    return harness.publish("precision", tables, options.json)


if __name__ == "__main__":
    main()
