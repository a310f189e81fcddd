"""Tables of what compilers said: each program beside its formula, and means of the ratios."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Row = dict[str, Any]
# The figures of a compiled program.
COLUMNS = ("us", "kernels", "loops", "KiB", "float64", "int64", "seconds", "error", "digest")
# No launch takes less than this, in microseconds.
FLOOR = 5.0
GROWTH = 1.05


def _key(row: Row) -> tuple[str, str]:
    return row["program"], row["shape"]


def _by_program(rows: Sequence[Row]) -> dict[tuple[str, str], dict[tuple[str, str], Row]]:
    """By program and shape, the rows by target and whose they are."""
    found: dict[tuple[str, str], dict[tuple[str, str], Row]] = {}
    for row in rows:
        found.setdefault(_key(row), {})[row["target"], row["of"]] = row
    return found


def _ratios(pair: Mapping[tuple[str, str], Row]) -> dict[str, float]:
    """By what is compared, ours over the formula's, but for estimates of which a loop is only a part."""
    found = {}
    for target, column, floor in (("tpu", "us", FLOOR), ("gpu", "kernels", 1)):
        both = [pair.get((target, of), {}) for of in ("ours", "formula")]
        ours, formula = (row.get(column) for row in both)
        if column == "us" and any(row.get("loops") for row in both):
            continue
        if ours is not None and formula is not None:
            found[column] = max(ours, floor) / max(formula, floor)
    return found


def _beside(ours: Any, formula: Any, ratio: float | None) -> str:
    """The two numbers with their ratio, or only ours."""
    shown = [
        f"{each:,.0f}" if each >= 10 or isinstance(each, int) else f"{each:.1f}"
        for each in (ours, formula)
        if each is not None
    ]
    if ours is None or ratio is None:
        return " / ".join(shown) if ours is not None else ""
    return " / ".join(shown) + (f" = {ratio:.2g}" if ratio < 100 else f" = {ratio:,.0f}")


def beside(rows: Sequence[Row]) -> Iterator[Row]:
    """A line of each program and shape."""
    for (program, shape), pair in _by_program(rows).items():
        ratios = _ratios(pair)
        tpu, gpu = (pair.get((target, "ours"), {}) for target in ("tpu", "gpu"))
        times, kernels = (
            _beside(*(pair.get((target, of), {}).get(column) for of in ("ours", "formula")), ratios.get(column))
            for target, column in (("tpu", "us"), ("gpu", "kernels"))
        )
        failed = [f"{target}, {of}: {row['error']}" for (target, of), row in pair.items() if row["error"] is not None]
        yield {
            "program": program,
            "shape": shape,
            "TPU, us": times,
            "loops, counted once": tpu.get("loops") or None,
            "H100, kernels": kernels,
            "float64": (gpu or tpu).get("float64"),
            "int64": (gpu or tpu).get("int64"),
            "compiled in, s (TPU, H100)": ", ".join(
                f"{row['seconds']:.0f}" for row in (tpu, gpu) if row.get("seconds") is not None
            ),
            "not compiled": "; ".join(failed),
        }


def means(rows: Sequence[Row]) -> Iterator[Row]:
    """Geometric means of the ratios to formulas, by shape and of all."""
    found = [(shape, _ratios(pair)) for (_, shape), pair in _by_program(rows).items()]
    for shape in [*dict.fromkeys(shape for shape, _ in found), "all"]:
        row: Row = {"shape": shape}
        for column, title in (("us", "TPU, us / formula's"), ("kernels", "H100, kernels / formula's")):
            logs = [math.log(ratios[column]) for each, ratios in found if shape in (each, "all") and column in ratios]
            row[title] = round(math.exp(sum(logs) / len(logs)), 2) if logs else None
        yield row | {"programs": sum(bool(ratios) and shape in (each, "all") for each, ratios in found)}


def grown(found: Mapping, committed: Mapping) -> list[str]:
    """A line for each program of `found` that compiles no longer, launches more kernels or has more float64."""
    versions = [(each["versions"].get("tensorflow"), each["tables"]["compilers"]) for each in (found, committed)]
    if versions[0][0] != versions[1][0] or any(row not in versions[1][1] for row in versions[0][1]):
        print(f"the versions are {versions[0]}, and the counts are of {versions[1]}: nothing is compared")
        return []
    before = {(row["target"], *_key(row)): row for row in committed["tables"]["compiled"] if row["of"] == "ours"}
    lines = []
    for row in found["tables"]["compiled"]:
        if row["of"] != "ours":
            continue
        name = f"{row['program']} {row['shape']} on {row['target']}"
        old = before.get((row["target"], *_key(row)))
        if old is None:
            print(f"{name}: nothing is committed to compare with")
        elif row["error"] is not None:
            if old["error"] is None:
                lines.append(f"{name}: {row['error']}")
        elif old["error"] is None:
            lines += [
                f"{name}: {row[column]} {unit}, and {old[column]} are committed"
                for column, unit, growth in (("kernels", "kernels", GROWTH), ("float64", "elements of float64", 1))
                if row[column] > growth * old[column]
            ]
    return lines
