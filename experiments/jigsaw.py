"""Reassemble shuffled pieces of images not seen before, by Gumbel-Sinkhorn (Mena et al., ICLR 2018, section 5.2).

A small CNN scores each piece by itself for each position; with `--attention` the pieces look at each other first.
`GumbelSinkhornLayer` turns the scores of all pieces into a soft permutation, and the squared difference of the softly
reassembled and the true image trains the CNN. No piece is ever labeled with its position. At inference the best exact
matching is used. It is exported to run without this package.

    python experiments/jigsaw.py                                   # scikit-learn's real digits, a minute or two
    python experiments/jigsaw.py --dataset mnist --pieces 2 3 4 5 6 --seeds 0 --steps 1500 --dropout 0
    python experiments/jigsaw.py --dataset cifar10 --pieces 3 --seeds 0 --steps 3000 --dropout 0 --attention 3
    python experiments/jigsaw.py --dataset photos --pieces 2 3     # photographs; needs scikit-image
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from _shared import command_line


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Options of the command line."""
    quick = {"pieces": [2], "seeds": [0], "steps": 20, "test_puzzles": 20}
    parser = command_line.new_parser(__doc__, "jigsaw", quick)
    add, at_least, positive = parser.add_argument, command_line.at_least, command_line.positive
    datasets = ("sklearn", "mnist", "cifar10", "photos")
    add("--dataset", choices=datasets, default="sklearn", help="images that are cut")
    add("--data-dir", help="folder of mnist.npz or cifar10.npz; without it Keras downloads them")
    add("--images", type=at_least(1), help="training images, the first ones of the dataset; all by default")
    add("--crops", type=at_least(1), default=3000, help="crops of photographs, for training and for testing")
    add("--pieces", type=at_least(2), nargs="+", default=[2, 4], help="pieces per side")
    add("--seeds", type=int, nargs="+", default=[0, 1, 2], help="one training of each grid per seed")
    add("--steps", type=at_least(1), default=500, help="training steps")
    add("--batch-size", type=at_least(1), default=64, help="puzzles per step")
    add("--learning-rate", type=positive, default=2e-3, help="of Adam, at the start")
    add("--dropout", type=command_line.fraction, default=0.2, help="share of the inputs of a layer dropped")
    add("--attention", type=at_least(0), default=0, help="layers in which the pieces look at each other")
    add("--tau", type=positive, default=1.0, help="temperature of Sinkhorn, in units of the scores")
    add("--noise-scale", type=float, default=1.0, help="factor of the Gumbel noise")
    add("--iterations", type=at_least(1), default=10, help="of Sinkhorn")
    add("--test-puzzles", type=at_least(1), default=500, help="puzzles of unseen images")
    add("--no-baselines", dest="baselines", action="store_false", help="train only our model")
    options = command_line.parse(parser, arguments, quick)
    if options.dataset == "photos":
        command_line.require(parser, ["skimage"])
    return options


if __name__ == "__main__":
    OPTIONS = parse()  # a wrong argument fails here, before the seconds that TensorFlow takes to import
    command_line.import_tensorflow()

import numpy as np
import tensorflow as tf
from _shared import puzzles
from _shared.exports import export
from _shared.handwritten_numbers import OnEachItem
from _shared.pictures.puzzles import draw_puzzles
from tensorflow import keras

import keras_softsort as ks


@keras.utils.register_keras_serializable(package="experiments")
class PutInPlace(keras.layers.Layer):
    """Pieces `[batch, n, ...]` by soft permutations `[batch, n, n]`: `[batch, n, ...]`."""

    def call(self, pieces: tf.Tensor, permutation: tf.Tensor) -> tf.Tensor:
        """The mean of the pieces at each position, weighted by the permutation."""
        return tf.einsum("bpq,bphwc->bqhwc", permutation, pieces)


@keras.utils.register_keras_serializable(package="experiments")
class BestOrder(keras.layers.Layer):
    """Logits `[batch, piece, position]` to the piece at each position, `[batch, position]`, of the largest sum."""

    def call(self, logits: tf.Tensor) -> tf.Tensor:
        """`linear_assignment` gives a column for each row, so positions have to be the rows."""
        return ks.ops.linear_assignment(tf.linalg.matrix_transpose(logits))


def matcher(scores: keras.Model, options: argparse.Namespace, hard: bool = False) -> keras.Model:
    """Shuffled pieces to permutations `[batch, piece, position]`; noise only in training."""
    matching = ks.GumbelSinkhornLayer(
        options.tau, noise_scale=options.noise_scale, num_iterations=options.iterations, hard=hard
    )
    return keras.Model(scores.input, matching(scores.output))


def reassembler(scores: keras.Model, options: argparse.Namespace, hard: bool = False) -> keras.Model:
    """Shuffled pieces to reassembled ones `[batch, n, height, width, channels]`."""
    return keras.Model(scores.input, PutInPlace()(scores.input, matcher(scores, options, hard).output))


def scorer(piece_shape: tuple[int, ...], n: int, dropout: float, attention: int) -> keras.Model:
    """Pieces `[batch, n, height, width, channels]` to logits `[batch, piece, position]`."""
    look = keras.Sequential(
        [
            keras.Input(piece_shape),
            keras.layers.Conv2D(32, 3, padding="same", activation="relu"),
            keras.layers.Flatten(),
            keras.layers.Dropout(dropout),
            keras.layers.Dense(256, activation="relu"),
            keras.layers.Dropout(dropout),
        ]
    )
    pieces = keras.Input((n, *piece_shape))
    features = OnEachItem(look)(pieces)
    if attention:
        features = ks.DocumentInteractionAttention(8, 32, num_layers=attention, dropout=dropout)(features)
    return keras.Model(pieces, keras.layers.Dense(n)(features))


def train(pieces: np.ndarray, seed: int, options: argparse.Namespace) -> keras.Model:
    """The scorer, trained through the soft reassembly."""
    keras.utils.set_random_seed(seed)
    scores = scorer(pieces.shape[2:], pieces.shape[1], options.dropout, options.attention)
    model = reassembler(scores, options)
    rate = keras.optimizers.schedules.CosineDecay(options.learning_rate, options.steps)
    model.compile(keras.optimizers.Adam(rate), loss="mse")
    data = puzzles.training_puzzles(pieces, options.batch_size, seed)
    model.fit(data, steps_per_epoch=options.steps, shuffle=False, verbose=0)
    return scores


def solve_all(k: int, options: argparse.Namespace) -> tuple[dict, tuple]:
    """Train and measure on a grid of k x k: results by method; the last scorer and solver, and the puzzles."""
    train_images, test_images = puzzles.load_pictures(options.dataset, k, options.data_dir, options.crops)
    train_images = train_images[: options.images]
    chosen = np.random.default_rng(1_000_003).permutation(len(test_images))[: options.test_puzzles]
    shuffled, truth = puzzles.shuffled(puzzles.cut(test_images[chosen], k), seed=1_000_003)

    orders = {"as shuffled": [np.broadcast_to(np.arange(k * k), truth.shape)]}
    if options.baselines:
        orders["only edges"] = [puzzles.by_edges(shuffled)]
    if options.baselines and options.dataset in ("sklearn", "mnist"):
        orders["edges and a black frame"] = [puzzles.by_edges(shuffled, dark_frame=True)]
    orders["Gumbel-Sinkhorn"], soft = [], []
    for seed in options.seeds:
        print(f"{k} x {k} pieces, seed {seed}: {options.steps} steps of {options.batch_size} puzzles", flush=True)
        scores = train(puzzles.cut(train_images, k), seed, options)
        solver = keras.Model(scores.input, BestOrder()(scores.output))
        orders["Gumbel-Sinkhorn"].append(solver(shuffled).numpy())
        permutations = matcher(scores, options).predict(shuffled, batch_size=100, verbose=0)
        soft.append(puzzles.measure_soft(shuffled, permutations, truth))
    results = {name: [puzzles.measure(shuffled, order, truth) for order in found] for name, found in orders.items()}
    results["Gumbel-Sinkhorn, soft"] = soft
    return results, (scores, solver, shuffled, truth)


ALONE = """import sys
import numpy as np
import tensorflow as tf

folder, pieces, order = sys.argv[1:]
solve = tf.saved_model.load(folder).signatures["serving_default"]
(answer,) = solve(tf.constant(np.load(pieces))).values()
np.save(order, answer.numpy())
sys.exit("keras_softsort" in sys.modules)
"""


def agrees_in_new_process(solver: keras.Model, pieces: np.ndarray, folder: Path) -> bool:
    """Whether the exported solver gives the same order in a process that imports only TensorFlow and NumPy."""
    export(solver, folder / "solver")
    np.save(folder / "pieces.npy", pieces)
    paths = [str(folder / name) for name in ("solver", "pieces.npy", "order.npy")]
    subprocess.run([sys.executable, "-c", ALONE, *paths], check=True, capture_output=True)
    return np.array_equal(np.load(folder / "order.npy"), solver(pieces).numpy())


def table(results: dict[str, list[dict]]) -> str:
    """A line for each method, means over seeds; the spread of ours is its standard deviation."""
    columns = results["as shuffled"][0].keys()
    lines = [f"{'':28}" + "".join(f"{column.replace('_', ' '):>17}" for column in columns)]
    for name, found in results.items():
        cells = [[measured[column] for measured in found] for column in columns]
        spread = [f" +- {np.std(cell, ddof=1):.3f}" if len(cell) > 1 else "" for cell in cells]
        cells = [f"{np.mean(cell):.3f}{more}" for cell, more in zip(cells, spread, strict=True)]
        lines.append(f"{name:28}" + "".join(f"{cell:>17}" for cell in cells))
    return "\n".join(lines)


def columns(solved: tuple, options: argparse.Namespace, rows: int = 5) -> dict[str, np.ndarray]:
    """Pieces of some puzzles as shuffled, softly and exactly reassembled, and in truth."""
    scores, _, shuffled, truth = solved
    shown = shuffled[:rows]
    soft, exact = (reassembler(scores, options, hard=hard)(shown).numpy() for hard in (False, True))
    return {"shuffled": shown, "soft": soft, "exact": exact, "truth": puzzles.in_order(shuffled, truth)[:rows]}


def report(results: dict, solved: dict, options: argparse.Namespace) -> None:
    """Print a table for each grid."""
    for k in options.pieces:
        print(f"\n{k} x {k} pieces of {options.dataset}, {len(solved[k][2])} puzzles of unseen images")
        print(f"(orders right by pixels are wrong by index at {puzzles.alike(solved[k][2]):.3f} of the positions):")
        print(table(results[k]))
    print("\nPieces that look alike may be swapped, except by index and for Kendall's tau; l2 is the root of a mean.")


def main(options: argparse.Namespace) -> dict:
    """Train on every grid, print beside the baselines, export, draw."""
    print("Learning to reassemble images from shuffled pieces")
    results, solved = {}, {}
    for k in options.pieces:
        results[k], solved[k] = solve_all(k, options)
    report(results, solved, options)
    agrees = agrees_in_new_process(*solved[options.pieces[-1]][1:3], options.output)
    print(f"Exported to {options.output / 'solver'}; run with only TensorFlow and NumPy: same order {agrees}.")
    grids = {k: columns(solved[k], options) for k in options.pieces}
    print(f"Picture: {draw_puzzles(grids, options.output / 'jigsaw.png')}")
    return command_line.save_report(options, "jigsaw", results=results, export_agrees=agrees)


if __name__ == "__main__":
    main(OPTIONS)
