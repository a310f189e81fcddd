"""Base classes of metrics: one value per list, and the weighted mean over lists; of scores, and of sorted lists."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.advice import warn_once
from keras_softsort._keras.compat import keras
from keras_softsort._keras.options import FixedOptions, read_options
from keras_softsort._targets.layout import checked_lists
from keras_softsort._targets.lists import Lists, checked_padding, for_each_list, predicted_lists, sort_direction
from keras_softsort.ops.metrics.ranked_lists import metric_arguments
from keras_softsort.ops.ranking.lists import checked_arguments

NO_RELEVANT = ("one", "skip", "zero")


class ListMetric(FixedOptions, keras.metrics.Mean):
    """Base class of metrics that measure each list and take the weighted mean over lists.

    Args:
      lists, padding, name, dtype, **unknown: see `NDCG`. Other names are an error.
    """

    predicts = "scores or matrices"
    _has_traced_updates = False

    def __init__(
        self,
        *,
        lists: str = "rows",
        padding: str | None = "negative_labels",
        name: str | None = None,
        dtype: Any = None,
        **unknown: Any,
    ) -> None:
        self._refuse(unknown)
        # Keras' own default would number the metrics of one class.
        own_name = re.sub("([a-z])([A-Z])", r"\1_\2", type(self).__name__).lower()
        super().__init__(name=name or own_name, dtype=dtype)
        self._keep_options(lists=checked_lists(lists, self.predicts), padding=checked_padding(padding))

    def measure(self, lists: Lists, y_pred: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """The value and the weight of each list: [batch]. A list that does not count has weight 0."""
        raise NotImplementedError

    @tf.autograph.experimental.do_not_convert  # which takes Keras 2 longer than the rest
    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        self._has_traced_updates = self._has_traced_updates or not tf.executing_eagerly()
        return self.add(*for_each_list(self.measure, *self.resolved(y_true, y_pred, sample_weight)))

    @tf.autograph.experimental.do_not_convert  # Keras 2 would turn the look at the count into operations
    def result(self) -> Any:
        """The weighted mean over lists, 0 without any. It warns if all lists of traced updates were empty."""
        # Eager updates have looked at their labels themselves. `fit` and `evaluate` call this eagerly after an epoch.
        look = self._has_traced_updates and self.padding == "negative_labels" and tf.executing_eagerly()
        if look and not float(tf.convert_to_tensor(self.count)):
            warn_once(
                "no list counted",
                f'{self.name} is 0, because no list counted. padding="negative_labels" takes labels below 0 for '
                'padding: if they are labels, pass padding=None or padding="nan_labels" to losses and metrics',
            )
        return super().result()

    def reset_state(self) -> None:
        """Forget all lists."""
        self._has_traced_updates = False
        keras.metrics.Metric.reset_state(self)  # the method of `Mean` on Keras 3 only knows its own variables

    def resolved(self, y_true: Any, y_pred: Any, sample_weight: Any) -> tuple[Any, ...]:
        """The arguments of `measure`: the lists of a batch, and `y_pred` with one list per row."""
        return predicted_lists(
            y_true, y_pred, sample_weight, lists=self.lists, padding=self.padding, predicts=self.predicts
        )

    def add(self, values: tf.Tensor, weights: tf.Tensor) -> Any:
        """Add lists with these values and weights, both [batch]."""
        return super().update_state(values, weights)


class RankingMetric(ListMetric):
    """Base class of metrics of scores `[batch, n]` with labels that tell relevance.

    Args:
      options: `locals()` of the constructor: the options of `_operator`, and `no_relevant`.
      no_relevant, **kwargs: see `NDCG`.
    """

    predicts = "scores"
    _operator: Any

    def __init__(self, options: Mapping[str, Any], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        given = read_options(options)
        if "no_relevant" in given:
            self._keep_options(no_relevant=arguments.one_of("no_relevant", given.pop("no_relevant"), NO_RELEVANT))
        self._options = self._operator.check(**given)
        self._keep_options(**given)

    def measure(self, lists: Lists, y_pred: tf.Tensor, *topics: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """The value and the weight of each list. Lists without relevant items count as `no_relevant` says."""
        with checked_arguments():
            keep_zero_weights = getattr(self, "keep_zero_weights", False)
            args = metric_arguments(y_pred, lists.labels, lists.mask, lists.weights, keep_zero_weights)
        values, weights, is_relevant = self._operator.measures(args, *topics, **self._options)
        no_relevant = getattr(self, "no_relevant", "zero")
        if no_relevant == "one":
            return values + (1 - is_relevant), weights
        return values, weights * (is_relevant if no_relevant == "skip" else 1)


class RelevanceMetric(RankingMetric):
    """Base class of metrics of relevant items.

    Args:
      k, min_label, ties, no_relevant, **kwargs: see `Precision`.
    """

    def __init__(
        self,
        k: int | None = None,
        *,
        min_label: float = 1.0,
        ties: str = "mean",
        no_relevant: str = "zero",
        **kwargs: Any,
    ) -> None:
        super().__init__(locals(), **kwargs)


class SortMetric(ListMetric):
    """Base class of metrics that compare the order of predictions, scores or soft permutations, with that of labels.

    Args:
      target, direction, **kwargs: see `PermutationAccuracy`.
    """

    def __init__(self, *, target: str = "labels", direction: str = "DESCENDING", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._sort_direction = sort_direction(target, direction)
        self._keep_options(target=target, direction=direction)

    def compare(self, lists: Lists, y_pred: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """The value of each complete list [batch], and whether the list counts [batch]. Empty lists never count."""
        raise NotImplementedError

    def measure(self, lists: Lists, y_pred: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """The value and the weight of each list. Samples of soft permutations are averaged."""
        if y_pred.shape.rank == 4:
            y_pred = tf.reduce_mean(y_pred, axis=1)
        weights = arguments.optional(arguments.non_negative_tensor)("weights", lists.weights)
        lists = lists._replace(weights=weights).complete()
        with checked_arguments():
            values, counts = self.compare(lists, y_pred)
        weights = lists.mean_weights()
        return values, tf.where(counts, weights, tf.zeros_like(weights))


def has_nan(y_pred: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """Whether each list [batch] has NaN among its valid scores, or among the valid ranks and items of its matrix."""
    is_valid = mask if y_pred.shape.rank == 2 else _valid_cells(y_pred, mask)
    is_nan = tf.logical_and(tf.math.is_nan(y_pred), is_valid)
    return tf.reduce_any(is_nan, axis=list(range(1, y_pred.shape.rank)))


def with_lowest_padding(matrix: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """Replace the padding of `matrix` [batch, ranks, n], so that no valid rank takes an item that is padding."""
    # `tf.argmax` ignores the lowest finite number.
    return tf.where(_valid_cells(matrix, mask), matrix, tf.constant(matrix.dtype.min / 2, matrix.dtype))


def _valid_cells(matrix: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """Mark the entries [batch, ranks, n] of valid items in the leading ranks, one rank per valid item."""
    ranks = tf.sequence_mask(tf.math.count_nonzero(mask, axis=-1), tf.shape(matrix)[1])
    return tf.logical_and(ranks[:, :, tf.newaxis], mask[:, tf.newaxis, :])
