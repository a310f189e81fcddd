"""Write the training of `dknn_published.py` as programs of XLA, for a machine with a GPU and without TensorFlow.

Each method becomes a folder of programs: `start` (a seed -> the state), `step` (images, classes, the chosen images, a
seed, the state -> the loss, the new state), `outputs` (images, the chosen, a seed, the state -> embeddings or logits)
and, for DkNN, `votes` (embeddings, those of all training images, their classes -> the shares of the classes).
`run_dknn.py` trains with them; it needs jax, NumPy and Pillow.

    python experiments/export_dknn.py FOLDER
    python experiments/run_dknn.py FOLDER --images cifar10_jpeg.npz
"""

from __future__ import annotations

import argparse
import functools
from collections.abc import Callable, Sequence
from pathlib import Path

import dknn_published
import numpy as np
import tensorflow as tf
from _shared import labelled_images, published_dknn

import keras_softsort as ks


class Programs:
    """The programs of a method, as functions of tensors. The state is the weights and the steps of trained ones."""

    def __init__(self, method: str, shape: tuple[int, int, int], classes: int, options: argparse.Namespace) -> None:
        self.network = dknn_published.network(method, shape, classes, options)
        self.model = self.network.model
        # A Keras loss holds tau in a variable, which a program cannot have.
        self.loss = functools.partial(dknn, queries=options.batch) if method == "dknn" else self.network.loss
        self.answering = self.network.encoder if method == "dknn" else self.model
        self.trained = len(self.model.trainable_variables)
        self.weights = [*self.model.trainable_variables, *self.model.non_trainable_variables]
        self.values = [each.numpy() for each in self.weights]
        self.state = [*self.weights, *self.model.trainable_variables]

    def start(self, seed: tf.Tensor) -> list[tf.Tensor]:
        """Kernels are drawn as by `dknn_published.uniform`; all other weights are what they are at first."""
        weights = [
            drawn(each.shape, seed + i) if each.path.endswith("kernel") else tf.constant(value)
            for i, (each, value) in enumerate(zip(self.weights, self.values, strict=True))
        ]
        return [*weights, *map(tf.zeros_like, weights[: self.trained])]

    def step(
        self, pixels: tf.Tensor, classes: tf.Tensor, chosen: tf.Tensor, seed: tf.Tensor, *state: tf.Tensor
    ) -> list[tf.Tensor]:
        """A step of gradient descent with momentum, as Keras' SGD makes it."""
        count = self.trained
        weights, fixed, steps = state[:count], state[count : len(self.weights)], state[len(self.weights) :]
        images, labels = moved(pixels, chosen, seed), tf.gather(classes, chosen)
        with tf.GradientTape() as tape:
            tape.watch(weights)
            outputs, fixed, decays = self.model.stateless_call(
                weights, fixed, images, training=True, return_losses=True
            )
            loss = self.network.weight * self.loss(labels, outputs)
            total = loss + tf.add_n(decays)
        gradients = tape.gradient(total, weights)
        rate, momentum = dknn_published.RATE, dknn_published.MOMENTUM
        steps = [momentum * step - rate * each for step, each in zip(steps, gradients, strict=True)]
        weights = [weight + step for weight, step in zip(weights, steps, strict=True)]
        return [loss, *weights, *fixed, *steps]

    def outputs(self, pixels: tf.Tensor, chosen: tf.Tensor, seed: tf.Tensor, *state: tf.Tensor) -> list[tf.Tensor]:
        """Embeddings, or logits, of the network in inference."""
        weights, fixed = state[: self.trained], state[self.trained :]
        return [self.answering.stateless_call(weights, fixed, moved(pixels, chosen, seed), training=False)[0]]


def dknn(labels: tf.Tensor, embeddings: tf.Tensor, queries: int) -> tf.Tensor:
    """The value of `DkNNLoss` with the arguments of `dknn_published.network`."""
    losses = ks.ops.dknn_loss(embeddings, labels, dknn_published.K, tau=dknn_published.TAU, num_queries=queries)
    return tf.reduce_mean(losses)


def drawn(shape: Sequence[int], seed: tf.Tensor) -> tf.Tensor:
    limit = float(np.prod(shape[:-1])) ** -0.5
    return tf.random.stateless_uniform(shape, seed, -limit, limit)


def moved(pixels: tf.Tensor, chosen: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
    """The chosen ones of images of bytes, in [0, 1], shifted and mirrored."""
    images = tf.cast(tf.gather(pixels, chosen), tf.float32) / 255
    return labelled_images.moved(images, **dknn_published.MOVED, state=seed)


def votes(queries: tf.Tensor, references: tf.Tensor, classes: tf.Tensor, count: int) -> list[tf.Tensor]:
    """The votes of `KNNClassifier`: the shares of `count` classes among the nearest references."""
    neighbors, distances = ks.ops.nearest_neighbors(queries, references, dknn_published.K)
    return [ks.ops.neighbor_votes(classes, neighbors, distances, count)]


def shapes_of(variables: Sequence[tf.Variable]) -> list[tf.TensorSpec]:
    return [tf.TensorSpec(each.shape, each.dtype) for each in variables]


def write(path: Path, function: Callable, inputs: Sequence[tf.TensorSpec]) -> None:
    """Write what the function of these inputs lowers to."""
    compiled = tf.function(function, jit_compile=True, autograph=False)
    hlo = compiled.experimental_get_compiler_ir(*inputs)(stage="hlo_serialized", platform_name="GPU")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(hlo)
    print(path, flush=True)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    add: Callable[..., argparse.Action] = parser.add_argument
    add("--methods", nargs="+", choices=published_dknn.TITLES, default=list(published_dknn.TITLES))
    add("--images", type=int, nargs=4, default=[50_000, 32, 32, 3], help="number, height, width, channels")
    add("--classes", type=int, default=10)
    add("--validation-count", type=int, default=5000)
    add("--measured", type=int, default=500, help="images of a call of `outputs`")
    add("--batch", type=int, default=100, help="queries per step, and candidates, and images of cross-entropy")
    add("--blocks", type=int, nargs="+", default=[2, 2, 2, 2], help="by stage")
    add("--width", type=int, default=64, help="of the first stage")
    options = parser.parse_args(arguments)
    count, *shape = options.images
    pixels, classes = tf.TensorSpec(options.images, tf.uint8), tf.TensorSpec([count], tf.int32)
    seed = tf.TensorSpec([2], tf.int32)
    for method in options.methods:
        folder, programs = options.folder / method, Programs(method, tuple(shape), options.classes, options)
        state = shapes_of(programs.state)
        write(folder / "start.hlo", programs.start, [seed])
        chosen = tf.TensorSpec([options.batch * (2 if method == "dknn" else 1)], tf.int32)
        write(folder / "step.hlo", programs.step, [pixels, classes, chosen, seed, *state])
        measured = tf.TensorSpec([options.measured], tf.int32)
        write(folder / "outputs.hlo", programs.outputs, [pixels, measured, seed, *state[: len(programs.weights)]])
        if method == "dknn":
            dimension, references = programs.answering.output_shape[-1], count - options.validation_count
            inputs = [tf.TensorSpec([each, dimension]) for each in (options.measured, references)]
            inputs.append(tf.TensorSpec([references], tf.int32))
            write(folder / "votes.hlo", lambda *each: votes(*each, count=options.classes), inputs)


if __name__ == "__main__":
    main()
