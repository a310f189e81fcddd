"""DkNN and cross-entropy on CIFAR-10 with the settings of a published run, epoch by epoch beside its curves.

The run is one of the authors' PyTorch code by others, in github.com/erwan-auchere/automatic-differentiation
(Neuralsort/Our_experience.ipynb): k = 9, tau = 80, 100 queries and 100 candidates per step, SGD at the constant rate
1e-3 with momentum 0.9 and weight decay 5e-4, images shifted and mirrored, a pre-activation ResNet18 without a last
normalization. Four things are done as in PyTorch, not as in Keras: the loss is a sum over the k neighbors, weight decay
passes through the momentum, weights are uniform, and queries and candidates are normalized in batches of their own.

    python benchmarks/training/dknn_published.py --data-dir FOLDER --epochs 3 --picture docs/pictures/dknn_published.png
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "tools"))

import harness
import numpy as np
import tensorflow as tf
from tensorflow import keras

import keras_softsort as ks

# Accuracies on 5,000 validation images after each epoch.
PUBLISHED = {
    "dknn": (
        *(0.4220, 0.5036, 0.5640, 0.6206, 0.6490, 0.6832, 0.7080, 0.7138, 0.7402, 0.7620),
        *(0.7696, 0.7824, 0.7866, 0.8022, 0.8198, 0.8196, 0.8384, 0.8338, 0.8396, 0.8492),
        *(0.8534, 0.8502, 0.8552, 0.8520, 0.8530, 0.8632, 0.8738, 0.8688, 0.8758, 0.8682),
    ),
    "cross_entropy": (
        *(0.4774, 0.5796, 0.6126, 0.6956, 0.7190, 0.7298, 0.7648, 0.7790, 0.7968, 0.8160),
        *(0.8126, 0.8112, 0.8262, 0.8316, 0.8324, 0.8286, 0.8532, 0.8564, 0.8478, 0.8546),
        *(0.8508, 0.8524, 0.8676, 0.8724, 0.8466, 0.8752, 0.8670, 0.8632, 0.8648, 0.8718),
    ),
}
TITLES = {"dknn": "DkNN", "cross_entropy": "cross-entropy"}
K, TAU, RATE, DECAY = 9, 80.0, 1e-3, 5e-4
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
    mean, deviation = (MEAN, DEVIATION) if color else ((0.5,), (0.5,))
    scaled = keras.layers.Normalization(mean=mean, variance=np.square(deviation))(inputs)
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


class Training:
    """A network, the batches of an epoch, and how its accuracy on validation images is measured."""

    def __init__(self, method: str, images: tuple, options: argparse.Namespace, labelled_images: Any) -> None:
        keras.utils.set_random_seed(options.seed)
        self.train, self.validation = images
        self.method, self.source = method, labelled_images
        self.steps = len(self.train.classes) // options.batch
        self.encoder = encoder(self.train.pixels.shape[1:], options.blocks, options.width)
        optimizer = keras.optimizers.SGD(RATE, momentum=0.9)
        if method == "dknn":
            import knn_images  # noqa: PLC0415

            self.model = knn_images.separated(self.encoder, options.batch)
            loss = ks.DkNNLoss(K, TAU, num_queries=options.batch)
            self.batches = labelled_images.queries_and_candidates(
                self.train, options.batch, options.batch, seed=options.seed, **MOVED
            )
        else:
            classes = int(self.train.classes.max()) + 1
            # Not trained: the optimizer of the published run has the weights of the ResNet alone.
            last = keras.layers.Dense(classes, kernel_initializer=uniform(), trainable=False, dtype="float32")
            self.model = keras.Model(self.encoder.inputs, last(self.encoder.outputs[0]))
            loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
            self.batches = labelled_images.shuffled_batches(self.train, options.batch, seed=options.seed, **MOVED)
        # The published loss is a sum over the neighbors.
        self.model.compile(optimizer, loss, loss_weights=[float(K) if method == "dknn" else 1.0], jit_compile=False)

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
        return self.source.shuffled_batches(images, size, seed=seed, **MOVED).take(len(images.classes) // size)


def published_rows() -> Iterator[harness.Row]:
    """All accuracies of the published run."""
    titles = [f"{TITLES[method]}, published" for method in PUBLISHED]
    for epoch, values in enumerate(zip(*PUBLISHED.values(), strict=True), 1):
        yield {"epoch": epoch, **dict(zip(titles, map("{:.4f}".format, values), strict=True))}


def draw(curves: dict[str, list[float]], path: Path) -> None:
    """Accuracies over the epochs, with the published ones as thin lines."""
    import matplotlib.pyplot as plt  # noqa: PLC0415

    figure, axis = plt.subplots(figsize=(7.5, 4.5), layout="constrained")
    for (method, published), color in zip(PUBLISHED.items(), ("#1F6F6B", "#C98A1B"), strict=True):
        axis.plot(range(1, len(published) + 1), published, color=color, lw=1, label=f"{TITLES[method]}, published")
        if method in curves:
            curve = curves[method]
            axis.plot(range(1, len(curve) + 1), curve, "o-", color=color, lw=2.2, label=f"{TITLES[method]}, here")
    axis.set(xlabel="epoch", ylabel="accuracy on 5,000 validation images", xlim=(0.5, None))
    axis.legend(frameon=False, loc="lower right")
    harness.save_picture(figure, path)


def main(arguments: list[str] | None = None) -> dict:
    parser = harness.new_parser(__doc__)
    add: Callable[..., argparse.Action] = parser.add_argument
    add("--dataset", default="cifar10", help="as of benchmarks/training/knn_images.py")
    add("--data-dir", help="folder of cifar10.npz or cifar10_jpeg.npz; without it Keras downloads CIFAR-10")
    add("--methods", nargs="+", choices=TITLES, default=list(TITLES))
    add("--epochs", type=int, default=30)
    add("--validation-count", type=int, default=5000)
    add("--batch", type=int, default=100, help="queries per step, and candidates, and images of cross-entropy")
    add("--blocks", type=int, nargs="+", default=[2, 2, 2, 2], help="by stage")
    add("--width", type=int, default=64, help="of the first stage")
    add("--seed", type=int, default=0)
    add("--mixed-precision", action="store_true", help="convolutions in bfloat16")
    add("--picture", type=Path, help="also draw the curves")
    options = parser.parse_args(arguments)
    from _shared import labelled_images  # noqa: PLC0415

    before = keras.mixed_precision.global_policy()
    if options.mixed_precision:
        keras.mixed_precision.set_global_policy("mixed_bfloat16")
    images = labelled_images.split(labelled_images.load(options.dataset, options.data_dir)[0], options.validation_count)
    curves: dict[str, list[float]] = {}

    def rows() -> Iterator[harness.Row]:
        for method in options.methods:
            training = Training(method, images, options, labelled_images)
            for epoch, (accuracy, seconds) in enumerate(training.epochs(options.epochs)):
                curves.setdefault(method, []).append(accuracy)
                published = f"{PUBLISHED[method][epoch]:.4f}" if epoch < len(PUBLISHED[method]) else ""
                result = {"accuracy": f"{accuracy:.4f}", "published": published, "minutes": round(seconds / 60, 1)}
                yield {"method": TITLES[method], "epoch": epoch + 1, **result}

    result = harness.publish("dknn_published", {"epochs": rows(), "published": published_rows()}, options.json)
    keras.mixed_precision.set_global_policy(before)
    if options.picture:
        draw(curves, options.picture)
    return result


if __name__ == "__main__":
    main()
