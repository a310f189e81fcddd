"""An experiment on handwritten numbers with many seeds, in one checkout of this package or beside another.

Each run is a process of its own, `--workers` of them at a time with `--threads` each. Its report is written to
`OUTPUT/SETTINGS/VERSION/SEED`, so that an interrupted command goes on where it stopped. Options that are not known
here go to the experiment.

`--methods` compares ways to sort and losses instead. Each trains for `--choice-steps` with the first seed at each of
`--taus`. The temperature with the most lists right, of images that are in no training list then and in no test list,
is that of its runs with all seeds.

    python experiments/digits_seeds.py --seeds 0 1 2
    python experiments/digits_seeds.py --methods --seeds 0 1 2
    git worktree add --detach ../first 9b6cbb3
    python experiments/digits_seeds.py --beside first=../first --seeds 0 1 2 3 4 5 6 7 8 9 10 11 --no-baselines
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

sys.path.append(str(Path(__file__).parents[1] / "benchmarks" / "tools"))

import harness
import numpy as np

HERE = Path(__file__).parents[1]
METHODS = [
    *((method, "order") for method in ("neural_sort", "soft_sort")),
    *((method, "ranks") for method in ("neural_sort", "soft_sort", "lapsum", "projection", "projection_kl")),
]
LOSSES = {"order": "cross-entropy of the permutation", "ranks": "squared error of soft ranks"}
SHOWN = {"all_correct": "all correct", "element": "element-wise", "mse_1e4": "MSE x 1e4", "r2": "R2"}


def run(tree: Path, seed: int, folder: Path, options: argparse.Namespace, others: Sequence[str]) -> dict:
    """The measures of each method, of the experiment in a checkout."""
    path = folder / f"{options.experiment}.json"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        names = ("OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS")
        settings = {**os.environ, **dict.fromkeys(names, str(options.threads)), "PYTHONPATH": str(tree)}
        # Checkouts of earlier versions have the experiments in another folder.
        folders = (tree / "experiments", tree / "benchmarks" / "training")
        script = next(each for each in folders if each.exists()) / path.with_suffix(".py").name
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


def of_methods(options: argparse.Namespace, others: Sequence[str]) -> dict[str, Iterator[harness.Row]]:
    """Tables of the methods at the temperatures chosen, and of how these were chosen."""
    root = options.output.resolve() / "_".join(["methods", *others]).replace("/", "_")

    def one(each: tuple[str, str, float, int, bool]) -> dict[str, float]:
        method, loss, tau, seed, is_choice = each
        folder = root / f"{method}-{loss}" / (f"choice-{options.choice_steps}" if is_choice else "test")
        settings = ["--operator", method, "--loss", loss, "--tau", f"{tau:g}", "--no-baselines", *others]
        if is_choice:
            settings += ["--steps", str(options.choice_steps), "--validation"]
        return run(HERE, seed, folder / f"{tau:g}" / str(seed), options, settings)[method]

    with ThreadPoolExecutor(options.workers) as pool:
        tried = [(*each, tau, options.seeds[0], True) for each in METHODS for tau in options.taus]
        shares = {each[:3]: measures["all_correct"] for each, measures in zip(tried, pool.map(one, tried), strict=True)}
        best = {each: max(options.taus, key=lambda tau: shares[(*each, tau)]) for each in METHODS}
        asked = [(*each, best[each], seed, False) for each in METHODS for seed in options.seeds]
        found = dict(zip(asked, pool.map(one, asked), strict=True))

    def named(each: tuple[str, str]) -> harness.Row:
        return {"loss": LOSSES[each[1]], "method": f"`{each[0]}`"}

    def compared() -> Iterator[harness.Row]:
        for each in METHODS:
            own = [measures for key, measures in found.items() if key[:2] == each]
            cells = {title: spread([one[key] for one in own], title) for key, title in SHOWN.items() if key in own[0]}
            yield {**named(each), "tau": best[each], "seeds": len(own), **cells}

    def seeds() -> Iterator[harness.Row]:
        for (method, loss, tau, seed, _), measures in found.items():
            cells = {title: measures[key] for key, title in SHOWN.items() if key in measures}
            yield {**named((method, loss)), "tau": tau, "seed": seed, **cells}

    chosen = ({**named(each), **{f"tau {tau:g}": shares[(*each, tau)] for tau in options.taus}} for each in METHODS)
    return {"methods": compared(), "temperatures": chosen, "method-seeds": seeds()}


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
    parser.add_argument("--methods", action="store_true", help="compare ways to sort, in the experiment digits")
    parser.add_argument("--taus", type=float, nargs="+", default=[0.1, 0.3, 1.0, 3.0, 10.0], help="with --methods")
    parser.add_argument("--choice-steps", type=int, default=1000, help="of each run that chooses a temperature")
    options, others = parser.parse_known_args(arguments)
    if options.methods:
        return harness.publish("digits_seeds", of_methods(options, others), options.json)
    found = runs(options, others)
    tables = {"seeds": by_seed(found), "means": means(found)}
    if options.beside:
        tables["differences"] = differences(found)
    return harness.publish("digits_seeds", tables, options.json)


if __name__ == "__main__":
    main()
