"""Base classes of metrics: one value per list and the weighted mean over lists; which ranks are right."""

from __future__ import annotations

import math
from typing import Any

import tensorflow as tf

from keras_softsort import ops
from keras_softsort._internal.keras_compat import keras
from keras_softsort._targets.lists import Lists, predicted_lists
from keras_softsort._targets.true_order import sort_direction, sorted_labels


class ListMetric(keras.metrics.Mean):
    """The weighted mean over lists of `measure`."""

    default_name: str

    def __init__(
        self, *, target: str = "labels", direction: str = "DESCENDING", name: str | None = None, dtype: Any = None
    ) -> None:
        super().__init__(name=name or self.default_name, dtype=dtype)
        self._sort_direction = sort_direction(target, direction)
        self.target = target
        self.direction = direction

    def measure(self, y_pred: tf.Tensor, lists: Lists) -> tuple[tf.Tensor, tf.Tensor]:
        """The value of each list [batch], and which lists count [batch]; empty ones have no weight anyway."""
        raise NotImplementedError

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        """Add a batch: `y_true` [batch, n], `y_pred` [batch, n] or [batch, ranks, n]; empty lists do not count.

        Samples of soft permutations [batch, num_samples, ranks, n] count as their mean.
        """
        lists, y_pred = predicted_lists(y_true, y_pred, sample_weight)
        if y_pred.shape.rank == 4:
            y_pred = tf.reduce_mean(y_pred, axis=1)
        if y_pred.shape.rank not in (2, 3):
            raise ValueError(f"y_pred must have shape [batch, n] or [batch, rank, n], got {y_pred.shape}")
        values, counts = self.measure(y_pred, lists)
        weights = lists.mean_over_items(tf.ones_like(lists.labels))
        return self.add(values, tf.where(counts, weights, tf.zeros_like(weights)))

    def add(self, values: tf.Tensor, weights: tf.Tensor) -> Any:
        """Add lists with these values and weights, both [batch]."""
        return super().update_state(values, weights)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {**super().get_config(), "target": self.target, "direction": self.direction}


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
