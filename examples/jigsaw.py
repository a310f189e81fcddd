"""Put torn and faded photographs together again, by scores of which pieces are neighbors.

A crop of a photograph is cut into 3 x 3 pieces, which lose their borders, fade unevenly and are shuffled. Differences
of borders score how well each piece fits right of each other one, and below it, and a network learns through
`SinkhornLayer` what to add to them. A greedy search places the pieces, and `linear_assignment` moves all of them to
where they fit best. The photographs of the test are not those of the training.

    python examples/jigsaw.py                  # two minutes on two CPU cores; downloads nothing
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
from matplotlib.cbook import get_sample_data
from skimage import data
from sklearn.datasets import load_sample_images

import keras_softsort as ks

mpl.use("Agg")
from matplotlib import pyplot as plt

K, PIECE, GAP, STRIP = 3, 24, 2, 4  # pieces per side; pixels of a piece, between pieces, and that the network sees
N, SIDE = K * K, K * (PIECE + GAP) - GAP
GOOD, BAD, INK = "#2a9d8f", "#d1495b", "#1b2a41"
RIGHT, BELOW = np.kron(np.eye(K), np.eye(K, k=1)), np.kron(np.eye(K, k=1), np.eye(K))  # 1 where q is right of p, below


def photographs(split: str) -> list[list[np.ndarray]]:
    """Other photographs for training than for testing, each in several sizes."""
    if split == "train":
        hopper = plt.imread(get_sample_data("grace_hopper.jpg", asfileobj=False))
        others = [data.rocket(), data.stereo_motorcycle()[0], data.retina(), data.immunohistochemistry()]
        photos, sizes = [*load_sample_images().images, hopper, *others, data.hubble_deep_field()], (1.1, 1.6, 2.3, 3.4)
    else:
        photos, sizes = [data.chelsea(), data.astronaut(), data.coffee()], (1.05, 1.3)
    resized = []
    for photo in photos:
        factor = SIDE / min(photo.shape[:2])
        shapes = [np.multiply(size * factor, photo.shape[:2]).round().astype(int) for size in sizes]
        resized.append([tf.image.resize(photo / 255, shape, method="area").numpy() for shape in shapes])
    return resized


def puzzles(split: str, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Shuffled pieces `[count, N, PIECE, PIECE, 3]` of each photograph in turn, and their positions `[count, N]`."""
    rng, photos = np.random.default_rng(seed), photographs(split)
    tops, lefts = (PIECE + GAP) * np.indices((K, K)).reshape(2, N)
    pieces = np.zeros((count, N, PIECE, PIECE, 3), "float32")
    for i in range(count):
        while pieces[i].std(axis=(1, 2)).max(axis=-1).min() < 0.04:  # a piece of one color fits in many places
            photo = photos[i % len(photos)][rng.integers(len(photos[0]))]
            top, left = (rng.integers(size - SIDE + 1) for size in photo.shape[:2])
            crop = photo[top : top + SIDE, left : left + SIDE]
            if split == "train":  # turned, mirrored, and in other colors
                crop = np.rot90(crop, rng.integers(4))[:, :: rng.choice([1, -1])][..., rng.permutation(3)]
            pieces[i] = [crop[y : y + PIECE, x : x + PIECE] for y, x in zip(tops, lefts, strict=True)]
    faded = rng.uniform(0, 0.5, (count, N, 1, 1, 1)).astype("float32")  # how near to white
    positions = np.argsort(rng.random((count, N)), axis=1)
    return np.take_along_axis(pieces + (1 - pieces) * faded, positions[..., None, None, None], axis=1), positions


def neighbors(positions: np.ndarray) -> np.ndarray:
    """1 where piece j is right of piece i, and where it is below, `[count, 2, i, j]`; a row of 0 where none is."""
    at = np.eye(N)[positions]
    return np.stack([at @ side @ at.swapaxes(1, 2) for side in (RIGHT, BELOW)], axis=1)


def unfaded(pieces: np.ndarray) -> tf.Tensor:
    """The pieces as they were, if the darkest value of each was 0."""
    white = keras.ops.min(pieces, axis=(2, 3, 4), keepdims=True)
    return (pieces - white) / (1 - white)


def scores_by_borders(pieces: np.ndarray) -> tf.Tensor:
    """Minus the squared difference of the facing pixels of j right of i, and below: `[batch, 2, i, j]`."""
    ops, pieces = keras.ops, unfaded(pieces)
    ends, starts = (ops.stack([pieces[:, :, :, e], pieces[:, :, e]], axis=1) for e in (-1, 0))
    difference = ops.sum((ends[:, :, :, None] - starts[:, :, None]) ** 2, axis=(-2, -1))
    # No piece is its own neighbor.
    return -10 * difference / ops.mean(difference, axis=(1, 2, 3), keepdims=True) - 100 * ops.eye(N)


def scorer() -> keras.Model:
    """Scores by borders, and what a network adds to them, which looks at the pixels that face each other."""
    ops, layers, inputs = keras.ops, keras.layers, keras.Input((N, PIECE, PIECE, 3))
    pieces = unfaded(inputs)
    turned = ops.swapaxes(pieces, 2, 3)
    # Sides are turned to the same direction: `[batch, side, piece, pixel along the side, STRIP * 3]`.
    sides = ops.stack([pieces, turned, pieces[:, :, :, ::-1], turned[:, :, :, ::-1]], axis=1)[..., -STRIP:, :]
    sides = ops.reshape(5 * sides, (-1, 4, N, PIECE, STRIP * 3))
    ends, starts = layers.Dense(32)(sides[:, :2]), layers.Dense(32)(sides[:, 2:])
    facing = layers.Dense(32, activation="relu")(ops.relu(ends[:, :, :, None] + starts[:, :, None]))
    added = layers.Dense(1)(ops.mean(facing, axis=4))[..., 0]
    return keras.Model(inputs, scores_by_borders(inputs) + added)


def train(steps: int, seed: int) -> keras.Model:
    """Pieces to scores of neighbors, trained through Sinkhorn."""
    keras.utils.set_random_seed(seed)
    scores = scorer()
    matching = ks.SinkhornLayer(num_iterations=10)(keras.ops.reshape(scores.output, (-1, N, N)))
    model = keras.Model(scores.input, keras.ops.reshape(matching, (-1, 2, N, N)))
    optimizer = keras.optimizers.Adam(keras.optimizers.schedules.CosineDecay(3e-3, steps))
    model.compile(optimizer, "categorical_crossentropy")
    epoch = max(1, steps // 8)
    for start in range(0, steps, epoch):
        count = min(epoch, steps - start)
        shuffled, positions = puzzles("train", 32 * count, seed=100_000 * seed + start)  # new puzzles in each epoch
        loss = model.fit(shuffled, neighbors(positions), batch_size=32, verbose=0).history["loss"][0]
        print(f"  step {start + count:5}: cross-entropy of the neighbors {loss:.3f}", flush=True)
    return scores


def support(scores: np.ndarray, placed: np.ndarray) -> np.ndarray:
    """How well each piece fits at each position to those `placed` around it, both `[count, first, position, piece]`."""
    right, below = (scores * (1 - np.eye(N)))[:, :, None].swapaxes(0, 1)
    beside = RIGHT @ placed @ right.swapaxes(-1, -2) + RIGHT.T @ placed @ right
    return beside + BELOW @ placed @ below.swapaxes(-1, -2) + BELOW.T @ placed @ below


def greedy(scores: np.ndarray) -> np.ndarray:
    """Row by row the piece that fits best, from every first one: `[count, first, position, piece]` of 0 and 1."""
    placed = np.zeros((len(scores), N, N, N))
    placed[:, :, 0] = np.eye(N)
    for p in range(1, N):
        fit = support(scores, placed)[:, :, p] - 1e6 * placed.sum(axis=2)  # each piece once
        placed[:, :, p] = np.eye(N)[fit.argmax(axis=2)]
    return placed


def best(scores: np.ndarray, placed: np.ndarray) -> np.ndarray:
    """The candidate whose neighbors fit best, `[count, position, piece]`."""
    total = (support(scores, placed) * placed).sum(axis=(2, 3))
    return placed[np.arange(len(placed)), total.argmax(axis=1)]


def search(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The piece at each position, exactly `[count, N]` and softly `[count, N, N]`."""
    # A score counts by how far it is ahead of the others of its row and column.
    scores = scores - sum(np.logaddexp.reduce(scores, axis, keepdims=True) for axis in (2, 3)) / 2
    candidates = greedy(scores)
    moved = np.eye(N)[ks.linear_assignment(support(scores, candidates)).numpy()]
    found = best(scores, np.concatenate([candidates, moved], axis=1))
    return found.argmax(axis=2), ks.sinkhorn(support(scores, found[:, None])[:, 0], tau=1.0).numpy()


def draw(shuffled: np.ndarray, truth: np.ndarray, orders: dict[str, np.ndarray], path: Path) -> None:
    """A column per puzzle and a row per order, which is exact `[count, N]` or soft `[count, N, N]`."""
    bare = {"xticks": [], "yticks": [], "frameon": False}
    figure, axes = plt.subplots(len(orders), len(truth), figsize=(10, 8.3), subplot_kw=bare, layout="constrained")
    for line, (name, order) in zip(axes, orders.items(), strict=True):
        line[0].set_ylabel(name, fontsize=15, color=INK)
        for axis, pieces, found, right in zip(line, shuffled, order, truth, strict=True):
            placed = np.einsum("pi,ihwc->phwc", found, pieces) if found.ndim == 2 else pieces[found]
            tiles = np.ones((N, PIECE + 4, PIECE + 4, 3))
            if "exact" in name or "borders" in name:
                tiles[:, 1:-1, 1:-1] = [[[mpl.colors.to_rgb(GOOD if ok else BAD)]] for ok in found == right]
            tiles[:, 2:-2, 2:-2] = placed.clip(0, 1)
            axis.imshow(tiles.reshape(K, K, PIECE + 4, -1, 3).swapaxes(1, 2).reshape(K * (PIECE + 4), -1, 3))
    figure.suptitle("Torn and faded photographs, put together again (unseen photographs)", fontsize=17, color=INK)
    figure.savefig(path, dpi=80)
    plt.close(figure)


def main(steps: int = 160, seed: int = 0, output: Path = Path("output/jigsaw")) -> dict[str, float]:
    """Train, solve unseen puzzles, print, draw and save; the share of pieces that each method puts in place."""
    print(f"Learning which pieces are neighbors, from {32 * steps:,} puzzles of {K} x {K} pieces")
    model = train(steps, seed)
    shuffled, positions = puzzles("test", 600, seed=1_000_003)
    truth, by_borders = np.argsort(positions, axis=1), scores_by_borders(shuffled).numpy()
    exact, soft = search(model.predict(shuffled, batch_size=100, verbose=0))
    found = {"greedy by borders": best(by_borders, greedy(by_borders)).argmax(axis=2)}
    found |= {"search by borders": search(by_borders)[0], "learned": exact}
    print(f"\n{len(truth)} puzzles of unseen photographs\n{'':22}pieces in place   whole puzzles")
    print(f"  {'chance':20}{1 / N:15.3f}{0:16.3f}")
    for name, order in found.items():
        print(f"  {name:20}{np.mean(order == truth):15.3f}{np.mean((order == truth).all(axis=1)):16.3f}")
    output.mkdir(parents=True, exist_ok=True)
    model.save_weights(output / "jigsaw.weights.h5")
    orders = {"shuffled": np.tile(np.arange(N), (6, 1)), "greedy,\nby borders": found["greedy by borders"][:6]}
    orders |= {"learned,\nsoft": soft[:6], "learned,\nexact": exact[:6], "truth": truth[:6]}
    draw(shuffled[:6], truth[:6], orders, output / "jigsaw.png")
    print(f"Weights: {output / 'jigsaw.weights.h5'}\nPicture: {output / 'jigsaw.png'}")
    return {name: float(np.mean(order == truth)) for name, order in found.items()}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=160, help="training steps of 32 puzzles (default: 160)")
    parser.add_argument("--seed", type=int, default=0, help="seed of weights and puzzles (default: 0)")
    parser.add_argument("--output", type=Path, default=Path("output/jigsaw"), help="folder for what is written")
    main(**vars(parser.parse_args()))
