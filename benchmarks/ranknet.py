"""Time and peak memory of RankNet, forward and backward: ours beside the dense formula, TF-Ranking's and Keras-RS'.

The dense formula is a tensor of all pairs, differentiated by TensorFlow. The pairwise logistic losses of TF-Ranking and
of Keras-RS take part where they are installed. Each candidate runs as a `tf.function`, with XLA and without. They
alternate within one process and the figures are medians; peak memory is what a process of its own grew by. Values and
gradients are compared first.

    python benchmarks/ranknet.py
    python benchmarks/ranknet.py --memory
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

Loss = Callable[[tf.Tensor, tf.Tensor], tf.Tensor]


def dense(labels: tf.Tensor, scores: tf.Tensor) -> tf.Tensor:
    pairs = tf.cast(labels[:, :, tf.newaxis] > labels[:, tf.newaxis, :], scores.dtype)
    return tf.reduce_sum(pairs * tf.math.softplus(scores[:, tf.newaxis, :] - scores[:, :, tf.newaxis]))


def losses() -> dict[str, Loss]:
    """Each as the sum over all pairs of all lists."""
    found: dict[str, Loss] = {"ours": ks.RankNetLoss(normalization="none", reduction="sum"), "dense": dense}
    if importlib.util.find_spec("tensorflow_ranking"):
        import tensorflow_ranking as tfr  # noqa: PLC0415  (an optional peer)

        found["TF-Ranking"] = tfr.keras.losses.PairwiseLogisticLoss(reduction="sum")
    if importlib.util.find_spec("keras_rs"):
        import keras_rs  # noqa: PLC0415  (an optional peer)

        found["Keras-RS"] = keras_rs.losses.PairwiseLogisticLoss(reduction="sum")
    return found


def step(loss: Loss, jit: bool) -> Callable:
    """Value and gradient as one function."""

    @tf.function(jit_compile=True if jit else None)
    def run(labels: tf.Tensor, scores: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        with tf.GradientTape() as tape:
            tape.watch(scores)
            value = loss(labels, scores)
        return value, tape.gradient(value, scores)

    return lambda labels, scores: [result.numpy() for result in run(tf.constant(labels), tf.constant(scores))]


def candidates(skipped: Sequence[str] = ()) -> dict[str, Callable]:
    found = {f"{name}, {'XLA' if jit else 'TF'}": step(loss, jit) for name, loss in losses().items() for jit in (1, 0)}
    return {name: run for name, run in found.items() if not name.startswith(tuple(skipped))}


def data(shape: str) -> tuple[np.ndarray, np.ndarray]:
    """Labels from 0 to 4 and normal scores."""
    batch, size = map(int, shape.split("x"))
    random = np.random.default_rng(0)
    return random.integers(0, 5, size=(batch, size)).astype(np.float32), random.normal(size=(batch, size)).astype("f")


def medians(shape: str, repeats: int, skipped: Sequence[str]) -> dict[str, float]:
    """Seconds of each candidate, once their results have been seen to agree."""
    arrays, steps = data(shape), candidates(skipped)
    value, gradient = next(iter(steps.values()))(*arrays)
    for name, run in steps.items():
        other_value, other_gradient = run(*arrays)
        # A peer's plain sum of 1e8 pairs in float32 has two digits; ours has to agree with itself.
        many = arrays[0].size * arrays[0].shape[1] >= 1e8
        rtol = 1e-2 if many and not name.startswith("ours") else 1e-4
        np.testing.assert_allclose(other_value, value, rtol=rtol, err_msg=name)
        np.testing.assert_allclose(other_gradient, gradient, rtol=1e-3, atol=1e-5 * arrays[0].shape[1], err_msg=name)
    times: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(repeats):
        for name, run in steps.items():
            start = time.perf_counter()
            run(*arrays)
            times[name].append(time.perf_counter() - start)
    return {name: float(np.median(found)) for name, found in times.items()}


def peak_memory(shape: str, name: str) -> float:
    """MiB by which a run grows a process that has all libraries loaded and has compiled something."""
    run = candidates()[name]
    run(*(array[:, :8] for array in data(shape)))
    arrays = data(shape)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    run(*arrays)
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


def memory_of_each(shape: str, skipped: Sequence[str]) -> dict[str, float]:
    found = {}
    for name in candidates(skipped):
        command = [sys.executable, __file__, "--one", name, "--shapes", shape]
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        found[name] = float(output.splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shapes", nargs="+", default=["256x200", "8x2000", "1x20000"], help="batch x size")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--skip", nargs="+", default=[], help="leave out candidates whose names start like this")
    parser.add_argument("--memory", action="store_true", help="peak memory in MiB in place of time")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(peak_memory(options.shapes[0], options.one))
        return
    names = list(candidates(options.skip))
    print(f"| shape | {' | '.join(names)} | in {'MiB' if options.memory else 'ms'}")
    print("|---|" + "---:|" * len(names))
    for shape in options.shapes:
        if options.memory:
            found = memory_of_each(shape, options.skip)
        else:
            found = {name: 1e3 * each for name, each in medians(shape, options.repeats, options.skip).items()}
        print(f"| {shape} | {' | '.join(f'{value:.1f}' for value in found.values())} |", flush=True)


if __name__ == "__main__":
    main()
