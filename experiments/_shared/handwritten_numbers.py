"""Lists of handwritten multi-digit numbers from real digit images, and the small CNN that reads them.

A number is `digits` images side by side; a list is `list_size` numbers. Images for training and for testing are
disjoint: no test list shows a digit image that the network has seen.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import tensorflow as tf
from tensorflow import keras

from _shared import command_line
from _shared.labelled_images import Images


@dataclass(frozen=True)
class Task:
    """How lists are made."""

    digits: int
    list_size: int

    @property
    def base(self) -> int:
        """One more than the largest number."""
        return 10**self.digits


def sample_lists(source: Images, task: Task, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Random lists: images `[count, n, height, digits * width, 1]` and their numbers `[count, n]`."""
    chosen = np.random.default_rng(seed).integers(len(source.classes), size=(count, task.list_size, task.digits))
    images = np.moveaxis(source.pixels[chosen], 2, 3)  # digit beside the pixel columns
    height, _, width, _ = images.shape[2:]
    images = images.reshape(count, task.list_size, height, task.digits * width, 1)
    numbers = source.classes[chosen] @ (10 ** np.arange(task.digits - 1, -1, -1))
    return images, numbers.astype(np.float32)


def training_lists(source: Images, task: Task, batch_size: int, seed: int) -> tf.data.Dataset:
    """An endless dataset of batches of fresh random lists, made inside TensorFlow."""
    images, digits = tf.constant(source.pixels), tf.constant(source.classes)
    height, width = source.pixels.shape[1:3]
    powers = tf.constant(10 ** np.arange(task.digits - 1, -1, -1), tf.int32)
    shape = (batch_size, task.list_size, task.digits)

    def make(step: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        chosen = tf.random.stateless_uniform(
            shape, tf.stack([tf.constant(seed, tf.int64), step]), maxval=len(source.classes), dtype=tf.int32
        )
        pixels = tf.transpose(tf.gather(images, chosen), [0, 1, 3, 2, 4, 5])
        pixels = tf.reshape(pixels, [batch_size, task.list_size, height, task.digits * width, 1])
        return pixels, tf.cast(tf.reduce_sum(tf.gather(digits, chosen) * powers, axis=-1), tf.float32)

    return tf.data.Dataset.counter().map(make, num_parallel_calls=1).prefetch(4)


def reader(
    image_shape: tuple[int, int, int],
    outputs: int,
    first_bias: float = 0.0,
    dropout: float | None = None,
    convolutions: str | None = None,
) -> keras.Model:
    """The CNN of the NeuralSort paper: two convolutions and a hidden layer of 64.

    Small images get 3 x 3 windows, and dropout unless told, since there are 30 times fewer of them than in MNIST.
    `convolutions` is their dtype policy, such as "mixed_bfloat16"; the dense layers keep the global one.
    """
    small = image_shape[0] < 28
    window = 3 if small else 5
    if dropout is None:
        dropout = 0.3 if small else 0.0
    return keras.Sequential(
        [
            keras.Input(image_shape),
            keras.layers.Conv2D(32, window, padding="same", activation="relu", dtype=convolutions),
            keras.layers.MaxPooling2D(dtype=convolutions),
            keras.layers.Conv2D(64, window, padding="same", activation="relu", dtype=convolutions),
            keras.layers.MaxPooling2D(dtype=convolutions),
            keras.layers.Flatten(),
            keras.layers.Dropout(dropout),
            keras.layers.Dense(64, activation="relu"),
            keras.layers.Dropout(dropout),
            keras.layers.Dense(outputs, bias_initializer=keras.initializers.Constant(first_bias)),
        ]
    )


@keras.utils.register_keras_serializable(package="experiments")
class OnEachItem(keras.layers.Layer):
    """Applies a model to every item of a list: `[batch, n, ...]` to `[batch, n, outputs]`, or `[batch, n]` for one."""

    def __init__(self, model: keras.Model, **kwargs: object) -> None:
        super().__init__(**kwargs)
        self.model = model

    def call(self, lists: tf.Tensor) -> tf.Tensor:
        """All items as one batch."""
        shape = tf.shape(lists)
        items = self.model(tf.reshape(lists, tf.concat([[shape[0] * shape[1]], lists.shape[2:]], axis=0)))
        outputs = items.shape[-1]
        return tf.reshape(items, [-1, lists.shape[1] or shape[1]] + ([] if outputs == 1 else [outputs]))

    def get_config(self) -> dict:
        """The constructor's arguments."""
        return {**super().get_config(), "model": keras.saving.serialize_keras_object(self.model)}

    @classmethod
    def from_config(cls, config: dict) -> OnEachItem:
        """The layer again."""
        return cls(model=keras.saving.deserialize_keras_object(config.pop("model")), **config)


def train_digit_classifier(source: Images, steps: int, seed: int, dropout: float | None = None) -> keras.Model:
    """Train the CNN on the digit in each image, which gives the best result that reading digits can reach."""
    keras.utils.set_random_seed(seed)
    model = reader(source.pixels.shape[1:], outputs=10, dropout=dropout)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(1e-3), loss=loss, metrics=["accuracy"])
    data = tf.data.Dataset.from_tensor_slices((source.pixels, source.classes))
    data = data.shuffle(len(source.classes), seed=seed).repeat().batch(64)
    model.fit(data, steps_per_epoch=steps, epochs=1, shuffle=False, verbose=command_line.progress())
    return model


def read_numbers(classifier: keras.Model, lists: np.ndarray, task: Task) -> np.ndarray:
    """The numbers `[count, n]` that the digit classifier reads in each list."""
    count, size, height, width, _ = lists.shape
    digits = lists.reshape(count, size, height, task.digits, width // task.digits, 1)
    digits = np.moveaxis(digits, 3, 2).reshape(-1, height, width // task.digits, 1)
    read = classifier.predict(digits, batch_size=1024, verbose=0).argmax(axis=-1)
    powers = 10 ** np.arange(task.digits - 1, -1, -1)
    return (read.reshape(count, size, task.digits) @ powers).astype(np.float32)
