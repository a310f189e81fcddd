"""Losses of embeddings beside each other: recall@1 and MAP@R on images of classes that training has or has not seen.

A small convolutional network maps images to unit vectors. Each loss trains it, in batches of equally many images of
each class. It is measured on test images: each is a query, and the others are its candidates. "unseen": trained on
images of the first half of the classes and tested on the other half; "seen": trained and tested on all.

Each loss has one setting, its temperature or what corresponds to it. The best of three is chosen by MAP@R on two
classes after training on three, all among the classes of "unseen", with another seed. Then the network is trained anew
with each of the seeds. The run can be stopped and resumed: rows that the file of `--json` has are not computed again.

    python experiments/retrieval.py --json benchmarks/results/retrieval.json
    python experiments/retrieval.py --images digits --seconds 100 --json output/digits.json
"""

from __future__ import annotations

import argparse
import functools
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "benchmarks" / "tools"))


import harness
import numpy as np
import tensorflow as tf
from _shared import labelled_images
from _shared.labelled_images import Images
from retrieval_peers import circle, cosine_softmax, in_batch_softmax, triplet
from tensorflow import keras

import keras_softsort as ks

SPLITS, BATCH, TUNING_SEED = ("unseen", "seen"), 120, 100
# Images in all of training and of test, and the filters of the network.
SIZES = {"digits": (1000, 800, (16, 32)), "cifar10": (10_000, 2000, (16, 32, 64))}
KEY = ("images", "split", "loss", "setting", "seed")
MEASURES = ("recall@1", "MAP@R")


LOSSES: dict[str, tuple[Any, tuple[float, ...]]] = {
    "RetrievalLoss, average precision": (lambda tau: ks.RetrievalLoss(tau=tau), (0.02, 0.05, 0.15)),
    "DkNNLoss, k=9": (lambda tau: ks.DkNNLoss(9, tau), (0.5, 2.0, 8.0)),
    "in-batch softmax": (in_batch_softmax, (0.05, 0.1, 0.3)),
    "triplet, semi-hard": (triplet, (0.1, 0.3, 0.6)),
    "circle": (circle, (16.0, 64.0, 256.0)),
    "cosine classifier": (cosine_softmax, (0.05, 0.1, 0.3)),
    "pixels, no training": (None, (0.0,)),
}


def encoder(shape: tuple[int, ...], filters: tuple[int, ...]) -> keras.Sequential:
    """A convolution per number of filters, all but the first of small images with stride 2."""
    layers = [keras.Input(shape)]
    for i, count in enumerate(filters):
        stride = 1 if i == 0 and shape[0] < 16 else 2
        layers += [keras.layers.Conv2D(count, 3, stride, "same", use_bias=False), keras.layers.BatchNormalization()]
        layers += [keras.layers.ReLU()]
    return keras.Sequential([*layers, keras.layers.Flatten(), keras.layers.Dense(64), keras.layers.UnitNormalization()])


def batches(images: Images, steps: int, seed: int) -> tf.data.Dataset:
    """Batches with as many images of each class as fit; classes are numbered from 0."""
    random, (names, classes) = np.random.default_rng(seed), np.unique(images.classes, return_inverse=True)
    members = [np.flatnonzero(classes == i) for i in range(len(names))]
    each = BATCH // len(names)
    ids = [np.concatenate([random.choice(own, each) for own in members]) for _ in range(steps)]
    pixels, classes = tf.constant(images.pixels, tf.float32), tf.constant(classes, tf.int32)
    return tf.data.Dataset.from_tensor_slices(np.stack(ids)).map(
        lambda i: (tf.gather(pixels, i), tf.gather(classes, i))
    )


def measured(embeddings: np.ndarray, classes: np.ndarray) -> dict[str, float]:
    """Recall@1 and MAP@R (Musgrave et al. 2020), with every image as the query for all others."""
    similarities = embeddings @ embeddings.T
    np.fill_diagonal(similarities, -np.inf)
    relevant = (classes[:, None] == classes).sum(axis=1) - 1
    nearest = np.argsort(-similarities, axis=1)[:, : relevant.max()]
    hits = classes[nearest] == classes[:, None]
    counted = hits & (np.arange(hits.shape[1]) < relevant[:, None])
    precisions = np.cumsum(counted, axis=1) / np.arange(1, hits.shape[1] + 1)
    return {"recall@1": float(hits[:, 0].mean()), "MAP@R": float(((precisions * counted).sum(1) / relevant).mean())}


class Trainer:
    """The network with one loss and setting, traced once and trained from the start for each seed."""

    def __init__(
        self, loss: str, setting: float, shape: tuple[int, ...], filters: tuple[int, ...], classes: int
    ) -> None:
        self.make = lambda: self.network(encoder(shape, filters), classes if loss == "cosine classifier" else None)
        self.encoder, self.trained = self.make()
        self.trained.compile(keras.optimizers.Adam(), loss=LOSSES[loss][0](setting))

    @staticmethod
    def network(model: keras.Model, classes: int | None) -> tuple[keras.Model, keras.Model]:
        """The encoder, and what is trained: itself, or with a layer of classes behind it."""
        if classes is None:
            return model, model
        head = keras.layers.Dense(classes, use_bias=False, kernel_constraint=keras.constraints.UnitNorm())
        return model, keras.Sequential([model, head])

    def embeddings(self, learned: Images, tested: Images, options: argparse.Namespace, seed: int) -> np.ndarray:
        """The embeddings of the tested images, after training on the learned ones."""
        keras.utils.set_random_seed(seed)
        self.trained.set_weights(self.make()[1].get_weights())
        for variable in self.trained.optimizer.variables:
            variable.assign(tf.zeros_like(variable))
        self.trained.optimizer.learning_rate = options.learning_rate
        self.trained.fit(batches(learned, options.steps, seed), epochs=1, shuffle=False, verbose=0)
        return self.encoder.predict(tested.pixels, batch_size=500, verbose=0)


@functools.cache
def load(name: str, data_dir: str | None) -> tuple[Images, Images]:
    return labelled_images.load("sklearn" if name == "digits" else name, data_dir)


def parts(name: str, split: str, data_dir: str | None) -> tuple[Images, Images]:
    """Images to train on and to measure with. In tuning both are of classes that "unseen" trains on."""
    train, test = load(name, data_dir)
    if name == "digits" and split != "seen":  # too few to keep any away: the classes differ in any case
        train = test = Images(*(np.concatenate(both) for both in zip(train, test, strict=True)))
    count, test_count, _ = SIZES[name]
    classes = np.unique(train.classes)
    if split == "seen":
        return balanced(train, classes, count), balanced(test, classes, test_count)
    half = len(classes) // 2
    if split == "unseen":
        return balanced(train, classes[:half], count), balanced(test, classes[half:], test_count)
    learned = 3 * half // 5
    return balanced(train, classes[:learned], count), balanced(train, classes[learned:half], test_count)


def balanced(images: Images, classes: np.ndarray, count: int) -> Images:
    """The first images of each class, `count` in all where there are as many."""
    ids = np.concatenate([np.flatnonzero(images.classes == each)[: count // len(classes)] for each in classes])
    return Images(images.pixels[ids], images.classes[ids])


def runs(options: argparse.Namespace, known: list[harness.Row], found: list[harness.Row]) -> Iterator[harness.Row]:
    """A row per training; those of `known` as they are, others while there is time."""
    start, by_key = time.monotonic(), {key_of(row): row for row in known}
    for images in options.images:
        for loss in options.losses:
            trainers: dict[tuple, Trainer] = {}
            tuned: list[harness.Row] = []
            plan = [("tuning", setting, TUNING_SEED) for setting in LOSSES[loss][1]]
            plan += [(split, None, seed) for split in SPLITS for seed in options.seeds]
            for split, setting, seed in plan:
                best = max(tuned, key=lambda row: row["MAP@R"])["setting"] if setting is None else setting
                key = (images, split, loss, best, seed)
                if key not in by_key:
                    if time.monotonic() - start > options.seconds:
                        return
                    by_key[key] = dict(zip(KEY, key, strict=True)) | run(key, trainers, options)
                (tuned if split == "tuning" else found).append(by_key[key])
                yield by_key[key]


def run(key: tuple, trainers: dict[tuple, Trainer], options: argparse.Namespace) -> harness.Row:
    """Train and measure."""
    images, split, loss, setting, seed = key
    began = time.monotonic()
    learned, tested = parts(images, split, options.data_dir)
    if loss == "pixels, no training":
        flat = tested.pixels.reshape(len(tested.pixels), -1)
        found = measured(flat / np.linalg.norm(flat, axis=1, keepdims=True), tested.classes)
        return found | {"seconds": time.monotonic() - began}
    classes = len(np.unique(learned.classes)) if loss == "cosine classifier" else 0
    if (setting, classes) not in trainers:
        trainers[setting, classes] = Trainer(loss, setting, learned.pixels.shape[1:], SIZES[images][2], classes)
    embeddings = trainers[setting, classes].embeddings(learned, tested, options, seed)
    return measured(embeddings, tested.classes) | {"seconds": time.monotonic() - began}


def key_of(row: harness.Row) -> tuple:
    return tuple(row[name] for name in KEY)


def summary(found: list[harness.Row], images: str) -> Iterator[harness.Row]:
    """Means over seeds, with the least and the most."""
    for loss in LOSSES:
        own = [row for row in found if (row["images"], row["loss"]) == (images, loss)]
        row: dict[str, Any] = {"loss": loss, "setting": own[0]["setting"] if own else None}
        for split in SPLITS:
            chosen = [each for each in own if each["split"] == split]
            for measure in MEASURES:
                row[f"{measure}, {split}"] = spread([r[measure] for r in chosen]) if chosen else None
        yield row


def spread(values: list[float]) -> str:
    return f"{np.mean(values):.3f} ({min(values):.3f} to {max(values):.3f})"


def draw(found: list[harness.Row], path: Path) -> None:
    """A panel for each set of images and split: the seeds of each loss by both measures."""
    import matplotlib  # noqa: PLC0415  (an extra, not needed to measure)

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt  # noqa: PLC0415

    names = list(dict.fromkeys(row["images"] for row in found))
    figure, axes = plt.subplots(len(SPLITS), len(names), figsize=(5.2 * len(names), 5.6), squeeze=False, sharey=True)
    for i, split in enumerate(SPLITS):
        for j, name in enumerate(names):
            for row in found:
                if (row["images"], row["split"]) == (name, split):
                    height = -list(LOSSES).index(row["loss"])
                    for measure, color, marker in zip(MEASURES, ("tab:blue", "tab:orange"), "os", strict=True):
                        axes[i, j].plot(row[measure], height, marker, color=color, alpha=0.7, markersize=6)
            axes[i, j].set_yticks([-k for k in range(len(LOSSES))], list(LOSSES))
            axes[i, j].set_ylim(0.6 - len(LOSSES), 0.6)
            axes[i, j].set_title(f"{name}, {split} classes")
            axes[i, j].grid(axis="x", alpha=0.4)
    handles = [
        plt.Line2D([], [], marker=m, linestyle="", color=c)
        for m, c in zip("os", ("tab:blue", "tab:orange"), strict=True)
    ]
    figure.legend(handles, MEASURES, loc="lower center", ncol=2, frameon=False)
    figure.tight_layout(rect=(0, 0.04, 1, 1))
    figure.savefig(path, dpi=110)


def main(arguments: list[str] | None = None) -> dict:
    parser = harness.new_parser(__doc__)
    parser.add_argument("--images", nargs="+", choices=list(SIZES), default=list(SIZES))
    parser.add_argument("--data-dir", help="folder of cifar10.npz or cifar10_jpeg.npz; without it Keras downloads it")
    parser.add_argument("--losses", nargs="+", choices=list(LOSSES), default=list(LOSSES), metavar="LOSS")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--steps", type=int, default=300, help="of each training")
    parser.add_argument("--learning-rate", type=float, default=1e-3, help="of Adam")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="start no further training after these")
    parser.add_argument("--picture", type=Path, help="draw the seeds into this file")
    options = parser.parse_args(arguments)
    known: list[harness.Row] = []
    if options.json is not None and options.json.exists():
        known = json.loads(options.json.read_text())["tables"]["runs"]
    found: list[harness.Row] = []
    tables = {"runs": runs(options, known, found)}
    tables |= {name: summary(found, name) for name in options.images}
    result = harness.publish("retrieval", tables, options.json)
    if options.picture is not None:
        draw(found, options.picture)
    return result


if __name__ == "__main__":
    main()
