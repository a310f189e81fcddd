"""From a log of clicks to a served ranker: users click what they look at, and they look at the top of a list.

By default the lists are wards of real patients, to be ranked by the progression of their disease
(`benchmarks/tools/ranking_data.py`). `--train` and `--test` take SVMlight or LETOR files instead. A weak ranker,
trained on three judged lists, has shown ten items in each session: always in one order (`--log fixed`), or in
Plackett-Luce orders of its scores (`--log random`). A user looks at the position r with probability 1 / r, and clicks
on some of what is relevant there.

A ranker learns from the clicks as they are, from clicks weighted by 1 / examination, and together with the examination
of positions by `ClickEMLoss` and `DualLearningLoss`. Training on the labels of what was shown is the upper bound. The
measure is NDCG@5 on unseen lists, over seeds of the log and of the first weights. The last ranker is exported without
any input of positions, and the scores of the export are compared with its own.

    python experiments/clicks_to_ranker.py                # a fixed log, five seeds, over a minute
    python experiments/clicks_to_ranker.py --log random
    python experiments/clicks_to_ranker.py --train rank.train --test rank.test
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

from _shared import command_line

POSITIONS = 10


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Options of the command line."""
    quick = {"seeds": 1, "steps": 3, "sessions": 500, "wards": 20}
    parser = command_line.new_parser(__doc__, "clicks_to_ranker", quick)
    add, at_least = parser.add_argument, command_line.at_least
    add("--train", type=Path, help="SVMlight file (with --test); a file .query beside it has the list sizes")
    add("--test", type=Path, help="SVMlight file (with --train)")
    add("--wards", type=at_least(4), default=300, help="lists of patients for training, and as many for testing")
    add("--log", choices=["fixed", "random"], default="fixed", help="whether a list is always shown in one order")
    add("--sessions", type=at_least(1), default=50_000, help="in the log")
    add("--seeds", type=at_least(1), default=5, help="logs, each with its own first weights")
    add("--steps", type=at_least(1), default=500, help="of each training, with 256 sessions each")
    add("--hidden", type=at_least(0), default=0, help="width of a hidden layer of the ranker; 0 for none")
    add("--learning-rate", type=command_line.positive, default=3e-3, help="of Adam")
    options = command_line.parse(parser, arguments, quick)
    command_line.check_files(parser, options)
    return options


if __name__ == "__main__":
    OPTIONS = parse()  # a wrong argument fails here, before the seconds that TensorFlow takes to import
    command_line.import_tensorflow()

import sys

sys.path.append(str(Path(__file__).parents[1] / "benchmarks" / "tools"))

import numpy as np
import tensorflow as tf
from _shared.pictures.clicks import draw_clicks
from ranking_data import from_files, patients
from sklearn.linear_model import Ridge
from tensorflow import keras

import keras_softsort as ks
from keras_softsort import serving
from keras_softsort.data import ClickLog, RankingDataset

EXAMINATION = 1 / np.arange(1, POSITIONS + 1)
# The loss, and what it learns from: labels, clicks, or clicks weighted by 1 / examination. Towers have two logits.
METHODS: dict[str, tuple[Any, str]] = {
    "labels, SoftmaxLoss": (ks.SoftmaxLoss, "labels"),
    "clicks, SoftmaxLoss": (ks.SoftmaxLoss, "clicks"),
    "clicks, RankNetLoss": (lambda: ks.RankNetLoss(normalization="none"), "clicks"),
    "weighted, SoftmaxLoss": (ks.SoftmaxLoss, "weighted"),
    "weighted, RankNetLoss": (lambda: ks.RankNetLoss(normalization="none"), "weighted"),
    "ClickEMLoss": (lambda: ks.ClickEMLoss(normalization="none"), "towers"),
    "DualLearningLoss": (ks.DualLearningLoss, "towers"),
}


class PositionTower(keras.layers.Layer):
    """Puts a logit of examination, one per position, before the logit of relevance of each item."""

    def build(self, input_shape: Any) -> None:
        """One logit per position."""
        self.logits = self.add_weight(name="logits", shape=[input_shape[1]], initializer="zeros")

    def call(self, relevance: tf.Tensor) -> tf.Tensor:
        """Both logits `[batch, n, 2]` from those of relevance `[batch, n, 1]`."""
        # Ten times a variable: at the rate of the ranker ten numbers would hardly move.
        examination = tf.zeros_like(relevance) + 10 * tf.convert_to_tensor(self.logits)[:, tf.newaxis]
        return tf.concat([examination, relevance], axis=-1)


def new_ranker(features: int, options: argparse.Namespace) -> keras.Model:
    """A score per item, which sees no position."""
    hidden = [keras.layers.Dense(options.hidden, activation="relu")] if options.hidden else []
    return keras.Sequential([keras.Input([None, features]), *hidden, keras.layers.Dense(1)])


def new_log(lists: RankingDataset, seed: int, options: argparse.Namespace) -> ClickLog:
    """Sessions with a ranker that was trained on three lists."""
    judged = lists[np.random.default_rng(seed).permutation(len(lists))[:3]]
    scores = Ridge().fit(judged.features, judged.labels).predict(lists.features)
    return ks.data.simulate_clicks(
        lists,
        scores,
        sessions=options.sessions,
        examination=EXAMINATION,
        tau=0.0 if options.log == "fixed" else float(scores.std()),
        seed=seed,
    )


def batches(lists: RankingDataset, log: ClickLog, source: str) -> tf.data.Dataset:
    """Features of what was shown, labels or clicks, and the weights of clicks."""
    gains = (2**lists.labels - 1) / 15
    targets = np.where(log.mask, gains[log.items], -1).astype(np.float32) if source == "labels" else log.clicks
    weights = 1 / EXAMINATION if source == "weighted" else np.ones(POSITIONS)
    features = tf.constant(lists.features)

    def gathered(items: tf.Tensor, targets: tf.Tensor) -> tuple[tf.Tensor, ...]:
        own = tf.broadcast_to(tf.constant(weights[: log.items.shape[1]], tf.float32), tf.shape(targets))
        return tf.gather(features, items), targets, own

    sessions = tf.data.Dataset.from_tensor_slices((log.items, targets))
    return sessions.shuffle(len(log), seed=0).repeat().batch(256).map(gathered).prefetch(2)


def train(
    method: str, lists: RankingDataset, log: ClickLog, seed: int, options: argparse.Namespace
) -> tuple[keras.Model, np.ndarray | None]:
    """The ranker, and the examination of positions if the method estimates it."""
    make_loss, source = METHODS[method]
    keras.utils.set_random_seed(seed)
    ranker = new_ranker(lists.features.shape[1], options)
    trained, tower = ranker, None
    if source == "towers":
        tower = PositionTower()
        shown = keras.Input([log.items.shape[1], lists.features.shape[1]])
        trained = keras.Model(shown, tower(ranker(shown)))
    trained.compile(keras.optimizers.Adam(options.learning_rate), loss=make_loss())
    trained.fit(batches(lists, log, source), steps_per_epoch=options.steps, shuffle=False, verbose=0)
    if tower is None:
        return ranker, None
    logits = 10 * np.asarray(tower.logits, np.float64)
    # ClickEMLoss has probabilities, and DualLearningLoss weights up to a factor.
    seen = 1 / (1 + np.exp(-logits)) if method == "ClickEMLoss" else np.exp(logits)
    return ranker, seen / seen[0]


def ndcg(ranker: keras.Model, lists: RankingDataset) -> float:
    """The mean NDCG@5."""
    metric = ks.NDCG(5, lists="groups")
    scores = ranker.predict(lists.features[np.newaxis], verbose=0)[0]
    groups = np.repeat(np.arange(len(lists)), lists.sizes)
    metric.update_state(np.stack([groups, lists.labels], axis=1), scores)
    return float(metric.result())


def export(ranker: keras.Model, lists: RankingDataset, options: argparse.Namespace) -> None:
    """Export the ranker, which has no input of positions, and compare the scores of the export with its own."""
    folder = serving.export_ranker(ranker, options.output / "ranker")
    features, _ = lists[0]
    (scores,) = serving.Scorer(folder).score([features])
    own = ranker.predict(features[np.newaxis], verbose=0)[0, :, 0]
    np.testing.assert_allclose(scores, own, rtol=1e-4, atol=1e-5)
    print(f"Exported to {folder}: it gives the scores of the model, without positions")


def report(results: dict[str, list[float]], curves: dict[str, list[list[float]]]) -> None:
    """Print means over seeds, and the largest errors of the estimated examinations."""
    naive = results["clicks, RankNetLoss"]
    print(f"\n{'NDCG@5 on unseen lists':24}{'mean':>8}{'least':>8}{'most':>8}{'ahead of clicks, RankNetLoss':>32}")
    for name, values in results.items():
        ahead = "" if values is naive else f"{np.sum(np.array(values) > naive)} of {len(naive)}"
        print(f"{name:24}{np.mean(values):8.3f}{min(values):8.3f}{max(values):8.3f}{ahead:>32}")
    print(f"\n{'examination':24}{'largest error over positions, by seed'}")
    for name, found in curves.items():
        print(f"{name:24}" + "".join(f"{np.abs(curve - EXAMINATION[: len(curve)]).max():8.3f}" for curve in found))


def main(options: argparse.Namespace) -> dict:
    """Simulate, train by each method, compare, draw, export."""
    training, test = patients(options.wards) if options.train is None else from_files([options.train, options.test])
    results: dict[str, list[float]] = {name: [] for name in METHODS}
    curves: dict[str, list[list[float]]] = {"examination_curve": []}
    for seed in range(options.seeds):
        log = new_log(training, seed, options)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            curves["examination_curve"].append(ks.data.examination_curve(log)[0].tolist())
        for name in METHODS:
            ranker, curve = train(name, training, log, seed, options)
            results[name].append(ndcg(ranker, test))
            if curve is not None:
                curves.setdefault(name, []).append(curve.tolist())
        latest = ", ".join(f"{name} {values[-1]:.3f}" for name, values in results.items())
        warned = f" (warning: {caught[0].message})" if caught else ""
        print(f"seed {seed + 1} of {options.seeds}{warned}: {latest}")
    report(results, curves)
    ranker, _ = train("weighted, RankNetLoss", training, log, seed, options)
    export(ranker, test, options)
    picture = draw_clicks(results, curves, EXAMINATION, options.log, options.output / "clicks_to_ranker.png")
    print(f"\nPicture: {picture}")
    return command_line.save_report(options, "clicks_to_ranker", results=results, curves=curves)


if __name__ == "__main__":
    main(OPTIONS)
