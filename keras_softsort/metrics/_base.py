"""Base classes of metrics: one value per list and the weighted mean over lists; which ranks are right."""

from __future__ import annotations

import math
from typing import Any

import tensorflow as tf

from keras_softsort import ops
from keras_softsort._internal import arguments
from keras_softsort._internal.keras_compat import keras
from keras_softsort._targets.layout import LISTS
from keras_softsort._targets.lists import Lists, checked_padding, predicted_lists
from keras_softsort._targets.true_order import sort_direction, sorted_labels


class ListMetric(keras.metrics.Mean):
    """Base class of metrics with one value per list, `measure`: their weighted mean over lists.

    Args:
      target: what `y_true` holds: `"labels"` to sort by, or `"ranks"`, 1 = first.
      direction: the order of labels, and of the rows of a soft permutation: `"DESCENDING"` or `"ASCENDING"`. It must
        be `"DESCENDING"` with `target="ranks"`, since rank 1 is row 0.
      lists: what one list is: `"rows"`, each row of `y_pred`, or `"batch"`, the whole batch (a query, a day, an era).
      padding: which labels mark padding: `"negative_labels"`, `"nan_labels"` or None, no label. A Keras mask on
        `y_pred` marks padding, too. What predictions hold there, NaN included, changes nothing.
      name: name of the metric.
      dtype: dtype of the result.

    Call arguments: `y_true` is `[batch, n]` or `[batch, n, 1]`. `y_pred` is scores of these shapes, in the sense of
    `target`: large for large labels, or for late ranks; or a soft permutation `[batch, rank, item]`, which
    `ops.harden` makes exact. `sample_weight` `[batch]` or `[batch, 1]` weighs lists; weights of items `[batch, n]` are
    averaged over a list. With `lists="batch"` all shapes lose their first axis: scores are `[batch]` or `[batch, 1]`.

    Raises:
      ValueError: unknown `target`, `direction`, `lists` or `padding`; shapes that do not match, or that make lists of
        one item.
      TypeError: `y_pred` is not floating-point.
    """

    default_name: str

    def __init__(
        self,
        *,
        target: str = "labels",
        direction: str = "DESCENDING",
        lists: str = "rows",
        padding: str | None = "negative_labels",
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(name=name or self.default_name, dtype=dtype)
        self._sort_direction = sort_direction(target, direction)
        self.target = target
        self.direction = direction
        self.lists = arguments.one_of("lists", lists, LISTS)
        self.padding = checked_padding(padding)

    def measure(self, y_pred: tf.Tensor, lists: Lists) -> tuple[tf.Tensor, tf.Tensor]:
        """The value of each list [batch], and which lists count [batch]; empty ones have no weight anyway."""
        raise NotImplementedError

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        """Add a batch; lists without valid items do not count, samples of soft permutations count as their mean."""
        lists, y_pred = predicted_lists(y_true, y_pred, sample_weight, lists=self.lists, padding=self.padding)
        if y_pred.shape.rank == 4:
            y_pred = tf.reduce_mean(y_pred, axis=1)
        values, counts = self.measure(y_pred, lists)
        weights = lists.list_weights()
        return self.add(values, tf.where(counts, weights, tf.zeros_like(weights)))

    def add(self, values: tf.Tensor, weights: tf.Tensor) -> Any:
        """Add lists with these values and weights, both [batch]."""
        return super().update_state(values, weights)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        own = {"target": self.target, "direction": self.direction, "lists": self.lists, "padding": self.padding}
        return {**super().get_config(), **own}


class OrderMetric(ListMetric):
    """The mean over lists of `list_values`, told which ranks hold an item that belongs there."""

    def list_values(self, right: tf.Tensor, counted: tf.Tensor) -> tf.Tensor:
        """The value of each list [batch], from which ranks are `right` and which are `counted` [batch, ranks]."""
        raise NotImplementedError

    def measure(self, y_pred: tf.Tensor, lists: Lists) -> tuple[tf.Tensor, tf.Tensor]:
        """The values of the predicted orders beside the true ones; every list counts."""
        order = self._predicted_order(y_pred, lists)
        ranks = tf.shape(order)[1]
        right = tf.equal(
            tf.gather(lists.labels, order, batch_dims=1), sorted_labels(lists, self._sort_direction)[:, :ranks]
        )
        failed = has_nan(y_pred, lists.mask)
        right = tf.logical_and(right, tf.logical_not(failed)[:, tf.newaxis])
        kept = tf.reduce_sum(tf.cast(lists.mask, tf.int32), axis=-1)
        values = self.list_values(right, tf.sequence_mask(kept, ranks))
        return values, tf.ones_like(failed)

    def _predicted_order(self, y_pred: tf.Tensor, lists: Lists) -> tf.Tensor:
        """The item at each rank [batch, ranks], of a soft permutation or of scores."""
        if y_pred.shape.rank == 3:
            return tf.argmax(ops.harden(without_padding(y_pred, lists.mask)), axis=-1, output_type=tf.int32)
        keys = y_pred if self._sort_direction == "DESCENDING" else -y_pred
        keys = tf.where(lists.mask, keys, tf.constant(-math.inf, keys.dtype))
        return tf.argsort(keys, direction="DESCENDING", stable=True)


def has_nan(y_pred: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """Whether a list holds NaN [batch] in its valid scores, or in the valid ranks and items of its matrix."""
    is_valid = mask if y_pred.shape.rank == 2 else _valid_cells(y_pred, mask)
    is_nan = tf.logical_and(tf.math.is_nan(y_pred), is_valid)
    return tf.reduce_any(is_nan, axis=list(range(1, y_pred.shape.rank)))


def without_padding(matrix: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """`matrix` [batch, ranks, n] in which no valid rank takes an item that is padding, whatever is written there."""
    # `tf.argmax` overlooks the least finite number.
    return tf.where(_valid_cells(matrix, mask), matrix, tf.constant(matrix.dtype.min / 2, matrix.dtype))


def _valid_cells(matrix: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """The entries [batch, ranks, n] of as many leading ranks as there are valid items, and of these items."""
    count = tf.reduce_sum(tf.cast(mask, tf.int32), axis=-1)
    ranks = tf.sequence_mask(count, tf.shape(matrix)[1])
    return tf.logical_and(ranks[:, :, tf.newaxis], mask[:, tf.newaxis, :])
