"""Labelled images for training embeddings: what is loaded, batched and shifted; and the networks that embed them."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import NamedTuple

import numpy as np
import tensorflow as tf
from tensorflow import keras


class Images(NamedTuple):
    """Images `[count, height, width, channels]` in [0, 1] and their classes `[count]`."""

    pixels: np.ndarray
    classes: np.ndarray


def load(dataset: str, data_dir: str | None) -> tuple[Images, Images]:
    """Training and test images: scikit-learn's digits, or files in `data_dir`, or what Keras' own loaders download.

    The folder holds `DATASET.npz` with `x_train`, `y_train`, `x_test` and `y_test`, as Keras' `mnist.npz` does, or
    `DATASET_jpeg.npz` with the images as JPEG: see `decode_jpegs`.
    """
    if dataset == "sklearn":
        return _sklearn_digits()
    train, test = _from_files(dataset, Path(data_dir)) if data_dir is not None else _from_keras(dataset)
    return _as_images(*train, brightest=255), _as_images(*test, brightest=255)


def _from_keras(dataset: str) -> tuple[tuple, tuple]:
    try:
        return getattr(keras.datasets, dataset).load_data()
    except Exception as error:
        raise FileNotFoundError(
            f"{dataset} could not be downloaded ({error}); put {dataset}.npz or {dataset}_jpeg.npz into a folder and "
            "name the folder by --data-dir"
        ) from error


def _from_files(dataset: str, folder: Path) -> tuple[tuple, tuple]:
    paths = [folder / f"{dataset}.npz", folder / f"{dataset}_jpeg.npz"]
    path = next((path for path in paths if path.exists()), None)
    if path is None:
        raise FileNotFoundError(
            f"no {dataset} in {folder}: expected {paths[0]} with x_train, y_train, x_test and y_test, or {paths[1]} "
            "with jpeg_train, offset_train, y_train and the same three of the test images"
        )
    with np.load(path) as file:
        kinds = (("x_{}", "y_{}"), ("jpeg_{}", "offset_{}", "y_{}"))
        needed = [[name.format(part) for part in ("train", "test") for name in names] for names in kinds]
        if set(needed[0]) <= set(file.files):
            return tuple((file[f"x_{part}"], file[f"y_{part}"]) for part in ("train", "test"))
        if set(needed[1]) <= set(file.files):
            return tuple(
                (decode_jpegs(file[f"jpeg_{part}"], file[f"offset_{part}"]), file[f"y_{part}"])
                for part in ("train", "test")
            )
        raise ValueError(f"{path} must hold {needed[0]} or {needed[1]}, got {file.files}")


def decode_jpegs(data: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Images `[count, height, width, channels]` of one size, uint8, from JPEG files that stand one after the other.

    Args:
      data: the bytes of all files, uint8 `[total]`.
      offsets: where each file starts and where the last ends, integers `[count + 1]`.

    To store a dataset so, in a hundredth to a tenth of the size of its pixels:

        files = [tf.io.encode_jpeg(image, quality=95).numpy() for image in x_train]
        jpeg_train = np.frombuffer(b"".join(files), np.uint8)
        offset_train = np.cumsum([0, *map(len, files)])
        np.savez("cifar100_jpeg.npz", jpeg_train=jpeg_train, offset_train=offset_train, y_train=y_train, ...)
    """
    if offsets[-1] != len(data):
        raise ValueError(f"the last offset must be the number of bytes, {len(data)}, got {offsets[-1]}")
    data = data.tobytes()
    files = [data[start:end] for start, end in itertools.pairwise(offsets)]
    decoded = tf.data.Dataset.from_tensor_slices(files).map(tf.io.decode_jpeg, num_parallel_calls=2)
    return np.concatenate(list(decoded.batch(1000).as_numpy_iterator()))


def split(images: Images, count: int) -> tuple[Images, Images]:
    """All but the last `count` images, and those."""
    if not 0 <= count < len(images.classes):
        raise ValueError(f"the validation count must be at least 0 and below {len(images.classes)}, got {count}")
    first = len(images.classes) - count
    return Images(*(part[:first] for part in images)), Images(*(part[first:] for part in images))


def _sklearn_digits(test_count: int = 500) -> tuple[Images, Images]:
    from sklearn.datasets import load_digits  # noqa: PLC0415  (an extra, not needed for the others)

    loaded = load_digits()
    # Neighbours in the file are by the same writer: the last images are by writers of their own.
    everything = _as_images(loaded.images, loaded.target, brightest=16)
    return split(everything, test_count)


def _as_images(pixels: np.ndarray, classes: np.ndarray, brightest: int) -> Images:
    pixels = (pixels / np.float32(brightest)).astype(np.float32)
    return Images(pixels.reshape(*pixels.shape[:3], -1), classes.reshape(-1).astype(np.int32))


def shuffled_batches(images: Images, size: int, *, shift: int, flip: bool, seed: int) -> tf.data.Dataset:
    """An endless dataset of batches, every image once an epoch; shifted by up to `shift` pixels, mirrored by chance."""
    data = tf.data.Dataset.from_tensor_slices(tf.range(len(images.classes)))
    data = data.shuffle(len(images.classes), seed=seed).repeat().batch(size)
    pixels, classes = tf.constant(images.pixels), tf.constant(images.classes)
    random = tf.data.Dataset.random(seed=seed).batch(2)

    def make(chosen: tf.Tensor, state: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return moved(tf.gather(pixels, chosen), shift, flip, state), tf.gather(classes, chosen)

    return tf.data.Dataset.zip((data, random)).map(make, num_parallel_calls=2)


def queries_and_candidates(
    images: Images, queries: int, candidates: int, *, seed: int, **options: object
) -> tf.data.Dataset:
    """Batches of `queries` images and then `candidates`, each from a shuffled order of all images of its own."""
    first = shuffled_batches(images, queries, seed=2 * seed, **options)
    second = shuffled_batches(images, candidates, seed=2 * seed + 1, **options)

    def join(ours: tuple, others: tuple) -> tuple[tf.Tensor, ...]:
        return tuple(tf.concat(pair, axis=0) for pair in zip(ours, others, strict=True))

    return tf.data.Dataset.zip((first, second)).map(join)


def moved(pixels: tf.Tensor, shift: int, flip: bool, state: tf.Tensor) -> tf.Tensor:
    """Images shifted by up to `shift` pixels and mirrored by chance, as the seed `state` draws them."""
    count, height, width = pixels.shape[0] or tf.shape(pixels)[0], *pixels.shape[1:3]
    if shift:
        padded = tf.pad(pixels, [(0, 0), (shift, shift), (shift, shift), (0, 0)])
        moves = tf.random.stateless_uniform([2, count, 1], state, maxval=2 * shift + 1, dtype=tf.int32)
        pixels = tf.gather(padded, moves[0] + tf.range(height), axis=1, batch_dims=1)
        pixels = tf.gather(pixels, moves[1] + tf.range(width), axis=2, batch_dims=1)
    if flip:
        mirrored = tf.random.stateless_uniform([count, 1, 1, 1], state + 1) < 0.5
        pixels = tf.where(mirrored, tf.reverse(pixels, axis=[2]), pixels)
    return pixels


def encoder(
    shape: tuple[int, int, int], blocks: list[int], width: int, dimension: int | None, residual: bool = False
) -> keras.Model:
    """The network for images of this shape: of the paper, or with dropout and small windows for the 8 x 8 digits.

    `residual` takes the residual network for images of any size.
    """
    if residual or shape[0] >= 32:
        return residual_network(shape, blocks, width)
    if shape[0] >= 28:
        return plain_network(
            shape, filters=(20, 50), window=5, padding="valid", dimension=dimension or 500, dropout=0.0
        )
    return plain_network(shape, filters=(32, 64), window=3, padding="same", dimension=dimension or 64, dropout=0.3)


def plain_network(
    shape: tuple[int, int, int], *, filters: tuple[int, ...], window: int, padding: str, dimension: int, dropout: float
) -> keras.Model:
    """Convolutions and a hidden layer, which is the embedding."""
    inputs = outputs = keras.Input(shape)
    for count in filters:
        outputs = keras.layers.Conv2D(count, window, padding=padding, activation="relu")(outputs)
        outputs = keras.layers.MaxPooling2D()(outputs)
    outputs = keras.layers.Dropout(dropout)(keras.layers.Flatten()(outputs))
    return keras.Model(inputs, keras.layers.Dense(dimension, activation="relu")(outputs))


def residual_network(shape: tuple[int, int, int], blocks: list[int], width: int) -> keras.Model:
    """A pre-activation ResNet; blocks 2 2 2 2 of width 64 are the paper's ResNet18, of 512 outputs.

    The last maps are normalized and rectified, which those of the paper's code are not.
    """
    inputs = keras.Input(shape)
    outputs = keras.layers.Rescaling(4.0, offset=-2.0)(inputs)
    outputs = keras.layers.Conv2D(width, 3, padding="same", use_bias=False)(outputs)
    for stage, count in enumerate(blocks):
        for block in range(count):
            outputs = _residual(outputs, width * 2**stage, 2 if stage and not block else 1)
    return keras.Model(inputs, keras.layers.GlobalAveragePooling2D()(_activated(outputs)))


def _residual(inputs: tf.Tensor, width: int, stride: int) -> tf.Tensor:
    outputs = _activated(inputs)
    shortcut = inputs
    if stride > 1 or inputs.shape[-1] != width:
        shortcut = keras.layers.Conv2D(width, 1, stride, use_bias=False)(outputs)
    outputs = keras.layers.Conv2D(width, 3, stride, padding="same", use_bias=False)(outputs)
    outputs = keras.layers.Conv2D(width, 3, padding="same", use_bias=False)(_activated(outputs))
    return keras.layers.Add()([shortcut, outputs])


def _activated(inputs: tf.Tensor) -> tf.Tensor:
    return keras.layers.Activation("relu")(keras.layers.BatchNormalization(momentum=0.9)(inputs))
