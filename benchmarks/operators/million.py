"""Sorting a list of a million scores without a matrix, forward and backward, beside `tf.sort` and torchsort.

The candidates of TensorFlow take turns in one process, and those of torchsort in another.

    python benchmarks/operators/million.py
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

sys.path += [str(Path(__file__).parents[1] / folder) for folder in ("tools", "suite")]

import harness
from measure import Limits, measure

OPERATORS = ("soft_sort_values", "lapsum_ranks", "projection_ranks", "projection_values")
MODES = {"TF": "graph", "XLA": "XLA"}


def rows(size: int, repeats: int, seconds: float) -> Iterator[harness.Row]:
    """The milliseconds of each operator, and its ratio to the hard sort of the same list."""
    limits = Limits(bytes=4 * 2**30, operations=2e10, repeats=repeats, seconds=seconds, timeout=900)
    for name in OPERATORS:
        records = measure(name, (1, size), limits, with_peers=True, with_memory=False)
        found = {(each["candidate"], each["mode"]): 1e3 * each["seconds"] for each in records if "seconds" in each}
        row: harness.Row = {"operator": name}
        for mode, title in MODES.items():
            row[f"{title}, ms"] = found["ours", mode]
            row[f"{title}, in hard sorts"] = found["ours", mode] / found["hard sort", mode]
        torchsort = [ms for (candidate, _), ms in found.items() if candidate.startswith("torchsort")]
        yield {**row, "torchsort, ms": min(torchsort) if torchsort else None}


def main(arguments: list[str] | None = None) -> dict:
    parser = harness.new_parser(__doc__)
    parser.add_argument("--size", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=4.0)
    options = parser.parse_args(arguments)
    return harness.publish("million", {"times": rows(options.size, options.repeats, options.seconds)}, options.json)


if __name__ == "__main__":
    main()
