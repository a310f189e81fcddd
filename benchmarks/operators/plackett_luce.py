"""Time and accuracy of Plackett-Luce beside TFP's: log-probability, forward and backward, and sampling.

`tfd.PlackettLuce` takes positive scores: it is given the exponentials. The candidates take turns in one process and the
figures are medians, as ratios to ours. Errors are the largest against the same formula in float64, of log-probabilities
relative to themselves, on logits of three ranges: TFP's sums lose small scores, and its exponentials overflow.

    python benchmarks/operators/plackett_luce.py
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tools"))

import harness
import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp
from steps import runner

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
    """One order per list."""
    return lambda logits, _: peer(logits).sample(seed=tf.constant([1, 2]))


def builtin(logits: tf.Tensor, orders: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """The log-probability by TensorFlow's own cumulative logsumexp."""
    with tf.GradientTape() as tape:
        tape.watch(logits)
        chosen = tf.gather(logits, orders, batch_dims=1)
        values = tf.reduce_sum(chosen - tf.math.cumulative_logsumexp(chosen, axis=-1, reverse=True), axis=-1)
    return values, tape.gradient(values, logits)


def data(shape: str, spread: float) -> tuple[np.ndarray, np.ndarray]:
    """Log-scores, and an order of each list drawn from them."""
    size = tuple(map(int, shape.split("x")))
    logits = (spread * np.random.default_rng(0).normal(size=size)).astype(np.float32)
    return logits, ks.PlackettLuce(logits).sample(seed=1).numpy()


def times(shapes: list[str], repeats: int) -> Iterator[harness.Row]:
    for shape in shapes:
        for jit in (True, None):
            for what, make in (("log_prob, gradient", log_prob), ("sample", sample)):
                functions = {name: make(peer) for name, peer in PEERS.items()}
                if make is log_prob:
                    functions["cumulative_logsumexp"] = builtin
                traced = [tf.function(function, jit_compile=jit) for function in functions.values()]
                runs = [runner(function, *data(shape, 1.0)) for function in traced]
                ours, *others = harness.alternating_medians(runs, repeats)
                found = dict(zip(list(functions)[1:], others, strict=True))
                ratios = {
                    f"{name} / ours": found[name] / ours if name in found else None
                    for name in ("TFP", "cumulative_logsumexp")
                }
                mode = "XLA" if jit else "TF"
                yield {"shape": shape, "what": what, "mode": mode, "ours, ms": 1e3 * ours, **ratios}


def truth(logits: np.ndarray, orders: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The log-probabilities and their gradient, in float64 NumPy."""
    chosen = np.take_along_axis(logits.astype(np.float64), orders, axis=-1)
    normalizers = np.logaddexp.accumulate(chosen[:, ::-1], axis=-1)[:, ::-1]
    slopes = np.zeros_like(chosen)
    shares = np.exp(chosen + np.logaddexp.accumulate(-normalizers, axis=-1))
    np.put_along_axis(slopes, orders, 1 - shares, axis=-1)
    return np.sum(chosen - normalizers, axis=-1), slopes


def errors(shapes: list[str]) -> Iterator[harness.Row]:
    for shape in shapes:
        for spread in (1.0, 10.0, 100.0):
            logits, orders = data(shape, spread)
            values, slopes = truth(logits, orders)
            found: harness.Row = {}
            for name, peer in PEERS.items():
                results = log_prob(peer)(tf.constant(logits), tf.constant(orders))
                found_values, found_slopes = (result.numpy().astype(np.float64) for result in results)
                found[f"log_prob, {name}"] = float(np.max(np.abs(found_values / values - 1)))
                found[f"gradient, {name}"] = float(np.max(np.abs(found_slopes - slopes)))
            yield {"shape": shape, "spread of logits": spread, **found}


def main(arguments: list[str] | None = None) -> dict:
    parser = harness.new_parser(__doc__)
    parser.add_argument("--shapes", nargs="+", default=["64x100", "8x10000"], help="batch x size")
    parser.add_argument("--repeats", type=int, default=25)
    options = parser.parse_args(arguments)
    tables = {"time": times(options.shapes, options.repeats), "error": errors(options.shapes)}
    return harness.publish("plackett_luce", tables, options.json)


if __name__ == "__main__":
    main()
