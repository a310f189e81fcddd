"""Time of matching targets to predictions, as in a step of a detector: `ops.match` beside what others use.

- SciPy: `scipy.optimize.linear_sum_assignment`, C++, in a loop over the batch, on arrays that are already there;
- numpy_function: the same in `tf.numpy_function` in a tf.function, which neither compiles nor serves;
- optax: `jax.jit(jax.vmap(optax.assignment.hungarian_algorithm))`;
- keras-hub: `hungarian_assignment` of its D-FINE detector, compiled by XLA, image by image as there.

Costs are those of a detector: the L1 distance of boxes minus the probability of the class ("boxes"), or standard normal
numbers. The candidates take turns in one process; figures are medians. Every total is asserted to be SciPy's, but that
of keras-hub, whose excess has a column. Libraries that are not installed, and calls after one of more than `--limit`
seconds at the batch before, are left out.

With `--layers`: the loss of the sets of all decoder layers, 52 sets of 300 predictions with 20 targets each, in one
call of `SetLoss(layer_axis=0)`, in a call per layer, and in a call per set.

    pip install optax keras-hub
    python benchmarks/operators/set_matching.py
    python benchmarks/operators/set_matching.py --layers --json benchmarks/results/set_layers.json
"""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tools"))

import harness
import numpy as np
import tensorflow as tf
from scipy.optimize import linear_sum_assignment
from steps import runner

import keras_softsort as ks

Run = Callable[[], list[np.ndarray]]
SHAPES = ["2x50x300", "4x50x300", "8x50x300", "16x50x300"]
CLASSES = 80


def box_costs(random: np.random.Generator, shape: tuple[int, int, int]) -> np.ndarray:
    batch, m, n = shape
    centers, sizes = random.uniform(size=(batch, m + n, 2)), random.uniform(0.02, 0.3, (batch, m + n, 2))
    boxes = np.concatenate([centers, sizes], axis=-1)
    logits = random.normal(size=(batch, n, CLASSES))
    shares = np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)
    classes = random.integers(0, CLASSES, (batch, m))
    found = np.stack([share[:, one].T for share, one in zip(shares, classes, strict=True)])
    distance = np.abs(boxes[:, :m, None] - boxes[:, None, m:]).sum(axis=-1)
    return 5 * distance - found


KINDS = {"boxes": box_costs, "normal": lambda random, shape: random.normal(size=shape)}


def scipy_columns(cost: np.ndarray) -> np.ndarray:
    return np.stack([linear_sum_assignment(matrix)[1] for matrix in cost]).astype(np.int32)


def candidates(cost: np.ndarray) -> dict[str, Run]:
    """Calls that give columns [batch, m], by name; those of what is installed."""
    compiled = tf.function(lambda x: ks.ops.match(x).columns, jit_compile=True, autograph=False)
    traced = tf.function(lambda x: ks.ops.match(x).columns, autograph=False)
    called = tf.function(lambda x: tf.numpy_function(scipy_columns, [x], tf.int32), autograph=False)
    found = {
        "SciPy": lambda: [scipy_columns(cost)],
        "ours, XLA": runner(compiled, cost),
        "ours, TF": runner(traced, cost),
        "numpy_function": runner(called, cost),
    }
    peers = {"optax": optax_run, "keras-hub": keras_hub_run}
    installed = [name for name in peers if importlib.util.find_spec(name.replace("-", "_"))]
    return {**found, **{name: peers[name](cost) for name in installed}}


def optax_run(cost: np.ndarray) -> Run:
    jax, optax = importlib.import_module("jax"), importlib.import_module("optax")

    def columns(matrix: np.ndarray) -> np.ndarray:
        rows, columns = optax.assignment.hungarian_algorithm(matrix)
        return columns[jax.numpy.argsort(rows)]

    run, given = jax.jit(jax.vmap(columns)), jax.numpy.asarray(cost)
    return lambda: [np.asarray(run(given))]


def keras_hub_run(cost: np.ndarray) -> Run:
    """Predictions are its rows, and it pads the matrix to a square one."""
    function = importlib.import_module("keras_hub.src.models.d_fine.d_fine_utils").hungarian_assignment
    n = cost.shape[2]
    compiled = tf.function(lambda x: function(tf.transpose(x), n), jit_compile=True, autograph=False)
    matrices = [tf.constant(matrix) for matrix in cost]

    def columns(matrix: tf.Tensor) -> np.ndarray:
        rows, targets, valid = (np.asarray(each) for each in compiled(matrix))
        result = np.zeros(matrix.shape[0], np.int32)
        result[targets[valid]] = rows[valid]
        return result

    return lambda: [np.stack([columns(matrix) for matrix in matrices])]


def total(cost: np.ndarray, columns: np.ndarray) -> float:
    assert all(len(set(row)) == len(row) for row in columns.tolist())
    return float(np.take_along_axis(cost, columns[..., np.newaxis], axis=-1).sum(dtype=np.float64))


def rows(shapes: list[str], kinds: list[str], repeats: int, limit: float) -> Iterator[harness.Row]:
    slow: set[str] = set()
    for kind in kinds:
        for shape in shapes:
            cost = KINDS[kind](np.random.default_rng(0), tuple(map(int, shape.split("x")))).astype(np.float32)
            runs = candidates(cost)
            best, excess, quick, times = total(cost, scipy_columns(cost)), None, [], dict.fromkeys(runs)
            for name, run in runs.items():
                if name in slow:
                    continue
                difference = total(cost, run()[0]) - best  # compiles, too
                if name == "keras-hub":
                    excess = difference
                else:
                    np.testing.assert_allclose(difference, 0, atol=1e-3)
                start = time.perf_counter()
                run()
                times[name] = time.perf_counter() - start
                if times[name] > limit:
                    slow.add(name)
                else:
                    quick.append(name)
            medians = harness.alternating_medians([runs[name] for name in quick], repeats, warmup=1)
            times.update(zip(quick, medians, strict=True))
            row = {"shape": shape, "cost": kind}
            row |= {f"{name}, ms": None if spent is None else 1e3 * spent for name, spent in times.items()}
            if "keras-hub" in runs:
                row["keras-hub's total above the least"] = excess
            yield row


def in_layers(repeats: int, sets: int = 52, targets: int = 20, predictions: int = 300) -> Iterator[harness.Row]:
    """Milliseconds of the loss of the same sets in one call and in several."""
    random = np.random.default_rng(0)
    functions = {
        "pair_cost": lambda t, p: tf.reduce_sum(tf.abs(t[:, :, tf.newaxis] - p[:, tf.newaxis]), axis=-1),
        "matched_loss": lambda t, p: tf.reduce_sum(tf.abs(t - p), axis=-1),
    }
    options = {"reduction": "sum", "normalization": "none"}
    for layers in (6, 13):
        batch = sets // layers
        truth, found = (
            tf.constant(random.uniform(size=shape), tf.float32)
            for shape in ((batch, targets, 4), (layers, batch, predictions, 4))
        )
        for compiled in (True, False):
            together, alone = (
                tf.function(ks.SetLoss(**functions, **options, **more).__call__, jit_compile=compiled or None)
                for more in ({"layer_axis": 0}, {})
            )
            runs: dict[str, Run] = {
                "one call": lambda call=together, y=truth, p=found: [float(call(y, p))],
                "a call per layer": lambda call=alone, y=truth, p=found: [sum(float(call(y, each)) for each in p)],
                "a call per set": lambda call=alone, y=truth, p=found: [
                    sum(float(call(y[i : i + 1], each[i : i + 1])) for each in p for i in range(len(y)))
                ],
            }
            harness.check_agreement(runs, [1e-4])
            one, *others = harness.alternating_medians(list(runs.values()), repeats)
            ratios = {f"{name} / one call": spent / one for name, spent in zip(list(runs)[1:], others, strict=True)}
            mode = "XLA" if compiled else "TF"
            yield {"mode": mode, "layers": layers, "sets per layer": batch, "one call, ms": 1e3 * one, **ratios}


def main(arguments: list[str] | None = None) -> dict:
    parser = harness.new_parser(__doc__)
    parser.add_argument("--shapes", nargs="+", default=SHAPES, help="batch x targets x predictions")
    parser.add_argument("--costs", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--repeats", type=int, default=21)
    parser.add_argument("--limit", type=float, default=1.0, help="seconds of a call, above which it is made once")
    parser.add_argument("--layers", action="store_true", help="measure the loss of stacked sets instead")
    options = parser.parse_args(arguments)
    if options.layers:
        return harness.publish("set_matching", {"layers": in_layers(options.repeats)}, options.json)
    table = rows(options.shapes, options.costs, options.repeats, options.limit)
    return harness.publish("set_matching", {"time": table}, options.json)


if __name__ == "__main__":
    main()
