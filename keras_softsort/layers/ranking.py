"""Layers of the features of items, for rankers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort._keras.compat import build_self_attention, keras, layer_shape, mask_of_call
from keras_softsort._keras.options import KeepsOptions
from keras_softsort.layers._base import known_shape


@export
class ConcatFeatures(keras.layers.Layer):
    """Join features by name into one tensor `[batch, n, d]`, with the features of a list repeated for each item.

    For models whose inputs are dictionaries. Features of lists come first, then those of items, each ordered by name.

    Args:
      **kwargs: arguments of `keras.layers.Layer`.

    Call arguments:
      example_features: dictionary of features of items, `[batch, n]` or `[batch, n, ...]`, numbers of any dtype.
      context_features: dictionary of features of lists, `[batch, ...]`, numbers; `None` for none.
      mask: bool `[batch, n]`, True for valid items; `None` if all are valid.

    Output: `[batch, n, d]` in the dtype of the layer, where d is the total number of features of an item and its list.
    Padding gets zeros, even if its features are NaN. Axes after `[batch, n]`, or `[batch]`, are flattened. Keras masks
    of the features are ignored, and the output has no mask. O(n d) time and memory per list.

    Raises:
      TypeError: `example_features` or `context_features` is not a dictionary.
      ValueError: there are no example features.

    Example:
      >>> items = {"price": tf.constant([[3.0, 9.0]]), "image": tf.constant([[[1.0, 2.0], [3.0, 4.0]]])}
      >>> ks.layers.ConcatFeatures()(items, {"hour": tf.constant([[20]])}).numpy().tolist()
      [[[20.0, 1.0, 2.0, 3.0], [20.0, 3.0, 4.0, 9.0]]]
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
        return _with_zero_padding(joined, arguments.axis_mask("mask", mask, joined, -2))

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


# Small beside the variance of features, and large enough that items of equal features keep a moderate gradient.
_EPSILON = 1e-6


@export
class DocumentInteractionAttention(KeepsOptions, keras.layers.Layer):
    """Compute features of items that depend on the other items of their list, by masked self-attention.

    Use it if the score of an item should depend on the other items. The features are projected to
    `h_0 = relu(x W + b)`, of size `head_size`. Each layer then computes
    `h_l = LayerNorm(h_(l-1) + Dropout(MultiHeadAttention(h_(l-1))))`, in which every item attends to the valid items of
    its list. If the items are reordered, their features are reordered in the same way.

    Args:
      num_heads: number of attention heads of each layer.
      head_size: size of each head, and of the features that are returned.
      num_layers: number of attention layers.
      dropout: share of attention weights, and of attention outputs, dropped during training: at least 0, below 1.
      input_noise_stddev: standard deviation of Gaussian noise added to `h_0` during training; `None` for no noise.
      **kwargs: arguments of `keras.layers.Layer`.

    Call arguments: features `[batch, n, d]`, d known, and their mask, bool `[batch, n]`, given or from Keras.

    Output: `[batch, n, head_size]`. Score it with a `Dense(1)`, by itself or concatenated with the features. Padding
    gets zeros, and never affects the values or gradients of valid items, even if it is NaN. A list without valid items
    gives zeros. The output has the mask of the input.

    Raises:
      ValueError: an option is out of range, features do not have shape `[batch, n, d]` with a known d, or the mask has
        another shape.
      TypeError: an option has another type, or the mask is not bool.

    Cost: `O(num_layers * num_heads * n * (n + d) * head_size)` time and `O(num_layers * num_heads * n^2)` memory.

    Example:
      >>> layer = ks.layers.DocumentInteractionAttention(num_heads=2, head_size=8, dropout=0.0)
      >>> layer(tf.ones([1, 4, 3]), mask=tf.constant([[True, True, True, False]])).shape.as_list()
      [1, 4, 8]

    Source: R. Pasumarthi et al., "Permutation Equivariant Document Interaction Network for Neural Learning-to-Rank",
    ICTIR, 2020.
    """

    def __init__(
        self,
        num_heads: int,
        head_size: int,
        num_layers: int = 1,
        *,
        dropout: float = 0.5,
        input_noise_stddev: float | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True
        self._keep_options(
            num_heads=arguments.positive_integer("num_heads", num_heads),
            head_size=arguments.positive_integer("head_size", head_size),
            num_layers=arguments.positive_integer("num_layers", num_layers),
            dropout=arguments.fraction("dropout", dropout),
            input_noise_stddev=arguments.optional(arguments.positive_number)("input_noise_stddev", input_noise_stddev),
        )

    def build(self, input_shape: Any) -> None:
        """Make the projection and the attention layers."""
        shape = tuple(known_shape(input_shape))
        if len(shape) != 3 or shape[2] is None:
            raise ValueError(f"{self.name}: features must have shape [batch, n, d] with a known d, got {shape}")
        own: dict[str, Any] = {"dtype": self.dtype_policy}
        self._projection = keras.layers.Dense(self.head_size, activation="relu", name="projection", **own)
        self._projection.build(shape)
        self._noise = keras.layers.GaussianNoise(self.input_noise_stddev or 0.0, **own)
        self._dropout = keras.layers.Dropout(self.dropout, **own)
        self._sum = keras.layers.Add(**own)
        self._attentions, self._norms = [], []
        hidden = (*shape[:2], self.head_size)
        for i in range(self.num_layers):
            attention = keras.layers.MultiHeadAttention(
                self.num_heads, self.head_size, dropout=self.dropout, name=f"attention_{i}", **own
            )
            build_self_attention(attention, hidden)
            norm = keras.layers.LayerNormalization(epsilon=_EPSILON, name=f"norm_{i}", **own)
            norm.build(hidden)
            self._attentions.append(attention)
            self._norms.append(norm)
        self.built = True

    def call(self, inputs: Any, mask: Any = None, training: Any = None) -> tf.Tensor:
        """`[batch, n, d]` to `[batch, n, head_size]`."""
        mask = mask_of_call(inputs, mask)
        features = arguments.dense_tensor("features", inputs)
        attended = None
        if mask is not None:
            mask = arguments.axis_mask("mask", mask, features, -2)
            features = _with_zero_padding(features, mask)
            attended = _everything_if_empty(mask, axis=1)[:, tf.newaxis, :]
        hidden = self._noise(self._projection(features), training=training)
        for attention, norm in zip(self._attentions, self._norms, strict=True):
            context = attention(hidden, hidden, attention_mask=attended, training=training)
            hidden = norm(self._sum([hidden, self._dropout(context, training=training)]))
        return _with_zero_padding(hidden, mask)

    def compute_output_shape(self, input_shape: Any) -> Any:
        """`[batch, n, head_size]`."""
        return layer_shape((*tuple(input_shape)[:2], self.head_size))


@export
class MaskedBatchNormalization(keras.layers.BatchNormalization):
    """Normalize features of items by the mean and variance of the valid items of a batch, as `BatchNormalization` does.

    Use it for padded lists. `(x - mean) / sqrt(variance + epsilon) * gamma + beta`, for each feature. Training takes
    the mean and variance of the batch, and inference their moving averages. O(n d) time and memory per list.

    Args:
      **kwargs: the arguments of `keras.layers.BatchNormalization`, such as `momentum`.

    Call arguments: features `[batch, n, d]` and a bool mask `[batch, n]` (True for valid items), given or from Keras.
    Without a mask all items are valid.

    Output: `[batch, n, d]`. Padding never affects the values of valid items or the moving averages, even if it is NaN.
    A batch without valid items leaves the moving averages alone. The values at padding are undefined. The output has no
    mask: pass the mask to the next layer that needs it.

    Raises:
      ValueError: the mask does not have shape `[batch, n]`.
      TypeError: the mask is not bool.

    Example:
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
        mask = mask_of_call(inputs, mask)
        features = tf.convert_to_tensor(inputs)
        if mask is None:
            return super().call(features, training=training)
        mask = arguments.axis_mask("mask", mask, features, -2)
        # In Keras 2 `training` may be a tensor.
        trains = self.trainable and (tf.is_tensor(training) or training)
        before = [(each, tf.convert_to_tensor(each)) for each in self.non_trainable_weights] if trains else []
        result = super().call(
            _with_zero_padding(features, mask), training=training, mask=_everything_if_empty(mask, None)
        )
        for average, old in before:
            average.assign(tf.where(tf.reduce_any(mask), average, old))
        return result

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """None: the mask is not passed on."""
        return None


def _with_zero_padding(features: tf.Tensor, mask: tf.Tensor | None) -> tf.Tensor:
    """Replace the padding of features `[batch, n, d]`, which may be NaN, by zeros. Without a mask return them."""
    return features if mask is None else tf.where(mask[..., tf.newaxis], features, tf.zeros_like(features))


def _everything_if_empty(mask: tf.Tensor, axis: int | None) -> tf.Tensor:
    """The mask `[batch, n]`, but True for all if nothing along `axis` is valid, so that statistics are finite."""
    return tf.logical_or(mask, tf.logical_not(tf.reduce_any(mask, axis=axis, keepdims=True)))
