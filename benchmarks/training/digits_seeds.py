"""An experiment on handwritten numbers with many seeds, in one checkout of this package or beside another.

Each run is a process of its own, `--workers` of them at a time with `--threads` each. Its report is written to
`OUTPUT/SETTINGS/VERSION/SEED`, so that an interrupted command goes on where it stopped. Options that are not known
here go to the experiment.

    python benchmarks/training/digits_seeds.py --seeds 0 1 2
    git worktree add --detach ../first 9b6cbb3
    python benchmarks/training/digits_seeds.py --beside first=../first --seeds 0 1 2 3 4 5 6 7 8 9 10 11 --no-baselines
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tools"))

import harness
import numpy as np

HERE = Path(__file__).parents[2]
SHOWN = {"all_correct": "all correct", "element": "element-wise", "mse_1e4": "MSE x 1e4", "r2": "R2"}


def run(tree: Path, seed: int, folder: Path, options: argparse.Namespace, others: Sequence[str]) -> dict:
    """The measures of each method, of the experiment in a checkout."""
    path = folder / f"{options.experiment}.json"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        names = ("OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS")
        settings = {**os.environ, **dict.fromkeys(names, str(options.threads)), "PYTHONPATH": str(tree)}
        script = tree / "benchmarks" / "training" / path.with_suffix(".py").name
        command = [sys.executable, str(script), "--seed", str(seed), *others]
        with (folder / "log.txt").open("w") as log:
            subprocess.run(
                [*command, "--output", str(folder)], check=True, cwd=tree, env=settings, stdout=log, stderr=log
            )
    return json.loads(path.read_text())["results"]


def commit(tree: Path) -> str:
    asked = ["git", "-C", str(tree), "rev-parse", "--short=10", "HEAD"]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()


def runs(options: argparse.Namespace, others: Sequence[str]) -> list[harness.Row]:
    """A row per seed, checkout and method."""
    trees = {"today": HERE, **dict(each.split("=", 1) for each in options.beside)}
    asked = [(seed, name, Path(tree).resolve()) for seed in options.seeds for name, tree in trees.items()]
    settings = "_".join([options.experiment, *others, "threads", str(options.threads)]).replace("/", "_")

    def one(each: tuple[int, str, Path]) -> list[harness.Row]:
        seed, name, tree = each
        folder = options.output.resolve() / settings / name / str(seed)
        about = {"version": name, "commit": commit(tree), "seed": seed}
        return [
            {**about, "method": method, **{SHOWN[key]: value for key, value in measures.items() if key in SHOWN}}
            for method, measures in run(tree, seed, folder, options, others).items()
            if method != "chance"
        ]

    with ThreadPoolExecutor(options.workers) as pool:
        return [row for rows in pool.map(one, asked) for row in rows]


def means(rows: Sequence[harness.Row]) -> Iterator[harness.Row]:
    """Mean and standard deviation of each version and method over the seeds."""
    for version, method in dict.fromkeys((row["version"], row["method"]) for row in rows):
        own = [row for row in rows if (row["version"], row["method"]) == (version, method)]
        measures = [key for key in own[0] if key in SHOWN.values()]
        cells = {key: spread([row[key] for row in own], key) for key in measures}
        yield {"version": version, "commit": own[0]["commit"], "method": method, "seeds": len(own), **cells}


def spread(values: Sequence[float], measure: str) -> str:
    digits = 2 if measure.startswith("MSE") else 3
    return f"{np.mean(values):.{digits}f}" + (f" +- {np.std(values, ddof=1):.{digits}f}" if np.ptp(values) > 0 else "")


def differences(rows: Sequence[harness.Row]) -> Iterator[harness.Row]:
    """Today's measures minus those of the other version with the same seed: mean and standard error."""
    first = next(iter(SHOWN[key] for key in ("all_correct", "mse_1e4") if SHOWN[key] in rows[0]))
    for method in dict.fromkeys(row["method"] for row in rows):
        found = {(row["version"], row["seed"]): row[first] for row in rows if row["method"] == method}
        for version in dict.fromkeys(version for version, _ in found if version != "today"):
            shared = [seed for name, seed in found if name == version and ("today", seed) in found]
            gains = np.array([found["today", seed] - found[version, seed] for seed in shared])
            if len(gains) > 1 and np.ptp(gains) > 0:
                error = float(gains.std(ddof=1) / np.sqrt(len(gains)))
                yield {
                    "method": method,
                    "measure": first,
                    "today minus": version,
                    "seeds": len(gains),
                    "mean": f"{gains.mean():+.4f}",
                    "standard error": round(error, 4),
                    "mean / standard error": round(float(gains.mean()) / error, 2),
                }


def by_seed(rows: Iterable[harness.Row]) -> Iterator[harness.Row]:
    """A row per seed, with a column per version and method, of the first measure (the second in parentheses)."""
    rows = [row for row in rows if "constant" not in row["method"]]
    columns = {(row["version"], row["method"]): None for row in rows}
    several = len({version for version, _ in columns}) > 1
    for seed in dict.fromkeys(row["seed"] for row in rows):
        cells = {}
        for version, method in columns:
            (own,) = [r for r in rows if (r["version"], r["method"], r["seed"]) == (version, method, seed)]
            first, second = [(own[key], key) for key in own if key in SHOWN.values()]
            written = [f"{value:.2f}" if key.startswith("MSE") else f"{value:.3f}" for value, key in (first, second)]
            cells[f"{method}, {version}" if several else method] = f"{written[0]} ({written[1]})"
        yield {"seed": seed, **cells}


def main(arguments: list[str] | None = None) -> dict:
    parser = harness.new_parser(__doc__)
    parser.add_argument("--experiment", choices=("digits", "median"), default="digits")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--beside", nargs="+", default=[], metavar="NAME=FOLDER", help="other checkouts to run as well")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--output", type=Path, default=Path("output/digits_seeds"))
    options, others = parser.parse_known_args(arguments)
    found = runs(options, others)
    tables = {"seeds": by_seed(found), "means": means(found)}
    if options.beside:
        tables["differences"] = differences(found)
    return harness.publish("digits_seeds", tables, options.json)


if __name__ == "__main__":
    main()
