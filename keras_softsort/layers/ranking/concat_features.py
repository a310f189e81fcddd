"""Features of items and of their lists, joined into one tensor by a Keras layer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from keras_softsort._internal.keras_compat import keras, layer_shape, register
from keras_softsort.layers.ranking._masks import item_mask, without_padding


@register
class ConcatFeatures(keras.layers.Layer):
    """Join features by name into one tensor `[batch, n, d]`, with the features of a list repeated for each item.

    Features of lists come first, then those of the items, each in the order of their names, as in TF-Ranking's
    layer of the same name.

    Args:
      **kwargs: arguments of `keras.layers.Layer`.

    Call arguments:
      example_features: dictionary of features of items, `[batch, n]` or `[batch, n, ...]`, numbers of any dtype.
      context_features: dictionary of features of lists, `[batch, ...]`, numbers; `None` for none.
      mask: bool `[batch, n]`, True for valid items; `None` if all are valid.

    Output: `[batch, n, d]` in the dtype of the layer, where d is the total number of features of an item and its list.
    Padding gets zeros, even if its features are NaN. Axes after `[batch, n]`, or `[batch]`, are flattened. Keras masks
    of the features are ignored, and the output has no mask.

    Raises:
      TypeError: `example_features` or `context_features` is not a dictionary.
      ValueError: there are no example features.

    Cost: O(n d) time and memory per list.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> items = {"price": tf.constant([[3.0, 9.0]]), "image": tf.constant([[[1.0, 2.0], [3.0, 4.0]]])}
    >>> ks.layers.ConcatFeatures()(items, {"hour": tf.constant([[20]])}).numpy().tolist()
    [[[20.0, 1.0, 2.0, 3.0], [20.0, 3.0, 4.0, 9.0]]]

    Source: TF-Ranking's `ConcatFeatures`, which repeats the first items in the padding instead of zeros.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, example_features: Any, context_features: Any = None, mask: Any = None) -> tf.Tensor:
        """Features by name to `[batch, n, d]`."""
        items = self._columns("example_features", example_features, 2)
        if not items:
            raise ValueError("example_features must hold at least one feature, got none")
        rows, size = tf.shape(items[0])[0], tf.shape(items[0])[1]
        context = [
            tf.broadcast_to(column[:, tf.newaxis], tf.stack([rows, size, column.shape[1]]))
            for column in self._columns("context_features", context_features or {}, 1)
        ]
        joined = tf.concat([*context, *items], axis=-1)
        mask = None if isinstance(mask, Mapping) else mask  # Keras' own, by name
        return without_padding(joined, item_mask(mask, joined))

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """None: the mask is not passed on."""
        return None

    def compute_output_shape(self, example_features_shape: Any, context_features_shape: Any = None) -> Any:
        """`[batch, n, d]`."""
        items = [tuple(shape) for shape in example_features_shape.values()]
        parts = [shape[2:] for shape in items]
        parts.extend(tuple(shape)[1:] for shape in (context_features_shape or {}).values())
        return layer_shape((*items[0][:2], sum(map(_size, parts))))

    def _columns(self, argument: str, features: Any, axes: int) -> list[tf.Tensor]:
        """The features in the order of their names, with all axes after the first `axes` as one."""
        if not isinstance(features, Mapping):
            raise TypeError(f"{argument} must be a dictionary of tensors, got {type(features).__name__}")
        columns = []
        for name in sorted(features):
            tensor = tf.convert_to_tensor(features[name])
            shape = tf.concat([tf.shape(tensor)[:axes], [_size(tensor.shape[axes:])]], axis=0)
            column = tf.cast(tf.reshape(tensor, shape), self.compute_dtype)
            column.set_shape([*tensor.shape[:axes], _size(tensor.shape[axes:])])
            columns.append(column)
        return columns


def _size(shape: Any) -> int:
    """The number of entries of a tensor of a known shape."""
    return math.prod(int(size) for size in shape)
