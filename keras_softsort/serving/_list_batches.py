"""Lists of any lengths as padded batches of few shapes, for a signature of an exported ranker."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort.serving._saved_model import IDS, SINGLE, SIZES, fitted, has_items

# Two padded sizes per power of 2: no list of 8 or more items is padded to more than 1.5 times its size.
PADDED_SIZES = np.array(sorted({size for power in range(3, 31) for size in (2**power, 3 * 2 ** (power - 1))}))
Arrays = dict[str, np.ndarray]


class ListInput(NamedTuple):
    """An input of a signature as one list has it, without the batch."""

    dtype: tf.DType
    shape: tuple[int | None, ...]
    has_items: bool  # the first axis is that of the items; a fixed list size is the size of the padding only

    @classmethod
    def of(cls, spec: tf.TensorSpec) -> ListInput:
        """Make the input with this `spec`."""
        return cls(spec.dtype, tuple(spec.shape[1:]), has_items(spec))

    def checked(self, value: Any, title: str) -> np.ndarray:
        """Check `value`, which errors name `title`, and return it as an array of this input."""
        expected = f"{title} must have shape {self._shown()}"
        try:
            # NumPy's own strings would lose zeros at their ends.
            array = np.asarray(value, object if self.dtype == tf.string else None)
        except ValueError as error:  # NumPy makes no array of rows of different lengths
            raise ValueError(f"{expected}, got rows of different lengths") from error
        own, received = self.shape[self.has_items :], array.shape[self.has_items :]
        rank_fits = array.ndim == len(self.shape)
        if not rank_fits or any(size not in (None, other) for size, other in zip(own, received, strict=True)):
            raise ValueError(f"{expected}, got {array.shape}")
        if self.has_items and self.shape[0] is not None and len(array) > self.shape[0]:
            raise ValueError(
                f"{title} must have at most the {self.shape[0]} items that the model takes, got {len(array)}"
            )
        if self.dtype == tf.string:
            if not all(isinstance(each, (str, bytes)) for each in array.flat):
                raise ValueError(f"{title} must be strings, got {value!r}")
            return array
        return fitted(array, self.dtype, title)

    def batch(self, values: Sequence[np.ndarray], size: int) -> np.ndarray:
        """Stack the values of several lists, with the items padded to `size`."""
        if not self.has_items:
            return np.stack(values)
        rest = values[0].shape[1:]
        empty: Any = b"" if self.dtype == tf.string else 0
        padded = np.full([len(values), size, *rest], empty, values[0].dtype)
        for row, value in zip(padded, values, strict=True):
            row[: len(value)] = value
        return padded

    def _shown(self) -> str:
        sizes: list[Any] = ["?" if size is None else size for size in self.shape]
        return f"[{', '.join(map(str, ['n', *sizes[1:]] if self.has_items else sizes))}]"


class Lists(NamedTuple):
    """Checked lists and their numbers of items."""

    inputs: dict[str, ListInput]
    values: list[Arrays]
    sizes: np.ndarray

    @classmethod
    def of(cls, lists: Any, inputs: dict[str, ListInput], item_ids: Any = None) -> Lists:
        """Check that a signature with these `inputs` takes `lists`, and `item_ids` if it has that input."""
        if isinstance(lists, (str, bytes, Mapping)) or not hasattr(lists, "__iter__"):
            raise TypeError(f"lists must be a sequence of arrays, one per list, got {type(lists).__name__}")
        asked = {name: each for name, each in inputs.items() if name != IDS}
        checked = [_checked_list(one, asked, f"lists[{i}]") for i, one in enumerate(lists)]
        found = cls(inputs, [arrays for arrays, _ in checked], np.array([size for _, size in checked], np.int32))
        if IDS in inputs:
            found._add(item_ids)
        return found

    def _add(self, item_ids: Any) -> None:
        ids = list(arguments.elements("item_ids", item_ids, "arrays, one per list"))
        if len(ids) != len(self.values):
            raise ValueError(f"item_ids must hold one array per list, {len(self.values)}, got {len(ids)}")
        for i, (one, arrays, size) in enumerate(zip(ids, self.values, self.sizes, strict=True)):
            arrays[IDS] = self.inputs[IDS].checked(one, f"item_ids[{i}]")
            if len(arrays[IDS]) != size:
                raise ValueError(f"item_ids[{i}] must have one id for each of the {size} items, got {len(arrays[IDS])}")

    def batches(self, batch_items: int) -> Iterator[tuple[np.ndarray, Arrays]]:
        """Yield the numbers of the lists of each batch, and its inputs: one list, or at most `batch_items` items."""
        fixed = next((each.shape[0] for each in self.inputs.values() if each.has_items and each.shape[0]), None)
        padded = PADDED_SIZES[np.searchsorted(PADDED_SIZES, self.sizes)] if fixed is None else self.sizes * 0 + fixed
        for size in np.unique(padded):
            members = np.flatnonzero(padded == size)
            per_batch = max(1, batch_items // int(size))
            for start in range(0, len(members), per_batch):
                batch = members[start : start + per_batch]
                arrays = {
                    name: each.batch([self.values[i][name] for i in batch], int(size))
                    for name, each in self.inputs.items()
                }
                yield batch, {**arrays, SIZES: self.sizes[batch]}


def _checked_list(one: Any, inputs: Mapping[str, ListInput], title: str) -> tuple[Arrays, int]:
    """Check one list. Return its inputs as arrays, and its number of items."""
    if not isinstance(one, Mapping) and list(inputs) == [SINGLE]:
        array = inputs[SINGLE].checked(one, title)
        return {SINGLE: array}, len(array)
    if not isinstance(one, Mapping) or set(one) != set(inputs):
        received = sorted(one) if isinstance(one, Mapping) else type(one).__name__
        raise ValueError(f"{title} must be a mapping with the inputs {sorted(inputs)} of the model, got {received}")
    arrays = {name: each.checked(one[name], f"{title}[{name!r}]") for name, each in inputs.items()}
    sizes = {name: len(arrays[name]) for name, each in inputs.items() if each.has_items}
    if len(set(sizes.values())) != 1:
        raise ValueError(f"{title} must have as many items in each input, got {sizes}")
    return arrays, next(iter(sizes.values()))
