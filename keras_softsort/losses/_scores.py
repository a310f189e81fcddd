"""What losses of scores share: the shape, what padding and non-finite numbers do, and the temperature of most."""

from __future__ import annotations

import math
from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._targets.lists import Lists
from keras_softsort.losses._base import ListLoss


class ScoreLoss(ListLoss):
    """A loss of scores `[batch, n]`; `score_losses` is given finite numbers and no junk."""

    predicts = "scores"
    # Whether a label below 0 that is no padding fails its list, because NDCG has no gain for it.
    needs_gains = False

    def score_losses(self, lists: Lists, scores: tf.Tensor) -> tf.Tensor:
        """The loss of each list, weighted: [batch]. Labels and scores are finite, and 0 where masked."""
        raise NotImplementedError

    def list_losses(self, lists: Lists, y_pred: tf.Tensor) -> tf.Tensor:
        """The loss of each list [batch], NaN for one that holds a label or a score that is not finite."""
        kept = tf.where(lists.mask, y_pred, tf.zeros_like(y_pred))
        labels = tf.where(lists.mask, lists.labels, tf.zeros_like(lists.labels))
        finite = tf.logical_and(tf.math.is_finite(kept), tf.math.is_finite(labels))
        if self.needs_gains:
            finite = tf.logical_and(finite, labels >= 0)
        safe_labels, safe_scores = (tf.where(finite, values, tf.zeros_like(values)) for values in (labels, kept))
        losses = self.score_losses(lists._replace(labels=safe_labels), safe_scores)
        failed = tf.reduce_any(tf.logical_not(finite), axis=-1)
        # Times the scores, so that the gradient of such a list is NaN too; a sum that overflows harms no other list.
        poison = tf.where(failed, tf.constant(math.nan, losses.dtype), tf.zeros_like(losses))
        return losses + tf.math.multiply_no_nan(tf.reduce_sum(kept, axis=-1), poison)


class TemperatureLoss(ScoreLoss):
    """A loss of scores `[batch, n]` with a temperature."""

    def __init__(self, tau: float, **options: Any) -> None:
        super().__init__(**options)
        self.tau = arguments.positive_number("tau", tau)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {**super().get_config(), "tau": self.tau}
