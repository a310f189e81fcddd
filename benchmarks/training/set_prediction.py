"""How well `examples/digit_detector.py` finds digits, by seed: targets that are matched, and targets in a fixed order.

python benchmarks/training/set_prediction.py
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tools"))

import harness
import numpy as np


def rows(seeds: list[int], arguments: list[str]) -> Iterator[harness.Row]:
    """The measures of each method on the same test scenes, and their means with the standard deviation of a seed."""
    sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
    example = importlib.import_module("digit_detector")
    found: dict[str, list[dict[str, float]]] = {}
    for seed in seeds:
        report = example.main(example.parse(["--seeds", str(seed), *arguments]))
        for name, (result,) in report["results"].items():
            measures = {key.replace("_", " "): value for key, value in result.items()}
            found.setdefault(name, []).append(measures)
            yield {"targets": name, "seed": str(seed), **measures}
    for name, measured in found.items():
        if seeds[1:]:
            cells = {key: [measures[key] for measures in measured] for key in measured[0]}
            means = {key: f"{np.mean(cell):.3f} +- {np.std(cell, ddof=1):.3f}" for key, cell in cells.items()}
            yield {"targets": name, "seed": "mean", **means}


def main(arguments: list[str] | None = None) -> dict:
    parser = harness.new_parser(__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    options, others = parser.parse_known_args(arguments)
    return harness.publish("set_prediction", {"measures": rows(options.seeds, others)}, options.json)


if __name__ == "__main__":
    main()
