"""Base class of metrics of scores that are a function of `ops`: options, lists without relevant items, the mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.saved_functions import read_function, written_function
from keras_softsort._targets.lists import Lists
from keras_softsort.metrics._base import ListMetric
from keras_softsort.ops.metrics._ranked_lists import Measures, metric_arguments

# What `locals()` of a constructor holds besides its options.
NOT_OPTIONS = ("self", "kwargs", "no_relevant", "__class__")
NO_RELEVANT = ("one", "skip", "zero")


class RankingMetric(ListMetric):
    """Base class of metrics of scores `[batch, n]` with labels that tell relevance.

    Args:
      options: `locals()` of the constructor: the options of `_measures`, which `_check` checks, and `no_relevant`.
      no_relevant: the value of a list without relevant items. `"zero"`: 0, as in TF-Ranking, Keras-RS and scikit-learn.
        `"one"`: 1, as in LightGBM. `"skip"`: the list does not count.
      **kwargs: `lists`, `padding`, `name` and `dtype`, see `ListMetric`.
    """

    predicts = "scores"
    _measures: Callable[..., Measures]
    _check: Callable[..., Any]

    def __init__(self, options: Mapping[str, Any], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        given = {name: read_function(value) for name, value in options.items() if name not in NOT_OPTIONS}
        self._options = self._check(**given)
        self._option_names = tuple(given)
        for name, value in given.items():
            setattr(self, name, value)
        if "no_relevant" in options:
            self.no_relevant = arguments.one_of("no_relevant", options["no_relevant"], NO_RELEVANT)
            self._option_names += ("no_relevant",)

    def measure(self, y_pred: tf.Tensor, lists: Lists, *topics: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """The value and the weight of each list. Lists without relevant items count as `no_relevant` says."""
        weights = lists.weights if lists.weighted else None
        found = self._measures(metric_arguments(y_pred, lists.labels, lists.mask, weights), *topics, self._options)
        no_relevant = getattr(self, "no_relevant", "zero")
        if no_relevant == "one":
            return found.values + (1 - found.is_relevant), found.weights
        return found.values, found.weights * (found.is_relevant if no_relevant == "skip" else 1)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {**super().get_config(), **{name: written_function(getattr(self, name)) for name in self._option_names}}
