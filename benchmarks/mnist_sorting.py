"""The sorting task of the NeuralSort paper on MNIST, in runs that can be interrupted and resumed.

Four MNIST digits side by side make a number, `--list-size` numbers make a list; the paper's CNN and protocol (Adam
1e-4, batches of 20 lists). The methods are those of the paper's table 1: `neural_sort` and `stochastic`, whose CNN
gives each image a score, and two whose CNN gives each image a logit per rank: `gumbel_sinkhorn`, and `softmax`, which
only normalizes the rows.

    python benchmarks/mnist_sorting.py --list-size 5 --minutes 60 --data-dir FOLDER    # again to go on for 60 more

Each run writes its curve to `OUTPUT/METHOD-nN/state.json`.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
import tensorflow as tf
from tensorflow import keras

sys.path.append(str(Path(__file__).parents[1] / "examples"))
from _shared import labelled_images
from _shared.checkpoints import Checkpoints
from _shared.handwritten_numbers import OnEachItem, Task, reader, sample_lists, training_lists

import keras_softsort as ks

METHODS = ("neural_sort", "stochastic", "gumbel_sinkhorn", "softmax")


@keras.utils.register_keras_serializable(package="benchmarks")
class SoftmaxOfRows(keras.layers.Layer):
    """Logits `[batch, item, rank]` to a matrix `[batch, rank, item]` whose rows sum to 1."""

    def call(self, logits: tf.Tensor) -> tf.Tensor:
        """The matrix."""
        return tf.nn.softmax(tf.linalg.matrix_transpose(logits))


def network(method: str, image_shape: tuple[int, ...], list_size: int, tau: float) -> keras.Model:
    """Lists of images `[batch, n, height, width, 1]` to soft permutations, largest number first."""
    lists = keras.Input((list_size, *image_shape))
    ranks = method in ("gumbel_sinkhorn", "softmax")
    values = OnEachItem(reader(image_shape, outputs=list_size if ranks else 1))(lists)
    if method == "gumbel_sinkhorn":
        values = keras.layers.Permute((2, 1))(values)
    sort = {
        "neural_sort": lambda: ks.NeuralSortLayer(tau),
        "stochastic": lambda: ks.PlackettLuceSampler(5, tau),
        "gumbel_sinkhorn": lambda: ks.GumbelSinkhornLayer(tau=tau),
        "softmax": SoftmaxOfRows,
    }[method]()
    return keras.Model(lists, sort(values))


def accuracies(model: keras.Model, lists: np.ndarray, numbers: np.ndarray) -> tuple[float, float]:
    """All correct, and element-wise."""
    metrics = ks.PermutationAccuracy(target="labels"), ks.ElementwiseAccuracy(target="labels")
    for start in range(0, len(lists), 100):
        soft = model(lists[start : start + 100], training=False)
        for metric in metrics:
            metric.update_state(numbers[start : start + 100], soft)
    return float(metrics[0].result()), float(metrics[1].result())


def train(options: argparse.Namespace) -> None:
    """Train for `--minutes`, from the last checkpoint on."""
    task = Task(digits=4, list_size=options.list_size)
    train_images, test_images = labelled_images.load("mnist", options.data_dir)
    lists, numbers = sample_lists(test_images, task, options.test_lists, seed=1_000_003)
    keras.utils.set_random_seed(options.seed)
    model = network(options.method, lists.shape[2:], options.list_size, options.tau)
    model.compile(keras.optimizers.Adam(1e-4), loss=ks.PermutationCrossEntropyLoss())
    checkpoints = Checkpoints(
        options.output / f"{options.method}-n{options.list_size}",
        lambda: accuracies(model, lists, numbers)[0],
        every=1,
        keep_best=False,
        options={name: getattr(options, name) for name in ("method", "list_size", "seed", "tau", "epoch_steps")},
        resume=True,
    )
    checkpoints.restore(model)
    started = time.monotonic()

    def stop_when_late(epoch: int, logs: dict) -> None:
        model.stop_training = time.monotonic() - started > 60 * options.minutes

    # Every resumed part has lists of its own: the seed tells them apart.
    data = training_lists(train_images, task, 20, seed=options.seed + 1000 * checkpoints.epoch)
    callbacks = [checkpoints, keras.callbacks.LambdaCallback(on_epoch_end=stop_when_late)]
    fit = {"epochs": 10**6, "initial_epoch": checkpoints.epoch, "steps_per_epoch": options.epoch_steps}
    model.fit(data, callbacks=callbacks, shuffle=False, verbose=0, **fit)
    correct, element = accuracies(model, lists, numbers)
    print(f"all correct {correct:.3f}, element-wise {element:.3f}", flush=True)


def main(arguments: list[str] | None = None) -> None:
    """Train."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--method", choices=METHODS, default="neural_sort")
    parser.add_argument("--list-size", type=int, default=5)
    parser.add_argument("--tau", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--epoch-steps", type=int, default=200, help="steps between two measurements")
    parser.add_argument("--test-lists", type=int, default=1000)
    parser.add_argument("--data-dir", help="folder of mnist.npz; without it Keras downloads MNIST")
    parser.add_argument("--output", type=Path, default=Path("output/mnist_sorting"))
    train(parser.parse_args(arguments))


if __name__ == "__main__":
    main()
