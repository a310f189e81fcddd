"""The list sizes at which another algorithm becomes the faster one."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import NamedTuple


class Thresholds(NamedTuple):
    """Numbers of items per list, each with the algorithm that it limits.

    A graph for a known list size holds one algorithm of each pair. For a size that is not known when traced it holds
    the one that serves every size, or both and chooses when it runs.
    """

    pairwise_max_size: float = 0  # compares items with each other, for all rows of a matrix
    pairwise_max_size_top_k: float = 0  # the same for some of the rows
    matrix_free_min_size: float = math.inf  # products without the matrix
    tie_search_max_size: float = 128  # finds ties by binary search

    def at_size(self, size: int, names: Collection[str]) -> Thresholds:
        """The same choices for lists of `size` items, also in a graph of unknown sizes; of the `names` alone."""
        decided = {}
        for name in names:
            threshold = getattr(self, name)
            is_above = size >= threshold if name.endswith("min_size") else size > threshold
            decided[name] = 0 if is_above else math.inf
        return self._replace(**decided)


def is_at_most(size: int | None, maximum: float) -> bool | None:
    """Whether a list of `size` items, None if unknown, has at most `maximum`; None if that is unknown."""
    if maximum in (0, math.inf):
        return maximum > 0
    return None if size is None else size <= maximum


def is_at_least(size: int | None, minimum: float) -> bool | None:
    """Whether a list of `size` items, None if unknown, has at least `minimum`; None if that is unknown."""
    if minimum in (0, math.inf):
        return minimum == 0
    return None if size is None else size >= minimum
