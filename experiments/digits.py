"""Learn to sort handwritten numbers, given only their order (Grover et al. 2019, section 6.1).

A CNN scores each image of a list, `NeuralSortLayer` turns the scores into a soft permutation, and the cross-entropy
with the true order trains the CNN. No image is ever labeled with its number or digit.

With `--loss ranks` the loss is the squared error of the soft ranks of the scores, which every way to sort has, and no
permutation is formed. With `--validation` the lists to test on show the last training images, which are then no
training images: to choose a temperature.

    python experiments/digits.py                                   # scikit-learn's real digits, two minutes
    python experiments/digits.py --stochastic                      # the mean over noisy scores
    python experiments/digits.py --loss ranks --operator lapsum
    python experiments/digits.py --dataset mnist --digits 4 --list-size 3 --learning-rate 1e-4 --batch-size 20
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable

from _shared import command_line

WITH_MATRIX = ("neural_sort", "soft_sort")
OPERATORS = (*WITH_MATRIX, "lapsum", "projection", "projection_kl")
VALIDATION_IMAGES = 300


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Options of the command line."""
    quick = {"steps": 20, "test_lists": 50}
    parser = command_line.new_parser(__doc__, "digits", quick)
    command_line.add_number_options(parser, tau=1.0, operators=OPERATORS)
    at_least = command_line.at_least
    parser.add_argument("--stochastic", action="store_true", help="sort scores with Gumbel noise in training")
    parser.add_argument("--num-samples", type=at_least(1), default=5, help="samples per list with --stochastic")
    parser.add_argument("--loss", choices=("order", "ranks"), default="order", help="of permutations, or of soft ranks")
    parser.add_argument(
        "--validation", action="store_true", help=f"test on the last {VALIDATION_IMAGES} training images"
    )
    parser.add_argument("--epochs", type=at_least(1), help="parts of the training, each of which ends with a test")
    parser.add_argument("--minutes", type=command_line.positive, help="stop after the epoch in which they run out")
    options = command_line.parse(parser, arguments, quick)
    if options.loss == "order" and options.operator not in WITH_MATRIX:
        parser.error(f"--operator {options.operator} forms no permutation: it needs --loss ranks")
    if options.loss == "ranks" and options.stochastic:
        parser.error("--stochastic needs --loss order")
    return options


if __name__ == "__main__":
    OPTIONS = parse()  # a wrong argument fails here, before the seconds that TensorFlow takes to import
    command_line.import_tensorflow()

import numpy as np
import tensorflow as tf
from _shared import labelled_images
from _shared.exports import export_difference
from _shared.handwritten_numbers import (
    OnEachItem,
    Task,
    read_numbers,
    reader,
    sample_lists,
    train_digit_classifier,
    training_lists,
)
from _shared.pictures.sorting import draw_sorting
from tensorflow import keras

import keras_softsort as ks

LAYERS = {"neural_sort": ks.NeuralSortLayer, "soft_sort": ks.SoftSortLayer}


def sorter(image_shape: tuple[int, ...], options: argparse.Namespace) -> keras.Model:
    """Lists of images `[batch, n, height, width, 1]` to soft permutations `[batch, n, n]`, largest number first.

    With `--stochastic` to samples of them `[batch, num_samples, n, n]`, which are all the same in inference. With
    `--loss ranks` to scores `[batch, n]`.
    """
    lists = keras.Input((None, *image_shape))
    scores = OnEachItem(reader(image_shape, outputs=1, dropout=options.dropout))(lists)
    if options.loss == "ranks":
        return keras.Model(lists, scores)
    if options.stochastic:
        sort = ks.PlackettLuceSampler(options.num_samples, options.tau, method=options.operator)
    else:
        sort = LAYERS[options.operator](tau=options.tau)
    return keras.Model(lists, sort(scores))


def new_loss(options: argparse.Namespace) -> Callable[[tf.Tensor, tf.Tensor], tf.Tensor]:
    """The loss of numbers and what `sorter` gives."""
    if options.loss == "order":
        return ks.PermutationCrossEntropyLoss()

    def squared_error_of_ranks(numbers: tf.Tensor, scores: tf.Tensor) -> tf.Tensor:
        soft = ks.soft_rank(scores, options.tau, method=options.operator)
        return tf.reduce_mean(tf.square(soft - ranks_of(numbers)), axis=-1)

    return squared_error_of_ranks


def train_sorter(data: tf.data.Dataset, test: tuple, options: argparse.Namespace) -> tuple[keras.Model, list[dict]]:
    """The model, and its accuracy on test lists after each epoch."""
    keras.utils.set_random_seed(options.seed)
    model = sorter(test[0].shape[2:], options)
    adam = keras.optimizers.Adam(options.learning_rate)
    model.compile(adam, loss=new_loss(options), metrics=order_metrics("labels"))
    return model, fit(model, data, test, options)


def train_regressor(data: tf.data.Dataset, test: tuple, options: argparse.Namespace) -> list[dict]:
    """The baseline: the same CNN, each image regressed on its rank in its list."""
    keras.utils.set_random_seed(options.seed)
    images, numbers = test
    lists = keras.Input((None, *images.shape[2:]))
    middle = (options.list_size + 1) / 2
    regressor = reader(images.shape[2:], outputs=1, first_bias=middle, dropout=options.dropout)
    model = keras.Model(lists, OnEachItem(regressor)(lists))
    model.compile(keras.optimizers.Adam(options.learning_rate), loss="mse", metrics=order_metrics("ranks"))
    ranked = data.map(lambda lists, values: (lists, ranks_of(values)))
    return fit(model, ranked, (images, ranks_of(tf.constant(numbers)).numpy()), options)


def ranks_of(numbers: tf.Tensor) -> tf.Tensor:
    """The rank of each number in its list, 1 = largest; ties get their mean rank."""
    larger = tf.cast(numbers[..., tf.newaxis, :] > numbers[..., tf.newaxis], tf.float32)
    equal = tf.cast(numbers[..., tf.newaxis, :] == numbers[..., tf.newaxis], tf.float32)
    return 0.5 + tf.reduce_sum(larger + 0.5 * equal, axis=-1)


def order_metrics(target: str) -> list[keras.metrics.Metric]:
    """All-correct and element-wise accuracy."""
    return [
        ks.PermutationAccuracy(target=target, name="all_correct"),
        ks.ElementwiseAccuracy(target=target, name="element"),
    ]


def fit(model: keras.Model, data: tf.data.Dataset, test: tuple, options: argparse.Namespace) -> list[dict]:
    """Fit for `--steps` or `--minutes`; returns the accuracy on test lists after each epoch."""
    epochs = max(1, min(10, options.steps // 100)) if options.epochs is None else options.epochs
    steps = max(1, options.steps // epochs)
    stop = keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: stop_when_late(model, started, options))
    started = time.monotonic()
    history = model.fit(
        data,
        validation_data=test,
        validation_batch_size=100,
        epochs=epochs,
        steps_per_epoch=steps,
        callbacks=[stop],
        shuffle=False,
        verbose=command_line.progress(),
    ).history
    pairs = zip(history["val_all_correct"], history["val_element"], strict=True)
    return [{"step": (i + 1) * steps, "all_correct": a, "element": e} for i, (a, e) in enumerate(pairs)]


def stop_when_late(model: keras.Model, started: float, options: argparse.Namespace) -> None:
    """End training after the epoch in which `--minutes` ran out."""
    if options.minutes is not None and time.monotonic() - started > 60 * options.minutes:
        model.stop_training = True


def ceiling(train_images: tuple, test: tuple, task: Task, options: argparse.Namespace) -> dict[str, float]:
    """Accuracy of the same CNN trained on the digit in every image."""
    classifier = train_digit_classifier(train_images, options.steps, options.seed, options.dropout)
    all_correct, element = order_metrics("labels")
    for metric in (all_correct, element):
        metric.update_state(test[1], read_numbers(classifier, test[0], task))
    return {"all_correct": float(all_correct.result()), "element": float(element.result())}


def report(results: dict[str, dict[str, float]], options: argparse.Namespace) -> None:
    """Print a line for each method."""
    print(f"\nOn {options.test_lists} lists of unseen images:")
    print(f"{'':34}{'all correct':>12}{'element-wise':>14}")
    for name, result in results.items():
        print(f"{name:34}{result['all_correct']:12.3f}{result['element']:14.3f}")


def main(options: argparse.Namespace) -> dict:
    """Train the sorter, the baseline and the ceiling; print, export, draw."""
    task = Task(options.digits, options.list_size)
    print(f"1. Learning to sort lists of {task.list_size} numbers of {task.digits} digits, only from their order")
    train_images, test_images = labelled_images.load(options.dataset, options.data_dir)
    if options.validation:
        train_images, test_images = labelled_images.split(train_images, VALIDATION_IMAGES)
    images, numbers = test = sample_lists(test_images, task, options.test_lists, seed=1_000_003)
    data = training_lists(train_images, task, options.batch_size, options.seed)
    model, curve = train_sorter(data, test, options)
    results = {
        "chance": {"all_correct": 1 / math.factorial(task.list_size), "element": 1 / task.list_size},
        options.operator: {key: curve[-1][key] for key in ("all_correct", "element")},
    }
    if options.baselines:
        print("\n2. The same CNN regressing ranks, with as many steps")
        results["rank regression"] = train_regressor(data, test, options)[-1]
        print("\n3. The ceiling: the same CNN trained on the digit in every image")
        results["ceiling: trained on digit labels"] = ceiling(train_images, test, task, options)
    report(results, options)

    folder = options.output / "model"
    difference = export_difference(model, images[:20], folder)
    print(f"\nExported to {folder}, loaded and run again: the answers agree to {difference:.1e}.")
    permutations = model.predict(images[:3], verbose=0)
    if options.loss == "ranks":  # those that sort the scores
        permutations = np.eye(task.list_size)[np.argsort(-permutations, axis=-1)]
    shown = images[:3], numbers[:3], permutations[:, 0] if options.stochastic else permutations
    print(f"Picture: {draw_sorting(shown, curve, results, options.output / 'digits.png')}")
    return command_line.save_report(options, "digits", results=results, curve=curve)


if __name__ == "__main__":
    main(OPTIONS)
