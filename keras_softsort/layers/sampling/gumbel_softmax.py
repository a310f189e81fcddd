"""Gumbel-softmax as a Keras layer."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort import ops
from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort._internal.keras_compat import layer_shape
from keras_softsort.layers._base import TemperatureLayer
from keras_softsort.layers._noise_state import add_noise_state, next_seed
from keras_softsort.ops._core.lists import of_all_entries, temperature_per_example
from keras_softsort.ops.sampling.gumbel_softmax import METHODS


@export
class GumbelSoftmaxLayer(TemperatureLayer):
    """Choose one or k items: at random by their logits during training, and those with the largest logits otherwise.

    Use it to select features, actions or the items of a slate inside a model. The choice is the k-hot vector of
    `ops.gumbel_softmax`, and gradients flow through its soft version.

    Args:
      tau: initial temperature, positive, in units of the logits. See `TemperatureLayer` for `layer.tau`, `learn_tau`
        and a temperature per example.
      k: number of items to choose, without replacement.
      method: the relaxation for k > 1. `"threshold"` chooses no item more than once. `"successive_softmax"`, the
        published one, may choose an item several times unless tau is small.
      hard: whether to return exact k-hot vectors, with the gradient of the soft choice. Set it to select features, so
        that the trained model uses exactly k of them.
      axis: the axis of the items. It cannot be 0, the batch.
      seed: integer seed for reproducible noise. None draws one from Python's generator (see
        `keras.utils.set_random_seed`).
      **kwargs: `learn_tau` (see `TemperatureLayer`) and the arguments of `keras.layers.Layer`.

    Input: logits `[batch, ..., n]` with at least two axes. A temperature `[batch]` or `[batch, 1]` per example may
    follow (`layer([logits, tau])`).

    Output: a tensor of the shape of the logits. During training (`training=True`, as in `fit`) it is one sample per
    list, and every call and replica has its own noise. The number of calls is a weight, so training resumes with the
    next noise after a saved model is loaded. In inference there is no noise: the output is `ops.relaxed_top_k`, or with
    `hard=True` the k-hot vector of the k largest logits (of equal logits, the first), and an exported model draws no
    random numbers.

    The mask is bool, True for valid entries, and has the leading axes of the logits, as Keras passes it. `[batch, n]`
    masks the items of `[batch, n]`. For logits `[batch, steps, n]` it masks whole steps, or items with `axis=1`; a mask
    of all axes masks single entries. Masked entries are 0. The output keeps the mask. -inf, NaN, ties and lists with
    fewer than k items are treated as by `ops.gumbel_softmax`.

    Raises:
      ValueError: `tau` is not positive or `k` is below 1. When called: `k` is above the list size, logits have fewer
        than two axes, `axis` is out of range or the batch axis, or the mask does not have the leading axes of logits.
      TypeError: `k`, `axis` or `seed` is not an integer, `hard` or `learn_tau` is not a bool, or logits are not
        floating-point.

    Cost: that of `ops.gumbel_softmax`.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> layer = ks.GumbelSoftmaxLayer(tau=0.5, k=2, hard=True, seed=1)
    >>> layer(tf.constant([[1.0, 3.0, 2.0]])).numpy().tolist()
    [[0.0, 1.0, 1.0]]
    >>> sample = layer(tf.constant([[1.0, 3.0, 2.0]]), training=True)
    >>> float(tf.reduce_sum(sample))
    2.0

    Source: that of `ops.gumbel_softmax`.
    """

    def __init__(
        self,
        tau: float = 1.0,
        *,
        k: int = 1,
        method: str = "threshold",
        hard: bool = False,
        axis: int = -1,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(tau, **kwargs)
        self._check_options(k=k, hard=hard, seed=seed)
        self._keep_options(method=arguments.one_of("method", method, METHODS), axis=arguments.integer("axis", axis))
        self._noise_state = add_noise_state(self, self.seed)

    def build(self, input_shape: Any) -> None:
        """Check the axes of the input."""
        shape = self.split_shape(input_shape)
        if len(shape) < 2:
            raise ValueError(f"{self.name}: logits must have shape [batch, ..., n], got {shape}")
        if self.axis in {0, -len(shape)}:
            raise ValueError(f"{self.name}: axis must not be the batch, got {self.axis} for logits of shape {shape}")
        self.built = True

    def call(self, inputs: Any, mask: Any = None, training: Any = None) -> tf.Tensor:
        """Map [batch, ..., n] to the same shape."""
        logits, tau, mask = self.split_inputs(inputs, mask)
        tau = temperature_per_example(tf.convert_to_tensor(tau), logits)
        options = {"mask": of_all_entries("mask", mask, logits), **self._options("k", "method", "hard", "axis")}
        if training:
            return ops.gumbel_softmax(logits, tau=tau, seed=next_seed(self._noise_state), **options)
        return ops.relaxed_top_k(logits, tau=tau, **options)

    def compute_output_shape(self, input_shape: Any) -> Any:
        """The shape of the logits."""
        return layer_shape(self.split_shape(input_shape))

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """The mask of the logits."""
        return self.split_mask(mask)
