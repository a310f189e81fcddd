"""Time and peak memory of Sinkhorn, forward and backward: ours beside the log-domain formulas and ott-jax.

The formulas, differentiated by TensorFlow: "log matrix" normalises the whole matrix in turn, as published code does;
"log potentials", the fairer one, keeps the matrix and updates potentials. ott-jax (if installed) makes as many
iterations, in its kernel-scaling mode with implicit gradient. The candidates alternate within one process and the
figures are medians; peak memory is what a process of its own grew by. Values are compared first.

    python benchmarks/sinkhorn.py
    python benchmarks/sinkhorn.py --memory
"""

from __future__ import annotations

import argparse
import importlib.util
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence

import numpy as np
import tensorflow as tf

import keras_softsort as ks

TAU = 0.5
Step = Callable[[np.ndarray, np.ndarray], Callable[[], np.ndarray]]


def log_matrix(log_scores: tf.Tensor, iterations: int) -> tf.Tensor:
    logits = log_scores / TAU
    for _ in range(iterations):
        logits -= tf.reduce_logsumexp(logits, axis=2, keepdims=True)
        logits -= tf.reduce_logsumexp(logits, axis=1, keepdims=True)
    return tf.exp(logits)


def log_potentials(log_scores: tf.Tensor, iterations: int) -> tf.Tensor:
    logits = log_scores / TAU
    columns = tf.zeros_like(logits[:, :1])
    for _ in range(iterations):
        rows = -tf.reduce_logsumexp(logits + columns, axis=2, keepdims=True)
        columns = -tf.reduce_logsumexp(logits + rows, axis=1, keepdims=True)
    return tf.exp(logits + rows + columns)


def ours(log_scores: tf.Tensor, iterations: int) -> tf.Tensor:
    return ks.sinkhorn(log_scores, TAU, num_iterations=iterations)


def tensorflow_step(operator: Callable, iterations: int, jit: bool) -> Step:
    """Value and gradient of a weighted sum, as one function."""

    @tf.function(jit_compile=jit)
    def run(log_scores: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            tape.watch(log_scores)
            total = tf.reduce_sum(operator(log_scores, iterations) * weights)
        return total, tape.gradient(total, log_scores)

    def prepare(log_scores: np.ndarray, weights: np.ndarray) -> Callable:
        tensors = tf.constant(log_scores), tf.constant(weights)
        return lambda: [result.numpy() for result in run(*tensors)]

    return prepare


def ott_step(iterations: int) -> Step:
    """The same by ott-jax, whose marginals are 1 / n."""
    import jax  # noqa: PLC0415  (an optional peer)
    import jax.numpy as jnp  # noqa: PLC0415
    from ott.geometry.geometry import Geometry  # noqa: PLC0415
    from ott.problems.linear.linear_problem import LinearProblem  # noqa: PLC0415
    from ott.solvers.linear.sinkhorn import Sinkhorn  # noqa: PLC0415

    solver = Sinkhorn(
        lse_mode=False,
        threshold=-1.0,
        min_iterations=iterations,
        max_iterations=iterations,
        inner_iterations=iterations,
    )

    def weighted(log_scores: jax.Array, weights: jax.Array) -> jax.Array:
        def one(matrix: jax.Array) -> jax.Array:
            return solver(LinearProblem(Geometry(cost_matrix=-matrix, epsilon=TAU))).matrix * matrix.shape[0]

        return jnp.sum(jax.vmap(one)(log_scores) * weights)

    run = jax.jit(jax.value_and_grad(weighted))

    def prepare(log_scores: np.ndarray, weights: np.ndarray) -> Callable:
        arrays = jnp.asarray(log_scores), jnp.asarray(weights)
        return lambda: [np.asarray(result) for result in run(*arrays)]

    return prepare


def candidates(iterations: int, skipped: Sequence[str] = ()) -> dict[str, Step]:
    formulas = {"ours": ours, "log potentials": log_potentials, "log matrix": log_matrix}
    found = {
        f"{name}, {'XLA' if jit else 'TF'}": tensorflow_step(operator, iterations, jit)
        for name, operator in formulas.items()
        for jit in (True, False)
    }
    if importlib.util.find_spec("ott"):
        found["ott-jax scaling"] = ott_step(iterations)
    return {name: step for name, step in found.items() if not name.startswith(tuple(skipped))}


def data(shape: str) -> tuple[np.ndarray, np.ndarray]:
    batch, size = map(int, shape.split("x"))
    random = np.random.default_rng(0)
    return tuple(random.normal(size=(batch, size, size)).astype(np.float32) for _ in range(2))


def medians(shape: str, iterations: int, repeats: int, skipped: Sequence[str]) -> dict[str, float]:
    """Seconds of each candidate, once their results have been seen to agree."""
    steps = {name: prepare(*data(shape)) for name, prepare in candidates(iterations, skipped).items()}
    results = {name: run() for name, run in steps.items()}
    for name, (value, gradient) in results.items():
        np.testing.assert_allclose(value, results["ours, XLA"][0], rtol=1e-3, atol=0.05, err_msg=name)
        # The implicit gradient is that of these iterations only once they have converged.
        atol = 2e-2 if name.startswith("ott") else 2e-4
        np.testing.assert_allclose(gradient, results["ours, XLA"][1], rtol=1e-2, atol=atol, err_msg=name)
    times: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(repeats):
        for name, run in steps.items():
            start = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - start)
    return {name: float(np.median(found)) for name, found in times.items()}


def peak_memory(shape: str, iterations: int, name: str) -> float:
    """MiB by which a run grows a process that has all libraries loaded and the data made."""
    prepare = candidates(iterations)[name]
    small = prepare(*(array[:, :4, :4] for array in data(shape)))
    small()
    run = prepare(*data(shape))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    run()
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


def memory_of_each(shape: str, iterations: int, skipped: Sequence[str]) -> dict[str, float]:
    found = {}
    for name in candidates(iterations, skipped):
        command = [sys.executable, __file__, "--one", name, "--shapes", shape, "--iterations", str(iterations)]
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        found[name] = float(output.splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shapes", nargs="+", default=["50x100", "8x500", "1x1000"], help="batch x size")
    parser.add_argument("--iterations", nargs="+", type=int, default=[20, 100])
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--skip", nargs="+", default=[], help="leave out candidates whose names start like this")
    parser.add_argument("--memory", action="store_true", help="peak memory in MiB in place of time")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(peak_memory(options.shapes[0], options.iterations[0], options.one))
        return
    names = list(candidates(1, options.skip))
    unit = "MiB" if options.memory else "ms"
    print(f"| shape | iterations | ours, XLA, {unit} | {' | '.join(f'{name} / ours' for name in names[1:])} |")
    print("|---|---:|---:|" + "---:|" * (len(names) - 1))
    for shape in options.shapes:
        for iterations in options.iterations:
            if options.memory:
                found = memory_of_each(shape, iterations, options.skip)
            else:
                seconds = medians(shape, iterations, options.repeats, options.skip)
                found = {name: 1e3 * each for name, each in seconds.items()}
            first, *others = found.values()
            ratios = " | ".join(f"{other / first:.2f}" for other in others)
            print(f"| {shape} | {iterations} | {first:.1f} | {ratios} |", flush=True)


if __name__ == "__main__":
    main()
