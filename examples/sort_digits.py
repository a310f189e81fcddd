"""Learn to sort handwritten numbers, told only their order (Grover et al. 2019, section 6.1).

A CNN gives each image of a list a score; `NeuralSortLayer` turns the scores into a soft permutation; cross-entropy
with the true order trains both together. No image is ever labelled with its number or digit.

    python examples/sort_digits.py                                   # scikit-learn's real digits, two minutes
    python examples/sort_digits.py --stochastic                      # stochastic NeuralSort: mean over noisy scores
    python examples/sort_digits.py --dataset mnist --digits 4 --list-size 3 --learning-rate 1e-4 --batch-size 20
"""

from __future__ import annotations

import argparse
import json
import math
import time
from pathlib import Path

import tensorflow as tf
from command_line import add_shared_options
from handwritten_numbers import (
    DigitImages,
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
from pictures import draw_sorting
from tensorflow import keras

import keras_softsort as ks

LAYERS = {"neural_sort": ks.NeuralSortLayer, "soft_sort": ks.SoftSortLayer}


def sorter(image_shape: tuple[int, ...], options: argparse.Namespace) -> keras.Model:
    """Lists of images `[batch, n, height, width, 1]` to soft permutations `[batch, n, n]`, largest number first.

    With `--stochastic` to samples of them `[batch, num_samples, n, n]`, all the same in inference.
    """
    lists = keras.Input((None, *image_shape))
    scores = OnEachItem(reader(image_shape, outputs=1))(lists)
    if options.stochastic:
        sort = ks.PlackettLuceSampler(options.num_samples, options.tau, relaxation=options.operator)
    else:
        sort = LAYERS[options.operator](tau=options.tau)
    return keras.Model(lists, sort(scores))


def rank_regressor(image_shape: tuple[int, ...], list_size: int) -> keras.Model:
    """The baseline: the same CNN, each image regressed on its rank in its list."""
    lists = keras.Input((None, *image_shape))
    return keras.Model(lists, OnEachItem(reader(image_shape, outputs=1, first_bias=(list_size + 1) / 2))(lists))


def ranks_of(numbers: tf.Tensor) -> tf.Tensor:
    """The rank of each number in its list, 1 = largest, ties at their mean."""
    larger = tf.cast(numbers[..., tf.newaxis, :] > numbers[..., tf.newaxis], tf.float32)
    equal = tf.cast(numbers[..., tf.newaxis, :] == numbers[..., tf.newaxis], tf.float32)
    return 0.5 + tf.reduce_sum(larger + 0.5 * equal, axis=-1)


def order_metrics(target: str) -> list[keras.metrics.Metric]:
    """All-correct and element-wise accuracy."""
    return [
        ks.PermutationAccuracy(target=target, name="all_correct"),
        ks.ElementwiseAccuracy(target=target, name="element"),
    ]


def train(model: keras.Model, data: tf.data.Dataset, validation: tuple, options: argparse.Namespace) -> list[dict]:
    """Fit for `--steps` or `--minutes`; returns what each epoch ended with."""
    epochs = max(1, min(10, options.steps // 100)) if options.epochs is None else options.epochs
    stop = keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: stop_when_late(model, started, options))
    started = time.monotonic()
    history = model.fit(
        data,
        validation_data=validation,
        validation_batch_size=100,
        epochs=epochs,
        steps_per_epoch=max(1, options.steps // epochs),
        callbacks=[stop],
    )
    return [
        {"step": (i + 1) * max(1, options.steps // epochs), "all_correct": a, "element": e}
        for i, (a, e) in enumerate(zip(history.history["val_all_correct"], history.history["val_element"], strict=True))
    ]


def stop_when_late(model: keras.Model, started: float, options: argparse.Namespace) -> None:
    """End training after the epoch in which `--minutes` ran out."""
    if options.minutes is not None and time.monotonic() - started > 60 * options.minutes:
        model.stop_training = True


def run(options: argparse.Namespace) -> dict:
    """Train the sorter, the baseline and the ceiling; print, draw, export."""
    task = Task(options.digits, options.list_size)
    train_images, test_images = load_images(options.dataset, options.data_dir)
    images, numbers = sample_lists(test_images, task, options.test_lists, seed=1_000_003)
    image_shape = images.shape[2:]
    data = training_lists(train_images, task, options.batch_size, options.seed)

    print(f"\n1. Learning to sort lists of {task.list_size} numbers of {task.digits} digits from their order alone")
    keras.utils.set_random_seed(options.seed)
    model = sorter(image_shape, options)
    adam = keras.optimizers.Adam(options.learning_rate)
    model.compile(adam, loss=ks.PermutationCrossEntropyLoss(), metrics=order_metrics("labels"))
    curve = train(model, data, (images, numbers), options)
    results = {
        "chance": {"all_correct": 1 / math.factorial(task.list_size), "element": 1 / task.list_size},
        options.operator: {key: curve[-1][key] for key in ("all_correct", "element")},
    }
    if options.baselines:
        results |= peers(data, train_images, (images, numbers), task, options)

    options.output.mkdir(parents=True, exist_ok=True)
    difference = exported_agrees(model, images[:20], options.output / "model")
    permutations = model.predict(images[:3], verbose=0)
    shown = images[:3], numbers[:3], permutations[:, 0] if options.stochastic else permutations
    picture = draw_sorting(shown, curve, results, options.output / "sort_digits.png")
    report = {"options": {k: str(v) for k, v in vars(options).items()}, "results": results, "curve": curve}
    (options.output / "sort_digits.json").write_text(json.dumps(report, indent=2) + "\n")

    print(f"\nOn {options.test_lists} lists of unseen images:")
    print(f"{'':34}{'all correct':>12}{'element-wise':>14}")
    for name, result in results.items():
        print(f"{name:34}{result['all_correct']:12.3f}{result['element']:14.3f}")
    print(f"\nExported to {options.output / 'model'}, loaded and run again: answers agree to {difference:.1e}.")
    print(f"Picture: {picture}")
    return report


def peers(
    data: tf.data.Dataset, train_images: DigitImages, test: tuple, task: Task, options: argparse.Namespace
) -> dict:
    """The rank regression with the same budget, and a CNN that is told every digit."""
    images, numbers = test
    print("\n2. The same CNN regressing ranks, with as many steps")
    keras.utils.set_random_seed(options.seed)
    regressor = rank_regressor(images.shape[2:], task.list_size)
    regressor.compile(keras.optimizers.Adam(options.learning_rate), loss="mse", metrics=order_metrics("ranks"))
    ranked = data.map(lambda lists, values: (lists, ranks_of(values)))
    regressed = train(regressor, ranked, (images, ranks_of(tf.constant(numbers)).numpy()), options)[-1]

    print("\n3. The ceiling: the same CNN told the digit in every image")
    classifier = train_digit_classifier(train_images, options.steps, options.seed)
    all_correct, element = order_metrics("labels")
    for metric in (all_correct, element):
        metric.update_state(numbers, read_numbers(classifier, images, task))
    return {
        "rank regression": {key: regressed[key] for key in ("all_correct", "element")},
        "ceiling: trained on digit labels": {
            "all_correct": float(all_correct.result()),
            "element": float(element.result()),
        },
    }


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_shared_options(parser, tau=1.0, output=Path("output/sort_digits"))
    parser.add_argument("--stochastic", action="store_true", help="sort scores under Gumbel noise in training")
    parser.add_argument("--num-samples", type=int, default=5, help="samples of a list with --stochastic")
    parser.add_argument("--epochs", type=int, help="parts to divide the steps in, each ending with a test")
    parser.add_argument("--minutes", type=float, help="stop after the epoch in which this time runs out")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    run(parse())
