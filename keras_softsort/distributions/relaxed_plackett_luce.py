"""Soft permutations of Plackett-Luce orders, with reparameterised gradients."""

from __future__ import annotations

import math
from typing import Any

import tensorflow as tf
import tensorflow_probability as tfp
from tensorflow_probability import distributions as tfd

from keras_softsort._internal import arguments
from keras_softsort.distributions import _arguments
from keras_softsort.ops._core import gumbel_noise, validation
from keras_softsort.ops._core.dtypes import compute_dtype
from keras_softsort.ops.sorting import _dispatch
from keras_softsort.ops.sorting._arguments import sort_arguments
from keras_softsort.ops.sorting._methods import registry


class RelaxedPlackettLuce(tfd.Distribution):
    """Soft permutation matrices `P(log_scores + Gumbel noise)`, P that of NeuralSort or SoftSort at temperature tau.

    As tau goes to 0 a sample becomes the matrix of an order drawn from `PlackettLuce(log_scores)`. Samples are
    differentiable in `log_scores` and `tau` (reparameterised). There is no `log_prob`: the density is not known.
    `relaxed_mode()` is the matrix without noise.

    Args:
      log_scores: `[..., n]`, floating-point logits, a tensor or variable. -inf means "cannot be chosen": like padding.
      tau: temperature, a positive number or scalar tensor, in units of the operator's logits (for NeuralSort scores
        times list size, for SoftSort scores).
      relaxation: `"neural_sort"` (the stochastic NeuralSort of the paper) or `"soft_sort"`.
      top_k: the first `top_k` rows alone.
      hard: exact permutations in the forward pass, the gradient of the soft ones.
      mask: bool `[..., n]`, True = keep. Masked items come last; their rows spread over them.
      validate_args: as for every TFP distribution; there is nothing more to check.
      allow_nan_stats: as for every TFP distribution.
      name: as for every TFP distribution.

    An event is `[n, n]`, or `[top_k, n]`, in the dtype of `log_scores`: row i holds the weights of the items at rank
    i. The noise is drawn in float32, or float64 for float64. NaN and +inf make a list's matrices NaN.

    Raises:
      ValueError: `tau` <= 0, unknown `relaxation`, `top_k` < 1 or above n, a mask of another shape.
      TypeError: `log_scores` not floating-point, `mask` not bool, `hard` not a bool.

    Cost: O(n^2) time and memory a sample, O(top_k n) with `top_k`.

    Example:

    >>> import keras_softsort as ks
    >>> soft = ks.distributions.RelaxedPlackettLuce([0.0, 2.0, 1.0], tau=0.5)
    >>> soft.sample(100, seed=1).shape.as_list()
    [100, 3, 3]

    Source: A. Grover, E. Wang, A. Zweig, S. Ermon, "Stochastic Optimization of Sorting Networks via Continuous
    Relaxations", ICLR 2019, section 5.
    """

    def __init__(
        self,
        log_scores: Any,
        tau: Any = 1.0,
        *,
        relaxation: str = "neural_sort",
        top_k: int | None = None,
        hard: bool = False,
        mask: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "RelaxedPlackettLuce",
    ) -> None:
        parameters = dict(locals())
        with tf.name_scope(name) as scope:
            self._log_scores = _arguments.parameter("log_scores", log_scores)
            self._tau = tau
            validation.temperature(tau, compute_dtype(self._log_scores.dtype))
            self._relaxation = registry.checked_method(relaxation)
            self._top_k = None if top_k is None else _arguments.checked_count("top_k", top_k, self._log_scores)
            self._hard = arguments.boolean("hard", hard)
            self._mask = validation.list_mask(mask, self._log_scores, masked="log_scores")
            super().__init__(
                dtype=self._log_scores.dtype,
                reparameterization_type=tfd.FULLY_REPARAMETERIZED,
                validate_args=validate_args,
                allow_nan_stats=allow_nan_stats,
                parameters=parameters,
                name=scope,
            )

    @classmethod
    def _parameter_properties(cls, dtype: Any, num_classes: Any = None) -> dict[str, Any]:
        del num_classes
        positive = tfp.util.ParameterProperties(
            event_ndims=None,  # one for the whole batch: no slice, no broadcast
            shape_fn=lambda sample_shape: [],
            default_constraining_bijector_fn=lambda: tfp.bijectors.Softplus(low=validation.dtype_tiny(dtype)),
        )
        return {
            "log_scores": tfp.util.ParameterProperties(
                event_ndims=1,
                shape_fn=lambda sample_shape: [*sample_shape[:-2], sample_shape[-1]],
            ),
            "tau": positive,
            "mask": tfp.util.ParameterProperties(event_ndims=1, is_preferred=False),  # nothing to be trained
        }

    @property
    def log_scores(self) -> Any:
        """The argument `log_scores`."""
        return self._log_scores

    @property
    def tau(self) -> Any:
        """The argument `tau`."""
        return self._tau

    def _event_shape(self) -> tf.TensorShape:
        size = self._log_scores.shape[-1]
        return tf.TensorShape([self._top_k or size, size])

    def _event_shape_tensor(self) -> tf.Tensor:
        size = tf.shape(self._log_scores)[-1]
        return tf.stack([size if self._top_k is None else self._top_k, size])

    def relaxed_mode(self) -> tf.Tensor:
        """The matrix `[..., n, n]` or `[..., top_k, n]` without noise, which is the relaxation of the mode."""
        with self._name_and_control_scope("relaxed_mode"):
            scores = self._wide_scores()
            return self._matrices(scores, self._possible(scores))

    def _sample_n(self, n: Any, seed: Any = None) -> tf.Tensor:
        scores = self._wide_scores()
        shape = tf.concat([[n], tf.shape(scores)], axis=0)
        keys = scores + gumbel_noise.gumbel(shape, tfp.random.sanitize_seed(seed), scores.dtype)
        return self._matrices(keys, tf.broadcast_to(self._possible(scores), shape))

    def _matrices(self, keys: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
        problem = sort_arguments(keys, self._tau, mask=mask, method=self._relaxation)
        return tf.cast(_dispatch.permutation(problem, self._top_k, self._hard), self.dtype)

    def _wide_scores(self) -> tf.Tensor:
        scores = validation.top_k_rows(self._top_k, tf.convert_to_tensor(self._log_scores))
        return tf.cast(scores, compute_dtype(scores.dtype))

    def _possible(self, scores: tf.Tensor) -> tf.Tensor:
        """Whether each item can be chosen. NaN is kept, for it has to show."""
        possible = tf.not_equal(scores, -math.inf)
        return possible if self._mask is None else tf.logical_and(self._mask, possible)
