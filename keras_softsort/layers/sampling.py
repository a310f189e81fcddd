"""Random choices and orders as Keras layers: Gumbel-softmax, and Plackett-Luce samples."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort import ops
from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort._keras.compat import keras, layer_shape
from keras_softsort.layers._base import SortingLayer, TemperatureLayer, ranks_mask
from keras_softsort.layers._noise_state import add_noise_state, next_seed, sample_axis
from keras_softsort.ops.core.axes import of_all_entries, repeat_samples
from keras_softsort.ops.core.temperature import temperature_per_example
from keras_softsort.ops.sampling.gumbel_softmax import METHODS
from keras_softsort.ops.sorting import methods


@export
class GumbelSoftmaxLayer(TemperatureLayer):
    """Choose one or k items: at random by their logits during training, and those with the largest logits otherwise.

    Use it to select features, actions or the items of a slate inside a model. In inference there is no noise: the
    output is a soft top k, or with `hard=True` the k-hot vector of the k largest logits (of equal logits, the first).
    The formula, edge cases, cost and source are those of `ops.gumbel_softmax`.

    Args:
      tau: initial temperature in units of the logits; see `TemperatureLayer`.
      k, method: as in `ops.gumbel_softmax`.
      hard: whether to return exact k-hot vectors, with the gradient of the soft choice. Set it to select features, so
        that the trained model uses exactly k of them.
      axis: the axis of the items. It cannot be 0, the batch.
      seed: integer or None; see `TemperatureLayer`.
      **kwargs: `learn_tau`, and the arguments of `keras.layers.Layer`.

    Input: logits `[batch, ..., n]` with at least two axes. The mask has their leading axes, as Keras passes it.
    `[batch, n]` masks the items of `[batch, n]`. For logits `[batch, steps, n]` it masks whole steps, or items with
    `axis=1`; a mask of all axes masks single entries.

    Output: a tensor of the shape of the logits, with their mask. Masked entries are 0.

    Example:
      >>> layer = ks.GumbelSoftmaxLayer(tau=0.5, k=2, hard=True, seed=1)
      >>> layer(tf.constant([[1.0, 3.0, 2.0]])).numpy().tolist()
      [[0.0, 1.0, 1.0]]
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
        self._keep_checked(k=k, hard=hard, axis=axis, seed=seed)
        self._keep_options(method=arguments.one_of("method", method, METHODS))
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
        return ops.gumbel_softmax(logits, tau=tau, noise_scale=0.0, **options)

    def compute_output_shape(self, input_shape: Any) -> Any:
        """The shape of the logits."""
        return layer_shape(self.split_shape(input_shape))

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """The mask of the logits."""
        return self.split_mask(mask)


@export
class PlackettLuceSampler(SortingLayer):
    """Sample soft permutations from logits during training, and return the one without noise otherwise.

    Use it to train a model through random rankings. The samples relax orders of the distribution `PlackettLuce`. A
    sample is NeuralSort's or SoftSort's matrix of `logits + Gumbel noise`, and gradients flow through it.
    `RelaxedPlackettLuce` has the source.

    Args:
      num_samples: number of samples per list. None draws one, without a sample axis.
      tau: initial temperature in units of `method`; see `TemperatureLayer`. For NeuralSort these are logits times list
        size, for SoftSort logits to the `power`. Orders (`method=None`) do not depend on it.
      top_k: number of first ranks to return; None returns all.
      method: the soft permutation, `"neural_sort"` or `"soft_sort"`; None returns integer orders without a gradient.
      power: exponent of the distance of scores for `"soft_sort"`, positive.
      hard: whether to return exact permutations, with the gradient of the soft ones. Not allowed with `method=None`.
      seed: integer or None; see `TemperatureLayer`.
      **kwargs: `learn_tau`, and the arguments of `keras.layers.Layer`.

    Output: matrices `[batch, n, n]`, as of `NeuralSortLayer`, where row i holds the weights of the items at rank i.
    With `method=None`, int32 orders `[batch, n]` of the item at each rank. With `top_k` there are only `top_k` ranks.
    With `num_samples` the second axis is that of the samples, which in inference are equal, and there is no Keras mask.
    Otherwise a matrix has the mask of the items (none with `top_k`), and an order that of the ranks. Masked items and
    items with a logit of -inf come last: in a matrix their ranks spread evenly over them, in an order they follow by
    their index. A NaN or +inf makes the matrices of its list NaN.

    Cost: O(n^2) time and memory per sample, O(top_k n) with `top_k`, O(n log n) for orders. Inference needs one sample.

    Example:
      >>> ks.PlackettLuceSampler(tau=0.5, seed=1)(tf.zeros([1, 3]), training=True).shape.as_list()
      [1, 3, 3]
      >>> ks.PlackettLuceSampler(num_samples=4, tau=0.5, seed=1)(tf.zeros([1, 3]), training=True).shape.as_list()
      [1, 4, 3, 3]
    """

    _rows_option = "top_k"

    def __init__(
        self,
        num_samples: int | None = None,
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
        if method is None:
            power = arguments.positive_number("power", power)
        else:
            power = methods.checked_power(power, methods.checked_method(method))
        self._keep_options(method=method, power=power)
        self._keep_checked(num_samples=num_samples, top_k=top_k, hard=hard, seed=seed)
        if hard and method is None:
            raise ValueError("hard must be False with method=None, whose orders are exact, got True")
        self._noise_state = add_noise_state(self, self.seed)

    def call(self, inputs: Any, mask: Any = None, training: Any = None) -> tf.Tensor:
        """Map [batch, n] to matrices [batch, n, n] or orders [batch, n], with `num_samples` as a second axis."""
        logits, tau, mask = self.split_scores(inputs, mask)
        if training:
            tau = tau[:, tf.newaxis] if len(tau.shape) == 1 and self.num_samples is not None else tau
            repeated = None if mask is None else repeat_samples(mask, self.num_samples)
            return self._distribution(repeat_samples(logits, self.num_samples), repeated, tau).sample(
                seed=tf.cast(next_seed(self._noise_state), tf.int32)
            )
        still = self._distribution(logits, mask, tau)
        return repeat_samples(still.mode() if self.method is None else still.relaxed_mode(), self.num_samples)

    def compute_output_shape(self, input_shape: Any) -> Any:
        """`[batch, n, n]` or `[batch, n]`, with `num_samples` as a second axis and `top_k` as the size of the ranks."""
        batch, size = self.scores_shape(input_shape)
        ranks = size if self.top_k is None else self.top_k
        shape = (batch, *sample_axis(self.num_samples), ranks)
        return layer_shape(shape if self.method is None else (*shape, size))

    def compute_output_spec(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """The shape and dtype for Keras 3: orders are integers."""
        shape = tf.nest.map_structure(lambda each: tuple(each.shape), inputs)
        dtype = "int32" if self.method is None else self.compute_dtype
        return keras.KerasTensor(self.compute_output_shape(shape), dtype)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """The mask of the items of a matrix, or of the ranks of an order; None for `top_k` rows or a sample axis."""
        mask = self.split_mask(mask)
        if self.method is None and self.num_samples is None:
            return ranks_mask(mask, self.top_k)
        return mask if self.num_samples is None and self.top_k is None else None

    def _distribution(self, logits: Any, mask: Any, tau: Any) -> Any:
        # Imported when used, so that TensorFlow Probability takes no other layer with it if it fails.
        from keras_softsort.distributions import PlackettLuce, RelaxedPlackettLuce  # noqa: PLC0415

        if self.method is None:
            return PlackettLuce(logits, top_k=self.top_k, mask=mask)
        return RelaxedPlackettLuce(logits, tau, mask=mask, **self._options("method", "power", "top_k", "hard"))
