"""Time and accuracy of Plackett-Luce beside TFP's: log-probability, forward and backward, and sampling.

`tfd.PlackettLuce` takes positive scores: it is given the exponentials. The candidates alternate within one process and
the figures are medians. Errors are relative to the same formula in float64, on logits of two ranges: TFP's sums
lose small scores, and its exponentials overflow.

    python benchmarks/plackett_luce.py
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp

import keras_softsort as ks

tfd = tfp.distributions
PEERS = {"ours": ks.PlackettLuce, "TFP": lambda logits: tfd.PlackettLuce(tf.exp(logits))}


def log_prob(peer: Callable) -> Callable:
    """Log-probabilities and the gradient of their sum."""

    def run(logits: tf.Tensor, orders: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        with tf.GradientTape() as tape:
            tape.watch(logits)
            values = peer(logits).log_prob(orders)
        return values, tape.gradient(values, logits)

    return run


def sample(peer: Callable) -> Callable:
    """One order of each list."""
    return lambda logits, _: peer(logits).sample(seed=tf.constant([1, 2]))


def builtin(logits: tf.Tensor, orders: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """The log-probability by TensorFlow's own cumulative logsumexp."""
    with tf.GradientTape() as tape:
        tape.watch(logits)
        chosen = tf.gather(logits, orders, batch_dims=1)
        values = tf.reduce_sum(chosen - tf.math.cumulative_logsumexp(chosen, axis=-1, reverse=True), axis=-1)
    return values, tape.gradient(values, logits)


def medians(runs: dict[str, Callable], arguments: tuple, repeats: int) -> dict[str, float]:
    for run in runs.values():
        run(*arguments)
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repeats):
        for name, run in runs.items():
            start = time.perf_counter()
            tf.nest.map_structure(lambda result: result.numpy(), run(*arguments))
            times[name].append(time.perf_counter() - start)
    return {name: float(np.median(found)) for name, found in times.items()}


def data(shape: str, spread: float) -> tuple[tf.Tensor, tf.Tensor]:
    """Log-scores, and an order of each list drawn from them."""
    size = tuple(map(int, shape.split("x")))
    logits = tf.constant(spread * np.random.default_rng(0).normal(size=size), tf.float32)
    return logits, ks.PlackettLuce(logits).sample(seed=1)


def truth(logits: np.ndarray, orders: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The log-probabilities and their gradient, in float64 NumPy."""
    chosen = np.take_along_axis(logits.astype(np.float64), orders, axis=-1)
    normalizers = np.logaddexp.accumulate(chosen[:, ::-1], axis=-1)[:, ::-1]
    slopes = np.zeros_like(chosen)
    shares = np.exp(chosen + np.logaddexp.accumulate(-normalizers, axis=-1))
    np.put_along_axis(slopes, orders, 1 - shares, axis=-1)
    return np.sum(chosen - normalizers, axis=-1), slopes


def errors(peer: Callable, logits: tf.Tensor, orders: tf.Tensor) -> tuple[float, float]:
    """The largest error of a log-probability relative to itself, and of a gradient."""
    found = [result.numpy().astype(np.float64) for result in log_prob(peer)(logits, orders)]
    values, slopes = truth(logits.numpy(), orders.numpy())
    return float(np.max(np.abs(found[0] / values - 1))), float(np.max(np.abs(found[1] - slopes)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shapes", nargs="+", default=["64x100", "8x10000"], help="batch x size")
    parser.add_argument("--repeats", type=int, default=25)
    options = parser.parse_args()
    print(
        "| shape | what | run by | ours, ms | TFP / ours | cumulative_logsumexp / ours |\n|---|---|---|---:|---:|---:|"
    )
    for shape in options.shapes:
        for jit in (True, None):
            for what, make in (("log_prob, gradient", log_prob), ("sample", sample)):
                runs = {name: tf.function(make(peer), jit_compile=jit) for name, peer in PEERS.items()}
                if make is log_prob:
                    runs["builtin"] = tf.function(builtin, jit_compile=jit)
                first, *others = medians(runs, data(shape, 1.0), options.repeats).values()
                ratios = " | ".join([f"{other / first:.2f}" for other in others] + [""] * (2 - len(others)))
                print(f"| {shape} | {what} | {'XLA' if jit else 'TF'} | {1e3 * first:.2f} | {ratios} |", flush=True)
    print("\n| shape | spread of logits | log_prob, error of ours | of TFP's | gradient, error of ours | of TFP's |")
    print("|---|---:|---:|---:|---:|---:|")
    for shape in options.shapes:
        for spread in (1.0, 10.0, 100.0):
            arguments = data(shape, spread)
            ours, theirs = (errors(peer, *arguments) for peer in PEERS.values())
            figures = " | ".join(f"{error:.0e}" for pair in zip(ours, theirs, strict=True) for error in pair)
            print(f"| {shape} | {spread:g} | {figures} |")


if __name__ == "__main__":
    main()
