"""Soft matchings as Keras layers: Sinkhorn, and Sinkhorn with Gumbel noise."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort import ops
from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort._keras.compat import layer_shape
from keras_softsort.layers._base import TemperatureLayer
from keras_softsort.layers._noise_state import add_noise_state, next_seed, sample_axis
from keras_softsort.ops.core.axes import repeat_samples
from keras_softsort.ops.core.order import leading_columns


@export
class SinkhornLayer(TemperatureLayer):
    """Map logits `[batch, n, m]` to a soft matching, a matrix whose rows and columns sum to 1.

    Use it to learn an order or a matching that is not observed. See `ops.sinkhorn` for the formula, cost and source.

    A low `tau` needs more than 20 iterations. Rows of 5 standard normal logits sum to 1 within 0.07 at `tau=0.1`, 0.19
    at 0.05 and 1.0 at 0.01. If `tau` is annealed, as by `TauSchedule`, pass a `tolerance` and a larger
    `num_iterations`. A matrix stops iterating once it is within the tolerance.

    Args:
      tau: initial temperature in units of the logits; see `TemperatureLayer`.
      num_iterations, tolerance, hard, scale: as in `ops.sinkhorn`.
      **kwargs: `learn_tau`, and the arguments of `keras.layers.Layer`.

    Input: entry (i, j) is the logit of assigning row i (say, an item) to column j (say, a position). The mask
    `[batch, n]` marks valid rows. In a square matrix as many leading columns are valid as there are valid rows, unless
    the call gives a `column_mask` `[batch, m]` (`layer(logits, mask=..., column_mask=...)`).

    Output: `[batch, n, m]`. It has no Keras mask, since masked entries are 0. To move items `[batch, n, d]` to their
    positions, use `tf.matmul(output, items, transpose_a=True)`.

    Example:
      >>> ks.SinkhornLayer(tau=0.1, hard=True)(tf.constant([[[2.0, 1.0], [3.0, 0.5]]])).numpy().tolist()
      [[[0.0, 1.0], [1.0, 0.0]]]
      >>> logits = tf.constant(np.random.default_rng(0).normal(size=(20, 5, 5)), tf.float32)
      >>> for options in ({}, {"num_iterations": 500, "tolerance": 0.01}):
      ...     sums = tf.reduce_sum(ks.SinkhornLayer(tau=0.05, **options)(logits), axis=-1)
      ...     print(round(float(tf.reduce_max(abs(sums - 1))), 2))
      0.19
      0.01
    """

    def __init__(
        self,
        tau: float = 1.0,
        *,
        num_iterations: int = 20,
        tolerance: float | None = None,
        hard: bool = False,
        scale: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(tau, **kwargs)
        self._keep_checked(num_iterations=num_iterations, tolerance=tolerance, hard=hard, scale=scale)

    def build(self, input_shape: Any) -> None:
        """Check that the input is a batch of matrices."""
        shape = self.split_shape(input_shape)
        if len(shape) != 3:
            raise ValueError(f"{self.name}: logits must have shape [batch, n, m], got {shape}")
        self.built = True

    def call(self, inputs: Any, mask: Any = None, column_mask: Any = None) -> tf.Tensor:
        """Map [batch, n, m] to a matrix of the same shape."""
        logits, options = self._matching_arguments(inputs, mask, column_mask)
        return ops.sinkhorn(logits, **options)

    def compute_output_shape(self, input_shape: Any) -> Any:
        """The shape of the logits."""
        return layer_shape(self.split_shape(input_shape))

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """None: masked entries are 0 in the output, and a loss would read a mask of rows as a mask of items."""
        return None

    def _matching_arguments(self, inputs: Any, mask: Any, column_mask: Any) -> tuple[Any, dict[str, Any]]:
        """The logits, and the arguments that `ops.sinkhorn` and `ops.gumbel_sinkhorn` share."""
        logits, tau, mask = self.split_inputs(inputs, mask)
        mask = arguments.axis_mask("mask", mask, logits, -2)
        if mask is not None and column_mask is None:
            column_mask = leading_columns(logits, mask)
        options = self._options("num_iterations", "tolerance", "hard", "scale")
        return logits, {"tau": tau, "row_mask": mask, "column_mask": column_mask, **options}


@export
class GumbelSinkhornLayer(SinkhornLayer):
    """Map logits `[batch, n, m]` to random soft matchings during training, and to the one without noise otherwise.

    The noise lets the model explore matchings that it does not prefer yet. Input and masks are those of
    `SinkhornLayer`. The formula and source are those of `ops.gumbel_sinkhorn`.

    Args:
      tau: initial temperature in units of the logits; see `TemperatureLayer`.
      num_samples, noise_scale, num_iterations, tolerance, hard, scale: as in `ops.gumbel_sinkhorn`. Without
        `num_samples` the output has no sample axis.
      seed: integer or None; see `TemperatureLayer`.
      **kwargs: `learn_tau`, and the arguments of `keras.layers.Layer`.

    Output: `[batch, n, m]`, as of `SinkhornLayer`, or `[batch, num_samples, n, m]`. In inference all samples are equal,
    and only one is computed.

    Example:
      >>> ks.GumbelSinkhornLayer(tau=0.5, seed=1)(tf.zeros([1, 2, 2]), training=True).shape.as_list()
      [1, 2, 2]
      >>> ks.GumbelSinkhornLayer(tau=0.5, num_samples=3, seed=1)(tf.zeros([1, 2, 2]), training=True).shape.as_list()
      [1, 3, 2, 2]
    """

    def __init__(
        self,
        tau: float = 1.0,
        *,
        num_iterations: int = 20,
        tolerance: float | None = None,
        noise_scale: float = 1.0,
        num_samples: int | None = None,
        hard: bool = False,
        scale: str | None = None,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(tau, num_iterations=num_iterations, tolerance=tolerance, hard=hard, scale=scale, **kwargs)
        self._keep_checked(noise_scale=noise_scale, num_samples=num_samples, seed=seed)
        self._noise_state = add_noise_state(self, self.seed)

    def call(self, inputs: Any, mask: Any = None, column_mask: Any = None, training: Any = None) -> tf.Tensor:
        """Map [batch, n, m] to matrices of the same shape, or to [batch, num_samples, n, m]."""
        logits, options = self._matching_arguments(inputs, mask, column_mask)
        if training:
            options.update(self._options("noise_scale", "num_samples"), seed=next_seed(self._noise_state))
            return ops.gumbel_sinkhorn(logits, **options)
        return repeat_samples(ops.sinkhorn(logits, **options), self.num_samples)

    def compute_output_shape(self, input_shape: Any) -> Any:
        """`[batch, n, m]`, or `[batch, num_samples, n, m]`."""
        batch, *matrix = self.split_shape(input_shape)
        return layer_shape((batch, *sample_axis(self.num_samples), *matrix))
