"""Base class of losses of scores."""

from __future__ import annotations

import tensorflow as tf

from keras_softsort._targets.lists import Lists
from keras_softsort.losses._list_loss import ListLoss
from keras_softsort.ops._core.nan_where import nan_lists


class ScoreLoss(ListLoss):
    """Base class for your own losses of scores: implement `score_losses`; this class handles shapes, masks and weights.

    Args:
      lists, padding, reduction, name, dtype: see `ListLoss`.

    `score_losses(scores, labels, *, mask, weights)` returns the loss of each list, `[batch]`. It gets tensors
    `[batch, n]` in float32 or float64: scores and labels, both 0 in the padding; the mask, True for valid items; and
    item weights, 0 in the padding. A list with a NaN label or score always gives NaN. The ranking losses in
    `keras_softsort.ops` have this signature.

    Example, a loss of your own:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> @tf.keras.utils.register_keras_serializable(package="mine")
    ... class PairwiseHinge(ks.losses.ScoreLoss):
    ...     def __init__(self, margin=1.0, **kwargs):
    ...         super().__init__(**kwargs)
    ...         self.margin = margin
    ...
    ...     def score_losses(self, scores, labels, *, mask, weights):
    ...         pairs = (labels[:, :, None] > labels[:, None, :]) & mask[:, :, None] & mask[:, None, :]
    ...         costs = tf.nn.relu(self.margin - (scores[:, :, None] - scores[:, None, :]))
    ...         return tf.reduce_sum(weights[:, :, None] * tf.where(pairs, costs, 0), axis=[1, 2])
    ...
    ...     def get_config(self):
    ...         return {**super().get_config(), "margin": self.margin}
    >>> labels, scores = tf.constant([[2.0, 0.0, 1.0, -1.0]]), tf.constant([[3.0, 0.5, 1.0, 9.0]])
    >>> float(PairwiseHinge()(labels, scores))
    0.5

    Example, in `model.compile`:

    >>> model = tf.keras.Sequential([tf.keras.Input((None, 5)), tf.keras.layers.Dense(1)])
    >>> model.compile("adam", loss=PairwiseHinge(margin=0.5))
    """

    predicts = "scores"

    def score_losses(self, scores: tf.Tensor, labels: tf.Tensor, *, mask: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
        """The weighted loss of each list: `[batch]`."""
        raise NotImplementedError

    def list_losses(self, lists: Lists, y_pred: tf.Tensor) -> tf.Tensor:
        """The loss of each list [batch], NaN for a list with a NaN label or score."""
        scores = tf.where(lists.mask, y_pred, tf.zeros_like(y_pred))
        losses = self.score_losses(scores, lists.labels, mask=lists.mask, weights=lists.weights)
        return nan_lists(lists.failed(scores), losses, scores)
