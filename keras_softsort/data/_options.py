"""Checks of arguments that several functions that make batches share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from keras_softsort._internal import arguments

NEGATIVE, NAN = "negative_labels", "nan_labels"
_PADDED_LABEL = {NEGATIVE: -1.0, NAN: math.nan}


def padded_label(padding: str | None, *, optional: bool) -> float | None:
    """The label that marks padding. With `optional`, `padding` may be None, and then there is none."""
    if padding is None and optional:
        return None
    if padding not in _PADDED_LABEL:
        choices = [*map(repr, _PADDED_LABEL), *(["None"] if optional else [])]
        raise ValueError(f"padding must be {' or '.join(choices)}, got {padding!r}")
    return _PADDED_LABEL[padding]


def checked_seed(seed: int | None) -> int | None:
    """The seed of an order, which TensorFlow takes as int64."""
    if seed is not None and not -(2**63) <= arguments.integer("seed", seed) < 2**63:
        raise ValueError(f"seed must fit into int64, got {seed}")
    return seed


def checked_shard(shard: Sequence[int] | None) -> tuple[int, int]:
    """The index of a worker and the number of workers; None stands for a single worker."""
    if shard is None:
        return 0, 1
    pair: Any = tuple(shard) if isinstance(shard, Sequence) and not isinstance(shard, str) else ()
    if len(pair) != 2:
        raise ValueError(f"shard must be None or a pair (index, count), got {shard!r}")
    index, count = arguments.non_negative_integer("shard", pair[0]), arguments.positive_integer("shard", pair[1])
    if index >= count:
        raise ValueError(f"shard must be (index, count) with an index below the count, got {pair}")
    return index, count
