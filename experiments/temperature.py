"""Find the temperatures that train well, in standard deviations of the scores: `scale="std"` beside scores as they are.

A network with one hidden layer learns to order lists of 10 numbers from 0 to 99, each given as two scanned digits of
scikit-learn's 8 x 8 pictures. It sees only the order of the numbers. Every loss is tried at temperatures from 0.001 to
100. The figure is the mean Spearman correlation on lists of digits that are not in the training part, over `--seeds`
splits, after `--steps` steps of Adam at its rate 0.01, with 16 lists each. All temperatures and splits train at once,
as one network with a leading axis.

The plateau is the widest run of temperatures around the best one whose correlation is within 0.02 of it.

    python experiments/temperature.py --json benchmarks/results/temperature.json
    python experiments/temperature.py --json benchmarks/results/temperature.json --again --picture FILE
"""

from __future__ import annotations

import argparse
import functools
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "benchmarks" / "tools"))

import harness
import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits

import keras_softsort as ks
from keras_softsort import ops
from keras_softsort.ops.core.deviations import in_deviations

SIZE, HIDDEN, LISTS, TEST_LISTS = 10, 64, 16, 200
TAUS = np.round(10.0 ** np.arange(-3, 2.01, 1 / 3), 5)
WITHIN = 0.02
# The names that a picture shows: of the losses with these operators.
CLASSES = {
    f"{each().name}_loss": each.__name__
    for each in map(vars(ks.losses).get, ks.losses.__all__)
    if isinstance(each, type) and issubclass(each, ks.ScoreLoss) and each is not ks.ScoreLoss
}
LOSSES: dict[str, Callable[..., tf.Tensor]] = {
    **{
        f'spearman_loss, "{method}"': functools.partial(ops.spearman_loss, method=method)
        for method in ("neural_sort", "soft_sort", "lapsum", "projection", "projection_kl")
    },
    "neural_ndcg_loss": ops.neural_ndcg_loss,
    "neural_sort_cross_entropy_loss": ops.neural_sort_cross_entropy_loss,
    "approx_ndcg_loss": ops.approx_ndcg_loss,
    "ranknet_loss": ops.ranknet_loss,
    "plackett_luce_loss": ops.plackett_luce_loss,
    "softmax_loss": ops.softmax_loss,
}


class Networks:
    """A network for each of `runs`, with a hidden layer of ReLUs: features `[runs, ..., d]` to scores `[runs, ...]`."""

    def __init__(self, features: int, runs: int, seed: int) -> None:
        random = np.random.default_rng(seed)
        shapes = [(features, HIDDEN), (HIDDEN, 1)]
        draws = [random.normal(size=shape) * np.sqrt(2 / shape[0]) for shape in shapes]
        self.weights = [tf.Variable(np.repeat(each[np.newaxis], runs, 0), dtype=tf.float32) for each in draws]
        self.biases = [tf.Variable(tf.zeros([runs, shape[1]])) for shape in shapes]
        self.variables = [*self.weights, *self.biases]

    def __call__(self, features: tf.Tensor) -> tf.Tensor:
        """The scores."""
        hidden = tf.nn.relu(self._layer(features, 0))
        return self._layer(hidden, 1)[..., 0]

    def _layer(self, values: tf.Tensor, number: int) -> tf.Tensor:
        products = tf.einsum("r...i,rio->r...o", values, self.weights[number])
        return products + self.biases[number][:, tf.newaxis, tf.newaxis]


def split(seed: int, steps: int) -> tuple[np.ndarray, ...]:
    """Lists of pictures for each step, from half of the digits, and lists from the other half, with their numbers."""
    pictures, digits = load_digits(return_X_y=True)
    random = np.random.default_rng(seed)
    train, test = np.array_split(random.permutation(len(digits)), 2)
    found = []
    for part, lists in ((train, (steps, LISTS)), (test, (TEST_LISTS,))):
        pairs = random.choice(part, [*lists, SIZE, 2])
        found += [
            np.reshape(pictures[pairs] / 16, [*lists, SIZE, 128]),
            digits[pairs] @ [0.5, 0.05],
        ]  # 0 to 4.95, for gains
    return tuple(found)


def correlations(loss: Callable[..., tf.Tensor], has_scale: bool, options: argparse.Namespace) -> np.ndarray:
    """The mean correlation on held-out lists: [temperatures, seeds]."""
    seeds, runs = range(options.seeds), len(TAUS) * options.seeds
    # [seeds, ...]; the run of temperature t and seed s is number t * seeds + s.
    features, labels, test_features, test_labels = (
        np.stack(each).astype(np.float32) for each in zip(*(split(seed, options.steps) for seed in seeds), strict=True)
    )
    networks = Networks(features.shape[-1], runs, 0)
    adam, tau = tf.keras.optimizers.Adam(0.01), tf.constant(np.repeat(TAUS, options.seeds)[:, np.newaxis], tf.float32)
    adam.build(networks.variables)

    def of_runs(each: tf.Tensor) -> tf.Tensor:
        return tf.tile(each, [len(TAUS), *[1] * (len(each.shape) - 1)])

    def scores_of(each: tf.Tensor) -> tf.Tensor:
        return in_deviations(networks(of_runs(each)), None) if has_scale else networks(of_runs(each))

    @tf.function(jit_compile=True)
    def step(features: tf.Tensor, labels: tf.Tensor) -> None:
        with tf.GradientTape() as tape:
            losses = loss(scores_of(features), of_runs(labels), tau=tau)
            total = tf.reduce_sum(tf.reduce_mean(losses, axis=1))  # runs do not share a weight
        adam.apply_gradients(zip(tape.gradient(total, networks.variables), networks.variables, strict=True))

    for number in range(options.steps):
        step(tf.constant(features[:, number]), tf.constant(labels[:, number]))
    found = ops.spearman_correlation(scores_of(tf.constant(test_features)), of_runs(tf.constant(test_labels)))
    return np.reshape(tf.reduce_mean(found, axis=1), [len(TAUS), options.seeds])


def plateau(means: np.ndarray) -> tuple[float, float]:
    """The lowest and the highest temperature of the plateau."""
    best = low = high = int(np.nanargmax(means))
    good = means >= means[best] - WITHIN
    while low and good[low - 1]:
        low -= 1
    while high + 1 < len(means) and good[high + 1]:
        high += 1
    return float(TAUS[low]), float(TAUS[high])


def rows(options: argparse.Namespace) -> Iterator[harness.Row]:
    """The best correlation, its standard deviation over seeds, and the plateau, of each loss in both units."""
    for name in options.losses:
        for scale in ('"std"', "None"):
            found = correlations(LOSSES[name], scale != "None", options)
            means = found.mean(axis=1)
            best = int(np.nanargmax(means))
            low, high = plateau(means)
            row: dict[str, Any] = {"loss": f"`{name}`", "scale": f"`{scale}`"}
            row |= {"best": f"{means[best]:.3f} ({found[best].std():.3f})", "at tau": float(TAUS[best])}
            row |= {"plateau from": low, "to": high}
            # For the picture.
            options.curves.append({"loss": name, "scale": scale, "means": [round(float(each), 4) for each in means]})
            yield row


def curves(options: argparse.Namespace) -> Iterator[harness.Row]:
    """The correlation at every temperature."""
    for curve in options.curves:
        values = {f"{tau:g}": mean for tau, mean in zip(TAUS, curve["means"], strict=True)}
        yield {"loss": curve["loss"], "scale": curve["scale"], **values}


def draw(found: Sequence[harness.Row], path: Path) -> None:
    """The correlation by the temperature, a panel per loss, with the scale and without."""
    import matplotlib.pyplot as plt  # noqa: PLC0415

    names = list(dict.fromkeys(row["loss"] for row in found))
    figure, axes = plt.subplots(4, 3, figsize=(10, 11), sharex=True, sharey=True, layout="constrained")
    for axis, name in zip(axes.flat, names, strict=False):
        for scale, style in (('"std"', {"color": "#1F6F6B", "lw": 2.5}), ("None", {"color": "#C98A1B", "lw": 1.5})):
            means = next(
                [row[f"{tau:g}"] for tau in TAUS] for row in found if row["loss"] == name and row["scale"] == scale
            )
            axis.semilogx(TAUS, means, label=f"scale={scale}", **style)
            if scale != "None":
                axis.axvspan(*plateau(np.array(means)), color=style["color"], alpha=0.12, lw=0)
        operator, _, method = name.partition(", ")
        axis.set_title(", ".join(part for part in (CLASSES[operator], method) if part), loc="left", fontsize=13)
        axis.set_xticks([0.001, 0.1, 10])
        axis.tick_params(labelsize=13)
    for axis in axes.flat[len(names) :]:
        axis.set_axis_off()
    axes.flat[-1].legend(*axes.flat[0].get_legend_handles_labels(), frameon=False, loc="center", fontsize=16)
    figure.supxlabel("tau", fontsize=15)
    figure.supylabel("Spearman correlation on held-out lists", fontsize=15)
    harness.save_picture(figure, path)


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    """Run the trainings."""
    parser = harness.new_parser(__doc__)
    parser.add_argument("--seeds", type=int, default=3, help="splits of the digits")
    parser.add_argument("--steps", type=int, default=500, help="of each training")
    parser.add_argument(
        "--losses", nargs="+", choices=LOSSES, default=list(LOSSES), metavar="LOSS", help="which losses"
    )
    parser.add_argument("--picture", type=Path, help="also draw the curves")
    parser.add_argument("--again", action="store_true", help="train nothing, use the rows of the file of --json")
    options = parser.parse_args(arguments)
    options.curves = []
    if options.again:
        result = json.loads(options.json.read_text())
    else:
        result = harness.publish("temperature", {"plateaus": rows(options), "curves": curves(options)}, options.json)
    if options.picture:
        draw(result["tables"]["curves"], options.picture)
    return result


if __name__ == "__main__":
    main()
