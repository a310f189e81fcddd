"""Scores of lists of any lengths by an exported ranker, in this process."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np
import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.data import RankingDataset, from_frame
from keras_softsort.serving._feature_names import check_same, read_names
from keras_softsort.serving._list_batches import batches, checked_lists
from keras_softsort.serving._saved_model import DEFAULT, SCORES, SIZES, WITH_IDS
from keras_softsort.serving._versions import local_path


@export
class Scorer:
    """Score lists of any lengths, given as NumPy arrays, with a model from `export_ranker`.

    The SavedModel is loaded once, by `tf.saved_model.load`. Lists are batched by size and padded to few sizes, two per
    power of 2. New sizes need no new trace, since the signatures are graphs of unknown sizes. Neither Keras nor a layer
    of this package is used. The scores are those of a server and of `predict_offline`.

    Create the scorer in the process that uses it, since TensorFlow does not survive a fork. Several threads may share
    one scorer.

    Args:
      path: the folder of a version, as returned by `export_ranker`. A path with a scheme, such as
        `"gs://bucket/ranker/1"`, is read if TensorFlow supports the scheme.
      batch_items: number of items, padding included, that the model scores at a time. A longer list is a batch of its
        own.

    Attributes:
      feature_names: the names that the model was exported with (`export_ranker(feature_names=)`), or `None`.

    Raises:
      FileNotFoundError: there is no SavedModel at `path`.
      ValueError: the SavedModel is not from `export_ranker`, or `batch_items` is below 1.

    Example:

    >>> import tempfile
    >>> import numpy as np
    >>> import tensorflow as tf
    >>> from keras_softsort import serving
    >>> keras = tf.keras
    >>> layer = keras.layers.Dense(1, kernel_initializer="ones")
    >>> model = keras.Sequential([keras.Input((None, 2)), layer])
    >>> scorer = serving.Scorer(serving.export_ranker(model, tempfile.mkdtemp() + "/ranker"))
    >>> lists = [np.array([[1.0, 2.0], [5.0, 0.0]]), np.array([[0.5, 0.0]])]
    >>> [scores.tolist() for scores in scorer.score(lists)]
    [[3.0, 5.0], [0.5]]
    >>> scorer.predict(lists)[0]["order"].tolist()
    [1, 0]

    A model with names of features scores the rows of a data frame:

    >>> folder = serving.export_ranker(model, tempfile.mkdtemp() + "/ranker", feature_names=["price", "stars"])
    >>> frame = {"query": [7, 9, 7], "stars": [2.0, 0.0, 0.0], "price": [1.0, 0.5, 5.0]}
    >>> serving.Scorer(folder).score(frame, group="query").tolist()
    [3.0, 0.5, 5.0]
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
          lists: one array `[n_i, ...]` of features per list. For a model of several inputs, one mapping per list from
            the names of the inputs to arrays, without the batch axis. A list may be empty. Or a `data.RankingDataset`.
            Or, with `group`, a data frame as `data.from_frame` takes it, for a model with `feature_names`. The frame
            may have more columns, in any order.
          group: column of the frame that identifies its lists.

        Returns:
          One array `[n_i]` per list, in the order of the lists. For a frame, one array `[rows]` in the order of its
          rows.

        Raises:
          ValueError: a list does not have the inputs, shapes and dtypes of the model, or a number does not fit into the
            dtype (the message has the number of the list); a `RankingDataset` has other `feature_names` than the model,
            or in another order; a frame lacks a column; the model has no `feature_names`; or another error of
            `data.from_frame`.
          TypeError: `lists` is not a sequence, or it is a frame and `group` is `None`.
        """
        if group is not None:
            if self.feature_names is None:
                raise ValueError(
                    f"group must be None, since {self.path} was exported without feature_names=: score_rows takes "
                    f"data.from_frame(frame, group=, features=), got {group!r}"
                )
            return self.score_rows(from_frame(lists, group=group, features=self.feature_names))
        if hasattr(lists, "columns"):
            raise TypeError("group must name the column of a data frame that identifies its lists, got None")
        return [outputs[SCORES] for outputs in self._run(DEFAULT, lists, outputs=[SCORES])]

    def score_rows(self, lists: Any) -> np.ndarray:
        """Compute one score per row of a table, in the order of its rows: `[rows]`.

        For example: `frame["score"] = scorer.score_rows(data.from_frame(frame, group="query", features=columns))`.

        Args:
          lists: a `data.RankingDataset` with the features of the model, in its order. It needs no labels.

        Raises:
          ValueError: as for `score`.
          TypeError: `lists` is not a `RankingDataset`.
        """
        if not isinstance(lists, RankingDataset):
            raise TypeError(f"lists must be a RankingDataset, got {lists!r}")
        return lists.in_row_order(np.concatenate(self.score(lists)))

    def predict(self, lists: Iterable[Any], *, item_ids: Sequence[Any] | None = None) -> list[dict[str, np.ndarray]]:
        """Compute all outputs of the model, without padding: one dictionary of arrays per list.

        It holds `scores` and `order` `[n_i]`. If the model was exported with `top_k=`, it also holds `top_k` and
        `top_k_scores` `[min(top_k, n_i)]`. With `item_ids` it also holds `sorted_ids` and `top_k_ids`; strings are
        bytes objects.

        Args:
          lists: as for `score`.
          item_ids: one array of n_i ids per list, for a model that was exported with `item_ids=`.

        Raises:
          ValueError: as for `score`; or the model has no ids, or `item_ids` have other lengths than the lists.
          TypeError: `lists` is not a sequence.
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
        arrays, sizes = checked_lists(lists, inputs, item_ids)
        found: list[dict[str, np.ndarray]] = [{}] * len(arrays)
        for members, batch in batches(arrays, sizes, inputs, self._batch_items):
            results = signature(**{each: tf.convert_to_tensor(array) for each, array in batch.items()})
            answers = {each: results[each].numpy() for each in outputs or results}
            for row, i in enumerate(members):
                # Copies, so that one list does not hold the memory of its batch.
                found[i] = {each: answer[row, : sizes[i]].copy() for each, answer in answers.items()}
        return found


def _inputs(signature: Any) -> dict[str, tf.TensorSpec]:
    """Find the inputs of a signature by name, without the sizes."""
    specs = dict(signature.structured_input_signature[1])
    if SIZES not in specs or SCORES not in signature.structured_outputs:
        found = f"inputs {sorted(specs)} and outputs {sorted(signature.structured_outputs)}"
        raise ValueError(f"path must hold a model from export_ranker, with sizes and scores, got {found}")
    return {name: specs[name] for name in sorted(specs) if name != SIZES}
