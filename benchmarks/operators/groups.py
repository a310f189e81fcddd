"""Time of a training step of rows with group ids beside that of padded lists, per row of the data.

One scorer with hidden layers of 64 and 32 trains on one set of lists, about 100,000 rows with 100 features and labels 0
to 4: as flat batches of `batches_of_groups`, as `bucketed_batches`, and padded to the longest list. A batch holds about
4,096 rows. A run is an epoch of batches that are in memory; the three take turns in one process, and the figures are
medians. Under XLA flat batches are filled up to one shape.

    python benchmarks/operators/groups.py
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

import keras_softsort as ks

keras = tf.keras
ROWS, FEATURES, BATCH = 100_000, 100, 4096
SIZES: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "all 60": lambda random, rows: np.full(rows // 60, 60),
    "1 to 1,000": lambda random, rows: np.exp(random.uniform(0, np.log(1001), 7 * rows // 1000)).astype(int),
}
LOSSES = {
    "softmax": ks.SoftmaxLoss,
    "RankNet": ks.RankNetLoss,
    "ListMLE": ks.PlackettLuceLoss,
    "ApproxRankMSE": ks.ApproxRankMSELoss,
}


def make_lists(kind: str, rows: int) -> ks.data.RankingDataset:
    random = np.random.default_rng(0)
    sizes = SIZES[kind](random, rows)
    features = random.normal(size=(sizes.sum(), FEATURES))
    return ks.data.RankingDataset(features, random.integers(0, 5, sizes.sum()), sizes)


def batches(lists: ks.data.RankingDataset, way: str, compiled: bool) -> list[tuple[tf.Tensor, tf.Tensor]]:
    """An epoch in memory."""
    if way == "groups":
        padding = "negative_labels" if compiled else None
        return list(ks.data.batches_of_groups(lists, BATCH, shuffle=False, padding=padding))
    count = max(1, int(BATCH / lists.sizes.mean()))
    boundaries = [int(lists.sizes.max())] if way == "longest" else None
    return list(ks.data.bucketed_batches(lists, count, shuffle=False, boundaries=boundaries, drop_remainder=False))


def make_run(lists: ks.data.RankingDataset, way: str, loss: str, compiled: bool) -> Callable[[], list[float]]:
    """An epoch: the loss of each list, added up, and its gradient with respect to the weights."""
    keras.utils.set_random_seed(0)
    relu = {"activation": "relu"}
    layers = [keras.layers.Dense(64, **relu), keras.layers.Dense(32, **relu), keras.layers.Dense(1)]
    shape = (FEATURES,) if way == "groups" else (None, FEATURES)
    model = keras.Sequential([keras.Input(shape), *layers])
    compute = LOSSES[loss](lists="groups" if way == "groups" else "rows", reduction="sum")

    @tf.function(jit_compile=compiled or None, reduce_retracing=not compiled, autograph=False)
    def step(features: tf.Tensor, labels: tf.Tensor) -> tuple[tf.Tensor, list[tf.Tensor]]:
        with tf.GradientTape() as tape:
            total = compute(labels, model(features, training=True))
        return total, tape.gradient(total, model.trainable_variables)

    epoch = batches(lists, way, compiled)
    return lambda: [sum(float(step(*batch)[0]) for batch in epoch)]


def rows(options: argparse.Namespace) -> Iterator[harness.Row]:
    ways = ["groups", "bucketed", "longest"]
    for compiled in options.compiled:
        for kind in SIZES:
            lists = make_lists(kind, options.rows)
            for loss in options.losses:
                runs = {way: make_run(lists, way, loss, compiled) for way in ways}
                harness.check_agreement(runs, [1e-3])
                spent = harness.alternating_medians(list(runs.values()), options.repeats, seconds=options.seconds)
                times = {f"{way}, us": 1e6 * each / sum(lists.sizes) for way, each in zip(ways, spent, strict=True)}
                ratios = {f"{way} / groups": each / spent[0] for way, each in zip(ways[1:], spent[1:], strict=True)}
                mode = "XLA" if compiled else "TF"
                yield {"mode": mode, "rows of a list": kind, "loss": loss, **times, **ratios}


def main(arguments: list[str] | None = None) -> dict:
    parser = harness.new_parser(__doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--losses", nargs="+", choices=LOSSES, default=list(LOSSES))
    parser.add_argument("--compiled", type=int, nargs="+", choices=(0, 1), default=[0, 1], help="1 for XLA")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=12.0, help="for the runs of one case")
    options = parser.parse_args(arguments)
    return harness.publish("groups", {"steps": rows(options)}, options.json)


if __name__ == "__main__":
    main()
