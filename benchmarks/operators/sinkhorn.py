"""Time and memory of Sinkhorn, forward and backward: ours beside the log-domain formulas and ott-jax.

The formulas, differentiated by TensorFlow: "log matrix" normalizes the whole matrix in turn, as published code does;
"log potentials", the fairer one, keeps the matrix and updates potentials. ott-jax (if installed) makes as many
iterations, in its kernel-scaling mode with implicit gradient. The candidates take turns in one process and the figures
are medians, as ratios to ours under XLA; memory is what a process of its own grew by. Matrices and gradients are
compared first, within parts of their largest numbers.

    python benchmarks/operators/sinkhorn.py
    python benchmarks/operators/sinkhorn.py --tables memory --shapes 8x500
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tools"))

import formulas
import harness
import numpy as np
import tensorflow as tf
from optimal_transport import ott_sinkhorn
from steps import runner

import keras_softsort as ks

TAU = 0.5
# Largest errors of matrices and gradients. The implicit gradient is that of the fixed point, which iterations only
# approach.
IMPLICIT = ("ott-jax scaling", "ours with implicit gradient, XLA", "ours with implicit gradient, TF")
TOLERANCES = {**dict.fromkeys(IMPLICIT, (1e-3, 5e-2)), "others": (1e-4, 1e-3)}
OPERATORS: dict[str, Callable] = {
    "ours": lambda logits, iterations: ks.sinkhorn(logits, TAU, num_iterations=iterations),
    # The tolerance is never reached.
    "ours with implicit gradient": lambda logits, iterations: ks.sinkhorn(
        logits, TAU, num_iterations=iterations, tolerance=0.0, implicit_gradient=True
    ),
    "log potentials": lambda logits, iterations: formulas.sinkhorn_potentials(logits, TAU, iterations),
    "log matrix": lambda logits, iterations: formulas.sinkhorn(logits, TAU, iterations),
}
Arrays = tuple[np.ndarray, np.ndarray]


def tensorflow_run(operator: Callable, iterations: int, jit: bool, arrays: Arrays) -> Callable:
    """The matrices, and the gradient of their weighted sum."""

    @tf.function(jit_compile=True if jit else None, autograph=False)
    def step(logits: tf.Tensor, weights: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        with tf.GradientTape() as tape:
            tape.watch(logits)
            matrices = operator(logits, iterations)
        return matrices, tape.gradient(matrices, logits, output_gradients=weights)

    return runner(step, *arrays)


def ott_run(iterations: int, arrays: Arrays) -> Callable:
    """The matrices and gradients of ott-jax."""
    import jax  # noqa: PLC0415  (an optional peer)

    @jax.jit
    def step(logits, weights):
        found, pull = jax.vjp(lambda each: ott_sinkhorn(each, TAU, iterations), logits)
        return found, pull(weights)[0]

    tensors = [jax.device_put(array) for array in arrays]
    return lambda: [np.asarray(result) for result in step(*tensors)]


def names(skipped: Sequence[str]) -> list[str]:
    found = [f"{name}, {mode}" for name in OPERATORS for mode in ("XLA", "TF")]
    if importlib.util.find_spec("ott"):
        found.append("ott-jax scaling")
    return [name for name in found if not name.startswith(tuple(skipped))]


def make_run(name: str, iterations: int, arrays: Arrays) -> Callable:
    if name == "ott-jax scaling":
        return ott_run(iterations, arrays)
    operator, mode = name.rsplit(", ", 1)
    return tensorflow_run(OPERATORS[operator], iterations, mode == "XLA", arrays)


def data(shape: str) -> Arrays:
    """Normal logits, and weights."""
    batch, size = map(int, shape.split("x"))
    random = np.random.default_rng(0)
    return tuple(random.normal(size=(batch, size, size)).astype(np.float32) for _ in range(2))


def times(shapes: list[str], iterations: list[int], repeats: int, skipped: list[str]) -> Iterator[harness.Row]:
    for shape in shapes:
        for count in iterations:
            runs = {name: make_run(name, count, data(shape)) for name in names(skipped)}
            harness.check_agreement(runs, TOLERANCES)
            spent = [1e3 * each for each in harness.alternating_medians(list(runs.values()), repeats)]
            yield row(shape, count, dict(zip(runs, spent, strict=True)), "ms")


def memory_runs(shape: str, iterations: int, name: str) -> tuple[Callable, Callable]:
    arrays = data(shape)
    small = make_run(name, iterations, tuple(array[:, :4, :4] for array in arrays))
    return small, make_run(name, iterations, arrays)


def memory(shapes: list[str], iterations: list[int], skipped: list[str]) -> Iterator[harness.Row]:
    for shape in shapes:
        for count in iterations:
            found = {name: harness.memory_growth(memory_runs, shape, count, name) for name in names(skipped)}
            yield row(shape, count, found, "MiB")


def row(shape: str, iterations: int, found: dict[str, float], unit: str) -> harness.Row:
    (name, first), *others = found.items()
    ratios = {f"{other} / ours": value / first for other, value in others}
    return {"shape": shape, "iterations": iterations, f"{name}, {unit}": first, **ratios}


def main(arguments: list[str] | None = None) -> dict:
    parser = harness.new_parser(__doc__)
    parser.add_argument("--tables", nargs="+", choices=("time", "memory"), default=["time"])
    parser.add_argument("--shapes", nargs="+", default=["50x100", "8x500", "1x1000"], help="batch x size")
    parser.add_argument("--iterations", nargs="+", type=int, default=[20, 100])
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--skip", nargs="+", default=[], help="leave out candidates whose names start like this")
    options = parser.parse_args(arguments)
    tables = {
        "time": times(options.shapes, options.iterations, options.repeats, options.skip),
        "memory": memory(options.shapes, options.iterations, options.skip),
    }
    return harness.publish("sinkhorn", {name: tables[name] for name in options.tables}, options.json)


if __name__ == "__main__":
    main()
