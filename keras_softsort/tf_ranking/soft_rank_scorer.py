"""A scorer of TF-Ranking that shows each document its soft rank in the list."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort.layers import SoftRankLayer
from keras_softsort.ops.sorting._methods import registry
from keras_softsort.tf_ranking._stack import tfr


class SoftRankScorer(tfr.keras.model.Scorer):
    """Scores that know the list: a first scorer's soft ranks are one more feature of each document for a second one.

    The feature is `rank / m` `[batch, list, 1]`, with m documents in the list and the soft rank of `SoftRankLayer`:
    about 1 / m for the document that the first scorer puts first, and 1 for the last. It is differentiable, so that
    both scorers learn from the loss of the second one's scores.

    Args:
      first: a scorer as of `tfr.keras.model.ModelBuilder`: of context features, example features and the mask it makes
        scores `[batch, list]`. A feature itself will do: `lambda context, example, mask: example["bm25"][:, :, 0]`.
      second: a scorer, which is given the same features and the soft ranks. Its result is that of this scorer; in
        multi-task models a dict.
      tau: initial temperature of the soft ranks, positive, in units of `method`.
      method: `"neural_sort"` or `"soft_sort"`.
      feature_name: of the soft ranks among the example features.

    Padding changes no score, and its soft rank is 0. What TF-Ranking's `regress` signature scores is one document at
    a time, the first in a list of its own: let whole lists be scored, by `predict`.

    Raises:
      TypeError: `tau` is not a number.
      ValueError: `tau` <= 0, unknown `method`, an example feature that has the `feature_name`, scores of `first` that
        are not `[batch, list]`.

    Cost: that of both scorers, and O(n^2) time and memory a list.

    Example:

    >>> import tensorflow as tf
    >>> import tensorflow_ranking as tfr
    >>> from keras_softsort import tf_ranking
    >>> first = lambda context, example, mask: example["bm25"][:, :, 0]
    >>> scorer = tf_ranking.SoftRankScorer(first, lambda context, example, mask: example["soft_rank"][:, :, 0], tau=0.1)
    >>> documents, mask = {"bm25": tf.constant([[[2.0], [5.0], [3.0], [0.0]]])}, tf.constant([[True] * 3 + [False]])
    >>> [round(float(share), 3) for share in scorer({}, documents, mask)[0]]
    [1.0, 0.333, 0.667, 0.0]

    Source: ranks as a feature of a second network: none; the soft ranks as for `ops.soft_rank`.
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
        self._method = registry.checked_method(method, "ranks")
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
