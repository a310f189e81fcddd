"""DkNN and cross-entropy on CIFAR-10 with the settings of a published run, epoch by epoch beside its curves.

The run is one of the authors' PyTorch code by others, in github.com/erwan-auchere/automatic-differentiation
(Neuralsort/Our_experience.ipynb): k = 9, tau = 80, 100 queries and 100 candidates per step, SGD at the constant rate
1e-3 with momentum 0.9 and weight decay 5e-4, images shifted and mirrored, a pre-activation ResNet18 without a last
normalization. Four things are done as in PyTorch, not as in Keras: the loss is a sum over the k neighbors, weight decay
passes through the momentum, weights are uniform, and queries and candidates are normalized in batches of their own.

    python experiments/dknn_published.py --data-dir FOLDER --epochs 3   # about 15 minutes an epoch on two cores
    python experiments/export_dknn.py FOLDER                             # for a machine with a GPU
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

sys.path.append(str(Path(__file__).parents[1] / "benchmarks" / "tools"))

import harness
import knn_images
import numpy as np
import tensorflow as tf
from _shared import labelled_images, published_dknn
from tensorflow import keras

import keras_softsort as ks

K, TAU = 9, 80.0
RATE, MOMENTUM, DECAY = 1e-3, 0.9, 5e-4
MOVED = {"shift": 4, "flip": True}
# The channels of CIFAR-10.
MEAN, DEVIATION = (0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010)


def uniform() -> keras.initializers.Initializer:
    """Weights within 1 / sqrt(number of inputs)."""
    return keras.initializers.VarianceScaling(1 / 3, "fan_in", "uniform")


def convolution(width: int, window: int, stride: int = 1) -> keras.layers.Layer:
    return keras.layers.Conv2D(
        width, window, stride, "same", use_bias=False, kernel_initializer=uniform(), kernel_regularizer=decayed()
    )


def decayed() -> keras.regularizers.Regularizer:
    """Weight decay as a part of the gradient."""
    return keras.regularizers.L2(DECAY / 2)


def normalized(inputs: Any) -> Any:
    normalization = keras.layers.BatchNormalization(
        momentum=0.9, epsilon=1e-5, gamma_regularizer=decayed(), beta_regularizer=decayed()
    )
    return keras.layers.Activation("relu")(normalization(inputs))


def encoder(shape: tuple[int, int, int], blocks: list[int], width: int) -> keras.Model:
    """The pre-activation ResNet, whose last maps are pooled as they are."""
    inputs = keras.Input(shape)
    color = shape[-1] == len(MEAN)
    mean, deviation = (np.array(each) for each in ((MEAN, DEVIATION) if color else ((0.5,), (0.5,))))
    scaled = keras.layers.Rescaling((1 / deviation).tolist(), (-mean / deviation).tolist())(inputs)
    outputs = convolution(width, 3)(scaled)
    for stage, count in enumerate(blocks):
        for block in range(count):
            outputs = residual(outputs, width * 2**stage, 2 if stage and not block else 1)
    return keras.Model(inputs, keras.layers.GlobalAveragePooling2D(dtype="float32")(outputs))


def residual(inputs: Any, width: int, stride: int) -> Any:
    outputs = normalized(inputs)
    shortcut = inputs
    if stride > 1 or inputs.shape[-1] != width:
        shortcut = convolution(width, 1, stride)(outputs)
    outputs = convolution(width, 3)(normalized(convolution(width, 3, stride)(outputs)))
    return keras.layers.Add()([shortcut, outputs])


class Network(NamedTuple):
    """A network, the model that is trained, and the loss of its outputs, which counts `weight` times."""

    encoder: keras.Model
    model: keras.Model
    loss: keras.losses.Loss
    weight: float


def network(method: str, shape: tuple[int, int, int], classes: int, options: argparse.Namespace) -> Network:
    """The network of a method, for images of this shape."""
    images = encoder(shape, options.blocks, options.width)
    if method == "dknn":
        loss = ks.DkNNLoss(K, TAU, num_queries=options.batch)
        # The published loss is a sum over the neighbors.
        return Network(images, knn_images.separated(images, options.batch), loss, float(K))
    # Not trained: the optimizer of the published run has the weights of the ResNet alone.
    last = keras.layers.Dense(classes, kernel_initializer=uniform(), trainable=False, dtype="float32")
    model = keras.Model(images.inputs, last(images.outputs[0]))
    return Network(images, model, keras.losses.SparseCategoricalCrossentropy(from_logits=True), 1.0)


class Training:
    """A network, the batches of an epoch, and how its accuracy on validation images is measured."""

    def __init__(self, method: str, images: tuple, options: argparse.Namespace) -> None:
        keras.utils.set_random_seed(options.seed)
        self.train, self.validation = images
        self.method = method
        self.steps = len(self.train.classes) // options.batch
        optimizer = keras.optimizers.SGD(RATE, MOMENTUM)
        classes = int(self.train.classes.max()) + 1
        self.encoder, self.model, loss, weight = network(method, self.train.pixels.shape[1:], classes, options)
        self.batches = (
            labelled_images.queries_and_candidates(self.train, options.batch, options.batch, seed=options.seed, **MOVED)
            if method == "dknn"
            else labelled_images.shuffled_batches(self.train, options.batch, seed=options.seed, **MOVED)
        )
        self.model.compile(optimizer, loss, loss_weights=[weight], jit_compile=False)

    def epochs(self, count: int) -> Iterator[tuple[float, float]]:
        """The accuracy after each epoch, and its seconds."""
        for epoch in range(count):
            started = time.monotonic()
            batches = self.batches.skip(epoch * self.steps).take(self.steps).prefetch(2)
            self.model.fit(batches, epochs=1, shuffle=False, verbose=0)
            yield self.accuracy(epoch), time.monotonic() - started

    def accuracy(self, epoch: int) -> float:
        """On validation images, shifted and mirrored as in the published run; neighbors are all training images."""
        seed = 1_000_003 + epoch
        test = self._moved(self.validation, seed)
        if self.method == "dknn":
            head = ks.KNNClassifier(K)
            head.adapt(self._moved(self.train, seed + 1), encoder=self.encoder)
            answers = [(head(self.encoder(pixels))["probabilities"], classes) for pixels, classes in test]
        else:
            answers = [(self.model(pixels), classes) for pixels, classes in test]
        hits = [np.argmax(found, axis=1) == classes.numpy() for found, classes in answers]
        return float(np.mean(np.concatenate(hits)))

    def _moved(self, images: Any, seed: int) -> tf.data.Dataset:
        """Each image once."""
        size = min(500, len(images.classes))
        return labelled_images.shuffled_batches(images, size, seed=seed, **MOVED).take(len(images.classes) // size)


def main(arguments: list[str] | None = None) -> dict:
    parser = harness.new_parser(__doc__)
    add: Callable[..., argparse.Action] = parser.add_argument
    add("--dataset", default="cifar10", help="as of experiments/knn_images.py")
    add("--data-dir", help="folder of cifar10.npz or cifar10_jpeg.npz; without it Keras downloads CIFAR-10")
    add("--methods", nargs="+", choices=published_dknn.TITLES, default=list(published_dknn.TITLES))
    add("--epochs", type=int, default=30)
    add("--validation-count", type=int, default=5000)
    add("--batch", type=int, default=100, help="queries per step, and candidates, and images of cross-entropy")
    add("--blocks", type=int, nargs="+", default=[2, 2, 2, 2], help="by stage")
    add("--width", type=int, default=64, help="of the first stage")
    add("--seed", type=int, default=0)
    add("--mixed-precision", action="store_true", help="convolutions in bfloat16")
    add("--picture", type=Path, help="also draw the curves")
    options = parser.parse_args(arguments)
    before = keras.mixed_precision.global_policy()
    if options.mixed_precision:
        keras.mixed_precision.set_global_policy("mixed_bfloat16")
    images = labelled_images.split(labelled_images.load(options.dataset, options.data_dir)[0], options.validation_count)
    found: list[harness.Row] = []

    def rows() -> Iterator[harness.Row]:
        for method in options.methods:
            training = Training(method, images, options)
            for epoch, (accuracy, seconds) in enumerate(training.epochs(options.epochs), 1):
                found.append(published_dknn.row(method, options.seed, epoch, accuracy, seconds))
                yield found[-1]

    tables = {"epochs": rows(), "beside": published_dknn.beside(found)}
    result = harness.publish("dknn_published", tables, options.json)
    keras.mixed_precision.set_global_policy(before)
    if options.picture:
        published_dknn.draw(found, options.picture)
    return result


if __name__ == "__main__":
    main()
