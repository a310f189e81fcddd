"""The report: tables, slopes of time and memory against the size of lists, and plots of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

HEADER = (
    "| operator | lists | candidate | run by | ms | / ours | / hard sort | first call, s | peak MiB | differs by |\n"
    "|---|---|---|---|---:|---:|---:|---:|---:|---:|"
)


def table(records: list[dict]) -> Iterator[str]:
    """The rows of one operator and size. Ours is the one run the same way, or the faster for other libraries."""
    ours, floor = (_seconds(records, name) for name in ("ours", "hard sort"))
    for record in records:
        start = (
            f"| {record['operator']} | {record['batch']}x{record['size']} | {record['candidate']} | {record['mode']}"
        )
        if "seconds" not in record:
            yield f"{start} | {record.get('skipped') or record['failed']} | | | | | |"
            continue
        cells = [f"{1e3 * record['seconds']:.3g}", _ratio(record, ours), _ratio(record, floor)]
        cells.append(f"{record['first call']:.1f}")
        cells.append(f"{record['peak MiB']:.0f}" if "peak MiB" in record else record.get("memory failed", ""))
        cells.append(f"{record['difference']:.0e}" if "difference" in record else "")
        yield f"{start} | {' | '.join(cells)} |"


def _seconds(records: Iterable[dict], name: str) -> dict[str, float]:
    return {each["mode"]: each["seconds"] for each in records if each["candidate"] == name and "seconds" in each}


def _ratio(record: dict, others: dict[str, float]) -> str:
    return f"{record['seconds'] / others.get(record['mode'], min(others.values())):.2f}" if others else ""


Curves = dict[tuple[str, str], list[tuple[int, float]]]


def curves(records: list[dict], quantity: str) -> dict[str, Curves]:
    """For each operator and candidate the points (n, value).

    The `quantity` is "time", milliseconds per list; "memory", the MiB that the process grew by; or "peak", its MiB.
    """
    found: dict[str, Curves] = defaultdict(lambda: defaultdict(list))
    for record in sorted(records, key=lambda each: each["size"]):
        if quantity == "time" and "seconds" in record:
            value = 1e3 * record["seconds"] / record["batch"]
        elif quantity == "memory" and "peak MiB" in record:
            value = record["peak MiB"] - record["MiB before"]
        elif quantity == "peak" and "peak MiB" in record:
            value = record["peak MiB"]
        else:
            continue
        found[record["operator"]][record["candidate"], record["mode"]].append((record["size"], value))
    return found


def slope(points: list[tuple[int, float]]) -> float | None:
    """The exponent p of n^p through the larger half of the sizes: what is fixed, as compiling is, counts in small ones.

    None for fewer than three sizes.
    """
    sizes, values = (np.log(part) for part in np.array(points, float).T)
    large = sizes >= (sizes[0] + sizes[-1]) / 2 - 1e-9
    large = large if large.sum() >= 3 else np.arange(len(sizes)) >= len(sizes) - 3
    return float(np.polyfit(sizes[large], values[large], 1)[0]) if len(set(sizes[large])) >= 3 else None


def slopes(records: list[dict]) -> Iterator[str]:
    yield "| operator | candidate | run by | time grows as | memory grows as |\n|---|---|---|---:|---:|"
    time, memory = (curves(records, quantity) for quantity in ("time", "memory"))
    for operator, candidates in time.items():
        for key, points in candidates.items():
            fits = [slope(points), slope(memory[operator][key]) if memory[operator][key] else None]
            cells = ["" if fit is None else f"n^{fit:.2f}" for fit in fits]
            if any(cells):
                yield f"| {operator} | {' | '.join(key)} | {' | '.join(cells)} |"


def plot(records: list[dict], path: Path) -> None:
    """Two panels per operator, time and memory, log-log. The legend has the fitted exponents of time."""
    import matplotlib as mpl  # noqa: PLC0415  (when all is measured: a plot needs no place in the children)

    mpl.use("Agg")
    from matplotlib import pyplot as plt  # noqa: PLC0415

    panels = {"time": "milliseconds per list", "peak": "peak memory of the process, MiB"}
    found = {quantity: curves(records, quantity) for quantity in panels}
    names = list(found["time"])
    if not names:
        return
    figure, axes = plt.subplots(len(names), 2, figsize=(12, 3.6 * len(names)), squeeze=False, layout="constrained")
    colors: dict[str, str] = {}
    for row, name in zip(axes, names, strict=True):
        for axis, (quantity, label) in zip(row, panels.items(), strict=True):
            for (candidate, mode), points in found[quantity].get(name, {}).items():
                fit = slope(points) if quantity == "time" else None
                text = f"{candidate}, {mode}" + ("" if fit is None else f": n^{fit:.2f}")
                color, line = colors.setdefault(candidate, f"C{len(colors)}"), "--" if mode == "TF" else "-"
                axis.plot(*zip(*points, strict=True), line, color=color, marker="o", markersize=3, label=text)
            axis.set(xscale="log", yscale="log", xlabel="list size n", ylabel=label, title=name)
            if quantity == "time" and axis.lines:  # to the left of both panels, where it covers no line
                axis.legend(fontsize=8, loc="center right", bbox_to_anchor=(-0.2, 0.5))
    figure.savefig(path, dpi=110)
