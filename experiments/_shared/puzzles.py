"""Puzzles: images cut into square pieces, shuffled, reassembled only by their edges, and measured.

A grid of `k` x `k` pieces has n = k * k places, numbered row by row. An order `[count, n]` names the piece at each
place; the true order of a shuffled image puts it together again.
"""

from __future__ import annotations

import numpy as np
import tensorflow as tf

import keras_softsort as ks
from _shared import labelled_images

TRAINING_PHOTOS = ("flower.jpg", "camera", "coffee", "coins", "moon", "rocket", "stereo_motorcycle")
TEST_PHOTOS = ("china.jpg", "astronaut", "cat")
SHORTER_SIDE, CROP = 64, 48  # of a photograph and of what is cut from it, in pixels


def load_pictures(dataset: str, k: int, data_dir: str | None, crops: int) -> tuple[np.ndarray, np.ndarray]:
    """Training and test images `[count, side, side, channels]` in [0, 1], whose sides `k` divides."""
    if dataset == "photos":
        side = k * round(CROP / k)
        return crops_of(TRAINING_PHOTOS, side, crops, seed=1), crops_of(TEST_PHOTOS, side, crops, seed=2)
    train, test = labelled_images.load(dataset, data_dir)
    if dataset == "cifar10":
        return cropped(train.pixels, k), cropped(test.pixels, k)
    return padded(train.pixels, k), padded(test.pixels, k)


def padded(images: np.ndarray, k: int) -> np.ndarray:
    """The images with an even black margin that makes `k` divide their sides."""
    before, after = ((-images.shape[1] % k) // 2, (1 + -images.shape[1] % k) // 2)
    return np.pad(images, ((0, 0), (before, after), (before, after), (0, 0)))


def cropped(images: np.ndarray, k: int) -> np.ndarray:
    """The middle of the images, as large as `k` divides."""
    side = images.shape[1] - images.shape[1] % k
    start = (images.shape[1] - side) // 2
    return images[:, start : start + side, start : start + side]


def photograph(name: str) -> tf.Tensor:
    """A photograph that comes with scikit-learn or scikit-image, `[height, width, 3]` in [0, 1], made small."""
    if name.endswith(".jpg"):
        from sklearn.datasets import load_sample_image  # noqa: PLC0415  (an extra, needed only for photographs)

        image = load_sample_image(name)
    else:
        from skimage import data  # noqa: PLC0415  (as above)

        image = getattr(data, name)()
        image = image[0] if isinstance(image, tuple) else image  # of a stereo pair the left one
    image = image if image.ndim == 3 else np.stack([image] * 3, axis=-1)
    size = [round(side * SHORTER_SIDE / min(image.shape[:2])) for side in image.shape[:2]]
    return tf.image.resize(image / 255, size, method="area")


def crops_of(names: tuple[str, ...], side: int, count: int, seed: int) -> np.ndarray:
    """Crops at random places, as many of each photograph, and half of them mirrored."""
    rng = np.random.default_rng(seed)
    photos = [photograph(name).numpy() for name in names]
    crops = np.empty((count, side, side, 3), np.float32)
    for number in range(count):
        photo = photos[number % len(photos)]
        top, left = rng.integers(photo.shape[0] - side + 1), rng.integers(photo.shape[1] - side + 1)
        crop = photo[top : top + side, left : left + side]
        crops[number] = crop[:, ::-1] if rng.random() < 0.5 else crop
    return crops


def cut(images: np.ndarray, k: int) -> np.ndarray:
    """Images to their pieces `[count, n, height, width, channels]`."""
    count, height, width, channels = images.shape
    pieces = images.reshape(count, k, height // k, k, width // k, channels).swapaxes(2, 3)
    return pieces.reshape(count, k * k, height // k, width // k, channels)


def join(pieces: np.ndarray) -> np.ndarray:
    """Pieces in place to images: what `cut` undoes."""
    count, n, height, width, channels = pieces.shape
    k = round(n**0.5)
    grid = pieces.reshape(count, k, k, height, width, channels).swapaxes(2, 3)
    return grid.reshape(count, k * height, k * width, channels)


def in_order(pieces: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Pieces as the order places them."""
    return np.take_along_axis(pieces, order[:, :, np.newaxis, np.newaxis, np.newaxis], axis=1)


def shuffled(pieces: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Pieces in random order, and the order that puts them together again."""
    shuffle = np.argsort(np.random.default_rng(seed).random(pieces.shape[:2]), axis=1)
    return in_order(pieces, shuffle), np.argsort(shuffle, axis=1)


def training_puzzles(pieces: np.ndarray, batch_size: int, seed: int) -> tf.data.Dataset:
    """Endless batches of random images: pieces freshly shuffled, and the pieces in place `[batch, n, ...]`."""
    everything = tf.constant(pieces)
    count, n = pieces.shape[:2]

    def make(step: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        key = tf.stack([tf.constant(seed, tf.int64), step])
        truth = tf.gather(everything, tf.random.stateless_uniform([batch_size], key, maxval=count, dtype=tf.int32))
        shuffle = tf.argsort(tf.random.stateless_uniform([batch_size, n], key), axis=1)
        return tf.gather(truth, shuffle, batch_dims=1), truth

    return tf.data.Dataset.counter().map(make, num_parallel_calls=1).prefetch(4)


def measure(pieces: np.ndarray, order: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """How far an order is from the true one.

    Pieces that look the same, blank ones above all, may change places unseen: by pixels a place is right if it shows
    what it should, by index only if it holds that very piece. Kendall's tau goes by index.
    """
    return _measures(pieces, order, truth, in_order(pieces, order), np.argsort(order, axis=1))


def measure_soft(pieces: np.ndarray, permutation: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """Measure a soft permutation `[count, piece, place]` as `measure` does, without a matching.

    A place shows the piece of the largest weight, and one piece may be at several places. l1 and l2 are of the mean of
    the pieces by their weights, and Kendall's tau is of the mean place of each piece.
    """
    placed = np.einsum("bpq,bphwc->bqhwc", permutation, pieces)
    return _measures(pieces, permutation.argmax(axis=1), truth, placed, permutation @ np.arange(truth.shape[1]))


def _measures(
    pieces: np.ndarray, order: np.ndarray, truth: np.ndarray, placed: np.ndarray, places: np.ndarray
) -> dict[str, float]:
    right = in_order(pieces, truth)
    wrong = np.any(in_order(pieces, order) != right, axis=(2, 3, 4))
    tau = ks.KendallTau(target="ranks")
    tau.update_state(1.0 + np.argsort(truth, axis=1), 1.0 + places)
    return {
        "wrong": float(np.mean(wrong)),
        "any_wrong": float(np.mean(np.any(wrong, axis=1))),
        "wrong_by_index": float(np.mean(order != truth)),
        "kendall_tau": float(tau.result()),
        "l1": float(np.mean(np.abs(placed - right))),
        "l2": float(np.sqrt(np.mean((placed - right) ** 2))),
    }


def alike(pieces: np.ndarray) -> float:
    """The proportion of places wrong by index in an order right by pixels that leaves pieces that look alike to chance.

    Of some pieces in random order one is expected at its own place, however many they are.
    """
    distinct = [len(np.unique(puzzle.reshape(len(puzzle), -1), axis=0)) for puzzle in pieces]
    return 1 - float(np.mean(distinct)) / pieces.shape[1]


def by_edges(pieces: np.ndarray, dark_frame: bool = False) -> np.ndarray:
    """The order whose adjacent edges differ least, as far as a search finds it: no learning.

    From every piece as the first, the places are filled row by row, each with the piece that fits best to those on
    its left and above it. The best fillings are improved by swaps of two pieces until none helps. With `dark_frame`
    the outer edges are to be black, or a search for like edges would put the black margins of a digit inside.
    """
    costs = _costs(pieces, dark_frame)
    fillings = _cheapest(_fillings(*costs), costs, count=8)
    found = [_improved(fillings[:, start], costs) for start in range(fillings.shape[1])]
    return _cheapest(np.stack(found, axis=1), costs, count=1)[:, 0]


def _cheapest(orders: np.ndarray, costs: tuple[np.ndarray, ...], count: int) -> np.ndarray:
    best = np.argsort(_total(orders, *costs), axis=1)[:, :count, np.newaxis]
    return np.take_along_axis(orders, best, axis=1)


def _improved(order: np.ndarray, costs: tuple[np.ndarray, ...]) -> np.ndarray:
    order, swaps = order.copy(), _swaps(order.shape[1])
    unfinished = np.arange(len(order))
    while len(unfinished):
        now = order[unfinished]
        candidates = now[:, swaps]
        total = _total(candidates, *(cost[unfinished] for cost in costs))
        best, every = np.argmin(total, axis=1), np.arange(len(now))
        better = total[every, best] < total[:, 0] - 1e-6
        order[unfinished] = np.where(better[:, np.newaxis], candidates[every, best], now)
        unfinished = unfinished[better]
    return order


def _costs(pieces: np.ndarray, dark_frame: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Squared differences of touching edges, each `[count, i, j]`.

    Of piece i and piece j on its right, of piece i and piece j below it, of piece i at place j and the frame.
    """
    count, n = pieces.shape[:2]
    k = round(n**0.5)
    top, bottom = pieces[:, :, 0], pieces[:, :, -1]
    left, right = pieces[:, :, :, 0], pieces[:, :, :, -1]
    row, column = np.divmod(np.arange(n), k)
    frame = np.zeros((count, n, n), pieces.dtype)
    for edge, at_frame in ((top, row == 0), (bottom, row == k - 1), (left, column == 0), (right, column == k - 1)):
        frame += dark_frame * np.sum(edge**2, axis=(2, 3))[:, :, np.newaxis] * at_frame
    return _differences(right, left), _differences(bottom, top), frame


def _differences(ends: np.ndarray, starts: np.ndarray) -> np.ndarray:
    return np.sum((ends[:, :, np.newaxis] - starts[:, np.newaxis]) ** 2, axis=(3, 4))


def _swaps(n: int) -> np.ndarray:
    """The places as they are, and every way to swap two of them."""
    i, j = np.triu_indices(n, 1)
    swaps = np.tile(np.arange(n), (1 + len(i), 1))
    swap = 1 + np.arange(len(i))
    swaps[swap, i], swaps[swap, j] = j, i
    return swaps


def _fillings(beside: np.ndarray, below: np.ndarray, frame: np.ndarray) -> np.ndarray:
    """Greedy fillings `[count, n, n]` from every first piece."""
    count, n, _ = beside.shape
    k = round(n**0.5)
    puzzle, first = np.ogrid[:count, :n]
    orders = np.zeros((count, n, n), int)
    used = np.zeros((count, n, n), bool)
    for place in range(n):
        cost = np.where(used, np.inf, frame[:, np.newaxis, :, place])
        if place % k:
            cost += beside[puzzle, orders[:, :, place - 1]]
        if place >= k:
            cost += below[puzzle, orders[:, :, place - k]]
        orders[:, :, place] = np.argmin(cost, axis=2) if place else first
        used[puzzle, first, orders[:, :, place]] = True
    return orders


def _total(orders: np.ndarray, beside: np.ndarray, below: np.ndarray, frame: np.ndarray) -> np.ndarray:
    """The cost of orders `[count, candidates, n]`."""
    grid = orders.reshape(*orders.shape[:2], round(orders.shape[2] ** 0.5), -1)
    puzzle = np.arange(len(orders))[:, np.newaxis, np.newaxis]
    total = frame[puzzle, orders, np.arange(orders.shape[2])].sum(axis=2)
    puzzle = puzzle[..., np.newaxis]
    total += beside[puzzle, grid[..., :-1], grid[..., 1:]].sum(axis=(2, 3))
    return total + below[puzzle, grid[..., :-1, :], grid[..., 1:, :]].sum(axis=(2, 3))
