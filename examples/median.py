"""Learn the median of a list of handwritten numbers, told only the median (Grover et al. 2019, section 6.2).

A CNN reads a value from each image; `SoftQuantileLayer(q=0.5)` takes their soft median; the squared error of that one
number trains both. Values and errors are in units of the largest number, as in the paper.

    python examples/median.py                                        # scikit-learn's real digits, two minutes
    python examples/median.py --dataset mnist --digits 4 --list-size 5 --learning-rate 1e-4
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import tensorflow as tf
from command_line import add_shared_options
from handwritten_numbers import (
    OnEachItem,
    Task,
    exported_agrees,
    load_images,
    read_numbers,
    reader,
    sample_lists,
    train_digit_classifier,
    training_lists,
)
from pictures import draw_medians
from tensorflow import keras

import keras_softsort as ks


def median_reader(image_shape: tuple[int, ...], method: str, tau: float) -> keras.Model:
    """Lists of images `[batch, n, height, width, 1]` to their soft medians `[batch, 1]`."""
    lists = keras.Input((None, *image_shape))
    values = OnEachItem(reader(image_shape, outputs=1, first_bias=0.5))(lists)
    return keras.Model(lists, ks.SoftQuantileLayer(0.5, tau=tau, method=method)(values))


def pooled_regressor(image_shape: tuple[int, ...]) -> keras.Model:
    """The baseline: the same CNN with 64 outputs an image, their mean over the list, and a network on top."""
    lists = keras.Input((None, *image_shape))
    features = keras.layers.GlobalAveragePooling1D()(OnEachItem(reader(image_shape, outputs=64))(lists))
    hidden = keras.layers.Dense(64, activation="relu")(features)
    return keras.Model(lists, keras.layers.Dense(1, bias_initializer=keras.initializers.Constant(0.5))(hidden))


def fit(model: keras.Model, data: tf.data.Dataset, validation: tuple, options: argparse.Namespace) -> keras.Model:
    """Train on squared errors of the median."""
    model.compile(keras.optimizers.Adam(options.learning_rate), loss="mse")
    epochs = max(1, min(10, options.steps // 100))
    steps = max(1, options.steps // epochs)
    model.fit(data, epochs=epochs, steps_per_epoch=steps, validation_data=validation, validation_batch_size=100)
    return model


def scores_of(truth: np.ndarray, predicted: np.ndarray) -> dict[str, float]:
    """Mean squared error times 1e4, and R2."""
    error = float(np.mean((predicted - truth) ** 2))
    return {"mse_1e4": 1e4 * error, "r2": 1 - error / float(np.var(truth))}


def run(options: argparse.Namespace) -> dict:
    """Train, print beside the baselines, draw, export."""
    task = Task(options.digits, options.list_size)
    train_images, test_images = load_images(options.dataset, options.data_dir)
    images, numbers = sample_lists(test_images, task, options.test_lists, seed=1_000_003)
    truth = np.median(numbers, axis=1) / task.base
    image_shape = images.shape[2:]
    lists = training_lists(train_images, task, options.batch_size, options.seed)
    middle = task.list_size // 2
    data = lists.map(lambda x, values: (x, tf.sort(values, axis=-1)[:, middle : middle + 1] / task.base))
    validation = (images, truth[:, np.newaxis])

    print(f"\n1. Learning the median of {task.list_size} numbers of {task.digits} digits from the median alone")
    keras.utils.set_random_seed(options.seed)
    model = fit(median_reader(image_shape, options.operator, options.tau), data, validation, options)
    predicted = {"soft median": model.predict(images, verbose=0)[:, 0]}
    if options.baselines:
        print("\n2. The same CNN with mean pooling, as many steps")
        keras.utils.set_random_seed(options.seed)
        pooled = fit(pooled_regressor(image_shape), data, validation, options)
        predicted["mean pooling"] = pooled.predict(images, verbose=0)[:, 0]
        print("\n3. The ceiling: the same CNN told the digit in every image")
        classifier = train_digit_classifier(train_images, options.steps, options.seed)
        predicted["ceiling: digit labels"] = np.median(read_numbers(classifier, images, task), axis=1) / task.base

    constant = np.full_like(truth, 0.5 - 0.5 / task.base)  # the middle of 0, ..., base - 1
    results = {"constant guess": scores_of(truth, constant)}
    results |= {name: scores_of(truth, values) for name, values in predicted.items()}
    report = {"options": {k: str(v) for k, v in vars(options).items()}, "results": results}
    options.output.mkdir(parents=True, exist_ok=True)
    difference = exported_agrees(model, images[:20], options.output / "model")
    picture = draw_medians(truth, predicted, options.output / "median.png")
    (options.output / "median.json").write_text(json.dumps(report, indent=2) + "\n")

    print(f"\nOn {options.test_lists} lists of unseen images:")
    print(f"{'':28}{'MSE x 1e4':>12}{'R2':>8}")
    for name, result in results.items():
        print(f"{name:28}{result['mse_1e4']:12.2f}{result['r2']:8.3f}")
    analytic = 1e4 / (4 * (task.list_size + 2))
    print(f"For uniform numbers the constant guess has 1e4 / (4 (n + 2)) = {analytic:.1f}.")
    print(f"\nExported to {options.output / 'model'}, loaded and run again: answers agree to {difference:.1e}.")
    print(f"Picture: {picture}")
    return report


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_shared_options(parser, tau=0.1, output=Path("output/median"))
    options = parser.parse_args(arguments)
    if options.list_size % 2 == 0:
        parser.error(f"--list-size must be odd for a median that is one of the numbers, got {options.list_size}")
    return options


if __name__ == "__main__":
    run(parse())
