"""The accuracies of `experiments/knn_images.py` over the epochs and at the end, from the folders that it wrote.

    python experiments/knn_tables.py output/cifar10 output/cifar10-stochastic
    python experiments/knn_tables.py output/width-16 output/width-32 --vary width   # a row for each width

The folders are those that `--output` named; each may hold several seeds and methods, but no two the same training.
With `--vary`, trainings that differ in this option are compared.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "benchmarks" / "tools"))

import harness

NAMES = {"same CNN, cross-entropy": "cross-entropy", "DkNNLoss + kNN": "DkNN"}
Run = dict[str, Any]


def runs_of(report: dict[str, Any]) -> Iterator[Run]:
    """The trainings of one report: each method with each seed."""
    options = report["options"]
    for name, curves in report["curves"].items():
        is_stochastic = options["stochastic"] == "True" and NAMES[name] == "DkNN"
        method = "stochastic DkNN" if is_stochastic else NAMES[name]
        for seed, curve, test in zip(json.loads(options["seeds"]), curves, report["results"][name], strict=True):
            yield {"options": options, "method": method, "seed": seed, "curve": curve, "test": test}


def curves(runs: Sequence[Run]) -> Iterator[harness.Row]:
    """The accuracy after each epoch that was measured, a column for each training."""
    columns: dict[str, dict[int, float]] = {}
    for run in runs:
        name = f"{run['method']}, seed {run['seed']}"
        if name in columns:
            raise ValueError(f"the folders must hold each training once, got two of {name}")
        columns[name] = {point["epoch"]: point["accuracy"] for point in run["curve"]}
    for epoch in sorted({epoch for found in columns.values() for epoch in found}):
        cells = {name: f"{found[epoch]:.4f}" if epoch in found else "" for name, found in columns.items()}
        yield {"epoch": epoch, **cells}


def ends(runs: Sequence[Run]) -> Iterator[harness.Row]:
    """The test accuracy of each training."""
    for run in runs:
        minutes = round(run["curve"][-1]["seconds"] / 60)
        yield {"method": run["method"], "seed": run["seed"], "test accuracy": f"{run['test']:.4f}", "minutes": minutes}


def means(reports: Sequence[dict[str, Any]], runs: Sequence[Run]) -> Iterator[harness.Row]:
    """The test accuracy of each method over its seeds; methods that are not trained with a seed have one accuracy."""
    found: dict[str, list[float]] = {}
    for report in reports:
        found |= {name: tests for name, tests in report["results"].items() if name not in report["curves"]}
    for run in runs:
        found.setdefault(run["method"], []).append(run["test"])
    for method, tests in sorted(found.items(), key=lambda each: statistics.mean(each[1])):
        deviation = f"{statistics.stdev(tests):.4f}" if len(tests) > 1 else ""
        mean = f"{statistics.mean(tests):.4f}"
        yield {"method": method, "seeds": len(tests), "mean test accuracy": mean, "standard deviation": deviation}


def by_option(runs: Sequence[Run], option: str) -> Iterator[harness.Row]:
    """The test accuracy of each method for each value of an option, the mean over the seeds."""
    methods = list(dict.fromkeys(run["method"] for run in runs))
    for value in dict.fromkeys(run["options"][option] for run in runs):
        row = {option: value}
        for method in methods:
            found = [run["test"] for run in runs if run["options"][option] == value and run["method"] == method]
            row[method] = f"{statistics.mean(found):.4f}" if found else ""
        yield row


def main(arguments: list[str] | None = None) -> dict:
    parser = harness.new_parser(__doc__)
    parser.add_argument("folders", type=Path, nargs="+", help="the folders that --output named")
    parser.add_argument("--vary", metavar="OPTION", help="compare trainings by this option of the experiment")
    options = parser.parse_args(arguments)
    reports = [json.loads((folder / "knn_images.json").read_text()) for folder in options.folders]
    runs = [run for report in reports for run in runs_of(report)]
    if options.vary and any(options.vary not in run["options"] for run in runs):
        parser.error(f"--vary must be an option of experiments/knn_images.py, got {options.vary!r}")
    tables = {}
    for dataset in dict.fromkeys(report["options"]["dataset"] for report in reports):
        own = [run for run in runs if run["options"]["dataset"] == dataset]
        if options.vary:
            tables[f"{dataset}-{options.vary}"] = by_option(own, options.vary)
        else:
            tables[f"{dataset}-epochs"], tables[f"{dataset}-tests"] = curves(own), ends(own)
            same_dataset = [report for report in reports if report["options"]["dataset"] == dataset]
            tables[f"{dataset}-means"] = means(same_dataset, own)
    return harness.publish("knn_tables", tables, options.json)


if __name__ == "__main__":
    main()
