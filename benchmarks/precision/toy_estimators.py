"""Variance of gradient estimators on the toy problem of Kool, van Hoof and Welling (2020), against its entropy.

Three independent coins x_i show 1 with probability sigmoid(eta) each. The cost is sum_i (x_i - p_i)^2 with
p = (0.6, 0.51, 0.48), and the gradient of its expectation in eta is estimated from `--samples` outcomes. For
`expected_cost` the 8 outcomes are the items of a Plackett-Luce order of which only the first is drawn. A large |eta|
is a low entropy. Variances are those of one estimate; the bias is the distance of the mean estimate from the exact
gradient.

    python benchmarks/precision/toy_estimators.py --picture toy_estimators.png
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tools"))

import harness
import numpy as np
import tensorflow as tf

import keras_softsort as ks

P = np.array([0.6, 0.51, 0.48])
OUTCOMES = np.array(list(itertools.product([0.0, 1.0], repeat=3)))
COSTS = ((OUTCOMES - P) ** 2).sum(axis=1)
UNBIASED = ("score_function", "rloo", "without_replacement")
NAMES = {
    "score_function": "score function",
    "rloo": "leave-one-out",
    "without_replacement": "without replacement",
    "gumbel": "Gumbel-Softmax, tau 0.5",
    "straight_through": "straight-through, tau 0.5",
}


def exact_gradient(eta: float) -> float:
    """The derivative of `3 coins: s (1 - p)^2 + (1 - s) p^2` with s = sigmoid(eta)."""
    share = 1 / (1 + np.exp(-eta))
    return float((1 - 2 * P).sum() * share * (1 - share))


def log_probabilities(eta: tf.Tensor) -> tf.Tensor:
    """The log-probabilities of the 8 outcomes, `[..., 8]`."""
    outcomes = tf.constant(OUTCOMES)
    ones, zeros = tf.math.log_sigmoid(eta), tf.math.log_sigmoid(-eta)
    return tf.reduce_sum(outcomes * ones[..., None, None] + (1 - outcomes) * zeros[..., None, None], axis=-1)


def expected(name: str, logits: tf.Tensor, samples: int) -> tf.Tensor:
    """The expected cost, `[repeats]`, with the gradient of the estimator."""
    if name in UNBIASED:
        first = ks.PlackettLuce(logits, top_k=1)
        cost = lambda orders: tf.gather(tf.constant(COSTS), orders[..., 0])  # noqa: E731
        return ks.expected_cost(first, cost, num_samples=samples, estimator=name, seed=[1, 2])
    tiled = tf.repeat(logits[:, tf.newaxis], samples, axis=1)
    chosen = ks.ops.gumbel_softmax(tiled, 0.5, hard=name == "straight_through", seed=[1, 2])
    # A relaxation has to take the cost of a mixture of outcomes, each coin at its mean.
    coins = tf.linalg.matmul(chosen, tf.constant(OUTCOMES))
    return tf.reduce_mean(tf.reduce_sum((coins - P) ** 2, axis=-1), axis=-1)


def estimator(name: str, samples: int, repeats: int) -> Callable[[float], np.ndarray]:
    """A function from eta to independent estimates of the gradient, `[repeats]`."""

    @tf.function
    def gradients(eta: tf.Tensor) -> tf.Tensor:
        etas = tf.fill([repeats], eta)
        with tf.GradientTape() as tape:
            tape.watch(etas)
            cost = expected(name, log_probabilities(etas), samples)
        return tape.gradient(cost, etas)

    return lambda eta: gradients(tf.constant(eta, tf.float64)).numpy()


def rows(etas: Sequence[float], samples: int, repeats: int) -> Iterator[harness.Row]:
    estimators = {name: estimator(name, samples, repeats) for name in NAMES}
    for eta in etas:
        share = 1 / (1 + np.exp(-eta))
        entropy = -3 * (share * np.log(share) + (1 - share) * np.log(1 - share))
        row = {"eta": float(eta), "entropy": float(entropy), "exact gradient": exact_gradient(eta)}
        for name, run in estimators.items():
            found = run(eta)
            row[f"{NAMES[name]}: variance"] = float(found.var())
            row[f"{NAMES[name]}: bias"] = float(abs(found.mean() - exact_gradient(eta)))
        yield row


def draw(table: Sequence[harness.Row], samples: int, path: Path) -> None:
    """Variance against eta, a line per estimator."""
    import matplotlib.pyplot as plt  # noqa: PLC0415

    figure, axis = plt.subplots(figsize=(8, 5), layout="constrained")
    colors = ("#B33A3A", "#C98A1B", "#1F6F6B", "#8A8FA3", "#4A5A8A")
    for name, color in zip(NAMES.values(), colors, strict=True):
        dashed = "tau" in name
        label = f"{name} (biased)" if dashed else name
        variances = [row[f"{name}: variance"] for row in table]
        axis.plot([row["eta"] for row in table], variances, color=color, ls="--" if dashed else "-", lw=2, label=label)
    axis.set(yscale="log", xlabel="eta (0: highest entropy)", ylabel="variance of one estimate")
    axis.set_title(f"Three coins: the gradient from {samples} outcomes", loc="left")
    axis.legend(frameon=False, fontsize=9)
    harness.save_picture(figure, path)


def main(arguments: list[str] | None = None) -> dict:
    parser = harness.new_parser(__doc__)
    parser.add_argument("--samples", type=int, default=4)
    parser.add_argument("--etas", type=float, nargs="+", default=list(np.linspace(-4, 4, 17)))
    parser.add_argument("--repeats", type=int, default=50_000)
    parser.add_argument("--picture", type=Path, help="also draw the variances")
    options = parser.parse_args(arguments)
    result = harness.publish(
        "toy_estimators", {"variance": rows(options.etas, options.samples, options.repeats)}, options.json
    )
    if options.picture:
        draw(result["tables"]["variance"], options.samples, options.picture)
    return result


if __name__ == "__main__":
    main()
