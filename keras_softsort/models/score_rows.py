"""Scores of the rows of a table, by a model of lists."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.data import RankingDataset, bucketed_batches


@export
def score_rows(model: Any, lists: RankingDataset, *, batch_size: int = 64, mask: bool = False) -> np.ndarray:
    """Score lists with a Keras model of padded lists: `[rows]`, one score per row of the table, in their order.

    Use it for Keras models in which the items of a list see each other. A model of single rows needs no lists:
    `lists.in_row_order(model.predict(lists.features))`. `serving.Scorer` scores with exported models. The cost is that
    of the model on lists padded to few sizes.

    Args:
      model: a Keras model from features `[batch, n, f]` to scores `[batch, n]` or `[batch, n, 1]`.
      lists: a `RankingDataset`, from `data.from_frame` or `read_parquet`. It needs no labels.
      batch_size: number of lists that the model scores at a time.
      mask: whether the model takes a dictionary of `"features"` and `"mask"`, as for `bucketed_batches`.

    Raises:
      ValueError: the model returns another shape, or an error of `bucketed_batches`.
      TypeError: `lists` is not a `RankingDataset`, or `model` is no Keras model.

    Example:
      >>> lists = ks.data.from_frame({"query": [7, 9, 7], "x": [1.0, 2.0, 3.0]}, group="query")
      >>> layer = tf.keras.layers.Dense(1, kernel_initializer="ones")
      >>> ks.models.score_rows(tf.keras.Sequential([tf.keras.Input((None, 1)), layer]), lists).tolist()
      [1.0, 2.0, 3.0]
    """
    if not isinstance(lists, RankingDataset):
        raise TypeError(f"lists must be a RankingDataset, got {lists!r}")
    arguments.boolean("mask", mask)
    if not hasattr(model, "predict_on_batch"):
        raise TypeError(f"model must be a Keras model, got {model!r}")
    items_only = dataclasses.replace(lists, rows=None)
    parts, places = [], []
    for inputs, numbers in bucketed_batches(items_only, batch_size, shuffle=False, mask=mask, rows=True):
        scores, items = np.asarray(model.predict_on_batch(inputs)), numbers.numpy()
        if scores.shape not in (items.shape, (*items.shape, 1)):
            raise ValueError(
                f"model must return scores of shape {items.shape} or {(*items.shape, 1)}, got {scores.shape}"
            )
        parts.append(scores.reshape(items.shape)[items >= 0])
        places.append(items[items >= 0])
    of_items = np.concatenate(parts)[np.argsort(np.concatenate(places))]
    return lists.in_row_order(of_items)
