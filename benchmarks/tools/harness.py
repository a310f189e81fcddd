"""Shared parts of benchmarks and experiments: medians, memory, the machine, JSON results.

A script yields rows, dictionaries from column titles to numbers and text; `publish` prints them as they come and, with
`--json`, writes them with the command, the commit, the versions and the machine.
"""

from __future__ import annotations

import argparse
import datetime
import json
import multiprocessing
import os
import platform
import random
import resource
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

_STARTED = time.perf_counter()
Row = dict[str, Any]
REPOSITORY = Path(__file__).parents[2]
RESULTS = REPOSITORY / "benchmarks" / "results"
# Stands for the interpreter with TF-Ranking in the command of a result, which names no folder of a machine.
TF_RANKING_PYTHON = "TF_RANKING_PYTHON"
LIBRARIES = ("keras-softsort", "tensorflow", "keras", "tensorflow-probability", "numpy", "scipy")
PEERS = (
    "torch",
    "torchsort",
    "jax",
    "ott-jax",
    "rax",
    "optax",
    "keras-hub",
    "keras-rs",
    "tensorflow-ranking",
    "scikit-learn",
    "faiss-cpu",
    "apache-beam",
    "pyspark",
    "lightgbm",
    "xgboost",
    "xgboost-cpu",
)
Item = TypeVar("Item")


def turns(runs: Sequence[Item], repeats: int) -> Iterator[list[Item]]:
    """`repeats` times all runs, in another order each time: what runs before another changes what is in its caches."""
    orders = random.Random(0)
    for _ in range(repeats):
        yield orders.sample(runs, len(runs))


def alternating_medians(
    runs: Sequence[Callable], repeats: int, *, seconds: float = float("inf"), least: int = 5, warmup: int = 2
) -> list[float]:
    """Median seconds of each run. They take turns, so that what else the machine does falls on all of them.

    The first `warmup` rounds, which trace and compile, are not counted. After `least` rounds it ends once all rounds
    together have taken `seconds`.
    """
    times: list[list[float]] = [[] for _ in runs]
    timed = list(zip(runs, times, strict=True))
    for round_number, turn in enumerate(turns(timed, warmup + repeats)):
        for run, spent in turn:
            start = time.perf_counter()
            run()
            if round_number >= warmup:
                spent.append(time.perf_counter() - start)
        if len(times[0]) >= least and sum(map(sum, times)) > seconds:
            break
    return [float(np.median(spent)) for spent in times]


def check_agreement(
    runs: Mapping[str, Callable[[], list[np.ndarray]]], tolerances: Sequence[float] | Mapping[str, Sequence[float]]
) -> None:
    """Fail unless every run gives the results of the first, within a part of the largest number of each result.

    `tolerances` holds a number for each result, or such lists by the name of a run with one named "others".
    """
    (first, reference), *others = [(name, run()) for name, run in runs.items()]
    for name, results in others:
        allowed = tolerances.get(name, tolerances["others"]) if isinstance(tolerances, Mapping) else tolerances
        for i, (result, expected, tolerance) in enumerate(zip(results, reference, allowed, strict=True)):
            scale = max(float(np.max(np.abs(expected))), 1e-30)
            difference = float(np.max(np.abs(np.asarray(result) - expected))) / scale
            if not difference <= tolerance:
                raise AssertionError(f"result {i} of {name} differs from that of {first} by {difference:.1e}")


def memory_growth(make: Callable[..., tuple[Callable, Callable]], *arguments: Any) -> float:
    """MiB by which a run grows a fresh process.

    `make(*arguments)`, a function of a module, gives a small run and the run: the small one loads libraries and
    compilers first.
    """
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_growth, (make, arguments))


def _growth(make: Callable, arguments: tuple) -> float:
    small, run = make(*arguments)
    small()
    before = _memory("VmRSS")
    if before is None:  # no Linux: only the peak of the process is known
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        run()
        return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts again from here
    run()
    return (_memory("VmHWM") - before) / 1024


def _memory(name: str) -> int | None:
    """KiB of this process, as Linux counts them."""
    lines = [line.split() for line in _lines("/proc/self/status") if line.startswith(f"{name}:")]
    return int(lines[0][1]) if lines else None


def _lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines() if Path(path).exists() else []


def environment() -> dict[str, Any]:
    """The commit, the date, the machine and the versions that a result is of."""
    names = [line.split(":")[1].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")]
    memory = [line.split()[1] for line in _lines("/proc/meminfo") if line.startswith("MemTotal")]
    found = {each.name: each.version for each in metadata.distributions()}
    return {
        "commit": _commit(),
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "machine": {
            "processor": names[0] if names else platform.processor(),
            "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
            "memory GiB": round(int(memory[0]) / 2**20, 1) if memory else None,
            "system": platform.system(),
            "load": [round(load, 1) for load in os.getloadavg()],
        },
        "versions": {
            "python": platform.python_version(),
            **{name: found[name] for name in (*LIBRARIES, *PEERS) if name in found},
        },
    }


def _commit() -> str:
    """The commit of the working tree, with a plus if code of the package or of a benchmark differs from it."""
    code = ("keras_softsort", "benchmarks", "experiments", ":!benchmarks/results")
    try:
        differs = git("status", "--porcelain", "-uno", "--", *code)
        return git("rev-parse", "--short=10", "HEAD") + ("+" if differs else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def git(*arguments: str) -> str:
    """The output of git, run in the repository."""
    command = ["git", "-C", str(REPOSITORY), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def new_parser(description: str | None) -> argparse.ArgumentParser:
    """A parser with the options of every benchmark."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--json", type=Path, help="also write the rows to this file, with the machine and versions")
    return parser


def publish(name: str, tables: Mapping[str, Iterable[Row]], path: Path | None) -> dict[str, Any]:
    """Print each table row by row; write all of them to `path`, after each row what there is and the minutes so far."""
    result: dict[str, Any] = {"benchmark": name, "command": shown_command(), **environment(), "tables": {}}
    for title, rows in tables.items():
        found = result["tables"].setdefault(title, [])
        for row in rows:
            found.append(row)
            result["minutes"] = round((time.perf_counter() - _STARTED) / 60, 1)
            lines = table([row])
            print(*(lines if len(found) == 1 else lines[2:]), sep="\n", flush=True)
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(as_json(result) + "\n")
        print()
    return result


def as_json(value: Any, indent: str = "") -> str:
    """JSON with a line for each row, so that files are small and a figure that changes is one line of a diff."""
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if not any(isinstance(child, (dict, list)) for child in children):
        return json.dumps(value)
    deeper = f"{indent} "
    names = [f"{json.dumps(name)}: " for name in value] if isinstance(value, dict) else [""] * len(value)
    lines = [f"{deeper}{name}{as_json(child, deeper)}" for name, child in zip(names, children, strict=True)]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return f"{opening}\n" + ",\n".join(lines) + f"\n{indent}{closing}"


def save_picture(figure: Any, path: Path) -> None:
    """Write a figure of matplotlib, whose axes get no upper and right lines, and close it."""
    import matplotlib.pyplot as plt  # noqa: PLC0415  (an extra, not needed to measure)

    for axis in figure.axes:
        axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def shown_command() -> str:
    """The command of this process without `--json`, and without names of folders of this machine."""
    script, *arguments = sys.argv
    if "--json" in arguments:
        at = arguments.index("--json")
        del arguments[at : at + 2]
    for option, shown in (("--data-dir", "FOLDER"), ("--letor", "FOLDER"), ("--tf-ranking-python", TF_RANKING_PYTHON)):
        if option in arguments:
            arguments[arguments.index(option) + 1] = shown
    arguments = ["FOLDER" if Path(argument).is_absolute() else argument for argument in arguments]
    path = Path(script).resolve()
    name = path.relative_to(REPOSITORY) if path.is_relative_to(REPOSITORY) else path.name
    return shlex.join(["python", str(name), *arguments])


def table(rows: Sequence[Row]) -> list[str]:
    """The lines of a Markdown table; numbers are aligned to the right."""
    columns = list(rows[0])
    rules = ["---:" if isinstance(rows[0][column], (int, float)) else "---" for column in columns]
    lines = [f"| {' | '.join(columns)} |", f"|{'|'.join(rules)}|"]
    return lines + [f"| {' | '.join(cell(row[column]) for column in columns)} |" for row in rows]


def cell(value: Any) -> str:
    """Text as it is; integers in full; other numbers with three digits, tiny ones with two."""
    if value is None:
        return ""
    if not isinstance(value, float):
        return str(value)
    if value != 0 and abs(value) < 1e-3:
        return f"{value:.1e}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
