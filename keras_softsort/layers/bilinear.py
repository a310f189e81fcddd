"""The bilinear interaction of two vectors."""

from __future__ import annotations

import math
from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort._keras.compat import keras, layer_shape
from keras_softsort._keras.options import KeepsOptions
from keras_softsort.ops.neighbors.embeddings import bilinear


@export
class Bilinear(KeepsOptions, keras.layers.Layer):
    """The bilinear interaction of two vectors, such as the embeddings of an item and of its position.

    Use it where features should multiply. `y_k = sum_ij u_i W_ijk v_j + sum_i u_i A_ik + sum_j v_j B_jk + c_k` with
    trainable W, A, B and c.

    Args:
      units: number of outputs.
      **kwargs: arguments of `keras.layers.Layer`.

    Call arguments:
      inputs: a pair of tensors `[..., d]` and `[..., e]` with the same leading axes.

    Output: `[..., units]`, with the mask of the first input.

    Raises:
      ValueError: `units` is below 1, the inputs are not a pair, or a last axis is unknown.
      TypeError: `units` is not an integer.

    Cost: O(d e units) time per pair and memory for the weights.

    Example:
      >>> ks.Bilinear(2)((tf.ones([4, 8, 3]), tf.ones([4, 8, 5]))).shape
      TensorShape([4, 8, 2])

    Source: L. Yan et al., "Revisiting Two-Tower Models for Unbiased Learning to Rank", SIGIR 2022.
    """

    def __init__(self, units: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._keep_options(units=arguments.positive_integer("units", units))
        self.supports_masking = True

    def build(self, input_shape: Any) -> None:
        """Make the weights."""
        first, second = self._sizes(input_shape)

        def weight(name: str, shape: tuple[int, ...], scale: float) -> Any:
            return self.add_weight(name=name, shape=shape, initializer=keras.initializers.RandomNormal(stddev=scale))

        self._bilinear = weight("bilinear_term", (first, second, self.units), 1 / math.sqrt(math.prod([first, second])))
        self._first = weight("linear_term_1", (first, self.units), 1 / math.sqrt(first))
        self._second = weight("linear_term_2", (second, self.units), 1 / math.sqrt(second))
        self._bias = self.add_weight(name="const_term", shape=(self.units,), initializer="zeros")
        super().build(input_shape)

    def call(self, inputs: Any) -> tf.Tensor:
        """Two tensors `[..., d]` and `[..., e]` to `[..., units]`."""
        first, second = inputs
        return bilinear(first, second, self._bilinear, (self._first, self._second), self._bias)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """The mask of the first input."""
        return mask[0] if isinstance(mask, (list, tuple)) else mask

    def compute_output_shape(self, input_shape: Any) -> Any:
        """`[..., units]`."""
        self._sizes(input_shape)
        return layer_shape((*input_shape[0][:-1], self.units))

    @staticmethod
    def _sizes(input_shape: Any) -> tuple[int, int]:
        """The sizes of the last axes of the two inputs."""
        is_pair = isinstance(input_shape, (list, tuple)) and len(input_shape) == 2
        if not is_pair or not all(isinstance(shape, (list, tuple, tf.TensorShape)) for shape in input_shape):
            raise ValueError(f"inputs must be a pair of tensors [..., d] and [..., e], got shape {input_shape}")
        first, second = (shape[-1] for shape in input_shape)
        if first is None or second is None:
            raise ValueError(f"inputs must have known last axes, got shapes {[*map(tuple, input_shape)]}")
        return first, second
