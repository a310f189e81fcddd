"""Learn to sort handwritten numbers, given only the order of each list (Grover et al. 2019, section 6.1).

A CNN gives every image a score. `NeuralSortLayer` turns the scores of a list into a soft permutation, and
`PermutationCrossEntropyLoss` compares it with the true order. No image is ever labeled with its number. The baseline is
the same CNN, trained to predict the rank of each image in its list.

    python examples/sort_digits.py             # two minutes on two CPU cores; downloads nothing
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # before TensorFlow is imported

import keras
import matplotlib as mpl
import numpy as np
from sklearn.datasets import load_digits

import keras_softsort as ks

mpl.use("Agg")
from matplotlib import pyplot as plt

SIZE = 5  # numbers in a list
SHAPE = (8, 16, 1)  # two digits of 8 x 8 pixels beside each other
INK, GOOD, BAD, GRAY = "#1b2a41", "#2a9d8f", "#d1495b", "#8d99ae"


def sample_lists(split: str, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Random lists: images `[count, SIZE, 8, 16, 1]` and their numbers `[count, SIZE]`, 0 to 99."""
    digits = load_digits()
    # The last 500 images are by writers of their own.
    part = slice(-500) if split == "train" else slice(-500, None)
    pixels, classes = digits.images[part].astype("float32") / 16, digits.target[part]
    chosen = np.random.default_rng(seed).integers(len(classes), size=(count, SIZE, 2))
    images = np.concatenate([pixels[chosen[..., 0]], pixels[chosen[..., 1]]], axis=-1)
    return images[..., np.newaxis], (classes[chosen] @ [10, 1]).astype("float32")


def scorer(bias: float) -> keras.Model:
    """Lists of images `[batch, SIZE, 8, 16, 1]` to one score per image, `[batch, SIZE]`."""
    cnn = keras.Sequential(
        [
            keras.Input(SHAPE),
            keras.layers.Conv2D(32, 3, padding="same", activation="relu"),
            keras.layers.MaxPooling2D(),
            keras.layers.Conv2D(64, 3, padding="same", activation="relu"),
            keras.layers.MaxPooling2D(),
            keras.layers.Flatten(),
            keras.layers.Dropout(0.3),
            keras.layers.Dense(64, activation="relu"),
            keras.layers.Dropout(0.3),
            keras.layers.Dense(1, bias_initializer=keras.initializers.Constant(bias)),
        ]
    )
    lists = keras.Input((SIZE, *SHAPE))
    items = keras.ops.reshape(lists, (-1, *SHAPE))
    return keras.Model(lists, keras.ops.reshape(cnn(items), (-1, SIZE)))


def new_metrics(target: str) -> list[keras.metrics.Metric]:
    """The share of lists in the right order, and that of right ranks."""
    return [ks.PermutationAccuracy(target=target, name="lists"), ks.ElementwiseAccuracy(target=target, name="ranks")]


def train(kind: str, steps: int, seed: int) -> tuple[keras.Model, list[dict[str, float]]]:
    """Train by "order" or by "regression"; the model, and its accuracy on unseen images after each epoch."""
    keras.utils.set_random_seed(seed)
    scores = scorer(bias=0.0 if kind == "order" else (SIZE + 1) / 2)  # regression starts at the mean rank
    test, truth = sample_lists("test", 1000, seed=1_000_003)
    if kind == "order":
        model = keras.Model(scores.inputs, ks.NeuralSortLayer(tau=1.0)(scores.outputs[0]))
        model.compile(keras.optimizers.Adam(1e-3), ks.PermutationCrossEntropyLoss(), metrics=new_metrics("labels"))
    else:
        model, truth = scores, ranks(truth)
        model.compile(keras.optimizers.Adam(1e-3), "mse", metrics=new_metrics("ranks"))
    curve = []
    for start in range(0, steps, 300):
        count = min(300, steps - start)
        lists, numbers = sample_lists("train", 32 * count, seed=1000 * seed + start)  # new lists in each epoch
        target = numbers if kind == "order" else ranks(numbers)
        loss = model.fit(lists, target, batch_size=32, verbose=0).history["loss"][0]
        found = model.evaluate(test, truth, batch_size=100, verbose=0, return_dict=True)
        curve.append({"step": start + count, "lists": found["lists"], "ranks": found["ranks"]})
        right = f"lists right {found['lists']:.3f}, ranks right {found['ranks']:.3f}"
        print(f"  {kind:10} step {start + count:5}: loss {loss:.4f}, {right}", flush=True)
    return model, curve


def ranks(numbers: np.ndarray) -> np.ndarray:
    """The rank of each number in its list, 1 for the largest; equal numbers get their mean rank."""
    larger = (numbers[..., np.newaxis, :] > numbers[..., np.newaxis]).sum(axis=-1)
    equal = (numbers[..., np.newaxis, :] == numbers[..., np.newaxis]).sum(axis=-1)
    return (larger + (equal + 1) / 2).astype("float32")


def draw(model: keras.Model, curves: dict[str, list[dict[str, float]]], path: Path) -> None:
    """Lists as given and as sorted; one soft permutation; accuracy over the steps."""
    images, numbers = sample_lists("test", 3, seed=1_000_003)
    permutations = model.predict(images, verbose=0)
    figure = plt.figure(figsize=(13, 6.6), layout="constrained")
    figure.suptitle(
        "Sorting handwritten numbers, learned only from their order (unseen images)", fontsize=17, color=INK
    )
    left, right = figure.subfigures(1, 2, width_ratios=[1.25, 1])
    axes = left.subplots(6, SIZE)
    for i in range(3):
        order, truth = permutations[i].argmax(axis=-1), np.sort(numbers[i])[::-1]
        for place in range(SIZE):
            show(axes[2 * i, place], images[i, place], numbers[i, place], GRAY)
            number = numbers[i, order[place]]
            show(axes[2 * i + 1, place], images[i, order[place]], number, GOOD if number == truth[place] else BAD)
        axes[2 * i, 0].set_ylabel("given", fontsize=13)
        axes[2 * i + 1, 0].set_ylabel("sorted", fontsize=13)
    upper, lower = right.subplots(2, 1)
    upper.imshow(permutations[0], cmap="GnBu", vmin=0, vmax=1)
    for (rank, item), weight in np.ndenumerate(permutations[0]):
        upper.text(item, rank, f"{weight:.2f}", ha="center", va="center", color="white" if weight > 0.6 else INK)
    upper.set_xticks(range(SIZE), [f"{number:.0f}" for number in numbers[0]])
    upper.set_yticks(range(SIZE), range(1, SIZE + 1))
    upper.set_title("soft permutation of the first list", fontsize=14, color=INK)
    upper.set(xlabel="number, which the network never saw", ylabel="rank")
    for kind, curve in curves.items():
        color, name = (GOOD, "NeuralSort") if kind == "order" else (GRAY, "regression on ranks")
        steps, right_lists = [point["step"] for point in curve], [point["lists"] for point in curve]
        lower.plot(steps, right_lists, "o-", color=color, label=f"{name} {right_lists[-1]:.2f}")
    lower.legend(loc="lower right", labelcolor="linecolor", fontsize=13, frameon=False, reverse=True)
    lower.set(xlabel="training step", ylim=(0, 0.8))
    lower.set_title("share of lists sorted without a mistake", fontsize=14, color=INK)
    lower.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def show(axis: plt.Axes, image: np.ndarray, number: float, color: str) -> None:
    """An image in a frame, with its number below."""
    axis.imshow(image[..., 0], cmap="gray_r")
    axis.set(xticks=[], yticks=[])
    axis.set_xlabel(f"{number:.0f}", color=color, fontsize=14, fontweight="bold", labelpad=1)
    axis.spines[:].set_color(color)


def main(steps: int = 3000, seed: int = 0, output: Path = Path("output/sort_digits")) -> dict[str, float]:
    """Train the sorter and the baseline, print, draw, and save the sorter; the share of lists that each sorts."""
    print(f"Learning to sort lists of {SIZE} numbers of two digits from their order ({steps} steps)")
    model, by_order = train("order", steps, seed)
    print("The baseline: the same CNN predicts the rank of each image")
    _, by_rank = train("regression", steps, seed)
    results = {"chance": 1 / 120, "regression on ranks": by_rank[-1]["lists"], "NeuralSort": by_order[-1]["lists"]}
    print("\nLists of unseen images sorted without a mistake")
    for name, share in results.items():
        print(f"  {name:22}{share:.3f}")
    output.mkdir(parents=True, exist_ok=True)
    model.save(output / "sorter.keras")  # keras.models.load_model reads it where keras_softsort is imported
    draw(model, {"regression": by_rank, "order": by_order}, output / "sort_digits.png")
    print(f"Model: {output / 'sorter.keras'}\nPicture: {output / 'sort_digits.png'}")
    return results


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=3000, help="training steps of 32 lists (default: 3000)")
    parser.add_argument("--seed", type=int, default=0, help="seed of weights and lists (default: 0)")
    parser.add_argument("--output", type=Path, default=Path("output/sort_digits"), help="folder for what is written")
    main(**vars(parser.parse_args()))
