"""A scorer for TF-Ranking that adds the soft rank of each document to its features."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.layers import SoftRankLayer
from keras_softsort.ops.sorting import methods
from keras_softsort.tf_ranking._losses import tfr


@export
class SoftRankScorer(tfr.keras.model.Scorer):
    """Score documents by two scorers: the soft ranks of the first one's scores are a feature for the second one.

    For rankers that re-rank, both scorers trained by one loss. The feature is `rank / m` `[batch, list, 1]`, where m is
    the number of documents in the list and the rank is that of `SoftRankLayer`: about 1 / m for the first document, 1
    for the last, 0 for padding.

    Args:
      first: a scorer for `tfr.keras.model.ModelBuilder`: a function of context features, example features and the mask
        that returns scores `[batch, list]`.
      second: a scorer that gets the same features and the soft ranks. Its scores, or dictionary of them, are the
        result.
      tau: initial temperature in units of `method`; see `ops.soft_rank`.
      method: as in `ops.soft_rank`.
      feature_name: name of the soft ranks among the example features.

    Serve by the signature `predict`: `regress` scores each document as a list of its own.

    Raises:
      TypeError: `tau` is not a number.
      ValueError: `tau` is not positive; `method` is unknown; an example feature has the name `feature_name`; or the
        scores of `first` are not `[batch, list]`.

    Cost: that of both scorers, and O(n^2) time and memory per list.

    Example:
      >>> from keras_softsort import tf_ranking
      >>> of = lambda name: lambda context, example, mask: example[name][:, :, 0]
      >>> scorer = tf_ranking.SoftRankScorer(of("bm25"), of("soft_rank"), tau=0.1)
      >>> documents, mask = {"bm25": tf.constant([[[2.0], [5.0], [3.0], [0.0]]])}, tf.constant([[True] * 3 + [False]])
      >>> [round(float(share), 3) for share in scorer({}, documents, mask)[0]]
      [1.0, 0.333, 0.667, 0.0]
    """

    def __init__(
        self,
        first: Any,
        second: Any,
        tau: float = 1.0,
        *,
        method: str = "neural_sort",
        feature_name: str = "soft_rank",
    ) -> None:
        self._first = first
        self._second = second
        self._tau = arguments.positive_number("tau", tau)
        self._method = methods.checked_method(method, "ranks")
        self._feature_name = feature_name

    def __call__(self, context_features: Any, example_features: Any, mask: Any) -> Any:
        """Scores [batch, list], or a dict of them."""
        if self._feature_name in example_features:
            raise ValueError(f"feature_name must not be that of an example feature, got {self._feature_name!r}")
        scores = self._first(context_features, example_features, mask)
        ranks = SoftRankLayer(self._tau, method=self._method)(scores, mask=mask)
        sizes = tf.reduce_sum(tf.cast(mask, ranks.dtype), axis=1, keepdims=True)
        shares = tf.math.divide_no_nan(ranks, sizes)[:, :, tf.newaxis]
        return self._second(context_features, {**example_features, self._feature_name: shares}, mask)
