"""Train embeddings for k nearest neighbours by k nearest neighbours (Grover et al. 2019, section 6.3).

A CNN embeds images; `DkNNLoss` asks that the k nearest candidates of each query be of its class; then `KNNClassifier`
votes by the hard nearest neighbours among all training images, and is exported with the CNN as one SavedModel.

    python examples/knn_digits.py                                # scikit-learn's real digits, two minutes
    python examples/knn_digits.py --stochastic                   # Plackett-Luce samples of the neighbours
    python examples/knn_digits.py --dataset mnist --epochs 20 --methods dknn cross_entropy
    python examples/knn_digits.py --dataset cifar10 --blocks 2 2 2 2 --width 64 --epochs 200  # on a GPU
    python examples/knn_digits.py --dataset cifar10 --blocks 2 2 2 2 --width 64 --epochs 200 --resume  # after a crash

A tenth of the training images is held out for validation. Every few epochs the model is validated and written, and the
epoch with the best validation accuracy is the one that is tested. `--data-dir` names a folder with `DATASET.npz` or,
with the images as JPEG, `DATASET_jpeg.npz`; `labelled_images.py` documents both forms.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import labelled_images
import numpy as np
import tensorflow as tf
from _shared.pictures.neighbors import draw_neighbors
from checkpoints import Checkpoints
from labelled_images import Images
from tensorflow import keras

import keras_softsort as ks

CLASSICAL = {
    "knn": "kNN on pixels",
    "pca": "PCA + kNN",
    "nca": "NeighborhoodComponentsAnalysis + kNN",
}
# Options that may change when a run is resumed.
NOT_OF_A_RUN = ("data_dir", "methods", "output", "resume", "seeds")
TRAINED = {"cross_entropy": "same CNN, cross-entropy", "dknn": "DkNNLoss + kNN"}


class Trained(NamedTuple):
    """An encoder, how its method classifies images, and the accuracies while it was trained."""

    encoder: keras.Model
    accuracy: Callable[[Images], float]
    curve: list[dict]


def make_encoder(shape: tuple[int, ...], options: argparse.Namespace) -> keras.Model:
    return labelled_images.encoder(shape, options.blocks, options.width, options.dimension)


def optimizer(options: argparse.Namespace, rate: float) -> keras.optimizers.Optimizer:
    """SGD with momentum, its rate falling to 0 along a cosine."""
    decay = keras.optimizers.schedules.CosineDecay(rate, options.epochs * options.steps_per_epoch)
    return keras.optimizers.SGD(decay, momentum=0.9, weight_decay=options.weight_decay)


def classifier(encoder: keras.Model, train: Images, k: int) -> keras.Model:
    """Images to class probabilities, neighbours and distances: the encoder with all training images behind it."""
    head = ks.KNNClassifier(k)
    batches = tf.data.Dataset.from_tensor_slices((train.pixels, train.classes)).batch(500)
    head.adapt(batches, encoder)
    return keras.Model(encoder.inputs, head(encoder.outputs[0]))


def answers(model: keras.Model, images: Images, name: str) -> np.ndarray:
    """One of the outputs of a classifier for all images."""
    batches = tf.data.Dataset.from_tensor_slices(images.pixels).batch(500)
    return np.concatenate([model(pixels, training=False)[name] for pixels in batches])


def knn_accuracy(encoder: keras.Model, train: Images, test: Images, k: int) -> float:
    shares = answers(classifier(encoder, train, k), test, "probabilities")
    return float(np.mean(shares.argmax(axis=1) == test.classes))


def fit(
    model: keras.Model,
    batches: tf.data.Dataset,
    measure: Callable[[], float],
    options: argparse.Namespace,
    folder: str,
) -> list[dict]:
    """Train with checkpoints; `model` ends with the best weights on the validation images, if there are any."""
    checkpoints = Checkpoints(
        options.output / "checkpoints" / folder,
        measure,
        options.measure_every,
        keep_best=options.validation_count > 0,
        options={name: value for name, value in vars(options).items() if name not in NOT_OF_A_RUN},
        resume=options.resume,
    )
    checkpoints.restore(model)
    if checkpoints.epoch < options.epochs:
        # The batches that a run without interruption would see from here on.
        batches = batches.skip(checkpoints.epoch * options.steps_per_epoch)
        model.fit(
            batches.prefetch(2),
            initial_epoch=checkpoints.epoch,
            epochs=options.epochs,
            steps_per_epoch=options.steps_per_epoch,
            callbacks=[checkpoints],
            shuffle=False,
            verbose=0,
        )
    chosen = checkpoints.restore_best(model)
    print(f"  weights of epoch {chosen['epoch']}", flush=True)
    return checkpoints.curve


def train_dknn(train: Images, held_out: Images, options: argparse.Namespace, seed: int) -> Trained:
    keras.utils.set_random_seed(seed)
    encoder = make_encoder(train.pixels.shape[1:], options)
    loss = ks.DkNNLoss(
        options.k,
        options.tau,
        num_queries=options.queries,
        objective=options.objective,
        stochastic=options.stochastic,
        num_samples=options.num_samples,
    )
    encoder.compile(optimizer(options, options.learning_rate), loss=loss)
    batches = labelled_images.queries_and_candidates(
        train, options.queries, options.candidates, shift=options.shift, flip=options.flip, seed=seed
    )

    def accuracy(images: Images) -> float:
        return knn_accuracy(encoder, train, images, options.k)

    curve = fit(encoder, batches, lambda: accuracy(held_out), options, f"dknn_{seed}")
    return Trained(encoder, accuracy, curve)


def train_cross_entropy(train: Images, held_out: Images, options: argparse.Namespace, seed: int) -> Trained:
    """The same CNN with a linear layer, in as many steps."""
    keras.utils.set_random_seed(seed)
    encoder = make_encoder(train.pixels.shape[1:], options)
    logits = keras.layers.Dense(int(train.classes.max()) + 1)(encoder.outputs[0])
    model = keras.Model(encoder.inputs, logits)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer(options, options.cross_entropy_rate), loss=loss)

    def accuracy(images: Images) -> float:
        found = model.predict(images.pixels, batch_size=500, verbose=0)
        return float(np.mean(found.argmax(axis=1) == images.classes))

    batches = labelled_images.shuffled_batches(
        train, options.queries, shift=options.shift, flip=options.flip, seed=seed
    )
    curve = fit(model, batches, lambda: accuracy(held_out), options, f"cross_entropy_{seed}")
    return Trained(encoder, accuracy, curve)


def classical_accuracies(train: Images, test: Images, options: argparse.Namespace) -> dict[str, float]:
    """scikit-learn's k nearest neighbours on pixels, on principal components, and on components that NCA finds."""
    from sklearn.decomposition import PCA  # noqa: PLC0415  (an extra, not needed to train)
    from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis  # noqa: PLC0415
    from sklearn.pipeline import make_pipeline  # noqa: PLC0415

    first = {
        "knn": [],
        "pca": [PCA(min(32, train.pixels[0].size), random_state=0)],
        "nca": [NeighborhoodComponentsAnalysis(32, init="pca", max_iter=50, random_state=0)],
    }
    found = {}
    for name in (name for name in options.methods if name in first):
        pipeline = make_pipeline(*first[name], KNeighborsClassifier(options.k))
        flat = [part.pixels.reshape(len(part.pixels), -1) for part in (train, test)]
        found[CLASSICAL[name]] = pipeline.fit(flat[0], train.classes).score(flat[1], test.classes)
        print(f"{CLASSICAL[name]}: {found[CLASSICAL[name]]:.4f}", flush=True)
    return found


def exported_agrees(model: keras.Model, images: np.ndarray, folder: Path) -> float:
    """Export, load and run again: the largest difference of the probabilities."""
    model.export(str(folder))
    served = tf.saved_model.load(str(folder)).signatures["serving_default"](tf.constant(images))
    here = model.predict(images, verbose=0)
    assert np.array_equal(served["neighbors"], here["neighbors"])
    return float(np.abs(served["probabilities"].numpy() - here["probabilities"]).max())


def run(options: argparse.Namespace) -> dict:
    """Train, compare, draw, export."""
    train, test = labelled_images.load(options.dataset, options.data_dir)
    if options.train_count:
        train = Images(*(part[: options.train_count] for part in train))
    if options.validation_count is None:
        options.validation_count = len(train.classes) // 10
    train, validation = labelled_images.split(train, options.validation_count)
    options.steps_per_epoch = options.steps_per_epoch or max(1, len(train.classes) // options.queries)
    counts = [len(part.classes) for part in (train, validation, test)]
    print("{}: {} images to train on, {} to validate, {} to test on".format(options.dataset, *counts), flush=True)
    results = {name: [value] for name, value in classical_accuracies(train, test, options).items()}
    curves: dict[str, list] = {}
    encoders = {}
    held_out = validation if options.validation_count else test
    for name, function in (("cross_entropy", train_cross_entropy), ("dknn", train_dknn)):
        for seed in options.seeds if name in options.methods else []:
            print(f"{TRAINED[name]}, seed {seed}", flush=True)
            trained = function(train, held_out, options, seed)
            encoders[name] = trained.encoder
            curves.setdefault(TRAINED[name], []).append(trained.curve)
            results.setdefault(TRAINED[name], []).append(trained.accuracy(test))

    options.output.mkdir(parents=True, exist_ok=True)
    report = {"options": {k: str(v) for k, v in vars(options).items()}, "results": results, "curves": curves}
    (options.output / "knn_digits.json").write_text(json.dumps(report, indent=2) + "\n")
    print(f"\nTest accuracy, k = {options.k}{'':20}{'mean':>8}{'least':>9}{'most':>9}")
    for name, values in results.items():
        print(f"{name:42}{np.mean(values):8.4f}{min(values):9.4f}{max(values):9.4f}")
    if "dknn" in encoders:
        show(encoders["dknn"], train, test, options)
    return report


def show(encoder: keras.Model, train: Images, test: Images, options: argparse.Namespace) -> None:
    """Export the encoder with its neighbours; draw those of some test images, before training and after."""
    model = classifier(encoder, train, options.k)
    difference = exported_agrees(model, test.pixels[:20], options.output / "model")
    print(f"\nExported to {options.output / 'model'}, loaded and run again: answers agree to {difference:.1e}.")
    test = Images(*(part[:1000] for part in test))
    keras.utils.set_random_seed(options.seeds[-1])
    untrained = make_encoder(train.pixels.shape[1:], options)
    snapshots = []
    for title, embed in (("before training", untrained), ("after training", encoder)):
        neighbors = answers(classifier(embed, train, options.k), test, "neighbors")
        snapshots.append((title, neighbors, embed(test.pixels, training=False).numpy()))
    picture = draw_neighbors((train, test), snapshots, options.output / "knn_digits.png")
    print(f"Picture: {picture}")


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", choices=labelled_images.DATASETS, default="sklearn")
    parser.add_argument("--data-dir", help="folder of DATASET.npz or DATASET_jpeg.npz (default: Keras' loader)")
    parser.add_argument("--train-count", type=int, help="use so many of the training images")
    parser.add_argument("--methods", nargs="+", choices=[*CLASSICAL, *TRAINED], help="what to run (default: all)")
    parser.add_argument("--k", type=int, default=9)
    parser.add_argument("--tau", type=float, default=16.0)
    parser.add_argument("--objective", choices=("linear", "log"), default="linear")
    parser.add_argument("--stochastic", action="store_true", help="Plackett-Luce samples of the neighbours in training")
    parser.add_argument("--num-samples", type=int, default=5, help="samples of a query with --stochastic")
    parser.add_argument("--queries", type=int, default=100, help="queries a step, and images a step of cross-entropy")
    parser.add_argument("--candidates", type=int, default=100)
    parser.add_argument("--epochs", type=int, default=80)
    parser.add_argument("--steps-per-epoch", type=int, help="default: as many as go through the images as queries")
    parser.add_argument("--learning-rate", type=float, default=0.05, help="of DkNNLoss, at the start")
    parser.add_argument("--cross-entropy-rate", type=float, default=0.05, help="the same of cross-entropy")
    parser.add_argument("--weight-decay", type=float, default=5e-4)
    parser.add_argument("--shift", type=int, default=1, help="move training images by up to so many pixels")
    parser.add_argument("--flip", action="store_true", help="mirror training images by chance")
    parser.add_argument("--dimension", type=int, help="of the embedding, for the plain networks")
    parser.add_argument("--blocks", type=int, nargs="+", default=[1, 1, 1], help="of the residual network, by stage")
    parser.add_argument("--width", type=int, default=32, help="of its first stage")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument(
        "--validation-count",
        type=int,
        help="hold out so many of the last training images and keep the epoch that is best on them (default: a tenth; "
        "0: train on all, keep the last epoch, and print test accuracies)",
    )
    parser.add_argument("--measure-every", type=int, default=5, help="epochs between checkpoints (0: at the end)")
    parser.add_argument("--resume", action="store_true", help="continue from the checkpoints in --output")
    parser.add_argument("--output", type=Path, default=Path("output/knn_digits"))
    options = parser.parse_args(arguments)
    options.methods = options.methods or [*CLASSICAL, *TRAINED]
    return options


if __name__ == "__main__":
    run(parse())
