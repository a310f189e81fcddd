"""The rows of a data frame with the scores of an exported ranker."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from pyspark.sql.types import FloatType, StructType

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.data.arrays import runs
from keras_softsort.serving import Scorer
from keras_softsort.spark._lists import by_group, matrix, whole_groups

SCORE = "score"


@export
def score(frame: Any, folder: str, *, group: str, features: Sequence[str], batch_items: int = 8192) -> Any:
    """Add the column `score`: each group of rows is a list, scored by a model from `serving.export_ranker`.

    For frames that one machine does not hold; `serving.Scorer` scores one that it does. Spark moves the rows of a group
    into one partition. Groups are never split, and the order of the rows changes.

    Args:
      frame: a Spark data frame.
      folder: the folder of a version, which every executor can read, or with a scheme that TensorFlow supports.
      group: column that identifies lists.
      features: columns of numbers, in the order of the model's features. A column of arrays counts as several.
      batch_items: number of items, padding included, that the model scores at a time.

    Returns:
      A data frame with the columns of `frame` and `score`, float32. Nothing runs before an action.

    Raises:
      ValueError: `frame` lacks a column, or has a column `score` already, or `batch_items` is below 1. In the job: a
        row has no group, a column does not hold numbers or has one beyond float32, or an error of `serving.Scorer`.
      TypeError: `features` is one string.

    Cost: one shuffle of the frame. Memory per worker for an Arrow batch of rows, and for the largest group.

    Example:
      >>> from keras_softsort import spark  # doctest: +SKIP
      >>> frame = session.read.parquet("candidates")  # doctest: +SKIP
      >>> scored = spark.score(frame, "models/ranker/1", group="query", features=["x", "y"])  # doctest: +SKIP
    """
    batch_items = arguments.positive_integer("batch_items", batch_items)
    if SCORE in frame.columns:
        raise ValueError(f"frame must not have a column {SCORE!r} yet, got {frame.columns}")
    sorted_frame = by_group(frame, {"group": group, "features": features})
    schema = StructType([*frame.schema.fields, *StructType().add(SCORE, FloatType())])
    return sorted_frame.mapInPandas(scored(str(folder), group, list(features), batch_items), schema)


def scored(
    folder: str, group: str, features: list[str], batch_items: int
) -> Callable[[Iterable[pd.DataFrame]], Iterator[pd.DataFrame]]:
    """Make the function that a worker process maps over the frames of a partition."""

    def frames_with_scores(frames: Iterable[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for frame in whole_groups(frames, group):
            starts, _ = runs(frame[group].to_numpy())
            lists = np.split(matrix(frame, features), starts[1:])
            yield frame.assign(**{SCORE: np.concatenate(_scorer(folder, batch_items).score(lists))})

    return frames_with_scores


@functools.lru_cache(maxsize=1)
def _scorer(folder: str, batch_items: int) -> Scorer:
    """Load the one scorer of a worker process."""
    return Scorer(folder, batch_items=batch_items)
