"""The tables and the picture of `mnist_sorting.py`, from the folders of its runs.

    python experiments/mnist_sorting_tables.py output/mnist_sorting --picture docs/pictures/mnist_sorting.png

The file of `--json` keeps the curves of all runs. A run in a folder takes the place of the run in the file that has the
same method, list size, rate, start, seed, tau and precision; the others stay.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "benchmarks" / "tools"))

import harness

NAMES = {
    "neural_sort": "NeuralSort",
    "stochastic": "stochastic NeuralSort",
    "gumbel_sinkhorn": "Gumbel-Sinkhorn",
    "gumbel_sinkhorn_rows": "Gumbel-Sinkhorn, images as rows",
    "row_stochastic": "row-stochastic",
}
# All correct, and element-wise, in table 1 of Grover et al. (2019), by method and list size.
PUBLISHED = {
    "neural_sort": {3: (0.930, 0.951), 5: (0.837, 0.927), 7: (0.738, 0.909), 9: (0.649, 0.896), 15: (0.386, 0.857)},
    "stochastic": {3: (0.927, 0.950), 5: (0.835, 0.926), 7: (0.741, 0.909), 9: (0.646, 0.895), 15: (0.418, 0.862)},
    "gumbel_sinkhorn": {3: (0.484, 0.575), 5: (0.033, 0.295), 7: (0.001, 0.189), 9: (0.0, 0.146), 15: (0.0, 0.078)},
    "gumbel_sinkhorn_rows": {
        3: (0.484, 0.575),
        5: (0.033, 0.295),
        7: (0.001, 0.189),
        9: (0.0, 0.146),
        15: (0.0, 0.078),
    },
    "row_stochastic": {3: (0.467, 0.801), 5: (0.093, 0.603), 7: (0.009, 0.492), 9: (0.0, 0.113), 15: (0.0, 0.067)},
}


def runs_in(folder: Path) -> list[Path]:
    """The folder itself if it is that of a run, otherwise all those of runs in it."""
    return [folder] if (folder / "state.json").exists() else sorted(path.parent for path in folder.glob("*/state.json"))


def read(folder: Path) -> dict[str, Any]:
    """The options, the curve, and the command, commits and machine of a run."""
    state, about = (json.loads((folder / f"{name}.json").read_text()) for name in ("state", "about"))
    return {"options": state["options"], **about, "curve": state["curve"]}


def identity(run: dict[str, Any]) -> tuple:
    """A key that differs between all runs."""
    names = ("method", "list_size", "learning_rate", "initial", "seed", "tau")
    return *(run["options"][name] for name in names), in_bfloat16(run)


def in_bfloat16(run: dict[str, Any]) -> bool:
    """Whether the convolutions were; files of earlier runs do not say."""
    return run["options"].get("mixed_precision", False)


def steps(run: dict[str, Any], point: dict[str, Any]) -> int:
    return point["epoch"] * run["options"]["epoch_steps"]


def rate(run: dict[str, Any]) -> str:
    found = f"{run['options']['learning_rate']:g}"
    return f"{found}, falls over the last {run['fall_steps']:,} steps" if run["fall_steps"] else found


def last(runs: Sequence[dict[str, Any]]) -> Iterator[harness.Row]:
    """The end of each run, beside the paper's figure."""
    for run in runs:
        options, end = run["options"], run["curve"][-1]
        published = PUBLISHED[options["method"]][options["list_size"]][0]
        yield {
            "n": options["list_size"],
            "method": NAMES[options["method"]],
            "rate": rate(run),
            "steps": f"{steps(run, end):,}",
            "training loss": round(end["loss"], 3),
            "all correct": round(end["accuracy"], 3),
            "element-wise": round(end["element"], 3),
            "paper, all correct": published,
            "missed by": f"{published - end['accuracy']:.3f}",
            "seed": options["seed"],
            "convolutions": "bfloat16" if in_bfloat16(run) else "float32",
            "minutes": round(end["seconds"] / 60),
            "commit": ", ".join(run["commits"]),
        }


def curves(runs: Sequence[dict[str, Any]], measure: str, every: int, until: float) -> Iterator[harness.Row]:
    """All correct, or the mean training loss since the point before, after each so many steps: a column per run."""
    found: dict[int, dict[str, str]] = {}
    for run in runs:
        for point in run["curve"]:
            found.setdefault(steps(run, point), {})[label(run)] = f"{point[measure]:.3f}"
    columns = [label(run) for run in runs]
    for step in sorted(found):
        if step % every == 0 and step <= until:
            yield {"steps": f"{step:,}", **{column: found[step].get(column, "") for column in columns}}


def label(run: dict[str, Any]) -> str:
    """A label that differs between the runs of one list size."""
    options = run["options"]
    start = ", the paper's start" if options["initial"] == "paper" else ""
    tau = f", tau {options['tau']:g}" if options["tau"] != 1 else ""
    seed = f", seed {options['seed']}" if options["seed"] else ""
    precision = ", bfloat16" if in_bfloat16(run) else ""
    return f"{NAMES[options['method']]}, {options['learning_rate']:g}{start}{tau}{seed}{precision}"


def draw(runs: Sequence[dict[str, Any]], path: Path) -> None:
    """All correct over the steps, a panel per list size, with the paper's figures as dotted lines and one legend."""
    import matplotlib.pyplot as plt  # noqa: PLC0415

    sizes = sorted({run["options"]["list_size"] for run in runs})
    rows = len(sizes) // 2 + 1  # one more panel holds the legend
    figure, axes = plt.subplots(rows, 2, figsize=(10, 3.9 * rows), sharey=True, layout="constrained", squeeze=False)
    for axis in axes.flat[len(sizes) :]:
        axis.set_axis_off()
    colors = {
        "neural_sort": "#1F6F6B",
        "stochastic": "#B33A3A",
        "gumbel_sinkhorn": "#C98A1B",
        "gumbel_sinkhorn_rows": "#7A5230",
        "row_stochastic": "#4A5A8A",
    }
    for axis, size in zip(axes.flat, sizes, strict=False):
        seen = set()
        for run in (run for run in runs if run["options"]["list_size"] == size):
            method, at = run["options"]["method"], [steps(run, point) for point in run["curve"]]
            is_slow = run["options"]["learning_rate"] <= 1e-4
            is_again = (method, is_slow) in seen  # with another seed or precision
            seen.add((method, is_slow))
            shares = [point["accuracy"] for point in run["curve"]]
            axis.plot(at, shares, "--" if is_slow else "-", color=colors[method], lw=1.2 if is_again else 2.5)
        published = PUBLISHED["neural_sort"][size][0]
        axis.axhline(published, color="#8A8FA3", ls=":", lw=2)
        axis.annotate(
            f"NeuralSort in the paper {published:.2f}",
            (axis.get_xlim()[0], published),
            (6, 5),
            textcoords="offset points",
            fontsize=13,
            color="#5A5F73",
        )
        axis.set(ylim=(0, 1.02))
        axis.set_title(f"{size} numbers of four digits", loc="left", fontsize=16)
        axis.xaxis.set_major_locator(plt.MaxNLocator(4))
        axis.tick_params(labelsize=13)
    shown = [method for method in colors if any(run["options"]["method"] == method for run in runs)]
    handles = [plt.Line2D([], [], color=colors[method], lw=4) for method in shown]
    names = [NAMES[method] for method in shown]
    if any(run["options"]["learning_rate"] <= 1e-4 for run in runs):
        handles.append(plt.Line2D([], [], color=colors["neural_sort"], lw=2.5, ls="--"))
        names.append("the paper's rate, 1e-4")
    axes.flat[len(sizes)].legend(handles, names, loc="center", frameon=False, fontsize=16, labelspacing=0.8)
    figure.supxlabel("steps of 20 lists", fontsize=15)
    figure.supylabel("share of lists sorted perfectly", fontsize=15)
    harness.save_picture(figure, path)


def main(arguments: list[str] | None = None) -> dict:
    parser = harness.new_parser(__doc__)
    parser.add_argument("folders", type=Path, nargs="*", help="folders of runs, or folders of such folders")
    parser.add_argument("--every", type=int, default=1000, help="steps between two rows of the curves")
    parser.add_argument("--until", type=int, default=10**9, help="steps of the last row of the curves")
    parser.add_argument("--picture", type=Path, help="also draw the curves")
    options = parser.parse_args(arguments)
    kept = json.loads(options.json.read_text())["runs"] if options.json is not None and options.json.exists() else []
    found = [*kept, *(read(run) for folder in options.folders for run in runs_in(folder))]
    if not found:
        parser.error("name the folders of runs, or a file that has them by --json")
    runs = list({identity(run): run for run in found}.values())
    runs.sort(key=lambda run: (run["options"]["list_size"], -run["curve"][-1]["accuracy"]))
    tables = {"last": last(runs)}
    for size in sorted({run["options"]["list_size"] for run in runs}):
        own = [run for run in runs if run["options"]["list_size"] == size]
        tables[f"curves-{size}"] = curves(own, "accuracy", options.every, options.until)
        tables[f"losses-{size}"] = curves(own, "loss", options.every, options.until)
    result = harness.publish("mnist_sorting_tables", tables, options.json)
    result["runs"] = runs
    if options.json is not None:
        options.json.write_text(harness.as_json(result) + "\n")
    if options.picture:
        draw(runs, options.picture)
    return result


if __name__ == "__main__":
    main()
