"""Put torn and faded photographs together again, by a network that learns which pieces are neighbors.

A crop of a photograph is cut into 3 x 3 pieces, which lose their borders, fade unevenly and are shuffled. A network
scores how well each piece fits to the right of each other one, and below it. `SinkhornLayer` turns the scores into soft
matchings of neighbors, and cross-entropy trains the network. It is tested on halves of the photographs that it never
saw. A greedy search places the pieces, and `linear_assignment` then moves all of them to where they fit their neighbors
best. The baselines search by differences of borders. Mena et al. (2018) score each piece by itself for each position.

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
from sklearn.datasets import load_sample_images

import keras_softsort as ks

mpl.use("Agg")
from matplotlib import pyplot as plt

K, PIECE, GAP, STRIP = 3, 20, 4, 10  # pieces per side; pixels of a piece, between pieces, and that the network sees
N = K * K
GOOD, BAD, INK = "#2a9d8f", "#d1495b", "#1b2a41"
ROW, COLUMN = np.divmod(np.arange(N), K)
RIGHT = ((ROW[:, None] == ROW) & (COLUMN[:, None] + 1 == COLUMN)).astype("float32")  # position q is right of p
BELOW = ((COLUMN[:, None] == COLUMN) & (ROW[:, None] + 1 == ROW)).astype("float32")


def photographs(split: str) -> list[np.ndarray]:
    """The left halves of three photographs for training and the right ones for testing, each in two sizes."""
    whole = [*load_sample_images().images, plt.imread(get_sample_data("grace_hopper.jpg", asfileobj=False))]
    halves = [p[:, : p.shape[1] // 2] if split == "train" else p[:, p.shape[1] // 2 :] for p in whole]
    return [shrunk(half / np.float32(255), factor) for half in halves for factor in (2, 3)]


def shrunk(image: np.ndarray, factor: int) -> np.ndarray:
    """The mean of each `factor` x `factor` pixels."""
    height, width = image.shape[0] // factor, image.shape[1] // factor
    return image[: height * factor, : width * factor].reshape(height, factor, width, factor, 3).mean(axis=(1, 3))


def puzzles(split: str, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Shuffled pieces `[count, N, PIECE, PIECE, 3]`, and the position of each, `[count, N]`."""
    rng, photos, step = np.random.default_rng(seed), photographs(split), PIECE + GAP
    pieces = np.empty((count, N, PIECE, PIECE, 3), "float32")
    for i in range(count):
        flat = True
        while flat:  # a crop with a piece of one color has no single answer
            photo, side = photos[rng.integers(len(photos))], K * step - GAP
            top, left = (rng.integers(size - side + 1) for size in photo.shape[:2])
            crop = photo[top : top + side, left : left + side]
            if split == "train":  # turned, mirrored, and in other colors
                crop = np.rot90(crop, rng.integers(4))[:, :: rng.choice([1, -1])][..., rng.permutation(3)]
            pieces[i] = [crop[y : y + PIECE, x : x + PIECE] for y, x in zip(step * ROW, step * COLUMN, strict=True)]
            flat = pieces[i].std(axis=(1, 2)).max(axis=-1).min() < 0.04
    faded = rng.uniform(0, 0.5, (count, N, 1, 1, 1)).astype("float32")  # how near to white
    positions = np.argsort(rng.random((count, N)), axis=1)
    return np.take_along_axis(pieces + (1 - pieces) * faded, positions[..., None, None, None], axis=1), positions


def neighbors(positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The piece right of each piece and the one below it, `[count, 2, N]`, and a weight of 0 where none is."""
    piece_at, row, column = np.argsort(positions, axis=1), *np.divmod(positions, K)
    places = np.stack([row * K + (column + 1) % K, (row + 1) % K * K + column], axis=1)
    exists = np.stack([column < K - 1, row < K - 1], axis=1)
    return np.take_along_axis(piece_at[:, None], places, axis=2), exists.astype("float32")


class NeighborFit(keras.layers.Layer):
    """Pieces to scores `[batch, 2, i, j]`: how well piece j fits to the right of piece i, and below it."""

    def __init__(self, **kwargs: object) -> None:
        super().__init__(**kwargs)
        layers = keras.layers
        self.normalize = layers.LayerNormalization(axis=-1)
        self.embed = keras.Sequential([layers.Dense(256, activation="relu"), layers.Dense(64)])
        self.compare = keras.Sequential([layers.Dense(32, activation="relu"), layers.Dense(1)])

    def call(self, pieces: tf.Tensor) -> tf.Tensor:
        """All sides are turned to the same direction, so one network looks at them."""
        turned = tf.einsum("bnhwc->bnwhc", pieces)
        sides = tf.stack([pieces, turned, pieces[:, :, :, ::-1], turned[:, :, :, ::-1]], axis=1)[..., -STRIP:, :]
        flat = tf.reshape(sides, (-1, 4, N, PIECE * STRIP * 3))
        embedded = self.embed(tf.concat([flat, self.normalize(flat)], axis=-1))
        ends, starts = embedded[:, :2, :, tf.newaxis], embedded[:, 2:, tf.newaxis]
        scores = self.compare(tf.abs(ends - starts))[..., 0]
        return scores - 100 * tf.eye(N)  # no piece is its own neighbor


def train(steps: int, seed: int) -> keras.Model:
    """Pieces to scores of neighbors, trained through Sinkhorn."""
    keras.utils.set_random_seed(seed)
    pieces = keras.Input((N, PIECE, PIECE, 3))
    scores = keras.Model(pieces, NeighborFit()(pieces))
    matching = ks.SinkhornLayer(num_iterations=10)(keras.ops.reshape(scores.output, (-1, N, N)))
    model = keras.Model(pieces, keras.ops.reshape(matching, (-1, 2, N, N)))
    rate = keras.optimizers.schedules.CosineDecay(2e-3, steps)
    model.compile(keras.optimizers.Adam(rate), "sparse_categorical_crossentropy")
    epoch = max(1, steps // 8)
    for start in range(0, steps, epoch):
        count = min(epoch, steps - start)
        shuffled, positions = puzzles("train", 32 * count, seed=100_000 * seed + start)  # new puzzles in each epoch
        truth, weight = neighbors(positions)
        loss = model.fit(shuffled, truth, sample_weight=weight, batch_size=32, verbose=0).history["loss"][0]
        print(f"  step {start + count:5}: cross-entropy of the neighbors {loss:.3f}", flush=True)
    return scores


def scores_by_borders(pieces: np.ndarray) -> np.ndarray:
    """Minus the squared difference of the facing pixels, after the mean and contrast of each piece are made equal."""
    deviation = pieces.std(axis=(2, 3, 4), keepdims=True)
    pieces = (pieces - pieces.mean(axis=(2, 3, 4), keepdims=True)) / (deviation + 0.03)
    ends = np.stack([pieces[:, :, :, -1], pieces[:, :, -1]], axis=1)
    starts = np.stack([pieces[:, :, :, 0], pieces[:, :, 0]], axis=1)
    difference = ((ends[:, :, :, None] - starts[:, :, None]) ** 2).sum(axis=(-2, -1))
    # The factor makes a usual difference about as large as one of learned scores.
    return -3 * difference / difference.mean(axis=(1, 2, 3), keepdims=True) - 100 * np.eye(N)


def greedy(scores: np.ndarray) -> np.ndarray:
    """The piece at each position, `[count, first, N]`: row by row the piece that fits best, from every first one."""
    puzzle, first = np.ogrid[: len(scores), :N]
    pieces, used = np.zeros((len(scores), N, N), int), np.zeros((len(scores), N, N), bool)
    for p in range(N):
        fit = np.where(used, -np.inf, 0.0)
        if p % K:
            fit = fit + scores[:, 0][puzzle, pieces[:, :, p - 1]]
        if p >= K:
            fit = fit + scores[:, 1][puzzle, pieces[:, :, p - K]]
        pieces[:, :, p] = fit.argmax(axis=2) if p else first
        used[puzzle, first, pieces[:, :, p]] = True
    return pieces


def support(scores: np.ndarray, pieces: np.ndarray) -> np.ndarray:
    """How well each piece fits at each position to the pieces now around it: `[count, first, position, piece]`."""
    right, below = (scores * (1 - np.eye(N)))[:, :, None].swapaxes(0, 1)
    placed = np.eye(N)[pieces]
    beside = RIGHT @ placed @ right.swapaxes(-1, -2) + RIGHT.T @ placed @ right
    return beside + BELOW @ placed @ below.swapaxes(-1, -2) + BELOW.T @ placed @ below


def best(scores: np.ndarray, pieces: np.ndarray) -> np.ndarray:
    """The candidate whose neighbors fit best, `[count, N]`."""
    total = np.take_along_axis(support(scores, pieces), pieces[..., None], axis=3).sum(axis=(2, 3))
    return pieces[np.arange(len(pieces)), total.argmax(axis=1)]


def search(scores: np.ndarray, rounds: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """The piece at each position, exactly `[count, N]` and softly `[count, N, N]`."""
    # A score counts by how far it is ahead of the others of its row and column.
    scores = (
        scores - (np.logaddexp.reduce(scores, 2, keepdims=True) + np.logaddexp.reduce(scores, 3, keepdims=True)) / 2
    )
    candidates = [greedy(scores)]
    for _ in range(rounds):
        candidates.append(ks.linear_assignment(support(scores, candidates[-1])).numpy())
    found = best(scores, np.concatenate(candidates, axis=1))
    return found, ks.sinkhorn(support(scores, found[:, None])[:, 0], tau=1.0).numpy()


def draw(shuffled: np.ndarray, truth: np.ndarray, rows: dict[str, np.ndarray], soft: np.ndarray, path: Path) -> None:
    """A column per puzzle: as given, by borders, softly and exactly by the network, and in truth."""
    given = np.broadcast_to(np.arange(N), truth.shape)
    orders = {"shuffled": given, "greedy,\nby borders": rows["greedy by borders"], "learned,\nsoft": soft}
    orders |= {"learned,\nexact": rows["learned"], "truth": truth}
    figure, axes = plt.subplots(len(orders), len(truth), figsize=(11, 8.6), layout="constrained")
    for line, (name, order) in zip(axes, orders.items(), strict=True):
        line[0].set_ylabel(name, fontsize=15, color=INK)
        for axis, pieces, found, right in zip(line, shuffled, order, truth, strict=True):
            placed = np.einsum("pi,ihwc->phwc", found, pieces) if found.ndim == 2 else pieces[found]
            framed = name.startswith(("greedy", "learned,\nexact"))
            sheet = np.ones((K * (PIECE + 3), K * (PIECE + 3), 3))
            for p, (y, x) in enumerate(zip((PIECE + 3) * ROW + 1, (PIECE + 3) * COLUMN + 1, strict=True)):
                if framed:
                    color = mpl.colors.to_rgb(GOOD if found[p] == right[p] else BAD)
                    sheet[y - 1 : y + PIECE + 1, x - 1 : x + PIECE + 1] = color
                sheet[y : y + PIECE, x : x + PIECE] = placed[p]
            axis.imshow(sheet.clip(0, 1))
            axis.set(xticks=[], yticks=[])
            axis.spines[:].set_visible(False)
    figure.suptitle(
        "Torn and faded photographs, put together again (parts never seen in training)", fontsize=17, color=INK
    )
    figure.savefig(path, dpi=80)
    plt.close(figure)


def main(steps: int = 500, seed: int = 0, output: Path = Path("output/jigsaw")) -> dict[str, float]:
    """Train, solve unseen puzzles, print, draw and save; the share of pieces that each method puts in place."""
    print(f"Learning which pieces are neighbors, from {32 * steps:,} puzzles of {K} x {K} pieces")
    model = train(steps, seed)
    shuffled, positions = puzzles("test", 500, seed=1_000_003)
    truth, by_borders = np.argsort(positions, axis=1), scores_by_borders(shuffled)
    exact, soft = search(model.predict(shuffled, batch_size=100, verbose=0))
    found = {
        "greedy by borders": best(by_borders, greedy(by_borders)),
        "search by borders": search(by_borders)[0],
        "learned": exact,
    }
    print(f"\n{len(truth)} puzzles of unseen halves\n{'':22}pieces in place   whole puzzles")
    print(f"  {'chance':20}{1 / N:15.3f}{0:16.3f}")
    for name, order in found.items():
        print(f"  {name:20}{np.mean(order == truth):15.3f}{np.mean((order == truth).all(axis=1)):16.3f}")
    output.mkdir(parents=True, exist_ok=True)
    model.save_weights(output / "jigsaw.weights.h5")
    shown = slice(6)
    draw(shuffled[shown], truth[shown], {k: v[shown] for k, v in found.items()}, soft[shown], output / "jigsaw.png")
    print(f"Weights: {output / 'jigsaw.weights.h5'}\nPicture: {output / 'jigsaw.png'}")
    return {name: float(np.mean(order == truth)) for name, order in found.items()}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=500, help="training steps of 32 puzzles (default: 500)")
    parser.add_argument("--seed", type=int, default=0, help="seed of weights and puzzles (default: 0)")
    parser.add_argument("--output", type=Path, default=Path("output/jigsaw"), help="folder for what is written")
    main(**vars(parser.parse_args()))
