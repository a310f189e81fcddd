"""Train embeddings for nearest neighbors, and search with them (Grover et al. 2019, section 6.3).

A CNN embeds handwritten digits. `DkNNLoss` trains it so that the k nearest candidates of a query have the digit of the
query. `KNNClassifier` then lets the nearest training images vote; it keeps them as weights, and is saved with the CNN.
Beside it stand the nearest neighbors by pixels, and the same CNN trained by cross-entropy with a linear layer.

    python examples/knn_digits.py              # a minute on two CPU cores; downloads nothing
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # before TensorFlow is imported

import keras
import matplotlib as mpl
import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

import keras_softsort as ks

mpl.use("Agg")
from matplotlib import pyplot as plt

K, QUERIES, BATCH = 9, 100, 200  # neighbors; the first images of a batch are queries, the others candidates
GOOD, BAD, INK = "#2a9d8f", "#d1495b", "#1b2a41"


def images() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Images `[count, 8, 8, 1]` and digits for training, and for testing those of other writers."""
    digits = load_digits()
    pixels, classes = digits.images[..., np.newaxis].astype("float32") / 16, digits.target
    return pixels[:-500], classes[:-500], pixels[-500:], classes[-500:]


def encoder() -> keras.Model:
    """Images to embeddings `[batch, 32]`."""
    return keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            keras.layers.RandomTranslation(0.12, 0.12, fill_mode="constant"),
            keras.layers.Conv2D(32, 3, padding="same", activation="relu"),
            keras.layers.Conv2D(64, 3, padding="same", activation="relu"),
            keras.layers.MaxPooling2D(),
            keras.layers.Flatten(),
            keras.layers.Dense(64, activation="relu"),
            keras.layers.Dense(32),
        ]
    )


def batches(pixels: np.ndarray, classes: np.ndarray) -> tf.data.Dataset:
    """Shuffled batches of one size, queries and candidates together."""
    data = tf.data.Dataset.from_tensor_slices((pixels, classes))
    return data.shuffle(len(classes), seed=0).repeat().batch(BATCH, drop_remainder=True)


def train_dknn(pixels: np.ndarray, classes: np.ndarray, epochs: int) -> keras.Model:
    """The CNN, trained by the share of right neighbors."""
    keras.utils.set_random_seed(0)
    model = encoder()
    loss = ks.DkNNLoss(K, tau=16.0, num_queries=QUERIES)
    model.compile(keras.optimizers.Adam(1e-3), loss=loss)
    for epoch in range(epochs):
        history = model.fit(batches(pixels, classes), steps_per_epoch=12, verbose=0).history
        if epoch % max(1, epochs // 5) == 0 or epoch == epochs - 1:
            # The loss is minus the soft share of neighbors with the digit of the query.
            print(f"  epoch {epoch + 1:3}: soft share of right neighbors {-history['loss'][0]:.3f}", flush=True)
    return model


def train_cross_entropy(pixels: np.ndarray, classes: np.ndarray, epochs: int) -> keras.Model:
    """Train the CNN with a linear layer, in as many steps."""
    keras.utils.set_random_seed(0)
    model = keras.Sequential([encoder(), keras.layers.Dense(10)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(1e-3), loss=loss)
    model.fit(batches(pixels, classes), steps_per_epoch=12, epochs=epochs, verbose=0)
    return model


def classifier(model: keras.Model, pixels: np.ndarray, classes: np.ndarray) -> keras.Model:
    """Images to class probabilities, neighbors and distances: the CNN with all training images behind it."""
    knn = ks.KNNClassifier(K, num_classes=10)
    knn.adapt(model.predict(pixels, verbose=0), classes)
    return keras.Model(model.inputs, knn(model.outputs[0]))


def draw(data: tuple, snapshots: dict[str, keras.Model], path: Path) -> None:
    """The neighbors of the queries with the most wrong ones before training; all test images in the plane."""
    pixels, classes, test, truth = data
    figure = plt.figure(figsize=(12.5, 8.4), layout="constrained")
    rows, shown = figure.subfigures(len(snapshots), 1), None
    for row, (title, model) in zip(rows, snapshots.items(), strict=True):
        neighbors = classifier(model, pixels, classes).predict(test, verbose=0)["neighbors"]
        wrong = (classes[neighbors] != truth[:, np.newaxis]).mean(axis=1)
        if shown is None:
            hardest = np.argsort(-wrong, kind="stable")
            shown = hardest[np.sort(np.unique(truth[hardest], return_index=True)[1])[:4]]
        row.suptitle(f"{title}: {wrong.mean():.1%} of the {K} nearest neighbors show another digit", fontsize=16)
        left, right = row.subfigures(1, 2, width_ratios=[1.6, 1])
        for line, query in zip(left.subplots(len(shown), 8), shown, strict=True):
            frames = [(test[query], INK)]
            frames += [(pixels[i], GOOD if classes[i] == truth[query] else BAD) for i in neighbors[query, :7]]
            for axis, (image, color) in zip(line, frames, strict=True):
                axis.imshow(image[..., 0], cmap="gray_r")
                axis.set(xticks=[], yticks=[])
                axis.spines[:].set(color=color, linewidth=3)
        axis, points = right.subplots(), model.predict(test, verbose=0)
        _, _, directions = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)
        points = points @ directions[:2].T
        for digit in range(10):
            axis.scatter(*points[truth == digit].T, s=8, color=plt.cm.tab10(digit))
            middle = np.median(points[truth == digit], axis=0)
            axis.annotate(str(digit), middle, fontsize=16, fontweight="bold", ha="center", va="center")
        axis.set(xticks=[], yticks=[])
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main(epochs: int = 40, output: Path = Path("output/knn_digits")) -> dict[str, float]:
    """Train, compare, save, draw; the accuracy of each method on unseen images."""
    pixels, classes, test, truth = data = images()
    untrained = encoder()
    print(f"Training embeddings of {len(classes)} images whose {K} nearest neighbors show the same digit")
    model = train_dknn(pixels, classes, epochs)
    found = classifier(model, pixels, classes)
    votes = found.predict(test, verbose=0)["probabilities"]
    print("Training the same network by cross-entropy")
    logits = train_cross_entropy(pixels, classes, epochs).predict(test, verbose=0)
    flat = KNeighborsClassifier(K).fit(pixels.reshape(len(pixels), -1), classes)
    results = {
        "nearest neighbors by pixels": flat.score(test.reshape(len(test), -1), truth),
        "cross-entropy": float(np.mean(logits.argmax(axis=-1) == truth)),
        "DkNNLoss and KNNClassifier": float(np.mean(votes.argmax(axis=-1) == truth)),
    }
    print(f"\nAccuracy on {len(truth)} images of other writers")
    for name, accuracy in results.items():
        print(f"  {name:30}{accuracy:.3f}")
    output.mkdir(parents=True, exist_ok=True)
    found.save(output / "classifier.keras")
    draw(data, {"Before training": untrained, "After training": model}, output / "knn_digits.png")
    print(f"Model: {output / 'classifier.keras'}\nPicture: {output / 'knn_digits.png'}")
    return results


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=40, help="epochs of 12 steps each (default: 40)")
    parser.add_argument("--output", type=Path, default=Path("output/knn_digits"), help="folder for what is written")
    main(**vars(parser.parse_args()))
