"""The tables of `ranking_methods.py`, from its runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

REFERENCE = "LambdaMART, tuned"
COLUMNS = ("NDCG@1", "NDCG@3", "NDCG@5", "NDCG@10", "MRR")


def of_runs(runs: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """For each data set a table of the splits that all methods have been run on, and one of those run on more.

    Means over splits, the spread of NDCG@5, and how often a method beats LambdaMART.
    """
    tables = {}
    for name in dict.fromkeys(run["data"] for run in runs):
        own = [run for run in runs if run["data"] == name]
        splits = {method: {r["split"] for r in own if r["method"] == method} for method in {r["method"] for r in own}}
        shared, longest = set.intersection(*splits.values()), max(splits.values(), key=len)
        tables[name] = _rows([run for run in own if run["split"] in shared])
        if len(longest) > len(shared):
            tables[f"{name}-{len(longest)}"] = _rows([run for run in own if splits[run["method"]] == longest])
    return tables


def _rows(runs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    methods = {
        name: {r["split"]: r for r in runs if r["method"] == name} for name in dict.fromkeys(r["method"] for r in runs)
    }
    networks = [by_split for by_split in methods.values() if "epochs" in next(iter(by_split.values()))]
    splits = set.intersection(*(set(by_split) for by_split in networks)) if networks else set()
    if len(networks) > 1 and splits:
        # The network that is best on the validation lists of the split: nothing of the test is used.
        methods["network chosen by validation"] = {
            split: max((by_split[split] for by_split in networks), key=lambda run: run["valid"])
            for split in sorted(splits)
        }
    reference = methods.get(REFERENCE, {})
    rows = []
    for name, by_split in methods.items():
        found = list(by_split.values())
        row: dict[str, Any] = {"method": name, "splits": len(found)}
        row |= {column: float(np.mean([run[column] for run in found])) for column in COLUMNS}
        row["std of NDCG@5"] = float(np.std([run["NDCG@5"] for run in found]))
        shared = [split for split in by_split if split in reference]
        gains = [by_split[split]["NDCG@5"] - reference[split]["NDCG@5"] for split in shared]
        row["minus tuned LambdaMART"] = f"{np.mean(gains):+.3f}" if gains and name != REFERENCE else ""
        row["ahead in"] = f"{sum(gain > 0 for gain in gains)} of {len(gains)}" if gains and name != REFERENCE else ""
        rows.append(row)
    return sorted(rows, key=lambda row: -row["NDCG@5"])
