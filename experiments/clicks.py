"""Learning from clicks, on logs of one fixed order per list and on random ones: NDCG@5, and the estimated examination.

Runs `experiments/clicks_to_ranker.py` on two data sets:

- `letor`: `rank.train` and `rank.test`, the sample that LightGBM ships, in the folder `--letor`; a linear ranker.
- `simulated`: 480 queries for training and 200 for testing, of 5 to 40 documents with 20 features; 32 hidden units.

    python experiments/clicks.py --letor data --json benchmarks/results/clicks.json
"""

from __future__ import annotations

import argparse
import importlib
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "benchmarks" / "tools"))

import harness
import numpy as np
from _shared import ranking_splits as data
from sklearn.datasets import dump_svmlight_file

NAIVE = "clicks, RankNetLoss"
LOGS = ("fixed", "random")


def simulated_files(folder: Path) -> list[str]:
    """Arguments with two files of simulated queries."""
    for name, (features, labels, sizes) in zip(
        ("train", "test"), data.simulated(0, [480, 200], level=0.0), strict=True
    ):
        queries = np.repeat(np.arange(len(sizes)), sizes)
        dump_svmlight_file(features, labels, str(folder / name), zero_based=False, query_id=queries)
    return ["--train", str(folder / "train"), "--test", str(folder / "test"), "--hidden", "32"]


def run(arguments: list[str], options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """The report of the experiment on both kinds of logs."""
    example = importlib.import_module("clicks_to_ranker")
    shared = [*arguments, "--seeds", str(options.seeds), "--steps", str(options.steps), "--output", str(folder)]
    shared += ["--sessions", str(options.sessions)]
    return {log: example.main(example.parse([*shared, "--log", log])) for log in LOGS}


def quality(reports: dict[str, dict[str, Any]]) -> Iterator[harness.Row]:
    """Mean NDCG@5; in brackets the difference to RankNet on plain clicks, and on how many seeds it is ahead."""
    for method in next(iter(reports.values()))["fixed"]["results"]:
        row: harness.Row = {"NDCG@5": method}
        for title, by_log in reports.items():
            for log, report in by_log.items():
                values, naive = (np.array(report["results"][name]) for name in (method, NAIVE))
                gain = values - naive
                ahead = "" if method == NAIVE else f" ({gain.mean():+.3f}, {(gain > 0).sum()} of {len(gain)})"
                row[f"{title}, {log}"] = f"{values.mean():.3f}{ahead}"
        yield row


def examination(reports: dict[str, dict[str, Any]]) -> Iterator[harness.Row]:
    """The largest error of the curve over the positions: the mean over seeds, and the largest."""
    truth = importlib.import_module("clicks_to_ranker").EXAMINATION
    for method in next(iter(reports.values()))["fixed"]["curves"]:
        row: harness.Row = {"examination by": method}
        for title, by_log in reports.items():
            for log, report in by_log.items():
                errors = [np.abs(curve - truth[: len(curve)]).max() for curve in report["curves"][method]]
                row[f"{title}, {log}"] = f"{np.mean(errors):.3f} ({max(errors):.3f})"
        yield row


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    parser = harness.new_parser(__doc__)
    add = parser.add_argument
    add("--letor", type=Path, help="folder with rank.train, rank.test and their .query files")
    add("--seeds", type=int, default=5, help="logs of each kind, each with its own first weights")
    add("--steps", type=int, default=500, help="of each training")
    add("--sessions", type=int, default=50_000, help="of each log")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        sets = {"simulated": simulated_files(Path(folder))}
        if options.letor is not None:
            files = [f"--{part}={options.letor / f'rank.{part}'}" for part in ("train", "test")]
            sets = {"letor": files, **sets}
        reports = {title: run(each, options, Path(folder)) for title, each in sets.items()}
    return harness.publish("clicks", {"NDCG@5": quality(reports), "examination": examination(reports)}, options.json)


if __name__ == "__main__":
    main()
