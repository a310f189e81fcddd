"""Base class of metrics of scores that are a function of `ops`: options, lists without relevant items, the mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.saved_functions import read_function
from keras_softsort._targets.lists import Lists
from keras_softsort.metrics._base import ListMetric
from keras_softsort.ops.metrics._ranked_lists import Measures, metric_arguments, metric_options

# What `locals()` of a constructor holds besides its options.
NOT_OPTIONS = ("self", "kwargs", "no_relevant", "__class__")
NO_RELEVANT = ("one", "skip", "zero")


class RankingMetric(ListMetric):
    """Base class of metrics of scores `[batch, n]` with labels that tell relevance.

    Args:
      options: `locals()` of the constructor: the options of `_measures`, and `no_relevant`.
      no_relevant: the value of a list without relevant items. `"zero"`: 0, as in TF-Ranking, Keras-RS and scikit-learn.
        `"one"`: 1, as in LightGBM. `"skip"`: the list does not count.
      **kwargs: `lists`, `padding`, `name` and `dtype`, see `ListMetric`.
    """

    predicts = "scores"
    _measures: Callable[..., Measures]

    def __init__(self, options: Mapping[str, Any], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        given = {name: read_function(value) for name, value in options.items() if name not in NOT_OPTIONS}
        self._options = metric_options(**given)
        self._keep_options(**given)
        if "no_relevant" in options:
            self._keep_options(no_relevant=arguments.one_of("no_relevant", options["no_relevant"], NO_RELEVANT))

    def measure(self, y_pred: tf.Tensor, lists: Lists, *topics: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """The value and the weight of each list. Lists without relevant items count as `no_relevant` says."""
        weights = lists.weights if lists.weighted else None
        found = self._measures(metric_arguments(y_pred, lists.labels, lists.mask, weights), *topics, self._options)
        no_relevant = getattr(self, "no_relevant", "zero")
        if no_relevant == "one":
            return found.values + (1 - found.is_relevant), found.weights
        return found.values, found.weights * (found.is_relevant if no_relevant == "skip" else 1)


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
        ties: str = "position",
        no_relevant: str = "zero",
        **kwargs: Any,
    ) -> None:
        super().__init__(locals(), **kwargs)
