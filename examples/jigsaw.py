"""Reassemble shuffled pieces of images not seen before, by Gumbel-Sinkhorn (Mena et al., ICLR 2018, section 5.2).

A small CNN looks at each piece by itself and scores how well it suits each place; `GumbelSinkhornLayer` turns the
scores of all pieces into a soft permutation; the squared difference of the softly reassembled and the true image
trains the CNN. No piece is ever labelled with its place. In use, the best exact matching is taken, and exported to run
where this package is not installed.

    python examples/jigsaw.py                                   # scikit-learn's real digits, a minute or two
    python examples/jigsaw.py --dataset mnist --pieces 2 3 4 5 6 --seeds 0 --steps 1500 --dropout 0
    python examples/jigsaw.py --dataset photos --pieces 2 3     # photographs; needs scikit-image
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import puzzles
import tensorflow as tf
from handwritten_numbers import OnEachItem
from pictures import BAD, INK, MUTED
from tensorflow import keras

import keras_softsort as ks

ALONE = """import sys
import numpy as np
import tensorflow as tf

folder, pieces, order = sys.argv[1:]
solve = tf.saved_model.load(folder).signatures["serving_default"]
(answer,) = solve(tf.constant(np.load(pieces))).values()
np.save(order, answer.numpy())
sys.exit("keras_softsort" in sys.modules)
"""


@keras.utils.register_keras_serializable(package="examples")
class PutInPlace(keras.layers.Layer):
    """Pieces `[batch, n, ...]` by soft permutations `[batch, samples, n, n]`: `[batch, samples, n, ...]`."""

    def call(self, pieces: tf.Tensor, permutation: tf.Tensor) -> tf.Tensor:
        """At each place the mean of the pieces, weighted as the permutation says."""
        return tf.einsum("bspq,bphwc->bsqhwc", permutation, pieces)


@keras.utils.register_keras_serializable(package="examples")
class BestOrder(keras.layers.Layer):
    """Log-scores `[batch, piece, place]` to the piece at each place, `[batch, place]`, of the largest sum."""

    def call(self, log_scores: tf.Tensor) -> tf.Tensor:
        """`linear_assignment` names a column for each row: places are to be the rows."""
        return ks.ops.linear_assignment(tf.linalg.matrix_transpose(log_scores))


def scorer(piece_shape: tuple[int, ...], n: int, dropout: float) -> keras.Model:
    """Pieces `[batch, n, height, width, channels]` to log-scores `[batch, piece, place]`."""
    network = keras.Sequential(
        [
            keras.Input(piece_shape),
            keras.layers.Conv2D(32, 3, padding="same", activation="relu"),
            keras.layers.Flatten(),
            keras.layers.Dropout(dropout),
            keras.layers.Dense(256, activation="relu"),
            keras.layers.Dropout(dropout),
            keras.layers.Dense(n),
        ]
    )
    pieces = keras.Input((n, *piece_shape))
    return keras.Model(pieces, OnEachItem(network)(pieces))


def reassembler(scores: keras.Model, options: argparse.Namespace, hard: bool = False) -> keras.Model:
    """Shuffled pieces to pieces in place `[batch, 1, n, height, width, channels]`, with noise in training alone."""
    matching = ks.GumbelSinkhornLayer(
        options.tau, noise_scale=options.noise_scale, num_iterations=options.iterations, hard=hard
    )
    return keras.Model(scores.input, PutInPlace()(scores.input, matching(scores.output)))


def train(pieces: np.ndarray, seed: int, options: argparse.Namespace) -> keras.Model:
    """The scorer, trained through the soft reassembly."""
    keras.utils.set_random_seed(seed)
    scores = scorer(pieces.shape[2:], pieces.shape[1], options.dropout)
    model = reassembler(scores, options)
    epochs = max(1, min(5, options.steps // 100))  # each prints a line
    rate = keras.optimizers.schedules.CosineDecay(options.learning_rate, options.steps)
    model.compile(keras.optimizers.Adam(rate), loss="mse")
    data = puzzles.training_puzzles(pieces, options.batch_size, seed)
    model.fit(data, epochs=epochs, steps_per_epoch=max(1, options.steps // epochs), shuffle=False, verbose=2)
    return scores


def solve_all(k: int, options: argparse.Namespace) -> tuple[dict, tuple]:
    """Train and measure on a grid of k x k: results by method; the last scorer and solver, and the puzzles."""
    train_images, test_images = puzzles.load_pictures(options.dataset, k, options.data_dir, options.crops)
    chosen = np.random.default_rng(1_000_003).permutation(len(test_images))[: options.test_puzzles]
    shuffled, truth = puzzles.shuffled(puzzles.cut(test_images[chosen], k), seed=1_000_003)

    orders = {"as shuffled": [np.broadcast_to(np.arange(k * k), truth.shape)]}
    if options.baselines:
        orders["edges alone"] = [puzzles.by_edges(shuffled)]
    if options.baselines and options.dataset != "photos":
        orders["edges and a black frame"] = [puzzles.by_edges(shuffled, dark_frame=True)]
    orders["Gumbel-Sinkhorn"] = []
    for seed in options.seeds:
        print(f"\n{k} x {k} pieces, seed {seed}")
        scores = train(puzzles.cut(train_images, k), seed, options)
        solver = keras.Model(scores.input, BestOrder()(scores.output))
        orders["Gumbel-Sinkhorn"].append(solver(shuffled).numpy())
    results = {name: [puzzles.measure(shuffled, order, truth) for order in found] for name, found in orders.items()}
    return results, (scores, solver, shuffled, truth)


def exported_agrees(solver: keras.Model, pieces: np.ndarray, folder: Path) -> bool:
    """Whether the exported solver gives the same order in a process that imports TensorFlow and NumPy alone."""
    solver.export(str(folder / "solver"))
    np.save(folder / "pieces.npy", pieces)
    paths = [str(folder / name) for name in ("solver", "pieces.npy", "order.npy")]
    subprocess.run([sys.executable, "-c", ALONE, *paths], check=True)
    return np.array_equal(np.load(folder / "order.npy"), solver(pieces).numpy())


def draw(solved: dict[int, tuple], options: argparse.Namespace, path: Path, rows: int = 5) -> Path:
    """For each grid: pieces as shuffled, softly and exactly reassembled (wrong ones framed), and the truth."""
    figure = plt.figure(figsize=(6.2 * len(solved), 1.5 * rows + 0.9), layout="constrained", facecolor="white")
    figure.suptitle("Images not seen before, reassembled from shuffled pieces", fontsize=15, color=INK)
    groups = np.atleast_1d(figure.subfigures(1, len(solved), wspace=0.04))
    for group, (k, (scores, _, shuffled, truth)) in zip(groups, solved.items(), strict=True):
        shown, right = shuffled[:rows], puzzles.in_order(shuffled, truth)[:rows]
        soft, hard = (reassembler(scores, options, hard=hard)(shown)[:, 0].numpy() for hard in (False, True))
        columns = {"shuffled": shown, "soft": soft, "exact": hard, "truth": right}
        axes = group.subplots(rows, 4, squeeze=False)
        for column, (name, pieces) in enumerate(columns.items()):
            axes[0, column].set_title(f"{name}, {k} x {k}" if column == 0 else name, color=INK, fontsize=12)
            for row in range(rows):
                wrong = np.any(np.abs(pieces[row] - right[row]) > 1e-5, axis=(1, 2, 3)) & (name == "exact")
                _show(axes[row, column], pieces[row], wrong)
    figure.savefig(path, dpi=90, bbox_inches="tight")
    plt.close(figure)
    return path


def _show(axis, pieces: np.ndarray, wrong: np.ndarray) -> None:
    """One image, with lines between its pieces and a frame about the wrong ones."""
    n, height, width = pieces.shape[:3]
    k = round(n**0.5)
    image = puzzles.join(pieces[np.newaxis])[0]
    axis.imshow(np.clip(image, 0, 1).squeeze(), cmap="gray_r", vmin=0, vmax=1)
    axis.set_xticks(np.arange(1, k) * width - 0.5, [])
    axis.set_yticks(np.arange(1, k) * height - 0.5, [])
    axis.grid(color=MUTED, linewidth=0.8)
    axis.tick_params(length=0)
    for place in np.flatnonzero(wrong):
        corner = place % k * width - 0.5, place // k * height - 0.5
        axis.add_patch(plt.Rectangle(corner, width, height, fill=False, color=BAD, linewidth=2))
    axis.spines[:].set_color(MUTED)


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


def run(options: argparse.Namespace) -> dict:
    """Train, print beside the baselines, draw, export."""
    options.output.mkdir(parents=True, exist_ok=True)
    results, solved = {}, {}
    for k in options.pieces:
        results[k], solved[k] = solve_all(k, options)
    for k in options.pieces:
        print(f"\n{k} x {k} pieces of {options.dataset}, {len(solved[k][2])} puzzles of unseen images")
        print(f"(orders right by pixels are wrong by index in {puzzles.alike(solved[k][2]):.3f} of the places):")
        print(table(results[k]))
    print("\nPieces that look alike may change places, save by index and for Kendall's tau; l2 is the root of a mean.")
    agrees = exported_agrees(*solved[options.pieces[-1]][1:3], options.output)
    print(f"Exported to {options.output / 'solver'}; run with TensorFlow and NumPy alone: same order {agrees}.")
    print(f"Picture: {draw(solved, options, options.output / 'jigsaw.png')}")
    report = {"options": {k: str(v) for k, v in vars(options).items()}, "results": results, "export_agrees": agrees}
    (options.output / "jigsaw.json").write_text(json.dumps(report, indent=2) + "\n")
    return report


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--dataset", choices=("sklearn", "mnist", "photos"), default="sklearn")
    add("--data-dir", help="folder of mnist.npz (default: Keras' own loader)")
    add("--crops", type=int, default=3000, help="crops of photographs, for training and for testing")
    add("--pieces", type=int, nargs="+", default=[2, 4], help="pieces a side")
    add("--seeds", type=int, nargs="+", default=[0, 1, 2])
    add("--steps", type=int, default=500, help="training steps")
    add("--batch-size", type=int, default=64, help="puzzles a step")
    add("--learning-rate", type=float, default=2e-3, help="at the start; it falls along a cosine")
    add("--dropout", type=float, default=0.2)
    add("--tau", type=float, default=1.0, help="temperature of Sinkhorn")
    add("--noise-scale", type=float, default=1.0, help="factor of the Gumbel noise")
    add("--iterations", type=int, default=10, help="of Sinkhorn")
    add("--test-puzzles", type=int, default=500)
    add("--no-baselines", dest="baselines", action="store_false", help="train our model alone")
    add("--output", type=Path, default=Path("output/jigsaw"))
    return parser.parse_args(arguments)


if __name__ == "__main__":
    run(parse())
