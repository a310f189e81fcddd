"""The sorting task of the NeuralSort paper on MNIST, in runs that can be interrupted and resumed.

Four MNIST digits side by side make a number, `--list-size` numbers make a list; the paper's CNN and protocol (Adam
1e-4, batches of 20 lists). The methods are those of the paper's table 1: `neural_sort` and `stochastic`, whose CNN
gives each image a score; `gumbel_sinkhorn`, whose CNN gives each image a logit per rank; and `row_stochastic`, where
three linear layers map these logits of all images together to a softmax per rank. `gumbel_sinkhorn_rows` is
Gumbel-Sinkhorn as in the authors' code: the logits of image i are row i of the matrix, whose rows stand for ranks in
the true permutation.

`--initial paper` starts as the authors' code does: weights from a truncated normal distribution of scale 0.1, biases
of 0.1. The default is Keras' own, Glorot's uniform distribution and 0.

    python experiments/mnist_sorting.py --list-size 5 --minutes 60 --data-dir FOLDER    # again for 60 more
    python experiments/mnist_sorting.py --list-size 5 --learning-rate 1e-3 --steps 10000 --fall-steps 4000

With `--mixed-precision` the convolutions compute in bfloat16, which is faster on processors with instructions for it,
and all that follows them in float32.

Each run writes its curve to `OUTPUT/METHOD-nN-RATE-INITIAL/state.json`, from which `mnist_sorting_tables.py` makes
tables. `--steps` and `--fall-steps` may be changed when a run goes on.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "benchmarks" / "tools"))

import harness
import numpy as np
import tensorflow as tf
from _shared import labelled_images
from _shared.checkpoints import Checkpoints
from _shared.handwritten_numbers import OnEachItem, Task, reader, sample_lists, training_lists
from tensorflow import keras

import keras_softsort as ks

METHODS = ("neural_sort", "stochastic", "gumbel_sinkhorn", "gumbel_sinkhorn_rows", "row_stochastic")
OF_A_RUN = ("method", "list_size", "learning_rate", "initial", "seed", "tau", "epoch_steps", "mixed_precision")


def network(
    method: str, image_shape: tuple[int, ...], list_size: int, tau: float, convolutions: str | None = None
) -> keras.Model:
    """Lists of images `[batch, n, height, width, 1]` to soft permutations, largest number first."""
    lists = keras.Input((list_size, *image_shape))
    ranks = method not in ("neural_sort", "stochastic")
    outputs = list_size if ranks else 1
    values = OnEachItem(reader(image_shape, outputs, convolutions=convolutions))(lists)
    if method == "gumbel_sinkhorn":
        values = keras.layers.Permute((2, 1))(values)
    if method == "row_stochastic":
        values = keras.layers.Flatten()(values)
        for _ in range(3):
            values = keras.layers.Dense(list_size**2)(values)
        values = keras.layers.Reshape((list_size, list_size))(values)
    sort = {
        "neural_sort": lambda: ks.NeuralSortLayer(tau),
        "stochastic": lambda: ks.PlackettLuceSampler(5, tau),
        "gumbel_sinkhorn": lambda: ks.GumbelSinkhornLayer(tau, num_samples=5),
        "gumbel_sinkhorn_rows": lambda: ks.GumbelSinkhornLayer(tau, num_samples=5),
        "row_stochastic": keras.layers.Softmax,
    }[method]()
    return keras.Model(lists, sort(values))


def start_as_the_paper(model: keras.Model) -> None:
    """Weights from a truncated normal distribution of scale 0.1, and biases of 0.1."""
    truncated = keras.initializers.TruncatedNormal(stddev=0.1)
    for weight in model.trainable_weights:
        weight.assign(truncated(weight.shape) if len(weight.shape) > 1 else tf.fill(weight.shape, 0.1))


class FallingRate(keras.callbacks.Callback):
    """Lets the rate fall linearly to 0 over the last `fall` of `steps` steps, and stops after them."""

    def __init__(self, rate: float, steps: int | None, fall: int) -> None:
        super().__init__()
        self.rate, self.steps, self.fall = rate, steps, fall

    def on_train_batch_begin(self, batch: int, logs: dict | None = None) -> None:
        """Set the rate: it depends on nothing but the step, so an interrupted run goes on as if it had not been."""
        left = float("inf") if self.steps is None else self.steps - int(self.model.optimizer.iterations)
        self.model.optimizer.learning_rate = self.rate * (min(1.0, left / self.fall) if self.fall else 1.0)

    def on_epoch_end(self, epoch: int, logs: dict | None = None) -> None:
        """Stop after the last step."""
        if self.steps is not None and int(self.model.optimizer.iterations) >= self.steps:
            self.model.stop_training = True


def accuracies(model: keras.Model, lists: np.ndarray, numbers: np.ndarray) -> dict[str, float]:
    """All correct, and element-wise."""
    metrics = ks.PermutationAccuracy(target="labels"), ks.ElementwiseAccuracy(target="labels")
    for start in range(0, len(lists), 100):
        soft = model(lists[start : start + 100], training=False)
        for metric in metrics:
            metric.update_state(numbers[start : start + 100], soft)
    return {"accuracy": float(metrics[0].result()), "element": float(metrics[1].result())}


def note_part(path: Path, options: argparse.Namespace) -> None:
    """Write the command and the machine of this part of a run, and the commits of all its parts."""
    about = {"command": harness.shown_command(), "fall_steps": options.fall_steps, **harness.environment()}
    before = json.loads(path.read_text())["commits"] if path.exists() else []
    about["commits"] = list(dict.fromkeys([*before, about.pop("commit").rstrip("+")]))
    path.write_text(json.dumps(about, indent=1) + "\n")


def train(options: argparse.Namespace) -> None:
    """Train for `--minutes` or up to `--steps`, from the last checkpoint on."""
    task = Task(digits=4, list_size=options.list_size)
    train_images, test_images = labelled_images.load("mnist", options.data_dir)
    lists, numbers = sample_lists(test_images, task, options.test_lists, seed=1_000_003)
    keras.utils.set_random_seed(options.seed)
    convolutions = "mixed_bfloat16" if options.mixed_precision else None
    model = network(options.method, lists.shape[2:], options.list_size, options.tau, convolutions)
    if options.initial == "paper":
        start_as_the_paper(model)
    model.compile(keras.optimizers.Adam(options.learning_rate), loss=ks.PermutationCrossEntropyLoss())
    checkpoints = Checkpoints(
        options.output / f"{options.method}-n{options.list_size}-{options.learning_rate:g}-{options.initial}",
        lambda: accuracies(model, lists, numbers),
        every=1,
        keep_best=False,
        options={name: getattr(options, name) for name in OF_A_RUN},
        resume=True,
    )
    checkpoints.restore(model)
    if options.steps is not None and checkpoints.epoch * options.epoch_steps >= options.steps:
        return
    note_part(checkpoints.folder / "about.json", options)
    started = time.monotonic()

    def stop_when_late(epoch: int, logs: dict) -> None:
        if time.monotonic() - started > 60 * options.minutes:
            model.stop_training = True

    # Every resumed part has lists of its own: the seed tells them apart.
    data = training_lists(train_images, task, 20, seed=options.seed + 1000 * checkpoints.epoch)
    falling = FallingRate(options.learning_rate, options.steps, options.fall_steps)
    callbacks = [checkpoints, falling, keras.callbacks.LambdaCallback(on_epoch_end=stop_when_late)]
    fit = {"epochs": 10**6, "initial_epoch": checkpoints.epoch, "steps_per_epoch": options.epoch_steps}
    model.fit(data, callbacks=callbacks, shuffle=False, verbose=0, **fit)
    last = checkpoints.curve[-1]
    print(f"all correct {last['accuracy']:.3f}, element-wise {last['element']:.3f}", flush=True)


def main(arguments: list[str] | None = None) -> None:
    """Train."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--method", choices=METHODS, default="neural_sort")
    parser.add_argument("--list-size", type=int, default=5)
    parser.add_argument("--tau", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--learning-rate", type=float, default=1e-4)
    parser.add_argument("--initial", choices=("glorot", "paper"), default="glorot", help="the weights at the start")
    parser.add_argument("--mixed-precision", action="store_true", help="convolutions in bfloat16")
    parser.add_argument("--minutes", type=float, default=60, help="stop after the epoch in which they run out")
    parser.add_argument("--steps", type=int, help="stop after these, counted from the first start")
    parser.add_argument("--fall-steps", type=int, default=0, help="the last steps, in which the rate falls to 0")
    parser.add_argument("--epoch-steps", type=int, default=200, help="steps between two measurements")
    parser.add_argument("--test-lists", type=int, default=1000)
    parser.add_argument("--data-dir", help="folder of mnist.npz; without it Keras downloads MNIST")
    parser.add_argument("--output", type=Path, default=Path("output/mnist_sorting"))
    options = parser.parse_args(arguments)
    if options.steps is None and options.fall_steps:
        parser.error("--fall-steps needs --steps")
    train(options)


if __name__ == "__main__":
    main()
