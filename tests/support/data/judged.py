"""Judged lists, and SVMlight files read number by number."""

from __future__ import annotations

import numpy as np

# List sizes of one and of many items, in no order.
SIZES = [3, 20, 1, 130, 7, 2, 2, 40]


def random_lists(sizes, features=3, seed=5):
    """Pairs (features [n, f], labels [n]), no two items alike."""
    random = np.random.default_rng(seed)
    return [
        (random.normal(size=(n, features)).astype(np.float32), random.integers(5, size=n).astype(np.float32))
        for n in sizes
    ]


def as_text(lists, first=1, form="{:.16g}"):
    """Lists as an SVMlight file that leaves out every third number, whose value is then 0."""
    lines = []
    for query, (features, labels) in enumerate(lists, start=40):
        for item, label in zip(features, labels, strict=True):
            numbers = [f"{i}:{form.format(x)}" for i, x in enumerate(item, start=first) if (i + len(lines)) % 3]
            lines.append(" ".join([f"{label:g}", f"qid:{query}", *numbers]))
    return "\n".join(lines) + "\n"


def slow_read(text, first=1, width=0):
    """Features, labels, sizes and queries, one number after another."""
    documents = []
    for line in text.splitlines():
        parts = line.split("#")[0].split()
        if parts:
            query = int(parts[1][4:])
            numbers = {int(i) - first: float(x) for i, x in (part.split(":") for part in parts[2:])}
            documents.append((float(parts[0]), query, numbers))
            width = max([width, *(i + 1 for i in numbers)])
    features = [[numbers.get(i, 0.0) for i in range(width)] for _, _, numbers in documents]
    queries = [query for _, query, _ in documents]
    distinct = list(dict.fromkeys(queries))
    return features, [label for label, _, _ in documents], [queries.count(query) for query in distinct], distinct
