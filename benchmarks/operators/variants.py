"""Measure the time that each second algorithm for one result saves, forward and backward.

A ratio is the time with one algorithm alone over the time with both. The two alternate within one process, and the
figures are ratios of medians. A variant is switched off by replacing what selects it.

    python benchmarks/operators/variants.py
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

sys.path.append(str(Path(__file__).parents[1] / "tools"))

import harness
import numpy as np
import tensorflow as tf
from steps import gradient_step, runner

import keras_softsort as ks
from keras_softsort.ops.core import decay_scan, numbers
from keras_softsort.ops.matching import _assignment, _sinkhorn_problem
from keras_softsort.ops.sorting._permutahedron import isotonic

MODES = ("TF", "XLA")
LEAST_RATIO = 1.5


class Variant(NamedTuple):
    """`without` are modules, names and values that switch it off for `operator`.

    `reason` says why it stays: "faster" (by 1.5 in one cell or more of its algorithm), "grows slower", or "promise: "
    and what breaks without it. What stands before a comma in the name of a variant is its algorithm.
    """

    operator: Callable[[tf.Tensor], tf.Tensor]
    shapes: tuple[str, ...]
    without: tuple[tuple[Any, str, Any], ...]
    reason: str


def projected_ranks(tau: float) -> Callable[[tf.Tensor], tf.Tensor]:
    return lambda scores: ks.soft_rank(scores, tau, method="projection")


def ranks(method: str) -> Callable[[tf.Tensor], tf.Tensor]:
    return lambda scores: ks.soft_rank(scores, 1.0, method=method)


def matching(scores: tf.Tensor) -> tf.Tensor:
    """The scores of the best matching."""
    return tf.gather(scores, ks.linear_assignment(scores), batch_dims=2)


def by_doubling(positions: tf.Tensor, values: tf.Tensor) -> tf.Tensor:
    return decay_scan._by_doubling(positions, values, values.dtype)


VARIANTS = {
    **{
        f"rounds of pooling, tau {tau}": Variant(
            projected_ranks(tau), ("64x16", "64x128", "8x1000"), ((isotonic, "ROUNDS", 0),), "faster"
        )
        for tau in (0.01, 0.1, 1.0, 10.0)
    },
    **{
        f"running sums, {name}": Variant(
            ranks(method),
            ("32x200", "8x1000", "1x10000"),
            ((decay_scan, "_by_running_sums", by_doubling),),
            "faster",
        )
        for name, method in (("SoftSort", "soft_sort"), ("LapSum", "lapsum"))
    },
    "sums over few columns": Variant(
        ks.sinkhorn, ("64x8x8", "64x16x16"), ((numbers, "MAX_COLUMNS_OF_SUMS", 0),), "faster"
    ),
    "scalings": Variant(
        ks.sinkhorn, ("64x8x8", "64x32x32", "4x200x200"), ((_sinkhorn_problem, "MAX_SEGMENT_LENGTH", 1),), "faster"
    ),
    "rounds of bids": Variant(
        matching,
        ("8x100x100", "2x300x300"),
        ((_assignment, "MIN_ROUNDS", 0), (_assignment, "ROWS_PER_ROUND", 10**9)),
        "faster",
    ),
}


def unpaid(ratios: list[harness.Row], reasons: dict[str, str]) -> list[str]:
    """The algorithms that are not 1.5 times as fast in any cell of up to 1,000 items, and have no other reason."""
    best: dict[str, float] = {}
    for row in ratios:
        algorithm, size = row["variant"].split(",")[0], int(row["shape"].split("x")[-1])
        best[algorithm] = max([best.get(algorithm, 0), *(row[mode] for mode in MODES if size <= 1000)])
    others = {
        name.split(",")[0] for name, reason in reasons.items() if re.fullmatch("grows slower|promise: .+", reason)
    }
    return [algorithm for algorithm, most in best.items() if most < LEAST_RATIO and algorithm not in others]


def ratio(variant: Variant, shape: str, jit: bool, repeats: int, seconds: float) -> float:
    scores = np.random.default_rng(0).normal(size=[int(size) for size in shape.split("x")]).astype("f")

    def traced() -> Callable:
        run = runner(gradient_step(lambda x: tf.reduce_sum(tf.square(variant.operator(x))), jit), scores)
        run()
        return run

    with_it = traced()
    with ExitStack() as replaced:
        for module, name, value in variant.without:
            replaced.enter_context(mock.patch.object(module, name, value))
        without = traced()
    spent = harness.alternating_medians([without, with_it], repeats, seconds=seconds)
    return spent[0] / spent[1]


def rows(names: list[str], shapes: list[str] | None, repeats: int, seconds: float) -> Iterator[harness.Row]:
    for name in names:
        for shape in shapes or VARIANTS[name].shapes:
            found = (ratio(VARIANTS[name], shape, jit, repeats, seconds) for jit in (False, True))
            yield {"variant": name, "shape": shape, **dict(zip(MODES, found, strict=True))}


def main(arguments: list[str] | None = None) -> dict:
    parser = harness.new_parser(__doc__)
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS), metavar="VARIANT")
    parser.add_argument("--shapes", nargs="+", help="instead of those of the variant")
    parser.add_argument("--repeats", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=1.0, help="for the runs of one shape and mode")
    options = parser.parse_args(arguments)
    ratios = rows(options.variants, options.shapes, options.repeats, options.seconds)
    return harness.publish("variants", {"ratio": ratios}, options.json)


if __name__ == "__main__":
    main()
