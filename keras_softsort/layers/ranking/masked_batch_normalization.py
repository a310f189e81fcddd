"""Batch normalization over the valid items of lists as a Keras layer."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal.keras_compat import keras, register
from keras_softsort.layers.ranking._masks import everything_if_empty, item_mask, without_padding


@register
class MaskedBatchNormalization(keras.layers.BatchNormalization):
    """Normalize features of items by the mean and variance of the valid items of a batch, as `BatchNormalization` does.

    `(x - mean) / sqrt(variance + epsilon) * gamma + beta`, for each feature. Training takes the mean and variance of
    the batch, and inference their moving averages.

    Args:
      **kwargs: the arguments of `keras.layers.BatchNormalization`, such as `momentum`.

    Call arguments: features `[batch, n, d]` and a bool mask `[batch, n]` (True for valid items), given or from Keras.
    Without a mask all items are valid.

    Output: `[batch, n, d]`. Padding never affects the values of valid items or the moving averages, even if it is NaN.
    The values at padding are undefined. The output has no mask: pass the mask to the next layer that needs it.

    Cost: O(n d) time and memory per list.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> features, mask = tf.constant([[[1.0], [3.0], [100.0]]]), tf.constant([[True, True, False]])
    >>> normalized = ks.layers.MaskedBatchNormalization()(features, mask=mask, training=True)
    >>> [round(float(x), 2) for x in normalized[0, :2, 0]]
    [-1.0, 1.0]

    Source: S. Ioffe, C. Szegedy, "Batch Normalization: Accelerating Deep Network Training by Reducing Internal
    Covariate Shift", ICML, 2015.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> tf.Tensor:
        """`[batch, n, d]` to the same shape."""
        features = tf.convert_to_tensor(inputs)
        if mask is None:
            return super().call(features, training=training)
        mask = item_mask(mask, features)
        return super().call(without_padding(features, mask), training=training, mask=everything_if_empty(mask, None))

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """None: the mask is not passed on."""
        return None
