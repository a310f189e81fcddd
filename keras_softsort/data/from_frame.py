"""Data frames as lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from keras_softsort._internal.export import export
from keras_softsort.data._ranking_dataset import RankingDataset
from keras_softsort.data._tables.frames import table
from keras_softsort.data._tables.grouping import Groups, Roles, gathered


@export
def from_frame(
    frame: Any,
    *,
    group: str,
    label: str | None = None,
    features: Sequence[str] | None = None,
    weight: str | None = None,
) -> RankingDataset:
    """Turn a table into lists: the rows with the same value in a group column are one list.

    The rows of a group need not be consecutive. Items are in the order of their rows, and lists in the order of their
    first rows.

    Args:
      frame: a pandas or polars DataFrame, a pyarrow Table or RecordBatch, or a dictionary of columns.
      group: column that identifies the lists, of any type: query ids, eras, dates, strings. It becomes `query_ids`.
      label: column of numbers. Labels may have any sign; `bucketed_batches` takes those below 0 only with
        `padding="nan_labels"` or `None`. `None` for rows to score, which have no labels.
      features: columns of numbers or booleans, in the order of the features; `None` takes all other columns.
      weight: column of item weights, at least 0; `None` for no weights.

    Returns:
      A `RankingDataset`, float32, with `feature_names`. Its `in_row_order` puts scores of its items into the order of
      the rows.

    Raises:
      TypeError: `frame` is not such a table, for example a polars LazyFrame.
      ValueError: a column is missing, used twice or does not hold numbers; a number is missing, NaN, infinite or beyond
        float32 (the message has its row); a group has no value; a weight is below 0; the table has no rows.

    Cost: linear time, and the memory of the float32 features in addition to the table.

    Example:

    >>> import keras_softsort as ks
    >>> frame = {"day": ["mon", "tue", "mon"], "price": [3.0, 2.5, 4.0], "sales": [1, 0, 2]}
    >>> lists = ks.data.from_frame(frame, group="day", label="sales")
    >>> lists.query_ids.tolist(), lists.sizes.tolist(), lists.labels.tolist(), lists.features.tolist()
    (['mon', 'tue'], [2, 1], [1.0, 2.0, 0.0], [[3.0], [4.0], [2.5]])

    New rows have no labels. One score per row, in the order of the rows:

    >>> lists = ks.data.from_frame(frame, group="day", features=["price"])
    >>> lists.in_row_order(-lists.features).tolist()
    [-3.0, -2.5, -4.0]
    """
    rows = table(frame)
    roles = Roles(rows.names, group, label, features, weight)
    if not rows.size:
        raise ValueError("frame must have at least one row, got none")
    groups = Groups(rows.column(group, slice(0, rows.size)), group)
    return gathered([rows], groups, roles)
