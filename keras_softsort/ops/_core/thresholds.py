"""The list sizes at which one algorithm becomes faster than another."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import NamedTuple


class Thresholds(NamedTuple):
    """List sizes that limit the use of an algorithm.

    A graph for a known list size holds one of the algorithms for each task. If the size is unknown when traced, the
    graph holds the algorithm that works for every size, or all of them and a choice at run time.
    """

    pairwise_max_size: float = 0  # pairwise comparisons of items, for all rows of a matrix
    pairwise_max_size_top_k: float = 0  # the same for some of the rows
    matrix_free_min_size: float = math.inf  # products without the matrix

    def at_size(self, size: int, names: Collection[str]) -> Thresholds:
        """Thresholds that make the choices for `size`, also in a graph of unknown sizes. Only `names` are decided."""
        decided = {}
        for name in names:
            threshold = getattr(self, name)
            is_above = size >= threshold if name.endswith("min_size") else size > threshold
            decided[name] = 0 if is_above else math.inf
        return self._replace(**decided)


def is_at_most(size: int | None, maximum: float) -> bool | None:
    """Whether `size` is at most `maximum`; None if the size is unknown and so is the answer."""
    if maximum in (0, math.inf):
        return maximum > 0
    return None if size is None else size <= maximum


def is_at_least(size: int | None, minimum: float) -> bool | None:
    """Whether `size` is at least `minimum`; None if the size is unknown and so is the answer."""
    if minimum in (0, math.inf):
        return minimum == 0
    return None if size is None else size >= minimum
