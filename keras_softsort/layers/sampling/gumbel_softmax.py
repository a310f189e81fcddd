"""Gumbel-softmax as a Keras layer."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort import ops
from keras_softsort._internal import arguments
from keras_softsort._internal.keras_compat import register
from keras_softsort.layers._base import TemperatureLayer
from keras_softsort.layers._noise_state import add_noise_state, checked_seed, next_seed
from keras_softsort.ops._core import validation
from keras_softsort.ops.sampling._arguments import METHODS


@register
class GumbelSoftmaxLayer(TemperatureLayer):
    """Logits to a random choice of one or k items in training, to the likeliest otherwise.

    Args:
      tau: initial temperature, positive. Logits and noise are divided by it. It is kept as the weight `layer.tau`;
        `TauSchedule` anneals it.
      k: how many items to choose, without replacement.
      method: the relaxation for k > 1: `"threshold"`, which chooses no item more than once, or the published
        `"successive_softmax"`, which may unless tau is small.
      hard: return exact one-hots (k-hots), with the gradient of the soft choice. True by default, unlike in other
        layers, since the layer is mostly used to choose features, and a trained model is to use k of them.
      learn_tau: train the temperature, as the weight `layer.log_tau`, its logarithm. Then `layer.tau` is the tensor
        `exp(log_tau)`, and `TauSchedule` passes the layer by, or raises where it is named.
      axis: the axis of the items; not 0, the batch.
      seed: an integer for noise that can be had again; None draws one, which `keras.utils.set_random_seed` fixes.
      **kwargs: arguments of a Keras layer.

    Input: logits `[batch, ..., n]` of any rank from 2 on, and optionally a temperature `[batch]` or `[batch, 1]` per
    example (`layer([logits, tau])`). Output: the shape of the logits. In training (`training=True`, as
    in `fit`) it is one sample of `ops.gumbel_softmax` for each list; every call and every replica has its own noise,
    and the count of calls is a weight, so that training goes on where a saved model stopped. In inference there is no
    noise: `hard=True` gives the one-hot of the largest logit (the k-hot of the k largest, the first of equals),
    `hard=False` gives `ops.relaxed_top_k`, for k = 1 `softmax(logits / tau)`, and an exported model draws nothing.

    Masks: bool, True = valid, of the leading axes of the logits, as Keras passes them: `[batch, n]` masks the items of
    `[batch, n]`, or in `[batch, steps, n]` whole steps (items, with `axis=1`); of all axes, single entries. Masked
    entries are 0. The mask is passed on. -inf, NaN, ties, fewer than k items: as for `ops.gumbel_softmax`.

    Raises:
      ValueError: `tau` <= 0, `k` < 1, and when called `k` above the list size, logits of fewer than two axes, an
        `axis` that is out of range or the batch axis, a mask that does not have their leading axes.
      TypeError: `k`, `axis` or `seed` that is not an integer, `hard` or `learn_tau` that is not a bool, integer logits.

    Cost: that of `ops.gumbel_softmax`.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> layer = ks.GumbelSoftmaxLayer(tau=0.5, k=2, seed=1)
    >>> layer(tf.constant([[1.0, 3.0, 2.0]])).numpy().tolist()
    [[0.0, 1.0, 1.0]]
    >>> sample = layer(tf.constant([[1.0, 3.0, 2.0]]), training=True)
    >>> float(tf.reduce_sum(sample))
    2.0

    Source: as for `ops.gumbel_softmax`.
    """

    def __init__(
        self,
        tau: float = 1.0,
        *,
        k: int = 1,
        method: str = "threshold",
        hard: bool = True,
        learn_tau: bool = False,
        axis: int = -1,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(tau, learn_tau=learn_tau, **kwargs)
        self.k = arguments.positive_integer("k", k)
        self.method = arguments.one_of("method", method, METHODS)
        self.hard = arguments.boolean("hard", hard)
        self.axis = arguments.integer("axis", axis)
        self.seed = checked_seed(seed)
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
        """[batch, ..., n] to the same shape."""
        logits, tau, mask = self.split_inputs(inputs, mask)
        if len(tau.shape) == 1:  # a temperature per example
            tau = tf.reshape(tau, [-1] + [1] * (len(logits.shape) - 2))
        options: dict[str, Any] = {"k": self.k, "method": self.method, "hard": self.hard, "axis": self.axis}
        options["mask"] = _entries(mask, logits)
        if training:
            return ops.gumbel_softmax(logits, tau=tau, seed=next_seed(self._noise_state), **options)
        return ops.relaxed_top_k(logits, tau=tau, **options)

    def compute_output_shape(self, input_shape: Any) -> Any:
        """That of the logits."""
        return self.split_shape(input_shape)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """That of the logits."""
        return self.split_mask(mask)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        own = {"k": self.k, "method": self.method, "hard": self.hard, "axis": self.axis, "seed": self.seed}
        return {**super().get_config(), **own}


def _entries(mask: Any, logits: tf.Tensor) -> tf.Tensor | None:
    """A mask of leading axes as one of all entries."""
    if mask is None:
        return None
    mask = validation.bool_mask("mask", mask)
    rank = mask.shape.rank
    if not mask.shape.is_compatible_with(logits.shape[:rank]):
        raise ValueError(f"mask must have the leading axes of logits, {logits.shape}, got {mask.shape}")
    mask = validation.of_shape("mask", mask, tf.shape(logits)[:rank])
    missing = [1] * (logits.shape.rank - rank)
    return tf.broadcast_to(tf.reshape(mask, [*tf.unstack(tf.shape(mask)), *missing]), tf.shape(logits))
