"""Scores of lists of any lengths by an exported ranker, in this process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np
import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.arrays import padded_sizes
from keras_softsort._internal.export import export
from keras_softsort.data import RankingDataset, from_frame
from keras_softsort.data.files import named
from keras_softsort.data.tables import table
from keras_softsort.serving._extra_files import check_same, read_names
from keras_softsort.serving._saved_model import DEFAULT, IDS, SCORES, SINGLE, SIZES, WITH_IDS, checked_array, has_items
from keras_softsort.serving._versions import local_path

Arrays = dict[str, np.ndarray]
Specs = Mapping[str, tf.TensorSpec]


@export
class Scorer:
    """Score lists of any lengths, given as NumPy arrays, with a model from `export_ranker`.

    For offline scores that equal those of a server. The SavedModel is loaded once. Lists are batched by size and padded
    to few sizes, two per power of 2; new sizes need no new trace. Several threads may share one scorer. Create it in
    the process that uses it, since TensorFlow does not survive a fork.

    Args:
      path: the folder of a version, as returned by `export_ranker`, also with a scheme that TensorFlow supports.
      batch_items: number of items, padding included, that the model scores at a time.

    The attribute `feature_names` holds the names that the model was exported with, or `None`.

    Raises:
      FileNotFoundError: there is no SavedModel at `path`.
      ValueError: the SavedModel is not from `export_ranker`, or `batch_items` is below 1.

    Example:
      >>> import tempfile
      >>> from keras_softsort import serving
      >>> layer = tf.keras.layers.Dense(1, kernel_initializer="ones")
      >>> model = tf.keras.Sequential([tf.keras.Input((None, 2)), layer])
      >>> scorer = serving.Scorer(serving.export_ranker(model, tempfile.mkdtemp(), feature_names=["price", "stars"]))
      >>> [scores.tolist() for scores in scorer.score([[[1.0, 2.0], [5.0, 0.0]], [[0.5, 0.0]]])]
      [[3.0, 5.0], [0.5]]
      >>> scorer.score({"query": [7, 9], "stars": [2.0, 0.0], "price": [1.0, 0.5]}, group="query").tolist()
      [3.0, 0.5]
    """

    def __init__(self, path: str | Path, *, batch_items: int = 8192) -> None:
        self._batch_items = arguments.positive_integer("batch_items", batch_items)
        self.path = str(local_path(path))
        if not tf.io.gfile.exists(f"{self.path}/saved_model.pb"):
            raise FileNotFoundError(f"path must be the folder of a SavedModel, with a saved_model.pb, got {self.path}")
        self.feature_names = read_names(self.path)
        self._model = tf.saved_model.load(self.path)
        signatures = self._model.signatures
        if DEFAULT not in signatures:
            raise ValueError(f"path must hold a model from export_ranker, got one with {list(signatures)}")
        self._inputs = {name: _inputs(signatures[name]) for name in (DEFAULT, WITH_IDS) if name in signatures}

    @overload
    def score(self, lists: Iterable[Any], *, group: None = None) -> list[np.ndarray]: ...

    @overload
    def score(self, lists: Any, *, group: str) -> np.ndarray: ...

    def score(self, lists: Any, *, group: str | None = None) -> Any:
        """Compute the scores of lists, or of the rows of a data frame.

        Args:
          lists: one array `[n_i, ...]` of features per list, or for a model of several inputs one mapping per list from
            their names to arrays. A list may be empty. Or a `data.RankingDataset`;
            `lists.in_row_order(np.concatenate(scorer.score(lists)))` are its scores by row. Or, with `group`, a data
            frame as `data.from_frame` takes it, for a model with `feature_names`. Its features may be missing or NaN if
            the model replaces NaN.
          group: column of the frame that identifies its lists.

        Returns:
          One array `[n_i]` per list. For a frame, one array `[rows]` in the order of its rows.

        Raises:
          ValueError: a list does not have the inputs, shapes, dtypes or feature names of the model (the message has its
            number), a model that does not replace NaN gets a frame with missing values, or an error of
            `data.from_frame`.
          TypeError: `lists` is not a sequence, or it is a frame and `group` is `None`.
        """
        if group is not None:
            if self.feature_names is None:
                raise ValueError(
                    f"group must be None, since {self.path} was exported without feature_names=: score takes "
                    f"data.from_frame(frame, group=, features=), got {group!r}"
                )
            there = table(lists).names
            absent = [name for name in self.feature_names if name not in there]
            if absent:
                raise ValueError(
                    f"lists must have the columns of the model's feature_names, got a frame without {absent}"
                )
            rows = from_frame(lists, group=group, features=self.feature_names, missing="keep")
            scores = np.concatenate(self.score(rows))
            _check_missing(rows, scores)
            return rows.in_row_order(scores)
        if hasattr(lists, "columns") or isinstance(lists, Mapping):
            raise TypeError(
                "group must name the column of a data frame that identifies its lists, got None; one list by input "
                "is [list]"
            )
        return [outputs[SCORES] for outputs in self._run(DEFAULT, lists, outputs=[SCORES])]

    def predict(self, lists: Iterable[Any], *, item_ids: Sequence[Any] | None = None) -> list[dict[str, np.ndarray]]:
        """Compute all outputs of the model, without padding: one dictionary of arrays per list.

        It holds `scores` and `order` `[n_i]`, and `top_k` and `top_k_scores` `[min(top_k, n_i)]` of a model that was
        exported with `top_k=`. With `item_ids`, one array of n_i ids per list, it also holds `sorted_ids` and
        `top_k_ids`; strings are bytes objects. `lists` and errors are as for `score`.
        """
        if item_ids is not None and WITH_IDS not in self._inputs:
            raise ValueError(f"item_ids must be None, since {self.path} was exported without item_ids=")
        return self._run(DEFAULT if item_ids is None else WITH_IDS, lists, item_ids)

    def _run(
        self, name: str, lists: Any, item_ids: Any = None, outputs: list[str] | None = None
    ) -> list[dict[str, np.ndarray]]:
        """Compute all outputs of each list, or only those named, by the signature `name`."""
        inputs, signature = self._inputs[name], self._model.signatures[name]
        if isinstance(lists, RankingDataset):
            check_same(self.feature_names, lists.feature_names)
            lists = [features for features, *_ in lists]
        else:
            lists = list(arguments.elements("lists", lists, "arrays, one per list"))
            for i, one in enumerate(lists):
                self._check_columns(one, f"lists[{i}]")
        arrays, sizes = _checked_lists(lists, inputs, item_ids)
        found: list[dict[str, np.ndarray]] = [{}] * len(arrays)
        for members, batch in _batches(arrays, sizes, inputs, self._batch_items):
            results = signature(**{each: tf.convert_to_tensor(array) for each, array in batch.items()})
            answers = {each: results[each].numpy() for each in outputs or results}
            for row, i in enumerate(members):
                # Copies, so that one list does not hold the memory of its batch.
                found[i] = {each: answer[row, : sizes[i]].copy() for each, answer in answers.items()}
        return found

    def _check_columns(self, one: Any, title: str) -> None:
        """Check that a list, which errors name `title`, has the features of the model if it is a data frame."""
        if not hasattr(one, "columns"):
            return
        if self.feature_names is None:
            raise ValueError(
                f"{title} must be an array, since {self.path} was exported without feature_names=, got a "
                f"{type(one).__name__}: score takes a frame of a model with feature_names= by group="
            )
        with named(title):
            check_same(self.feature_names, tuple(getattr(one, "column_names", one.columns)))


def _check_missing(lists: RankingDataset, scores: np.ndarray) -> None:
    """Check that the model has replaced missing values, if the lists of a frame have any."""
    places = np.argwhere(np.isnan(lists.features))
    if len(places) and np.any(np.isnan(scores)):
        item, column = places[0]
        row = item if lists.rows is None else lists.rows[item]
        raise ValueError(
            "lists must have no missing values for a model that does not replace them (its scores are NaN), got NaN in "
            f"column {(lists.feature_names or ())[column]!r} of row {row}: impute it"
        )


def _inputs(signature: Any) -> dict[str, tf.TensorSpec]:
    """Find the inputs of a signature by name, without the sizes."""
    specs = dict(signature.structured_input_signature[1])
    if SIZES not in specs or SCORES not in signature.structured_outputs:
        found = f"inputs {sorted(specs)} and outputs {sorted(signature.structured_outputs)}"
        raise ValueError(f"path must hold a model from export_ranker, with sizes and scores, got {found}")
    return {name: specs[name] for name in sorted(specs) if name != SIZES}


def _checked_lists(lists: Sequence[Any], inputs: Specs, item_ids: Any) -> tuple[list[Arrays], np.ndarray]:
    """Check `lists`, and `item_ids` if a signature takes them. Return arrays by input, and the numbers of items."""
    asked = {name: spec for name, spec in inputs.items() if name != IDS}
    found = [_checked_list(one, asked, f"lists[{i}]") for i, one in enumerate(lists)]
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


def _batches(
    lists: Sequence[Arrays], sizes: np.ndarray, inputs: Specs, batch_items: int
) -> Iterator[tuple[np.ndarray, Arrays]]:
    """Yield the numbers of the lists of each batch, and its inputs: one list, or at most `batch_items` items."""
    fixed = next((spec.shape[1] for spec in inputs.values() if has_items(spec) and spec.shape[1]), None)
    padded = padded_sizes(sizes) if fixed is None else np.full_like(sizes, fixed)
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
