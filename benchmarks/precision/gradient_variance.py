"""Variance and bias of the gradients that `expected_cost` estimates, against the gradient by enumeration.

The cost is minus the discounted gain of an order drawn from Plackett-Luce over 6 items. Every estimator is given as
many orders to evaluate. Variance is the sum over the 6 components, of one estimate; what is printed is its ratio to
that of the score function with as many samples. In brackets is the distance of the mean of the estimates from the
enumerated gradient, relative to the latter: the bias, or what is left of the noise where there is none.

    python benchmarks/precision/gradient_variance.py
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tools"))

import harness
import numpy as np
import tensorflow as tf

import keras_softsort as ks
from keras_softsort.distributions._orders import all_orders

ITEMS = 6
GAINS = np.array([3.0, 2.0, 1.0, 1.0, 0.0, 0.0])
DISCOUNTS = 1 / np.log2(np.arange(ITEMS) + 2)
UNBIASED = ("score_function", "rloo", "without_replacement")
RELAXED = {
    f"reparameterized, tau {tau:g}{', hard' * hard}": (tau, hard) for tau, hard in [(1, False), (0.1, False), (1, True)]
}


def order_cost(orders: tf.Tensor) -> tf.Tensor:
    """Minus the discounted gain of orders `[..., n]`."""
    return -tf.reduce_sum(tf.gather(tf.constant(GAINS), orders) * DISCOUNTS, axis=-1)


def matrix_cost(permutations: tf.Tensor) -> tf.Tensor:
    """Minus the discounted gain of permutation matrices `[..., n, n]`."""
    return -tf.reduce_sum(tf.linalg.matvec(permutations, tf.constant(GAINS)) * DISCOUNTS, axis=-1)


def true_gradient(logits: np.ndarray) -> np.ndarray:
    scores = tf.constant(logits)
    with tf.GradientTape() as tape:
        tape.watch(scores)
        orders = all_orders(ITEMS, ITEMS)
        cost = tf.reduce_sum(ks.PlackettLuce(scores).prob(orders) * order_cost(orders))
    return tape.gradient(cost, scores).numpy()


def gradients(estimate: Callable, logits: np.ndarray, repeats: int) -> np.ndarray:
    """Independent estimates `[repeats, n]`: a batch of equal lists."""

    @tf.function(reduce_retracing=True)
    def run(scores: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            tape.watch(scores)
            cost = estimate(scores)
        return tape.gradient(cost, scores)

    return run(tf.constant(np.tile(logits, [repeats, 1]))).numpy()


def estimators(samples: int) -> dict[str, Callable]:
    def unbiased(name: str) -> Callable:
        return lambda scores: ks.expected_cost(
            ks.PlackettLuce(scores), order_cost, num_samples=samples, estimator=name, seed=[1, 2]
        )

    def relaxed(tau: float, hard: bool) -> Callable:
        return lambda scores: ks.expected_cost(
            ks.RelaxedPlackettLuce(scores, tau, hard=hard),
            matrix_cost,
            num_samples=samples,
            estimator="reparameterized",
            seed=[1, 2],
        )

    return {name: unbiased(name) for name in UNBIASED} | {name: relaxed(*both) for name, both in RELAXED.items()}


def rows(spreads: Sequence[float], sample_counts: Sequence[int], repeats: int) -> Iterator[harness.Row]:
    for spread in spreads:
        logits = spread * np.random.default_rng(0).normal(size=ITEMS)
        truth = true_gradient(logits)
        entropy = float(ks.PlackettLuce(logits).entropy())
        for samples in sample_counts:
            cells: dict[str, str] = {}
            reference = None
            for name, estimate in estimators(samples).items():
                found = gradients(estimate, logits, repeats)
                variance = found.var(axis=0).sum()
                reference = reference or variance
                bias = np.linalg.norm(found.mean(axis=0) - truth) / np.linalg.norm(truth)
                cells[name] = f"{variance / reference:.2g} ({bias:.2f})"
            yield {"spread": spread, "entropy": entropy, "samples": samples, **cells}


def main(arguments: list[str] | None = None) -> dict:
    parser = harness.new_parser(__doc__)
    parser.add_argument("--samples", type=int, nargs="+", default=[2, 4, 8, 16])
    parser.add_argument("--spreads", type=float, nargs="+", default=[0.0, 1.0, 3.0, 10.0], help="of the logits")
    parser.add_argument("--repeats", type=int, default=4000)
    options = parser.parse_args(arguments)
    tables = {"variance": rows(options.spreads, options.samples, options.repeats)}
    return harness.publish("gradient_variance", tables, options.json)


if __name__ == "__main__":
    main()
