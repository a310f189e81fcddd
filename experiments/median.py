"""Learn the median of a list of handwritten numbers, given only the median (Grover et al. 2019, section 6.2).

A CNN reads a value from each image, and `SoftQuantileLayer(q=0.5)` computes their soft median. Its squared error trains
the CNN. Values and errors are in units of the largest number, as in the paper.

    python experiments/median.py           # scikit-learn's real digits, two minutes
    python experiments/median.py --dataset mnist --digits 4 --list-size 5 --learning-rate 1e-4
"""

from __future__ import annotations

import argparse

from _shared import command_line


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Options of the command line."""
    quick = {"steps": 20, "test_lists": 50}
    parser = command_line.new_parser(__doc__, "median", quick)
    command_line.add_number_options(parser, tau=0.1, least_size=1)
    options = command_line.parse(parser, arguments, quick)
    if options.list_size % 2 == 0:
        parser.error(f"--list-size must be odd for a median that is one of the numbers, got {options.list_size}")
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
from _shared.pictures.medians import draw_medians
from tensorflow import keras

import keras_softsort as ks


def median_reader(image_shape: tuple[int, ...], method: str, tau: float, dropout: float | None) -> keras.Model:
    """Lists of images `[batch, n, height, width, 1]` to their soft medians `[batch, 1]`."""
    lists = keras.Input((None, *image_shape))
    values = OnEachItem(reader(image_shape, outputs=1, first_bias=0.5, dropout=dropout))(lists)
    return keras.Model(lists, ks.SoftQuantileLayer(0.5, tau=tau, method=method)(values))


def pooled_regressor(image_shape: tuple[int, ...], dropout: float | None) -> keras.Model:
    """The baseline: the same CNN with 64 outputs per image, their mean over the list, and a network on top."""
    lists = keras.Input((None, *image_shape))
    features = OnEachItem(reader(image_shape, outputs=64, dropout=dropout))(lists)
    pooled = keras.layers.GlobalAveragePooling1D()(features)
    hidden = keras.layers.Dense(64, activation="relu")(pooled)
    return keras.Model(lists, keras.layers.Dense(1, bias_initializer=keras.initializers.Constant(0.5))(hidden))


def fit(model: keras.Model, data: tf.data.Dataset, test: tuple, options: argparse.Namespace) -> np.ndarray:
    """Train on squared errors of the median; returns the predictions for the test lists."""
    model.compile(keras.optimizers.Adam(options.learning_rate), loss="mse")
    epochs = max(1, min(10, options.steps // 100))
    model.fit(
        data,
        epochs=epochs,
        steps_per_epoch=max(1, options.steps // epochs),
        validation_data=(test[0], test[1][:, np.newaxis]),
        validation_batch_size=100,
        shuffle=False,
        verbose=command_line.progress(),
    )
    return model.predict(test[0], verbose=0)[:, 0]


def train(options: argparse.Namespace) -> tuple[keras.Model, tuple, dict[str, np.ndarray]]:
    """Our model, the test lists with their medians, and what each method predicts for them."""
    task = Task(options.digits, options.list_size)
    print(f"1. Learning the median of {task.list_size} numbers of {task.digits} digits, only from medians")
    train_images, test_images = labelled_images.load(options.dataset, options.data_dir)
    images, numbers = sample_lists(test_images, task, options.test_lists, seed=1_000_003)
    test = images, np.median(numbers, axis=1) / task.base
    lists = training_lists(train_images, task, options.batch_size, options.seed)
    middle = task.list_size // 2
    data = lists.map(lambda x, values: (x, tf.sort(values, axis=-1)[:, middle : middle + 1] / task.base))

    keras.utils.set_random_seed(options.seed)
    model = median_reader(images.shape[2:], options.operator, options.tau, options.dropout)
    predicted = {"soft median": fit(model, data, test, options)}
    if options.baselines:
        print("\n2. The same CNN with mean pooling, with as many steps")
        keras.utils.set_random_seed(options.seed)
        predicted["mean pooling"] = fit(pooled_regressor(images.shape[2:], options.dropout), data, test, options)
        print("\n3. The ceiling: the same CNN trained on the digit in every image")
        classifier = train_digit_classifier(train_images, options.steps, options.seed, options.dropout)
        predicted["ceiling: digit labels"] = np.median(read_numbers(classifier, images, task), axis=1) / task.base
    return model, test, predicted


def errors(truth: np.ndarray, predicted: np.ndarray) -> dict[str, float]:
    """Mean squared error times 1e4, and R2."""
    error = float(np.mean((predicted - truth) ** 2))
    return {"mse_1e4": 1e4 * error, "r2": 1 - error / float(np.var(truth))}


def report(results: dict[str, dict[str, float]], options: argparse.Namespace) -> None:
    """Print a line for each method."""
    print(f"\nOn {options.test_lists} lists of unseen images:")
    print(f"{'':28}{'MSE x 1e4':>12}{'R2':>8}")
    for name, result in results.items():
        print(f"{name:28}{result['mse_1e4']:12.2f}{result['r2']:8.3f}")
    analytic = 1e4 / (4 * (options.list_size + 2))
    print(f"For uniform numbers the constant guess has 1e4 / (4 (n + 2)) = {analytic:.1f}.")


def main(options: argparse.Namespace) -> dict:
    """Train, print beside the baselines, export, draw."""
    model, (images, truth), predicted = train(options)
    constant = np.full_like(truth, 0.5 - 0.5 / 10**options.digits)  # the middle of 0, ..., base - 1
    results = {name: errors(truth, each) for name, each in {"constant guess": constant, **predicted}.items()}
    report(results, options)
    folder = options.output / "model"
    difference = export_difference(model, images[:20], folder)
    print(f"\nExported to {folder}, loaded and run again: the answers agree to {difference:.1e}.")
    print(f"Picture: {draw_medians(truth, predicted, options.output / 'median.png')}")
    return command_line.save_report(options, "median", results=results)


if __name__ == "__main__":
    main(OPTIONS)
