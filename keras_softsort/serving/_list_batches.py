"""Lists of any lengths as padded batches of few shapes, for a signature of an exported ranker."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort.serving._saved_model import IDS, SINGLE, SIZES, checked_array, has_items

# Two padded sizes per power of 2: no list of 8 or more items is padded to more than 1.5 times its size.
PADDED_SIZES = np.array(sorted({size for power in range(3, 31) for size in (2**power, 3 * 2 ** (power - 1))}))
Arrays = dict[str, np.ndarray]
Specs = Mapping[str, tf.TensorSpec]


def checked_lists(lists: Any, inputs: Specs, item_ids: Any = None) -> tuple[list[Arrays], np.ndarray]:
    """Check `lists`, and `item_ids` if a signature takes them. Return arrays by input, and the numbers of items.

    `inputs` are those of the signature without the sizes.
    """
    given = arguments.elements("lists", lists, "arrays, one per list")
    asked = {name: spec for name, spec in inputs.items() if name != IDS}
    found = [_checked_list(one, asked, f"lists[{i}]") for i, one in enumerate(given)]
    of_items = next(name for name, spec in asked.items() if has_items(spec))
    sizes = np.array([len(arrays[of_items]) for arrays in found], np.int32)
    if IDS in inputs:
        ids = list(arguments.elements("item_ids", item_ids, "arrays, one per list"))
        if len(ids) != len(found):
            raise ValueError(f"item_ids must hold one array per list, {len(found)}, got {len(ids)}")
        for i, one in enumerate(ids):
            array = found[i][IDS] = _checked_input(one, inputs[IDS], f"item_ids[{i}]")
            if len(array) != sizes[i]:
                raise ValueError(f"item_ids[{i}] must have one id for each of the {sizes[i]} items, got {len(array)}")
    return found, sizes


def batches(
    lists: Sequence[Arrays], sizes: np.ndarray, inputs: Specs, batch_items: int
) -> Iterator[tuple[np.ndarray, Arrays]]:
    """Yield the numbers of the lists of each batch, and its inputs: one list, or at most `batch_items` items."""
    fixed = next((spec.shape[1] for spec in inputs.values() if has_items(spec) and spec.shape[1]), None)
    padded = PADDED_SIZES[np.searchsorted(PADDED_SIZES, sizes)] if fixed is None else np.full_like(sizes, fixed)
    for size in np.unique(padded):
        members = np.flatnonzero(padded == size)
        per_batch = max(1, batch_items // int(size))
        for start in range(0, len(members), per_batch):
            batch = members[start : start + per_batch]
            arrays = {name: _stacked([lists[i][name] for i in batch], spec, size) for name, spec in inputs.items()}
            yield batch, {**arrays, SIZES: sizes[batch]}


def _checked_list(one: Any, inputs: Specs, title: str) -> Arrays:
    """Check one list, which errors name `title`. Return its inputs as arrays."""
    if not isinstance(one, Mapping) and list(inputs) == [SINGLE]:
        return {SINGLE: _checked_input(one, inputs[SINGLE], title)}
    if not isinstance(one, Mapping) or set(one) != set(inputs):
        received = sorted(one) if isinstance(one, Mapping) else type(one).__name__
        raise ValueError(f"{title} must be a mapping with the inputs {sorted(inputs)} of the model, got {received}")
    arrays = {name: _checked_input(one[name], spec, f"{title}[{name!r}]") for name, spec in inputs.items()}
    sizes = {name: len(arrays[name]) for name, spec in inputs.items() if has_items(spec)}
    if len(set(sizes.values())) != 1:
        raise ValueError(f"{title} must have as many items in each input, got {sizes}")
    return arrays


def _checked_input(value: Any, spec: tf.TensorSpec, title: str) -> np.ndarray:
    """Check an input of one list, which errors name `title`, and return it as an array without the batch axis."""
    shape, most_items = spec.shape[1:], None
    if has_items(spec):  # a fixed list size is the size of the padding only
        most_items, shape = shape[0], tf.TensorShape([None, *shape[1:]])
    array = checked_array(value, spec.dtype, shape, title)
    if most_items is not None and len(array) > most_items:
        raise ValueError(f"{title} must have at most the {most_items} items that the model takes, got {len(array)}")
    return array


def _stacked(values: Sequence[np.ndarray], spec: tf.TensorSpec, size: int) -> np.ndarray:
    """Stack an input of several lists, with the items padded to `size`."""
    if not has_items(spec):
        return np.stack(values)
    padding: Any = b"" if spec.dtype == tf.string else 0
    stacked = np.full([len(values), size, *values[0].shape[1:]], padding, values[0].dtype)
    for row, value in zip(stacked, values, strict=True):
        row[: len(value)] = value
    return stacked
