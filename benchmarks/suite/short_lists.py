"""The lists that people have, 5 to 1,000 items: what is measured of them, and the table of it.

A cell is the time of the fastest TensorFlow peer over ours in the same mode; above 1 ours is faster.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import geometric_mean
from typing import Any

SIZES = ["256x5", "64x16", "64x50", "64x128", "256x200", "8x500", "8x1000"]
OPERATORS = [
    "neural_sort",
    "neural_sort_values",
    "neural_sort_ranks",
    "soft_top_k",
    "soft_sort",
    "soft_sort_values",
    "soft_sort_ranks",
    "soft_sort_top_k",
    "RankNetLoss",
    "RankNetLoss_ndcg",
    "PlackettLuceLoss",
    "PlackettLuceLoss_first",
    "ApproxNDCGLoss",
    "ApproxNDCGLoss_tau_1",
    "plackett_luce_log_prob",
    "plackett_luce_sample",
    "gumbel_softmax",
    "sinkhorn",
    "NeuralNDCGLoss",
    "linear_assignment",
]
MODES = ("TF", "XLA")
NO_PEERS = ("ours", "hard sort")
FIRST_STEP = "first step"
# The stack of records of an environment with TF-Ranking; those of the others have none.
TF_RANKING = "TF-Ranking"

# The fields of a record that the page shows.
CELL = ("operator", "batch", "size", "candidate", "mode", "seconds", "stack")
STEP = ("operator", "batch", "size", "candidate", "mode", "first call", "operations")

Cells = dict[tuple[str, str, str], float]


def shown(record: dict[str, Any]) -> dict[str, Any]:
    """The entries of a record that the page needs, with six digits."""
    names = STEP if record["operator"].startswith(FIRST_STEP) else CELL
    found = {name: record[name] for name in names if name in record}
    return {name: float(f"{each:.6g}") if isinstance(each, float) else each for name, each in found.items()}


def ratios(records: Sequence[dict[str, Any]], stack: str | None = None) -> Cells:
    """(operator, mode, size): the seconds of the fastest TensorFlow peer of a stack over ours there."""
    times: dict[tuple[str, str, str], dict[str, float]] = {}
    for record in records:
        if "seconds" in record and record["mode"] in MODES and record.get("stack") == stack:
            if stack and not record["candidate"].startswith(("ours", "tf_ranking")):
                continue
            key = (record["operator"], record["mode"], f"{record['batch']}x{record['size']}")
            times.setdefault(key, {})[record["candidate"]] = record["seconds"]
    found = {}
    for key, seconds in times.items():
        peers = [value for name, value in seconds.items() if name not in NO_PEERS]
        if peers and "ours" in seconds:
            found[key] = min(peers) / seconds["ours"]
    return found


def elsewhere(records: Sequence[dict[str, Any]]) -> Iterator[str]:
    """The calls in which a peer of another framework is faster than our faster mode, and how many times."""
    ours: dict[tuple[str, str], float] = {}
    records = [record for record in records if "stack" not in record]
    for record in records:
        if record["candidate"] == "ours" and "seconds" in record and record["mode"] in MODES:
            key = (record["operator"], f"{record['batch']}x{record['size']}")
            ours[key] = min(record["seconds"], ours.get(key, record["seconds"]))
    for record in records:
        if record["mode"] in MODES or "seconds" not in record:
            continue
        ratio = ours.get((record["operator"], f"{record['batch']}x{record['size']}"), 0) / record["seconds"]
        if ratio > 1:
            yield f"{record['operator']} {record['batch']}x{record['size']} {ratio:.2f} times by {record['candidate']}"


def report(result: dict[str, Any]) -> Iterator[str]:
    """The lines of the page."""
    cells = ratios(result["records"])
    machine, versions = result["machine"], result["versions"]
    yield "# Short lists: ours beside the fastest TensorFlow peer"
    yield ""
    yield "Made by `python benchmarks/suite --short`; the medians are in `short_lists.json`. Do not edit it."
    yield ""
    yield (
        f"Commit {result['commit']}, {result['date']}, {machine['cores']} cores of an {machine['processor']}, "
        f"TensorFlow {versions['tensorflow']}, Keras {versions['keras']}. Forward and backward, float32, standard "
        "normal scores, tau 1; medians, the candidates of a framework taking turns in a process, in another order each "
        "time. A cell is the time of the fastest peer (the published formula, TensorFlow Probability, Keras-RS) run in "
        "the same mode over ours: "
        "above 1 ours is faster, and **bold** it is slower; an empty cell was not measured."
    )
    for mode in MODES:
        yield ""
        yield f"## {'Plain TensorFlow graph' if mode == 'TF' else 'XLA'}"
        yield ""
        yield from _table(cells, mode)
    every = list(cells.values())
    slower = sorted((value, *key) for key, value in cells.items() if value < 1)
    yield ""
    yield "## Summary"
    yield ""
    if every:
        yield f"Geometric mean of all {len(every)} cells: {geometric_mean(every):.2f}. Slower in {len(slower)} of them:"
        yield ""
        yield ", ".join(f"{name} {size} {mode} {value:.2f}" for value, name, mode, size in slower) or "none"
    if any(record["mode"] not in MODES for record in result["records"]):
        yield ""
        yield "Faster in another framework than ours in its faster mode (SciPy for assignments, Rax, torch, ott-jax):"
        yield ""
        yield ", ".join(elsewhere(result["records"])) or "none"
    of_tf_ranking = ratios(result["records"], TF_RANKING)
    if of_tf_ranking:
        yield ""
        yield "## Beside TF-Ranking"
        yield ""
        versions = result["stacks"][TF_RANKING]
        yield (
            "The time of TF-Ranking's loss over that of ours in its own environment, TensorFlow "
            f"{versions['tensorflow']}, without XLA."
        )
        yield ""
        yield from _table(of_tf_ranking, "TF")
    steps = [record for record in result["records"] if record["operator"].startswith(FIRST_STEP)]
    if steps:
        yield ""
        yield "## First training step"
        yield ""
        yield "Trace, compilation and one step of a model with 64 lists of 50 items."
        yield ""
        yield "| model | candidate | mode | seconds | operations in the graph |\n|---|---|---|---:|---:|"
        for record in steps:
            name = record["operator"].removeprefix(FIRST_STEP).strip()
            yield (
                f"| {name} | {record['candidate']} | {record['mode']} | {record['first call']:.2f} "
                f"| {record['operations']} |"
            )


def _table(cells: Cells, mode: str) -> Iterator[str]:
    yield f"| | {' | '.join(SIZES)} | mean |"
    yield f"|---|{'---:|' * (len(SIZES) + 1)}"
    columns: dict[str, list[float]] = {size: [] for size in SIZES}
    for name in OPERATORS:
        row = [cells.get((name, mode, size)) for size in SIZES]
        present = [value for value in row if value is not None]
        if not present:
            continue
        for size, value in zip(SIZES, row, strict=True):
            columns[size] += [] if value is None else [value]
        yield f"| {name} | {' | '.join(map(_cell, row))} | {_cell(geometric_mean(present))} |"
    means = [geometric_mean(values) if values else None for values in columns.values()]
    every = [value for values in columns.values() for value in values]
    yield f"| mean | {' | '.join(map(_cell, means))} | {_cell(geometric_mean(every) if every else None)} |"


def _cell(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.2f}" if value >= 1 else f"**{value:.2f}**"
