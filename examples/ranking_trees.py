"""Train LightGBM's trees with ranking losses: NDCG@5 and Spearman's correlation on validation lists, round by round.

By default the lists are wards of real patients, to be ranked by the progression of their disease
(`_shared/ranking_data.py`). `--train` and `--test` take SVMlight or LETOR files instead, such as the sample that
LightGBM ships: the queries of both are split at random, three fifths to learn from, one to validate and one to test.
LightGBM's own `lambdarank` and `regression` (squared error) stand beside the losses. The figures are those of test
lists, after the round that is best on validation lists by the measure of the column; means and spread over splits.

    python examples/ranking_trees.py                                          # five splits, a minute
    python examples/ranking_trees.py --train rank.train --test rank.test --rounds 100
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from _shared import command_line


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Options of the command line."""
    quick = {"splits": 1, "rounds": 10, "wards": 30}
    parser = command_line.new_parser(__doc__, "ranking_trees", quick)
    add = parser.add_argument
    add("--train", type=Path, help="SVMlight file (with --test); a file .query beside it has the list sizes")
    add("--test", type=Path, help="SVMlight file (with --train)")
    add("--wards", type=command_line.at_least(5), default=300, help="lists of patients in each part of a split")
    add(
        "--splits",
        type=command_line.at_least(1),
        default=5,
        help="random splits, one training of each method per split",
    )
    add("--rounds", type=command_line.at_least(1), default=60, help="trees of each training")
    options = command_line.parse(parser, arguments, quick, needs=("sklearn", "lightgbm", "matplotlib"))
    command_line.check_files(parser, options)
    return options


if __name__ == "__main__":
    OPTIONS = parse()  # a wrong argument fails here, before the seconds that TensorFlow takes to import
    command_line.import_tensorflow()

import lightgbm
import numpy as np
from _shared.pictures.trees import draw_rounds
from _shared.ranking_data import from_files, patients

import keras_softsort as ks
from keras_softsort.data import RankingDataset

OBJECTIVES: dict[str, Any] = {
    "LightGBM lambdarank": "lambdarank",
    "LightGBM regression": "regression",
    "RankNetLoss": ks.trees.objective(ks.RankNetLoss()),
    "PairwiseMSELoss": ks.trees.objective(ks.PairwiseMSELoss()),
    "SoftmaxLoss": ks.trees.objective(ks.SoftmaxLoss()),
}
METRICS = {"ndcg@5": ks.trees.metric("ndcg", 5), "spearman": ks.trees.metric("spearman")}
PARTS = ("validation", "test")


def train(objective: Any, parts: list[RankingDataset], seed: int, rounds: int) -> dict[str, dict[str, list[float]]]:
    """Each metric after each round, on the lists for validation and for testing."""
    learned, *others = (lightgbm.Dataset(part.features, part.labels, group=part.sizes) for part in parts)
    params = {"objective": objective, "metric": "none", "num_leaves": 15, "seed": seed, "verbose": -1, "num_threads": 1}
    found: dict[str, dict[str, list[float]]] = {}
    lightgbm.train(
        params,
        learned,
        rounds,
        valid_sets=others,
        valid_names=PARTS,
        feval=list(METRICS.values()),
        callbacks=[lightgbm.record_evaluation(found)],
    )
    return found


def splits(options: argparse.Namespace) -> Callable[[int], list[RankingDataset]]:
    """Lists to learn from, to validate and to test, as a function of the number of the split."""
    if options.train is None:
        return lambda split: patients(options.wards, seed=split, validation=True)
    known, test = from_files([options.train, options.test])
    features, labels, sizes = (
        np.concatenate([getattr(part, name) for part in (known, test)]) for name in ("features", "labels", "sizes")
    )
    lists = RankingDataset(features, labels, sizes)

    def of_files(split: int) -> list[RankingDataset]:
        order, fifth = np.random.default_rng(split).permutation(len(lists)), len(lists) // 5
        return [lists[order[2 * fifth :]], lists[order[:fifth]], lists[order[fifth : 2 * fifth]]]

    return of_files


def chosen(run: dict[str, dict[str, list[float]]]) -> dict[str, float]:
    """The metrics on test lists, each after the round that is best on validation lists."""
    validation, test = (run[part] for part in PARTS)
    return {name: test[name][int(np.argmax(validation[name]))] for name in METRICS}


def report(results: dict[str, list[dict[str, float]]]) -> None:
    """Print means over splits, their spread, and on how many splits a method is ahead of the first."""
    print(f"\n{'on unseen lists':24}" + "".join(f"{name:>12}{'spread':>8}{'ahead on':>12}" for name in METRICS))
    first, *_ = results.values()
    for method, runs in results.items():
        line = f"{method:24}"
        for name in METRICS:
            values, baseline = (np.array([run[name] for run in each]) for each in (runs, first))
            ahead = "" if runs is first else f"{(values > baseline).sum()} of {len(values)}"
            line += f"{values.mean():12.3f}{values.std():8.3f}{ahead:>12}"
        print(line)


def main(options: argparse.Namespace) -> dict:
    """Train each objective on each split, print, draw."""
    make_parts = splits(options)
    runs: dict[str, list] = {name: [] for name in OBJECTIVES}
    for split in range(options.splits):
        parts = make_parts(split)
        for name, objective in OBJECTIVES.items():
            runs[name].append(train(objective, parts, split, options.rounds))
        latest = ", ".join(f"{name} {chosen(each[-1])['spearman']:.3f}" for name, each in runs.items())
        print(f"split {split + 1} of {options.splits}, Spearman: {latest}")
    results = {name: [chosen(run) for run in each] for name, each in runs.items()}
    report(results)
    curves = {name: [run["validation"] for run in each] for name, each in runs.items()}
    print(f"\nPicture: {draw_rounds(curves, options.output / 'ranking_trees.png')}")
    return command_line.save_report(options, "ranking_trees", results=results, validation=curves)


if __name__ == "__main__":
    main(OPTIONS)
