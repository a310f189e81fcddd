"""Self-attention over the items of a list as a Keras layer."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.keras_compat import build_self_attention, keras, layer_shape, register
from keras_softsort.layers._base import known_shape
from keras_softsort.layers.ranking._masks import everything_if_empty, item_mask, without_padding
from keras_softsort.ops._core import validation

# Small beside the variance of features, and large enough that items of equal features keep a moderate gradient.
_EPSILON = 1e-6


@register
class DocumentInteractionAttention(keras.layers.Layer):
    """Compute features of items that depend on the other items of their list, by masked self-attention.

    The features are projected to `h_0 = relu(x W + b)`, of size `head_size`. Each layer then computes
    `h_l = LayerNorm(h_(l-1) + Dropout(MultiHeadAttention(h_(l-1))))`, in which every item attends to the valid items of
    its list. If the items are reordered, their features are reordered in the same way.

    Args:
      num_heads: number of attention heads of each layer.
      head_size: size of each head, and of the features that are returned.
      num_layers: number of attention layers.
      dropout: share of attention weights, and of attention outputs, dropped during training: at least 0, below 1.
      input_noise_stddev: standard deviation of Gaussian noise added to `h_0` during training; `None` for no noise.
      **kwargs: arguments of `keras.layers.Layer`.

    Call arguments: features `[batch, n, d]` and a bool mask `[batch, n]` (True for valid items), given or from Keras.

    Output: `[batch, n, head_size]`. Score it with a `Dense(1)`, by itself or concatenated with the features. Padding
    gets zeros, and never affects the values or gradients of valid items, even if it is NaN. A list without valid items
    gives zeros. The output has the mask of the input.

    Raises:
      ValueError: `num_heads`, `head_size` or `num_layers` is below 1; `dropout` is not in [0, 1); `input_noise_stddev`
        is not positive; or features are not `[batch, n, d]` with a known d.
      TypeError: an argument has another type.

    Cost: `O(num_layers * num_heads * n * (n + d) * head_size)` time and `O(num_layers * num_heads * n^2)` memory per
    list.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> layer = ks.layers.DocumentInteractionAttention(num_heads=2, head_size=8, dropout=0.0)
    >>> features = tf.random.stateless_normal([1, 4, 3], seed=[0, 0])
    >>> attended = layer(features, mask=tf.constant([[True, True, True, False]]))
    >>> attended.shape.as_list(), float(tf.reduce_max(tf.abs(attended[0, 3])))
    ([1, 4, 8], 0.0)

    Source: R. Pasumarthi et al., "Permutation Equivariant Document Interaction Network for Neural Learning-to-Rank",
    ICTIR, 2020. The layers and their weights are those of TF-Ranking's layer of the same name.
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
        self.num_heads = arguments.positive_integer("num_heads", num_heads)
        self.head_size = arguments.positive_integer("head_size", head_size)
        self.num_layers = arguments.positive_integer("num_layers", num_layers)
        self.dropout = arguments.fraction("dropout", dropout)
        if input_noise_stddev is not None:
            input_noise_stddev = arguments.positive_number("input_noise_stddev", input_noise_stddev)
        self.input_noise_stddev = input_noise_stddev

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
                self.num_heads,
                self.head_size,
                dropout=self.dropout,
                output_shape=self.head_size,
                name=f"attention_{i}",
                **own,
            )
            build_self_attention(attention, hidden)
            norm = keras.layers.LayerNormalization(epsilon=_EPSILON, name=f"norm_{i}", **own)
            norm.build(hidden)
            self._attentions.append(attention)
            self._norms.append(norm)
        self.built = True

    def call(self, inputs: Any, mask: Any = None, training: Any = None) -> tf.Tensor:
        """`[batch, n, d]` to `[batch, n, head_size]`."""
        features = validation.dense_tensor("features", inputs)
        attended = None
        if mask is not None:
            mask = item_mask(mask, features)
            features = without_padding(features, mask)
            attended = everything_if_empty(mask, axis=1)[:, tf.newaxis, :]
        hidden = self._noise(self._projection(features), training=training)
        for attention, norm in zip(self._attentions, self._norms, strict=True):
            context = attention(hidden, hidden, attention_mask=attended, training=training)
            hidden = norm(self._sum([hidden, self._dropout(context, training=training)]))
        return without_padding(hidden, mask)

    def compute_output_shape(self, input_shape: Any) -> Any:
        """`[batch, n, head_size]`."""
        return layer_shape((*tuple(input_shape)[:2], self.head_size))

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        names = ("num_heads", "head_size", "num_layers", "dropout", "input_noise_stddev")
        return {**super().get_config(), **{name: getattr(self, name) for name in names}}
