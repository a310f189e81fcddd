"""Ranking losses as objectives of LightGBM and XGBoost, beside the objectives of these libraries.

- `letor`: the 251 queries of `rank.train` and `rank.test`, the sample that LightGBM ships, in the folder `--letor`. A
  fifth is for validation and a fifth for testing.
- `wards`: 240 lists of 20 real patients for training, 80 for validation, 240 for testing, as in `ranking_methods.py`.
- `simulated`: 300 queries for training and 100 each for validation and testing, of 5 to 40 documents with 20 features.
  Labels are 0 to 4, and depend on an unknown number of each query as much as on the features.

All trees have 15 leaves of at least 20 rows and a learning rate of 0.1. The number of rounds, a multiple of 10 up to
100, is the best on validation queries by the measure of the column; the figure is that of test queries. Splits are
drawn at random, and so are simulated queries. The time is that of gradient and hessian, in CPU milliseconds of one
round.

    python experiments/trees.py --letor data --json benchmarks/results/trees.json
    python experiments/trees.py --times --json benchmarks/results/trees_times.json
"""

from __future__ import annotations

import argparse
import functools
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

sys.path.append(str(Path(__file__).parents[1] / "benchmarks" / "tools"))

import harness
import lightgbm
import numpy as np
import xgboost
from _shared import ranking_splits as data

import keras_softsort as ks
from keras_softsort.data import RankingDataset

SHARED = {"num_leaves": 15, "learning_rate": 0.1, "min_data_in_leaf": 20, "verbose": -1, "num_threads": 1}
SHARED_XGBOOST = {"max_leaves": 15, "eta": 0.1, "grow_policy": "lossguide", "tree_method": "hist", "nthread": 1}
MEASURES = {"Spearman": ks.trees.metric("spearman"), "NDCG@5": ks.trees.metric("ndcg", 5)}
LOSSES: dict[str, Callable[[], Any]] = {
    "RankNetLoss()": ks.RankNetLoss,
    'RankNetLoss(normalization="none")': lambda: ks.RankNetLoss(normalization="none"),
    'RankNetLoss(lambda_weight="ndcg")': lambda: ks.RankNetLoss(lambda_weight="ndcg"),
    'RankNetLoss(lambda_weight="label_diff")': lambda: ks.RankNetLoss(lambda_weight="label_diff"),
    "SoftmaxLoss()": ks.SoftmaxLoss,
    "PlackettLuceLoss()": ks.PlackettLuceLoss,
    "PairwiseMSELoss()": ks.PairwiseMSELoss,
    "ApproxNDCGLoss()": ks.ApproxNDCGLoss,
    "NeuralNDCGLoss()": ks.NeuralNDCGLoss,
    "PLRankLoss()": ks.PLRankLoss,
    "SpearmanLoss()": ks.SpearmanLoss,
}
LIGHTGBM = {
    "lambdarank": {"objective": "lambdarank"},
    "lambdarank, lambdarank_norm=False": {"objective": "lambdarank", "lambdarank_norm": False},
    "rank_xendcg": {"objective": "rank_xendcg"},
    "regression": {"objective": "regression"},
}
XGBOOST = {
    "rank:ndcg": {"objective": "rank:ndcg"},
    "rank:pairwise": {"objective": "rank:pairwise"},
    "reg:squarederror": {"objective": "reg:squarederror"},
}
# Losses with the options of `objective` that are compared.
OPTIONS = {
    'RankNetLoss(normalization="none")': [{"hessian": "absolute"}, {"normalize_lists": True}],
    'RankNetLoss(lambda_weight="ndcg")': [{"hessian": "absolute"}, {"normalize_lists": True}],
}
XGBOOST_LOSSES = ["RankNetLoss()", 'RankNetLoss(normalization="none")', 'RankNetLoss(lambda_weight="ndcg")']


class Split(NamedTuple):
    """Lists to train on, to choose the round on, and to test on."""

    train: RankingDataset
    valid: RankingDataset
    test: RankingDataset


def letor(folder: Path, seed: int) -> Split:
    """The 251 queries of both files, in random order."""
    parts = [ks.data.read_svmlight(folder / f"rank.{part}") for part in ("train", "test")]
    width = max(part.features.shape[1] for part in parts)
    features = [np.pad(part.features, [(0, 0), (0, width - part.features.shape[1])]) for part in parts]
    labels, sizes = (np.concatenate([getattr(part, name) for part in parts]) for name in ("labels", "sizes"))
    queries = RankingDataset(np.concatenate(features), labels, sizes)
    order = np.random.default_rng(seed).permutation(len(queries))
    fifth = len(queries) // 5
    return Split(queries[order[2 * fifth :]], queries[order[:fifth]], queries[order[fifth : 2 * fifth]])


def wards(seed: int) -> Split:
    """The patients of `ranking_methods.py`."""
    return Split(*(RankingDataset(*part.flat()) for part in data.wards(seed)))


def simulated(seed: int, counts: tuple[int, ...] = (300, 100, 100)) -> Split:
    """Queries with an unknown number each, which is added to the utilities of their documents."""
    return Split(*(RankingDataset(*part) for part in data.simulated(seed, counts, level=1.0)))


def measured(lists: RankingDataset, scores: np.ndarray) -> dict[str, float]:
    return {name: metric(lists.labels, scores, None, lists.sizes)[1] for name, metric in MEASURES.items()}


def chosen(split: Split, predict: Callable[[np.ndarray, int], np.ndarray]) -> dict[str, float]:
    """The measures of test queries, each at the round that is best on validation queries."""
    rounds = range(10, 101, 10)
    valid, test = (
        [measured(lists, predict(lists.features, number)) for number in rounds] for lists in (split.valid, split.test)
    )
    best = {name: int(np.argmax([each[name] for each in valid])) for name in MEASURES}
    return {name: test[at][name] for name, at in best.items()}


def run_lightgbm(split: Split, seed: int, options: Mapping[str, Any]) -> dict[str, float]:
    train = lightgbm.Dataset(split.train.features, split.train.labels, group=split.train.sizes)
    booster = lightgbm.train({**SHARED, "seed": seed, **options}, train, 100)
    return chosen(split, lambda features, rounds: booster.predict(features, num_iteration=rounds))


def run_xgboost(split: Split, seed: int, options: Mapping[str, Any]) -> dict[str, float]:
    train = xgboost.DMatrix(split.train.features, split.train.labels, group=split.train.sizes)
    options, objective = dict(options), options["objective"]
    if callable(objective):
        del options["objective"]
    booster = xgboost.train(
        {**SHARED_XGBOOST, "seed": seed, **options}, train, 100, obj=objective if callable(objective) else None
    )
    return chosen(
        split,
        lambda features, rounds: booster.predict(
            xgboost.DMatrix(features), iteration_range=(0, rounds), output_margin=True
        ),
    )


def rows(
    run: Callable[[Split, int, Mapping[str, Any]], dict[str, float]],
    methods: Mapping[str, Mapping[str, Any]],
    options: argparse.Namespace,
) -> Iterator[harness.Row]:
    """Means over splits; in brackets the difference to the first method, and on how many splits it is ahead."""
    sets: dict[str, Callable[[int], Split]] = {"wards": wards, "simulated": simulated}
    if options.letor is not None:
        sets = {"letor": lambda seed: letor(options.letor, seed), **sets}
    splits = {title: [make(seed) for seed in range(options.splits)] for title, make in sets.items()}
    first: dict[str, np.ndarray] = {}
    for name, settings in methods.items():
        row: harness.Row = {"objective": f"`{name}`" if "(" in name else name}
        for title, parts in splits.items():
            found = [run(split, seed, settings) for seed, split in enumerate(parts)]
            for measure in MEASURES:
                column, values = f"{title}: {measure}", np.array([each[measure] for each in found])
                gain = values - first.setdefault(column, values)
                ahead = f" ({gain.mean():+.3f}, {(gain > 0).sum()} of {len(gain)})" if gain.any() else ""
                row[column] = f"{values.mean():.3f}{ahead}"
        yield row


def lightgbm_methods() -> dict[str, Mapping[str, Any]]:
    ours = {name: {"objective": ks.trees.objective(make())} for name, make in LOSSES.items()}
    varied = {
        f"{name}, {option}={value!r}": {"objective": ks.trees.objective(LOSSES[name](), **{option: value})}
        for name, choices in OPTIONS.items()
        for choice in choices
        for option, value in choice.items()
    }
    return {**LIGHTGBM, **ours, **varied}


def xgboost_methods() -> dict[str, Mapping[str, Any]]:
    ours = {
        name + (", unit_scale=True" if unit else ""): {"objective": ks.trees.objective(LOSSES[name](), unit_scale=unit)}
        for name in XGBOOST_LOSSES
        for unit in (False, True)
    }
    return {**XGBOOST, **ours}


def spent(run: Callable[[], Any], repeats: int) -> float:
    """CPU milliseconds of a run, the least of several."""
    found = []
    for _ in range(repeats + 1):  # the first traces
        start = time.process_time()
        run()
        found.append(1000 * (time.process_time() - start))
    return min(found[1:])


def times(options: argparse.Namespace) -> Iterator[harness.Row]:
    """CPU milliseconds of one round: gradient and hessian of ours, whole rounds of LightGBM's."""
    lists = {f"{rows:,} rows": simulated(0, (rows * 2 // 45, 1, 1)).train for rows in options.rows}
    for name, make in LOSSES.items():
        objective = ks.trees.objective(make())
        found = {title: time_of_objective(objective, each, options.repeats) for title, each in lists.items()}
        yield {"objective": f"`{name}`", **found}
    for name in ("lambdarank", "regression"):
        found = {title: time_of_lightgbm(LIGHTGBM[name], each, options.repeats) for title, each in lists.items()}
        yield {"objective": f"{name}, with its tree", **found}


def time_of_objective(objective: Callable, lists: RankingDataset, repeats: int) -> float:
    scores = np.random.default_rng(0).normal(size=len(lists.labels))
    return spent(lambda: objective(lists.labels, scores, None, lists.sizes), repeats)


def time_of_lightgbm(settings: Mapping[str, Any], lists: RankingDataset, repeats: int, rounds: int = 50) -> float:
    train = lightgbm.Dataset(lists.features, lists.labels, group=lists.sizes).construct()
    run = functools.partial(lightgbm.train, {**SHARED, **settings}, train, rounds)
    return spent(run, max(1, repeats // 4)) / rounds


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    parser = harness.new_parser(__doc__)
    add = parser.add_argument
    add("--letor", type=Path, help="folder with rank.train, rank.test and their .query files")
    add("--splits", type=int, default=5, help="random splits, each with a training of each objective")
    add("--times", action="store_true", help="measure the time instead")
    add("--rows", type=int, nargs="+", default=[3000, 30000], help="rows whose time is measured")
    add("--repeats", type=int, default=12, help="rounds that are timed")
    add("--objectives", nargs="+", help="names of objectives to train with, instead of all", metavar="NAME")
    options = parser.parse_args(arguments)
    if options.times:
        return harness.publish("trees", {"times": times(options)}, options.json)
    libraries = {"LightGBM": (run_lightgbm, lightgbm_methods()), "XGBoost": (run_xgboost, xgboost_methods())}
    tables = {
        title: rows(
            run, {name: each for name, each in methods.items() if name in (options.objectives or methods)}, options
        )
        for title, (run, methods) in libraries.items()
    }
    return harness.publish("trees", tables, options.json)


if __name__ == "__main__":
    main()
