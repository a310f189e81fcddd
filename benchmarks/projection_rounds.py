"""What rounds of pooling save before halves are merged, in the ranks of fast soft sort, forward and backward.

For `ROUNDS` in `keras_softsort/ops/sorting/_permutahedron/isotonic.py`: the time without rounds over that with them.
Both alternate within one process, and the figures are ratios of medians.

    python benchmarks/projection_rounds.py
"""

from __future__ import annotations

from collections.abc import Iterator

import harness
import numpy as np
import tensorflow as tf
from steps import gradient_step, runner

import keras_softsort as ks
from keras_softsort.ops.sorting._permutahedron import isotonic

ROUNDS = isotonic.ROUNDS


def rows(shapes: list[str], taus: list[float], repeats: int, seconds: float) -> Iterator[harness.Row]:
    for shape in shapes:
        batch, size = map(int, shape.split("x"))
        scores = np.random.default_rng(0).normal(size=(batch, size)).astype("f")
        for jit in (False, True):
            ratios = {}
            for tau in taus:

                def loss(scores: tf.Tensor, tau: float = tau) -> tf.Tensor:
                    return tf.reduce_sum(tf.square(ks.soft_rank(scores, tau, method="projection")))

                runs = []
                for isotonic.ROUNDS in (0, ROUNDS):
                    runs.append(runner(gradient_step(loss, jit), scores))
                    runs[-1]()  # traced with this number of rounds
                without, with_rounds = harness.alternating_medians(runs, repeats, seconds=seconds)
                ratios[f"tau {tau}"] = without / with_rounds
            yield {"shape": shape, "mode": "XLA" if jit else "TF", **ratios}


def main(arguments: list[str] | None = None) -> dict:
    parser = harness.new_parser(__doc__)
    parser.add_argument("--shapes", nargs="+", default=["64x16", "64x128", "8x1000"], help="batch x size")
    parser.add_argument("--taus", type=float, nargs="+", default=[0.01, 0.1, 1.0, 10.0])
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=1.0, help="for the runs of one temperature")
    options = parser.parse_args(arguments)
    ratios = rows(options.shapes, options.taus, options.repeats, options.seconds)
    return harness.publish("projection_rounds", {"ratio": ratios}, options.json)


if __name__ == "__main__":
    main()
