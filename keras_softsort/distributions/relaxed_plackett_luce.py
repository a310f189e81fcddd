"""Soft permutations of Plackett-Luce orders, with reparameterized gradients."""

from __future__ import annotations

from typing import Any

import tensorflow as tf
import tensorflow_probability as tfp
from tensorflow_probability import distributions as tfd

from keras_softsort._internal import arguments
from keras_softsort._internal.arguments import compute_dtype
from keras_softsort._internal.export import export
from keras_softsort._internal.not_a_number import at_least_or_nan
from keras_softsort.distributions._base import OrderDistribution, tau_parameter
from keras_softsort.ops.core.axes import broadcast_leading
from keras_softsort.ops.sorting import dispatch, methods
from keras_softsort.ops.sorting.methods import sort_arguments


@export
class RelaxedPlackettLuce(OrderDistribution):
    """The distribution of soft permutation matrices `P(logits + Gumbel noise)`, by NeuralSort or SoftSort.

    Use it to train through random orders. As tau goes to 0, a sample becomes the matrix of an order drawn from
    `PlackettLuce(logits)`. Samples are differentiable with respect to `logits` and `tau` (reparameterized). There is no
    `log_prob`, since the density has no known formula. `relaxed_mode()` is the matrix without noise. An event is a
    matrix `[n, n]`, or `[top_k, n]`, in the dtype of `logits`: row i holds the weights of the items at rank i. It is a
    composite tensor, and its arguments are attributes.

    Args:
      logits: floating-point `[..., n]`, a tensor or a variable. An item with a logit of -inf counts as masked. A NaN or
        +inf makes its list NaN.
      tau: temperature in units of `method` (see `soft_values`), positive: a number, tensor or variable whose shape
        broadcasts against the batch shape. A tensor that is not positive gives NaN.
      method: the soft permutation, `"neural_sort"` or `"soft_sort"`.
      power: exponent of the distance of scores for `"soft_sort"`, positive.
      top_k: an event holds only the first `top_k` rows.
      hard: whether samples are exact permutations, with the gradient of the soft ones.
      mask: bool `[..., n]`, True for valid items. Masked items come last, and their ranks spread evenly over them.
      validate_args, allow_nan_stats, name: as for every TFP distribution; nothing more is checked.

    Raises:
      ValueError: `tau` or `power` is not positive, `method` is unknown, `top_k` is out of range, or shapes differ.
      TypeError: `logits` or `tau` is not floating-point, `mask` is not bool, or `hard` is not a bool.

    Cost: O(n^2) time and memory per sample, O(top_k n) with `top_k`.

    Example:
      >>> ks.distributions.RelaxedPlackettLuce([0.0, 2.0, 1.0], tau=[0.1, 1.0]).sample(100, seed=1).shape.as_list()
      [100, 2, 3, 3]

    Source: section 5 of the paper on NeuralSort, see `ops.neural_sort`.
    """

    def __init__(
        self,
        logits: Any,
        tau: Any = 1.0,
        *,
        method: str = "neural_sort",
        power: float = 1.0,
        top_k: int | None = None,
        hard: bool = False,
        mask: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "RelaxedPlackettLuce",
    ) -> None:
        super().__init__(dict(locals()), reparameterization_type=tfd.FULLY_REPARAMETERIZED)
        self.tau = tau_parameter(tau, compute_dtype(self.dtype))
        self.hard = arguments.boolean("hard", hard)
        self.method = methods.checked_method(method)
        self.power = methods.checked_power(power, method)
        leading = self.logits.shape[:-1]
        try:
            tf.broadcast_static_shape(self.tau.shape, leading)
        except ValueError as error:
            message = f"tau must broadcast against the leading axes of logits, {leading}, got shape {self.tau.shape}"
            raise ValueError(message) from error

    @classmethod
    def _parameter_properties(cls, dtype: Any, num_classes: Any = None) -> dict[str, Any]:
        del num_classes
        dtype = tf.as_dtype(tf.float32 if dtype is None else dtype)
        return {
            "logits": tfp.util.ParameterProperties(
                event_ndims=1,
                shape_fn=lambda sample_shape: [*sample_shape[:-2], sample_shape[-1]],
            ),
            "tau": tfp.util.ParameterProperties(
                event_ndims=0,
                shape_fn=lambda sample_shape: sample_shape[:-2],
                default_constraining_bijector_fn=lambda: tfp.bijectors.Softplus(
                    low=tf.constant(arguments.dtype_tiny(dtype), dtype)
                ),
            ),
            "mask": tfp.util.ParameterProperties(event_ndims=1, is_preferred=False),  # not trainable
        }

    def _event_shape(self) -> tf.TensorShape:
        size = self.logits.shape[-1]
        return tf.TensorShape([self.top_k or size, size])

    def _event_shape_tensor(self) -> tf.Tensor:
        return tf.stack([self._event_size(), self._list_size()])

    def relaxed_mode(self) -> tf.Tensor:
        """The matrix `[..., n, n]` or `[..., top_k, n]` without noise, a relaxation of the mode of `PlackettLuce`."""
        with self._name_and_control_scope("relaxed_mode"):
            return self._matrices(*self._batch())

    def _sample_n(self, n: Any, seed: Any = None) -> tf.Tensor:
        logits, possible, tau = self._batch()
        keys = self._keys(logits, n, seed)
        return self._matrices(keys, tf.broadcast_to(possible, tf.shape(keys)), tau)

    def _batch(self) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Logits and whether each item can be chosen, both with the full batch shape, and tau; each is read once."""
        logits, tau = self._wide_logits(), tf.convert_to_tensor(self.tau)
        possible = at_least_or_nan(logits, logits.dtype.min)  # so that NaN appears in the result
        if self.mask is not None:
            possible = tf.logical_and(self.mask, possible)
        logits, possible, _ = broadcast_leading([logits, possible, tau], [1, 1, 0])
        return logits, possible, tau

    def _matrices(self, keys: tf.Tensor, mask: tf.Tensor, tau: tf.Tensor) -> tf.Tensor:
        problem = sort_arguments(keys, tau, mask=mask, method=self.method, power=self.power)
        return tf.cast(dispatch.permutation(problem, self.top_k, self.hard), self.dtype)
