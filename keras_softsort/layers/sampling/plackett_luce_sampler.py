"""Plackett-Luce sampling as a Keras layer."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.keras_compat import keras, register
from keras_softsort.distributions import PlackettLuce, RelaxedPlackettLuce
from keras_softsort.layers._base import SortingLayer
from keras_softsort.layers._noise_state import add_noise_state, checked_seed, next_seed
from keras_softsort.ops.sorting._methods import registry


@register
class PlackettLuceSampler(SortingLayer):
    """Logits `[batch, n]` to random soft permutations in training, to the noiseless one otherwise.

    A sample is NeuralSort's or SoftSort's matrix of `logits + Gumbel noise`: the relaxation of an order that is
    drawn item by item, each with probability `exp(logit) / sum over those left`.

    Args:
      num_samples: samples for each list.
      tau: initial temperature, positive, in units of the operator's logits (see `ops.neural_sort`). Kept as the
        weight `layer.tau`, which is not trained; `TauSchedule` anneals it. Orders do not depend on it.
      top_k: the first `top_k` ranks only.
      method: the soft permutation, as for `RelaxedPlackettLuce`, or `None` for integer orders, which have no gradient.
      power: the exponent of SoftSort's distance.
      hard: put out exact permutations, with the gradient of the soft ones; not with `method=None`.
      seed: an integer for noise that can be had again; None draws one, which `keras.utils.set_random_seed` fixes.
      **kwargs: those of a Keras layer.

    Output: `[batch, num_samples, n, n]`, row i the weights of the items at rank i, or with `method=None` int32
    orders `[batch, num_samples, n]`, the item at each rank; `top_k` in place of the ranks where it is given. In
    training (`training=True`, as in `fit`) every sample has its own noise, and so has every call and every replica;
    the count of calls is a weight, so that training goes on where a saved model stopped. In inference there is no
    noise, the samples are all the same, and an exported model draws nothing.

    Call arguments: logits `[batch, n]` and an optional bool mask `[batch, n]` (True = keep), given or from Keras;
    no mask is handed on. Padding and items of -inf come last: in a matrix their ranks spread over them, in an order
    they follow by their index. NaN and +inf make a list's matrices NaN.

    Raises:
      ValueError: `num_samples` < 1, `tau` <= 0, `top_k` < 1 or above n, `power` <= 0, a `method` without a
        permutation matrix, `hard` with `method=None`, logits that are not `[batch, n]`.
      TypeError: integer logits, `hard` that is not a bool, `seed` that is no integer.

    Cost: O(n^2) time and memory a sample, O(top_k n) with `top_k`, O(n log n) for orders; one sample in inference.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> layer = ks.PlackettLuceSampler(num_samples=4, tau=0.5, seed=1)
    >>> layer(tf.constant([[0.0, 2.0, 1.0]]), training=True).shape.as_list()
    [1, 4, 3, 3]
    >>> ks.PlackettLuceSampler(method=None)(tf.constant([[0.0, 2.0, 1.0]])).numpy().tolist()
    [[[1, 2, 0]]]

    Source: as for `RelaxedPlackettLuce`.
    """

    def __init__(
        self,
        num_samples: int = 1,
        tau: float = 1.0,
        *,
        top_k: int | None = None,
        method: str | None = "neural_sort",
        power: float = 1.0,
        hard: bool = False,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(tau, **kwargs)
        self.num_samples = arguments.positive_integer("num_samples", num_samples)
        self.top_k = None if top_k is None else arguments.positive_integer("top_k", top_k)
        self.method = None if method is None else registry.checked_method(method)
        self.power = (
            arguments.positive_number("power", power) if method is None else registry.checked_power(power, method)
        )
        self.hard = arguments.boolean("hard", hard)
        if hard and method is None:
            raise ValueError("hard must be False with method=None, whose orders are exact, got True")
        self.seed = checked_seed(seed)
        self._noise_state = add_noise_state(self, self.seed)

    def call(self, inputs: Any, mask: Any = None, training: Any = None) -> tf.Tensor:
        """[batch, n] to [batch, num_samples, n, n] or [batch, num_samples, n]."""
        logits, tau, mask = self.split_scores(inputs, mask)
        if training:
            tau = tau[:, tf.newaxis] if len(tau.shape) == 1 else tau
            repeated = None if mask is None else self._samples(mask)
            return self._distribution(self._samples(logits), repeated, tau).sample(
                seed=tf.cast(next_seed(self._noise_state), tf.int32)
            )
        still = self._distribution(logits, mask, tau)
        return self._samples(still.mode() if self.method is None else still.relaxed_mode())

    def compute_output_shape(self, input_shape: Any) -> tuple[int | None, ...]:
        """`[batch, num_samples, n, n]` or `[batch, num_samples, n]`; `top_k` in place of the rank axis."""
        batch, size = self.scores_shape(input_shape)
        ranks = size if self.top_k is None else self.top_k
        return (batch, self.num_samples, ranks) if self.method is None else (batch, self.num_samples, ranks, size)

    def compute_output_spec(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """The same with its dtype, for Keras 3: orders are integers."""
        shape = tf.nest.map_structure(lambda each: tuple(each.shape), inputs)
        dtype = "int32" if self.method is None else self.compute_dtype
        return keras.KerasTensor(self.compute_output_shape(shape), dtype)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """None: the output has a sample axis, which a mask of items does not fit."""
        return None

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        own = {name: getattr(self, name) for name in ("num_samples", "top_k", "method", "power", "hard", "seed")}
        return {**super().get_config(), **own}

    def _distribution(self, logits: Any, mask: Any, tau: Any) -> Any:
        if self.method is None:
            return PlackettLuce(logits, top_k=self.top_k, mask=mask)
        return RelaxedPlackettLuce(
            logits,
            tau,
            method=self.method,
            power=self.power,
            top_k=self.top_k,
            hard=self.hard,
            mask=mask,
        )

    def _samples(self, tensor: tf.Tensor) -> tf.Tensor:
        """`tensor` `num_samples` times along a new second axis."""
        return tf.repeat(tensor[:, tf.newaxis], self.num_samples, axis=1)
