"""Train embeddings for k nearest neighbors by k nearest neighbors (Grover et al. 2019, section 6.3).

A CNN embeds images, and `DkNNLoss` trains it so that the k nearest candidates of each query have its class. Then
`KNNClassifier` lets the exact nearest neighbors among all training images vote, and is exported with the CNN as one
SavedModel.

    python experiments/knn_images.py                                # scikit-learn's real digits, two minutes
    python experiments/knn_images.py --stochastic                   # Plackett-Luce samples of the neighbors
    python experiments/knn_images.py --dataset mnist --epochs 20 --methods dknn cross_entropy
    python experiments/knn_images.py --dataset cifar10 --blocks 2 2 2 2 --width 64 --epochs 200  # on a GPU
    python experiments/knn_images.py --dataset cifar10 --blocks 2 2 2 2 --width 64 --epochs 200 --resume

A tenth of the training images is held out for validation. Every few epochs the model is validated and written, and the
epoch with the best validation accuracy is the one that is tested. `--data-dir` names a folder with `DATASET.npz` or,
with the images as JPEG, `DATASET_jpeg.npz`; `_shared/labelled_images.py` documents both forms.
"""

from __future__ import annotations

import argparse

from _shared import command_line

CLASSICAL = {"knn": "kNN on pixels", "pca": "PCA + kNN", "nca": "NeighborhoodComponentsAnalysis + kNN"}
TRAINED = {"cross_entropy": "same CNN, cross-entropy", "dknn": "DkNNLoss + kNN"}
DATASETS = ("sklearn", "mnist", "fashion_mnist", "cifar10", "cifar100")


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Options of the command line."""
    quick = {"epochs": 1, "train_count": 300, "seeds": [0], "methods": ["knn", "cross_entropy", "dknn"]}
    parser = command_line.new_parser(__doc__, "knn_images", quick)
    add, at_least, positive = parser.add_argument, command_line.at_least, command_line.positive
    add("--dataset", choices=DATASETS, default="sklearn", help="scikit-learn's 8 x 8 digits, or another")
    add("--data-dir", help="folder of DATASET.npz or DATASET_jpeg.npz; without it Keras downloads the dataset")
    add("--train-count", type=at_least(2), help="use only the first so many training images")
    methods = [*CLASSICAL, *TRAINED]
    add("--methods", nargs="+", choices=methods, default=methods, metavar="METHOD", help="what to run")
    add("--k", type=at_least(1), default=9, help="neighbors")
    add("--tau", type=positive, default=16.0, help="temperature, in units of squared distances")
    add("--objective", choices=("linear", "log"), default="linear", help="the share of right neighbors, or its log")
    add("--stochastic", action="store_true", help="Plackett-Luce samples of the neighbors in training")
    add("--num-samples", type=at_least(1), default=5, help="samples per query with --stochastic")
    add("--queries", type=at_least(1), default=100, help="queries per step, and images per step of cross-entropy")
    add("--candidates", type=at_least(1), default=100, help="candidates per step, which all queries share")
    add("--separate-batches", action="store_true", help="normalize queries and candidates in batches of their own")
    add("--epochs", type=at_least(1), default=80, help="of each training")
    add("--steps-per-epoch", type=at_least(1), help="without it all images are queries once")
    add("--learning-rate", type=positive, default=0.05, help="of DkNNLoss, at the start")
    add("--cross-entropy-rate", type=positive, default=0.05, help="of cross-entropy, at the start")
    add("--weight-decay", type=float, default=5e-4, help="of SGD")
    add("--shift", type=at_least(0), default=1, help="training images are moved by up to so many pixels")
    add("--flip", action="store_true", help="mirror training images at random")
    add("--dimension", type=at_least(1), help="of the embedding, for the plain networks")
    add("--residual", action="store_true", help="the residual network also for images smaller than 32 x 32")
    add("--blocks", type=at_least(1), nargs="+", default=[1, 1, 1], help="of the residual network, by stage")
    add("--width", type=at_least(1), default=32, help="of the first stage of the residual network")
    add("--seeds", type=int, nargs="+", default=[0, 1, 2], help="one training of each method per seed")
    add(
        "--validation-count",
        type=at_least(0),
        help="hold out so many of the last training images and keep the epoch that is best on them; without it a "
        "tenth; 0 trains on all, keeps the last epoch and prints test accuracies",
    )
    add("--measure-every", type=at_least(0), default=5, help="epochs between checkpoints; 0: only at the end")
    add("--resume", action="store_true", help="continue from the checkpoints in --output")
    options = command_line.parse(parser, arguments, quick)
    if options.k > options.candidates:
        parser.error(f"--k must be at most --candidates {options.candidates}, got {options.k}")
    return options


if __name__ == "__main__":
    OPTIONS = parse()  # a wrong argument fails here, before the seconds that TensorFlow takes to import
    command_line.import_tensorflow()

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import tensorflow as tf
from _shared import labelled_images
from _shared.checkpoints import Checkpoints
from _shared.exports import export_difference
from _shared.labelled_images import Images
from _shared.pictures.neighbors import draw_neighbors
from tensorflow import keras

import keras_softsort as ks

# Options that may change when a run is resumed.
NOT_OF_A_RUN = ("data_dir", "methods", "output", "quick", "resume", "seeds")


class Trained(NamedTuple):
    """An encoder, how its method classifies images, and the accuracies while it was trained."""

    encoder: keras.Model
    accuracy: Callable[[Images], float]
    curve: list[dict]


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
    model = separated(encoder, options.queries) if options.separate_batches else encoder
    model.compile(optimizer(options, options.learning_rate), loss=loss)
    batches = labelled_images.queries_and_candidates(
        train, options.queries, options.candidates, shift=options.shift, flip=options.flip, seed=seed
    )

    def accuracy(images: Images) -> float:
        return knn_accuracy(encoder, train, images, options.k)

    curve = fit(model, batches, lambda: accuracy(held_out), options, f"dknn_{seed}")
    return Trained(encoder, accuracy, curve)


def classifier(encoder: keras.Model, train: Images, k: int) -> keras.Model:
    """Images to class probabilities, neighbors and distances: the encoder with all training images behind it."""
    head = ks.KNNClassifier(k)
    batches = tf.data.Dataset.from_tensor_slices((train.pixels, train.classes)).batch(500)
    head.adapt(batches, encoder=encoder)
    return keras.Model(encoder.inputs, head(encoder.outputs[0]))


def make_encoder(shape: tuple[int, ...], options: argparse.Namespace) -> keras.Model:
    return labelled_images.encoder(shape, options.blocks, options.width, options.dimension, options.residual)


def optimizer(options: argparse.Namespace, rate: float) -> keras.optimizers.Optimizer:
    """SGD with momentum, its rate falling to 0 along a cosine."""
    decay = keras.optimizers.schedules.CosineDecay(rate, options.epochs * options.steps_per_epoch)
    return keras.optimizers.SGD(decay, momentum=0.9, weight_decay=options.weight_decay)


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
        lambda: {"accuracy": measure()},
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


def separated(encoder: keras.Model, queries: int) -> keras.Model:
    """The encoder applied to the first `queries` images and to the others, for layers that normalize batches."""
    images = keras.Input(encoder.input_shape[1:])
    first = keras.layers.Lambda(lambda each: each[:queries])(images)
    others = keras.layers.Lambda(lambda each: each[queries:])(images)
    return keras.Model(images, keras.ops.concatenate([encoder(first), encoder(others)]))


def train_cross_entropy(train: Images, held_out: Images, options: argparse.Namespace, seed: int) -> Trained:
    """Train the CNN with a linear layer by cross-entropy, in as many steps as DkNN."""
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
    """scikit-learn's k nearest neighbors on pixels, on principal components, and on components that NCA finds."""
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


def show(encoder: keras.Model, train: Images, test: Images, options: argparse.Namespace) -> None:
    """Export the encoder with its neighbors; draw those of some test images, before training and after."""
    model = classifier(encoder, train, options.k)
    difference = export_difference(model, test.pixels[:20], options.output / "model")
    print(f"\nExported to {options.output / 'model'}, loaded and run again: the answers agree to {difference:.1e}.")
    test = Images(*(part[:1000] for part in test))
    keras.utils.set_random_seed(options.seeds[-1])
    untrained = make_encoder(train.pixels.shape[1:], options)
    snapshots = []
    for title, embed in (("before training", untrained), ("after training", encoder)):
        neighbors = answers(classifier(embed, train, options.k), test, "neighbors")
        snapshots.append((title, neighbors, embed(test.pixels, training=False).numpy()))
    picture = draw_neighbors((train, test), snapshots, options.output / "knn_images.png")
    print(f"Picture: {picture}")


def load(options: argparse.Namespace) -> tuple[Images, Images, Images]:
    """Images to train on, to validate and to test on; completes the options that depend on their number."""
    train, test = labelled_images.load(options.dataset, options.data_dir)
    if options.train_count:
        train = Images(*(part[: options.train_count] for part in train))
    if options.validation_count is None:
        options.validation_count = len(train.classes) // 10
    train, validation = labelled_images.split(train, options.validation_count)
    options.steps_per_epoch = options.steps_per_epoch or max(1, len(train.classes) // options.queries)
    counts = [len(part.classes) for part in (train, validation, test)]
    print("{}: {} images to train on, {} to validate, {} to test on".format(options.dataset, *counts), flush=True)
    return train, validation, test


def report(results: dict[str, list[float]], options: argparse.Namespace) -> None:
    """Print a line for each method."""
    print(f"\nTest accuracy, k = {options.k}{'':20}{'mean':>8}{'least':>9}{'most':>9}")
    for name, values in results.items():
        print(f"{name:42}{np.mean(values):8.4f}{min(values):9.4f}{max(values):9.4f}")


def main(options: argparse.Namespace) -> dict:
    """Train, compare, export, draw."""
    print("Learning embeddings whose nearest neighbors are of the same class")
    train, validation, test = load(options)
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
    report(results, options)
    if "dknn" in encoders:
        show(encoders["dknn"], train, test, options)
    return command_line.save_report(options, "knn_images", results=results, curves=curves)


if __name__ == "__main__":
    main(OPTIONS)
