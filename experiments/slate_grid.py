"""Straight-through Gumbel-Softmax beside RLOO on slates of several lengths, out of several numbers of candidates.

It trains the network of `recommender_slate.py` with both gradients and the same seeds. Options that are not known here
go to that experiment.

    python experiments/slate_grid.py --json slate_grid.json
    python experiments/slate_grid.py --json slate_grid.json --again --picture slate_grid.png  # from the file
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "benchmarks" / "tools"))

import harness
import numpy as np

METHODS = ("gumbel hard", "rloo")


def runs(options: argparse.Namespace, others: Sequence[str]) -> Iterator[harness.Row]:
    """The reward of each training over its steps, and that of the best slates that are known."""
    example = importlib.import_module("recommender_slate")
    every = max(1, options.steps // options.points)
    for candidates in options.candidates:
        for places in (places for places in options.places if places <= candidates):
            sizes = {"places": places, "candidates": candidates, "steps": options.steps, "test-every": every}
            given = [part for name, value in sizes.items() for part in (f"--{name}", str(value))]
            own = example.parse([*given, *others])
            random = np.random.default_rng(example.TEST_SEED)
            visits = example.draw_visits(example.split_wines(own)[1], own.test_visits, candidates, random)
            test = example.Visits(*map(example.tf.constant, visits))
            slates, known = example.baselines(test, own)
            best = max(known[name] for name in slates)
            for seed in options.seeds:
                for method in METHODS:
                    started = time.monotonic()
                    _, curve = example.train(method, seed, test, own)
                    rewards = {f"after {every * point:,}": round(curve[point], 4) for point in range(1, len(curve))}
                    about = {"candidates": candidates, "places": places, "seed": seed, "method": method}
                    seconds = round(time.monotonic() - started)
                    yield {**about, **rewards, "best known slates": round(best, 4), "seconds": seconds}


def gains(rows: Sequence[harness.Row], moment: str) -> Iterator[tuple[tuple[int, int], dict[str, np.ndarray]]]:
    """Shares of the best known reward by method, an array over the seeds, of each number of candidates and places."""
    for sizes in dict.fromkeys((row["candidates"], row["places"]) for row in rows):
        own = [row for row in rows if (row["candidates"], row["places"]) == sizes]
        found = {
            method: np.array([row[moment] / row["best known slates"] for row in own if row["method"] == method])
            for method in METHODS
        }
        yield sizes, found


def moments(rows: Sequence[harness.Row]) -> list[str]:
    return [key for key in rows[0] if key.startswith("after ")]


def grid(rows: Sequence[harness.Row]) -> Iterator[harness.Row]:
    """Both methods after the last step, the difference with the same seed, and who is ahead with every seed."""
    for (candidates, places), found in gains(rows, moments(rows)[-1]):
        gain = found[METHODS[0]] - found[METHODS[1]]
        ahead = METHODS[0] if np.all(gain > 0) else METHODS[1] if np.all(gain < 0) else "neither"
        shares = {method: f"{share.mean():.1%}{deviation(share)}" for method, share in found.items()}
        spread = f" +- {100 * gain.std(ddof=1):.2f}" if len(gain) > 1 else ""
        difference = f"{100 * gain.mean():+.2f}{spread}"
        yield {"candidates": candidates, "places": places, **shares, "difference": difference, "ahead": ahead}


def deviation(values: np.ndarray) -> str:
    """The standard deviation of one seed."""
    return f" +- {values.std(ddof=1):.1%}" if len(values) > 1 else ""


def over_steps(rows: Sequence[harness.Row]) -> Iterator[harness.Row]:
    """The mean difference after some steps, in per cent of the best known slates."""
    differences = {
        moment: {sizes: 100 * np.mean(found[METHODS[0]] - found[METHODS[1]]) for sizes, found in gains(rows, moment)}
        for moment in moments(rows)
    }
    for candidates, places in next(iter(differences.values())):
        cells = {moment: f"{found[candidates, places]:+.1f}" for moment, found in differences.items()}
        yield {"candidates": candidates, "places": places, **cells}


def draw(rows: Sequence[harness.Row], path: Path) -> None:
    """The difference by the length of the slate, a line per number of candidates, with the spread over seeds."""
    import matplotlib.pyplot as plt  # noqa: PLC0415

    figure, axis = plt.subplots(figsize=(7.5, 4.6), layout="constrained")
    found = [(sizes, 100 * (each[METHODS[0]] - each[METHODS[1]])) for sizes, each in gains(rows, moments(rows)[-1])]
    colors = ("#1F6F6B", "#C98A1B", "#B33A3A", "#4A5A8A")
    sizes = sorted({candidates for (candidates, _), _ in found})
    for number, size in enumerate(sizes):
        own = [(places, gain) for (candidates, places), gain in found if candidates == size]
        at = np.log2([places for places, _ in own]) + 0.05 * (number - (len(sizes) - 1) / 2)
        means = np.array([gain.mean() for _, gain in own])
        reach = np.abs([[gain.min(), gain.max()] for _, gain in own] - means[:, None]).T
        style = {"color": colors[number % len(colors)], "capsize": 3, "marker": "o", "lw": 2}
        axis.errorbar(at, means, reach, label=f"{size} candidates", **style)
    places = sorted({places for (_, places), _ in found})
    axis.set_xticks(np.log2(places), places)
    axis.axhline(0, color="#8A8FA3", lw=1)
    axis.set(xlabel="items on a slate", ylabel="% of the best known reward")
    axis.set_title("Straight-through Gumbel-Softmax minus RLOO (mean and range of seeds)", loc="left")
    axis.legend(frameon=False)
    harness.save_picture(figure, path)


def main(arguments: list[str] | None = None) -> dict:
    parser = harness.new_parser(__doc__)
    parser.add_argument("--candidates", type=int, nargs="+", default=[10, 20, 40])
    parser.add_argument("--places", type=int, nargs="+", default=[1, 2, 4, 8], help="items on a slate")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--points", type=int, default=4, help="of each curve")
    parser.add_argument("--picture", type=Path, help="also draw the differences")
    parser.add_argument("--again", action="store_true", help="train nothing, use the rows of the file of --json")
    options, others = parser.parse_known_args(arguments)
    if options.again:
        result = json.loads(options.json.read_text())
        found = result["tables"]["runs"]
        result["tables"] |= {"grid": list(grid(found)), "over-steps": list(over_steps(found))}
        options.json.write_text(harness.as_json(result) + "\n")
    else:
        found = []

        def recorded() -> Iterator[harness.Row]:
            for row in runs(options, others):
                found.append(row)
                yield row

        tables = {"runs": recorded(), "grid": grid(found), "over-steps": over_steps(found)}
        result = harness.publish("slate_grid", tables, options.json)
    if options.picture:
        draw(found, options.picture)
    return result


if __name__ == "__main__":
    main()
