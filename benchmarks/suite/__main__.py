"""Operators and the main losses, forward and backward, beside peers and the hard sort, in plain TensorFlow and by XLA.

TensorFlow's candidates of one operator and size take turns in one process, and those of every other framework in
another, since one's threads and memory slow down the next. The figures are medians; peak memory is that of a process of
its own for each. The table names candidates that would not fit, which are not run. Torch, ott-jax, rax, keras-rs,
torchsort and SciPy take part where they are installed (`pip install -e ".[benchmarks]"`). Writes `suite.json` (all
figures, versions, machine), `suite.md` and `suite.png`.

    python benchmarks/suite --quick
    python benchmarks/suite --output /tmp/suite
    python benchmarks/suite --growth --output /tmp/growth
    python benchmarks/suite --short --output benchmarks/results     # 5 to 1,000 items, and first steps

`--short` goes on where an earlier run of the same commit stopped, and starts nothing after `--budget` seconds. Run
afterwards in an environment with TF-Ranking, it adds TF-Ranking's losses beside ours.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tools"))
import first_step
import harness
import operators
import peers
import report
import short_lists
from measure import Limits, measure
from tensorflow.python.eager import context

SIZES = ["64x16", "64x128", "8x1000", "1x5000", "1x16384", "1x100000", "1x1000000"]
QUICK_SIZES = ["64x16", "8x128", "1x1000"]
# How time and memory of what makes no matrix grow, by doublings.
GROWTH = ["neural_sort_values", "soft_sort_values"]
GROWTH_SIZES = [f"1x{2**power}" for power in range(12, 21)]


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="benchmarks/suite", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--operators", nargs="+", choices=list(operators.OPERATORS), metavar="NAME")
    parser.add_argument("--sizes", nargs="+", metavar="BATCHxN")
    parser.add_argument("--quick", action="store_true", help=f"sizes {' '.join(QUICK_SIZES)}, 5 repeats, 1 s each")
    parser.add_argument("--growth", action="store_true", help=f"{', '.join(GROWTH)} from 2^12 to 2^20, no peers")
    parser.add_argument("--short", action="store_true", help="5 to 1,000 items beside TensorFlow peers")
    parser.add_argument("--budget", type=float, default=float("inf"), help="seconds after which --short starts nothing")
    parser.add_argument("--repeats", type=int, help="at most, of each candidate (default 25)")
    parser.add_argument(
        "--seconds",
        type=float,
        help="of a candidate's runs, after at least 5, or 1 of what takes 10 times as long (default 2)",
    )
    parser.add_argument("--max-memory", type=float, default=4.0, help="GiB above which nothing is started")
    parser.add_argument("--max-operations", type=float, default=2e10)
    parser.add_argument("--timeout", type=float, default=900.0, help="seconds for the candidates of a framework")
    parser.add_argument("--combine", type=Path, nargs="+", metavar="JSON", help="table and plots of earlier runs")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--no-memory", action="store_true", help="time alone, which is three times as quick")
    parser.add_argument("--output", type=Path, default=Path("output/suite"))
    options = parser.parse_args()
    if options.short:
        options.operators = options.operators or short_lists.OPERATORS
        options.sizes = options.sizes or short_lists.SIZES
        options.seconds = options.seconds or 0.15
    options.operators = options.operators or (GROWTH if options.growth else list(operators.OPERATORS))
    options.sizes = options.sizes or (QUICK_SIZES if options.quick else GROWTH_SIZES if options.growth else SIZES)
    options.repeats = options.repeats or (5 if options.quick else 25)
    options.seconds = options.seconds or (1.0 if options.quick else 2.0)
    return options


def measured(options: argparse.Namespace) -> Iterator[list[dict]]:
    """The records of each operator and size, all of which are written after each."""
    assert not context.context()._initialized, "TensorFlow has started, and children could not"
    limits = Limits(
        options.max_memory * 2**30, options.max_operations, options.repeats, options.seconds, options.timeout
    )
    what = {"command": harness.shown_command(), **harness.environment(), "records": []}
    with_peers = not (options.no_peers or options.growth)
    start = time.time()
    for name in options.operators:
        for shape in options.sizes:
            batch, size = map(int, shape.split("x"))
            found = measure(name, (batch, size), limits, with_peers=with_peers, with_memory=not options.no_memory)
            what["records"] += found
            what |= {"load after": os.getloadavg(), "seconds in all": time.time() - start}
            (options.output / "suite.json").write_text(harness.as_json(what) + "\n")
            yield found


def written(options: argparse.Namespace) -> Iterator[list[dict]]:
    """The records of files; the last file counts if several have an operator and size."""
    found: dict[tuple, list[dict]] = {}
    for path in options.combine:
        new: dict[tuple, list[dict]] = {}
        for record in json.loads(path.read_text())["records"]:
            if record["operator"] not in options.operators:
                continue
            new.setdefault((record["operator"], record["batch"], record["size"]), []).append(record)
        found |= new
    yield from found.values()


def of_this_commit(path: Path) -> dict:
    """The records of short lists at this commit."""
    now = {"command": "python benchmarks/suite --short", **harness.environment(), "records": []}
    found = json.loads(path.read_text()) if path.exists() else now
    # A "+" says that files differ from the commit: this file of results does, once it has been written.
    found = found if found["commit"].rstrip("+") == now["commit"].rstrip("+") else now
    if peers.ON_TF_RANKING:
        found.setdefault("stacks", {})[short_lists.TF_RANKING] = now["versions"]
    return found


def pending(options: argparse.Namespace, records: list[dict], stack: dict) -> Iterator[tuple[str, int, int]]:
    """Operators and sizes that are not among the records of the stack."""
    found = {
        (record["operator"], record["batch"], record["size"])
        for record in records
        if record.get("stack") == stack.get("stack")
    }
    for shape in options.sizes:
        for name in options.operators:
            key = (name, *map(int, shape.split("x")))
            if key not in found and (not stack or operators.has_peer(name, peers.TF_RANKING)):
                yield key


def short(options: argparse.Namespace) -> None:
    """Measure the short lists that have no record yet, and write the page of all records."""
    path, start = options.output / "short_lists.json", time.time()
    what = of_this_commit(path)
    stack = {"stack": short_lists.TF_RANKING} if peers.ON_TF_RANKING else {}
    limits = Limits(
        options.max_memory * 2**30, options.max_operations, options.repeats, options.seconds, options.timeout
    )

    def write(records: list[dict]) -> None:
        what["records"] += [short_lists.shown({**record, **stack}) for record in records]
        path.write_text(harness.as_json(what) + "\n")
        path.with_suffix(".md").write_text("\n".join(short_lists.report(what)) + "\n")

    for name, batch, size in list(pending(options, what["records"], stack)):
        if time.time() - start > options.budget:
            print("more is left")
            return
        write(measure(name, (batch, size), limits, with_peers=not options.no_peers, with_memory=False))
        print(name, f"{batch}x{size}", flush=True)
    if stack:
        return
    steps = {(record["operator"], record["candidate"], record["mode"]) for record in what["records"]}
    for record in first_step.measured(options.timeout, steps):
        write([record])
        if time.time() - start > options.budget:
            print("more is left")
            return


def main() -> None:
    options = parsed()
    options.output.mkdir(parents=True, exist_ok=True)
    if options.short:
        short(options)
        return
    records: list[dict] = []
    lines = [report.HEADER]
    print(report.HEADER)
    for found in written(options) if options.combine else measured(options):
        records += found
        rows = list(report.table(found))
        print(*rows, sep="\n", flush=True)
        lines += rows
    growth = list(report.slopes(records))
    print("", *growth, sep="\n")
    (options.output / "suite.md").write_text("\n".join([*lines, "", *growth]) + "\n")
    report.plot(records, options.output / "suite.png")


if __name__ == "__main__":
    main()
