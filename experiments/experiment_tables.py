"""Tables of experiments that train with several seeds themselves.

Options that are not known here go to the experiment.

    python experiments/experiment_tables.py number_sorting --seeds 0 1 2
    python experiments/experiment_tables.py jigsaw
    python experiments/experiment_tables.py recommender_slate
    python experiments/experiment_tables.py tabular_ranks
    python experiments/experiment_tables.py digit_detector
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "benchmarks" / "tools"))

import harness
import numpy as np


def with_range(values: Sequence[float], digits: int) -> str:
    """Mean (least to most), without the range where all are equal."""
    least, most = (f"{value:.{digits}f}" for value in (min(values), max(values)))
    return f"{np.mean(values):.{digits}f}" + (f" ({least} to {most})" if least != most else "")


def with_deviation(values: Sequence[float]) -> str:
    """Mean +- standard deviation of one seed."""
    return f"{np.mean(values):.3f}" + (f" +- {np.std(values, ddof=1):.3f}" if len(values) > 1 else "")


def number_sorting(
    results: dict[int, dict[str, list[dict]]], trainings: dict[int, list[int]]
) -> dict[str, Iterator[harness.Row]]:
    """Shares of lists with any error and of wrong elements over the seeds, and of lists for each seed."""

    def rows(measure: str, digits: int) -> Iterator[harness.Row]:
        for test in next(iter(results.values())):
            cells = {
                f"N = {n}": with_range([one[measure] for one in found[test]], digits) for n, found in results.items()
            }
            yield {"test": test, **cells}

    def by_seed() -> Iterator[harness.Row]:
        for test in ("U(0,1) raw", "U(0,1) rescaled"):
            for n, found in results.items():
                for number, one in enumerate(found[test]):
                    share = {"lists with an error": one["list"], "wrong elements": f"{one['element']:.5f}"}
                    yield {"test": test, "N": n, "run": number + 1, "trainings": trainings[n][number], **share}

    return {"lists": rows("list", 3), "elements": rows("element", 5), "seeds": by_seed()}


def jigsaw(results: dict[int, dict[str, list[dict]]]) -> dict[str, Iterator[harness.Row]]:
    """Every measure of each method on each grid."""

    def rows() -> Iterator[harness.Row]:
        for k, methods in results.items():
            for name, found in methods.items():
                cells = {key.replace("_", " "): with_deviation([one[key] for one in found]) for key in found[0]}
                yield {"grid": f"{k} x {k}", "": name, **cells}

    return {"puzzles": rows()}


def recommender_slate(
    known: dict[str, float], curves: dict[str, list[list[float]]], every: int
) -> dict[str, Iterator[harness.Row]]:
    """The reward of each baseline and method as a part of the best known, and the mean rewards over the steps."""
    top, best = list(known.items())[-1]

    def rows() -> Iterator[harness.Row]:
        for name, reward in known.items():
            yield {"": name, "reward": f"{reward:.4f}", f"of {top}": f"{reward / best:.1%}"}
        for method, found in curves.items():
            last = [curve[-1] for curve in found]
            yield {"": method, "reward": with_range(last, 4), f"of {top}": f"{np.mean(last) / best:.1%}"}

    def steps() -> Iterator[harness.Row]:
        """At powers of two times the first measurement, and at the last."""
        points = len(next(iter(curves.values()))[0])
        shown = sorted({*(2**power for power in range(points) if 2**power < points), points - 1})
        for method, found in curves.items():
            means = np.mean(found, axis=0)
            highest = {"highest mean": f"{means.max():.3f}", "at step": f"{every * int(means.argmax()):,}"}
            yield {"": method, **{f"{every * point:,} steps": f"{means[point]:.3f}" for point in shown}, **highest}

    return {"rewards": rows(), "steps": steps()}


def tabular_ranks(results: dict[str, list[list[float]]]) -> dict[str, Iterator[harness.Row]]:
    """The rank correlation of each method per year, over random halves of the men; of each half the mean over years."""
    means = {name: np.mean(halves, axis=1) for name, halves in results.items()}
    first = next(iter(means))

    def rows() -> Iterator[harness.Row]:
        for name, halves in results.items():
            found = means[name]
            yield {
                "rank correlation per year": name,
                "mean": f"{found.mean():.3f}",
                "lowest": f"{found.min():.3f}",
                "highest": f"{found.max():.3f}",
                "mean / standard deviation over years": f"{np.mean(found / np.std(halves, axis=1)):.1f}",
                f"ahead of {first}": "" if name == first else f"{np.sum(found > means[first])} of {len(found)}",
            }

    return {"correlations": rows()}


def digit_detector(
    results: dict[str, list[dict[str, float]]], seeds: Sequence[int]
) -> dict[str, Iterator[harness.Row]]:
    """The measures of each method on the same test scenes by seed, and their means with the deviation of a seed."""

    def rows() -> Iterator[harness.Row]:
        for name, found in results.items():
            for seed, measures in zip(seeds, found, strict=True):
                yield {"targets": name, "seed": str(seed), **{key.replace("_", " "): measures[key] for key in measures}}
        for name, found in results.items():
            if found[1:]:
                cells = {key.replace("_", " "): with_deviation([one[key] for one in found]) for key in found[0]}
                yield {"targets": name, "seed": "mean", **cells}

    return {"measures": rows()}


EXPERIMENTS: dict[str, Callable[..., dict[str, Iterator[harness.Row]]]] = {
    "number_sorting": lambda report: number_sorting(report["results"], report["trainings"]),
    "jigsaw": lambda report: jigsaw(report["results"]),
    "recommender_slate": lambda report: recommender_slate(
        report["baselines"], report["curves"], int(report["options"]["test_every"])
    ),
    "tabular_ranks": lambda report: tabular_ranks(report["results"]),
    "digit_detector": lambda report: digit_detector(report["results"], json.loads(report["options"]["seeds"])),
}


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    parser = harness.new_parser(__doc__)
    parser.add_argument("experiment", choices=EXPERIMENTS)
    options, others = parser.parse_known_args(arguments)
    experiment = importlib.import_module(options.experiment)
    report = experiment.main(experiment.parse(others))
    return harness.publish("experiment_tables", EXPERIMENTS[options.experiment](report), options.json)


if __name__ == "__main__":
    main()
