"""The base class of losses of several logits per item."""

from __future__ import annotations

import tensorflow as tf

from keras_softsort._targets.lists import Lists
from keras_softsort.losses._list_loss import ListLoss


class ItemLogitsLoss(ListLoss):
    """Loss of logits `[batch, n, m]`: subclasses call a function of `ops` in `logit_losses`, as `ScoreLoss` does."""

    predicts = "logits"

    def logit_losses(self, logits: tf.Tensor, labels: tf.Tensor, *, mask: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
        """The loss of each list, weighted: `[batch]`; NaN for a list with a NaN logit or label."""
        raise NotImplementedError

    def list_losses(self, lists: Lists, y_pred: tf.Tensor) -> tf.Tensor:
        """The loss of each list [batch]."""
        return self.logit_losses(y_pred, lists.labels, mask=lists.mask, weights=lists.weights)
