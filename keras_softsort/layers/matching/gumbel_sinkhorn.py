"""Gumbel-Sinkhorn as a Keras layer."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort import ops
from keras_softsort._internal import arguments
from keras_softsort._internal.keras_compat import register
from keras_softsort.layers._noise_state import add_noise_state, checked_seed, next_seed
from keras_softsort.layers.matching._matching_layer import MatchingLayer


@register
class GumbelSinkhornLayer(MatchingLayer):
    """Logits `[batch, n, m]` to random soft matchings in training, to the noiseless one otherwise.

    Args:
      tau: initial temperature, positive, in units of the logits. It is kept as the weight `layer.tau`; `TauSchedule`
        anneals it.
      num_iterations: iterations, or with a tolerance the most that are made.
      tolerance: stop once all row sums are within this of 1.
      noise_scale: factor of the Gumbel noise, at least 0.
      num_samples: samples for each matrix.
      hard: put out exact matchings (of scores and noise), with the gradient of the soft ones.
      seed: an integer for noise that can be had again; None draws one, which `keras.utils.set_random_seed` fixes.
      learn_tau: train the temperature, as the weight `layer.log_tau`, its logarithm.
      **kwargs: arguments of a Keras layer.

    Output: `[batch, num_samples, n, m]`. In training (`training=True`, as in `fit`) every sample has its own noise,
    and so has every call and every replica; the count of calls is a weight, so that training goes on where a saved
    model stopped. In inference there is no noise, the samples are all the same, and an exported model draws nothing.

    Input, masks, ties, -inf and NaN: as for `SinkhornLayer`.

    Raises:
      ValueError: `num_samples` < 1, `noise_scale` < 0, and as for `SinkhornLayer`.
      TypeError: `seed` that is not an integer, and as for `SinkhornLayer`.

    Cost: that of `SinkhornLayer` for each sample in training, for one in inference.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> layer = ks.GumbelSinkhornLayer(tau=0.5, num_samples=3, seed=1)
    >>> layer(tf.zeros([1, 2, 2]), training=True).shape.as_list()
    [1, 3, 2, 2]
    >>> layer(tf.zeros([1, 2, 2])).numpy().tolist()[0][0]
    [[0.5, 0.5], [0.5, 0.5]]

    Source: G. Mena et al., "Learning Latent Permutations with Gumbel-Sinkhorn Networks", ICLR 2018.
    """

    def __init__(
        self,
        tau: float = 1.0,
        *,
        num_iterations: int = 20,
        tolerance: float | None = None,
        noise_scale: float = 1.0,
        num_samples: int = 1,
        hard: bool = False,
        seed: int | None = None,
        learn_tau: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            tau, num_iterations=num_iterations, tolerance=tolerance, hard=hard, learn_tau=learn_tau, **kwargs
        )
        self.noise_scale = arguments.non_negative_number("noise_scale", noise_scale)
        self.num_samples = arguments.positive_integer("num_samples", num_samples)
        self.seed = checked_seed(seed)
        self._noise_state = add_noise_state(self, self.seed)

    def call(self, inputs: Any, mask: Any = None, column_mask: Any = None, training: Any = None) -> tf.Tensor:
        """[batch, n, m] to [batch, num_samples, n, m]."""
        logits, arguments = self._matching_arguments(inputs, mask, column_mask)
        if training:
            return ops.gumbel_sinkhorn(
                logits,
                seed=next_seed(self._noise_state),
                num_samples=self.num_samples,
                noise_scale=self.noise_scale,
                **arguments,
            )
        still = tf.expand_dims(ops.sinkhorn(logits, **arguments), axis=1)
        return tf.tile(still, [1, self.num_samples, 1, 1])

    def compute_output_shape(self, input_shape: Any) -> Any:
        """`[batch, num_samples, n, m]`."""
        batch, *matrix = self.split_shape(input_shape)
        return (batch, self.num_samples, *matrix)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        own = {"noise_scale": self.noise_scale, "num_samples": self.num_samples, "seed": self.seed}
        return {**super().get_config(), **own}
