"""Measure the cost of a new list size for eager calls of every public operator and loss, with its gradient.

After the first call, calls with `--count` other sizes below `--largest` are made in random order, each twice, as far as
`--seconds` reach. The table has the slowest of them, and the largest excess of a first call over its second: once for
sizes that needed a new trace, because longer lists have another algorithm, and once for the others. Traces are those of
operators. Memory is the growth of the process between the first call and the last.

    python benchmarks/operators/eager_calls.py
"""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tools"))

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import harness
import numpy as np
import tensorflow as tf

import keras_softsort as ks
from keras_softsort.ops.core.tracing import number_of_traces

SEED = [1, 2]
# On scores [2, n].
OPERATORS: dict[str, Callable] = {
    "neural_sort": ks.neural_sort,
    "soft_sort": ks.soft_sort,
    "soft_values": ks.soft_values,
    "soft_values, soft_sort": lambda s: ks.soft_values(s, method="soft_sort"),
    "soft_values, projection": lambda s: ks.soft_values(s, method="projection"),
    "soft_rank": ks.soft_rank,
    "soft_rank, soft_sort": lambda s: ks.soft_rank(s, method="soft_sort"),
    "soft_rank, projection": lambda s: ks.soft_rank(s, method="projection"),
    "soft_rank, lapsum": lambda s: ks.soft_rank(s, method="lapsum"),
    "soft_top_k": lambda s: ks.soft_top_k(s, 1),
    "soft_top_k_membership": lambda s: ks.ops.soft_top_k_membership(s, 1),
    "soft_quantile": lambda s: ks.ops.soft_quantile(s, 0.5),
    "harden": lambda s: ks.ops.harden(s[:, tf.newaxis]),
    "gumbel_softmax": lambda s: ks.gumbel_softmax(s, seed=SEED),
    "ranknet_lambdas": lambda s: ks.ops.ranknet_lambdas(s, tf.abs(s)),
    # The scores are a matrix of two rows.
    "sinkhorn": ks.sinkhorn,
    "gumbel_sinkhorn": lambda s: ks.ops.gumbel_sinkhorn(s, seed=SEED),
    "linear_assignment": ks.linear_assignment,
}


def losses() -> dict[str, Callable]:
    """Every list loss, on scores and labels [2, n]; of permutations, logits or embeddings where it takes those."""

    def on_lists(loss: Callable) -> Callable:
        if getattr(loss, "predicts", None) == "logits":
            return lambda s: loss(tf.abs(s), tf.stack([s, -s], axis=-1))
        return lambda s: loss(tf.abs(s), s)

    embedding_losses = {"DkNNLoss": ks.DkNNLoss(1, num_queries=1), "RetrievalLoss": ks.RetrievalLoss()}
    found = {}
    for name in sorted(set(ks.losses.__all__) - {"ListLoss", "ScoreLoss", "SetLoss"}):  # bases, and a loss of sets
        if name in embedding_losses:
            loss = embedding_losses[name]
            # Four of each class.
            found[name] = lambda s, loss=loss: loss(tf.range(tf.shape(s)[1]) // 4, tf.transpose(s))
        elif name == "PermutationCrossEntropyLoss":
            loss = ks.PermutationCrossEntropyLoss()
            found[name] = lambda s, loss=loss: loss(s, ks.neural_sort(s))
        elif name.endswith("Loss") and isinstance(cls := getattr(ks.losses, name), type):
            found[name] = on_lists(cls())
    return found


def call(function: Callable, size: int) -> float:
    """Seconds of a value and its gradient."""
    scores = tf.constant(np.random.default_rng(size).normal(size=(2, size)), tf.float32)
    start = time.perf_counter()
    with tf.GradientTape() as tape:
        tape.watch(scores)
        result = tf.nest.flatten(function(scores))
    if result[0].dtype.is_floating:
        tape.gradient(result, scores)
    return time.perf_counter() - start


def rows(cases: dict[str, Callable], count: int, largest: int, seconds: float) -> Iterator[harness.Row]:
    sizes = np.random.default_rng(0).permutation(np.arange(3, largest))[:count].tolist()
    for name, function in cases.items():
        before = number_of_traces()
        first = call(function, 10)
        gc.collect()
        memory = harness._memory("VmRSS") or 0
        slowest, extra, extra_of_trace, done = 0.0, 0.0, 0.0, 0
        start = time.perf_counter()
        for size in sizes:
            traces = number_of_traces()
            new, again = call(function, size), call(function, size)
            done += 1
            if number_of_traces() > traces:
                extra_of_trace = max(extra_of_trace, new - again)
            else:
                slowest, extra = max(slowest, new), max(extra, new - again)
            if time.perf_counter() - start > seconds:
                break
        gc.collect()
        yield {
            "called": name,
            "first call, ms": 1e3 * first,
            "sizes": done,
            "slowest new size, ms": 1e3 * slowest,
            "extra of a new size, ms": 1e3 * extra,
            "extra with a new trace, ms": 1e3 * extra_of_trace if extra_of_trace else None,
            "traces": number_of_traces() - before,
            "growth, MiB": ((harness._memory("VmRSS") or 0) - memory) / 1024,
        }


def main(arguments: list[str] | None = None) -> dict:
    parser = harness.new_parser(__doc__)
    parser.add_argument("--count", type=int, default=100, help="of list sizes")
    parser.add_argument("--largest", type=int, default=2000, help="list size")
    parser.add_argument("--seconds", type=float, default=6.0, help="for the sizes of one operator")
    parser.add_argument("--only", nargs="*", help="names to measure")
    options = parser.parse_args(arguments)
    cases = {**OPERATORS, **losses()}
    cases = {name: cases[name] for name in options.only or cases}
    table = rows(cases, options.count, options.largest, options.seconds)
    return harness.publish("eager_calls", {"calls": table}, options.json)


if __name__ == "__main__":
    main()
