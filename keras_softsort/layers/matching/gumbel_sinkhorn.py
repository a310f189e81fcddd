"""Gumbel-Sinkhorn as a Keras layer."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort import ops
from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort._internal.keras_compat import layer_shape
from keras_softsort.layers._noise_state import add_noise_state, next_seed
from keras_softsort.layers.matching._matching_layer import MatchingLayer
from keras_softsort.ops._core.lists import repeat_samples


@export
class GumbelSinkhornLayer(MatchingLayer):
    """Map logits `[batch, n, m]` to random soft matchings during training, and to the one without noise otherwise.

    A sample is `sinkhorn((logits + Gumbel noise) / tau)`. As tau goes to 0 it becomes the exact matching with the
    largest sum of logits and noise. The noise lets the model explore matchings that it does not prefer yet.

    Args:
      tau: initial temperature, positive, in units of the logits. See `TemperatureLayer` for `layer.tau`,
        `learn_tau` and a temperature per matrix.
      num_iterations: number of Sinkhorn iterations; with a `tolerance`, the maximum number.
      tolerance: stop once all row sums are within this distance of 1. None always runs `num_iterations`.
      noise_scale: factor of the Gumbel noise, at least 0.
      num_samples: number of samples per matrix.
      hard: whether to return exact matchings (of logits plus noise), with the gradient of the soft ones.
      seed: integer seed for reproducible noise. None draws one from Python's generator (see
        `keras.utils.set_random_seed`).
      learn_tau: whether to train the temperature, see `TemperatureLayer`.
      **kwargs: arguments of `keras.layers.Layer`.

    Output: `[batch, num_samples, n, m]`. During training (`training=True`, as in `fit`) every sample, call and replica
    has its own noise. The number of calls is a weight, so training resumes with the next noise after a saved model is
    loaded. In inference there is no noise: all samples are equal, and an exported model draws no random numbers.

    Input, masks, ties, -inf and NaN are those of `SinkhornLayer`.

    Raises:
      ValueError: `num_samples` is below 1, `noise_scale` is below 0, and the errors of `SinkhornLayer`.
      TypeError: `seed` is not an integer, and the errors of `SinkhornLayer`.

    Cost: that of `SinkhornLayer`, per sample in training and once in inference.

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
        self.seed = arguments.optional_integer("seed", seed)
        self._noise_state = add_noise_state(self, self.seed)

    def call(self, inputs: Any, mask: Any = None, column_mask: Any = None, training: Any = None) -> tf.Tensor:
        """Map [batch, n, m] to [batch, num_samples, n, m]."""
        logits, arguments = self._matching_arguments(inputs, mask, column_mask)
        if training:
            return ops.gumbel_sinkhorn(
                logits,
                seed=next_seed(self._noise_state),
                num_samples=self.num_samples,
                noise_scale=self.noise_scale,
                **arguments,
            )
        return repeat_samples(ops.sinkhorn(logits, **arguments), self.num_samples)

    def compute_output_shape(self, input_shape: Any) -> Any:
        """`[batch, num_samples, n, m]`."""
        batch, *matrix = self.split_shape(input_shape)
        return layer_shape((batch, self.num_samples, *matrix))

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        own = {"noise_scale": self.noise_scale, "num_samples": self.num_samples, "seed": self.seed}
        return {**super().get_config(), **own}
