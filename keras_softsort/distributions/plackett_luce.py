"""The Plackett-Luce distribution over orders, in log space."""

from __future__ import annotations

import math
from typing import Any

import tensorflow as tf
import tensorflow_probability as tfp
from tensorflow_probability import distributions as tfd

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort.distributions import _orders
from keras_softsort.distributions._base import VARIABLES, OrderDistribution, checked_count, order_dtype
from keras_softsort.distributions._without_replacement import draw_orders, expected_rank_weights
from keras_softsort.ops.core.axes import broadcast_leading, flatten_lists


@export
class PlackettLuce(OrderDistribution):
    """The Plackett-Luce distribution over orders: items are drawn one after another without replacement.

    Use it for policies that rank at random. Each draw picks item j with probability `exp(a_j)` divided by the sum of
    `exp(a)` over the items that are left: `log p(z) = sum_i (a_{z_i} - logsumexp_{j not in z_1..z_{i-1}} a_j)`, for a =
    `logits` and i = 1..k. An event is an integer order `[k]`: the numbers of the first k items.

    Args:
      logits: floating-point `[..., n]`, a tensor or a variable. An item with a logit of -inf cannot be chosen.
      top_k: the number k of items in an event; None for all.
      mask: bool `[..., n]`, True for valid items. Masked items are never drawn before valid ones.
      dtype: dtype of the orders, int32 or int64. `log_prob` takes orders of any integer dtype.
      validate_args: whether to raise an error, when run, for logits that are NaN or +inf and for orders that repeat an
        item or hold a number outside 0 to n - 1. Without it such orders have a `log_prob` of -inf.
      allow_nan_stats, name: as for every TFP distribution.

    Items that cannot be chosen, masked ones last, come after all others in samples and in the mode, and `log_prob` does
    not depend on the order among them. It is -inf, with finite gradients, if one comes before an item that can be
    chosen. Items with equal logits are equally likely to come first; in the mode, the one with the smallest index does.
    An empty list has one order, with probability 1. A valid NaN or +inf makes its list NaN.

    A sample is the order of `logits + Gumbel noise`. A seed of two integers gives the same samples each time; a single
    integer also depends on TensorFlow's state. `prob` and `log_prob` are differentiable, and lists of more than 1,000
    items are computed in float64. For gradients of expectations see `expected_cost` and `RelaxedPlackettLuce`.
    `entropy()` and `kl_divergence(other)` are exact, by enumeration, for a known n <= 8, and otherwise estimates from
    1,000 samples with a fixed seed. The distribution is a composite tensor, and its arguments are attributes.

    Raises:
      ValueError: `top_k` is out of range, `logits` is a scalar, `dtype` is neither int32 nor int64, or shapes or
        distributions do not match.
      TypeError: `logits` is not floating-point, `mask` is not bool, orders are not integers, or another type is wrong.

    Cost: O(n log n) time to sample and O(n) for `log_prob`; O(n) memory. `log_prob` takes O(n^1.5) time and memory if
    float32 logits span more than 70, or float64 ones more than 600.

    Example:
      >>> race = ks.distributions.PlackettLuce([0.0, 2.0, 1.0])
      >>> race.mode().numpy().tolist(), round(float(race.prob([1, 2, 0])), 4)
      ([1, 2, 0], 0.4863)

    Source: R. Plackett, "The Analysis of Permutations", 1975; R. Luce, "Individual Choice Behavior", 1959.
    """

    def __init__(
        self,
        logits: Any,
        *,
        top_k: int | None = None,
        mask: Any = None,
        dtype: Any = tf.int32,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "PlackettLuce",
    ) -> None:
        super().__init__(dict(locals()), reparameterization_type=tfd.NOT_REPARAMETERIZED, dtype=order_dtype(dtype))

    @classmethod
    def _parameter_properties(cls, dtype: Any, num_classes: Any = None) -> dict[str, Any]:
        del dtype, num_classes
        return {
            "logits": tfp.util.ParameterProperties(event_ndims=1),
            "mask": tfp.util.ParameterProperties(event_ndims=1, is_preferred=False),  # not trainable
        }

    def possible(self) -> tf.Tensor:
        """Whether each item can be chosen: `[..., n]`, False where masked or -inf."""
        return tf.logical_not(tf.equal(self._valid_logits(), -math.inf))

    def marginal_top_k(self, k: int | None = None, *, num_samples: int | None = None, seed: Any = None) -> tf.Tensor:
        """The probability `[..., n]` that each item is among the first k; 0 for an item that cannot be chosen.

        By default it is exact and differentiable, in O(n^2 k^1.5) time, and as much memory with gradients. For long
        lists give `num_samples`: the share of the samples, with a standard error of `sqrt(p (1 - p) / num_samples)`.

        Args:
          k: number of first items; None takes `top_k`, or n if that is None.
          num_samples, seed: samples to estimate from, without a gradient, and their seed; None is exact.
        """
        with self._name_and_control_scope("marginal_top_k"):
            logits = self._valid_logits()
            count = self._event_size() if k is None else checked_count("k", k, logits)
            if num_samples is None:
                probabilities = expected_rank_weights(tf.cast(logits, tf.float64), tf.ones([count], tf.float64))
            else:
                keys = self._keys(logits, arguments.positive_integer("num_samples", num_samples), seed)
                orders = _orders.order_by(keys, self.mask, count)
                items = tf.range(tf.shape(logits)[-1])[:, tf.newaxis]
                among = tf.reduce_any(tf.equal(orders[..., tf.newaxis, :], items), axis=-1)
                among = tf.logical_and(among, tf.not_equal(logits, -math.inf))
                probabilities = tf.reduce_mean(tf.cast(among, tf.float64), axis=0)
            return self._where_finite(logits, tf.clip_by_value(probabilities, 0, 1))

    def expected_examination(self, rank_weights: Any) -> tf.Tensor:
        """The expected weight `[..., n]` of the rank of each item: `sum_r rank_weights[r] P(item at rank r)`.

        If `rank_weights` are the probabilities that a user looks at the ranks, it is the probability that the item is
        seen. It is exact and differentiable, at the cost of `marginal_top_k`. An item that cannot be chosen has 0.

        Args:
          rank_weights: `[k]` real numbers, the weights of the first k ranks, k from 1 to n. Other ranks have weight 0.
        """
        with self._name_and_control_scope("expected_examination"):
            weights = tf.cast(arguments.real_tensor("rank_weights", rank_weights), tf.float64)
            if weights.shape.rank != 1 or weights.shape[0] == 0:
                raise ValueError(f"rank_weights must have shape [k], got {weights.shape}")
            logits = self._valid_logits()
            checked_count("the number of rank_weights", weights.shape[0] or 1, logits)
            return self._where_finite(logits, expected_rank_weights(tf.cast(logits, tf.float64), weights))

    def _where_finite(self, logits: tf.Tensor, results: tf.Tensor) -> tf.Tensor:
        """The float64 results `[..., n]` in the dtype of the logits, NaN for lists with a logit of NaN or +inf."""
        is_number = tf.reduce_all(logits < math.inf, axis=-1, keepdims=True)
        return tf.cast(tf.where(is_number, results, tf.constant(math.nan, tf.float64)), self.logits.dtype)

    def sample_without_replacement(self, num_samples: int, seed: Any = None) -> tf.Tensor:
        """Draw `num_samples` distinct orders `[num_samples, ..., k]`. The first has the distribution of `sample`.

        `num_samples` must not exceed the number of orders of n items. If fewer orders are possible, because some items
        cannot be chosen, the last samples are impossible or differ from earlier ones only in such items.
        O(num_samples n k) time and memory.
        """
        with self._name_and_control_scope("sample_without_replacement"):
            count = arguments.positive_integer("num_samples", num_samples)
            logits = tf.cast(self._valid_logits(), tf.float64)
            size = logits.shape[-1]
            if size is not None and count > math.perm(size, self._event_size()):
                raise ValueError(
                    f"num_samples must be at most the number of orders, {math.perm(size, self._event_size())}, "
                    f"got {num_samples}"
                )
            # Finite logits so far below the others that items that cannot be chosen come last, by index.
            level = -tf.cast(1 + tf.range(tf.shape(logits)[-1]), tf.float64) * tf.constant(1e100, tf.float64)
            fill = level if self.mask is None else tf.where(self.mask, level, level * 1e100)
            logits = tf.where(logits > -math.inf, tf.clip_by_value(logits, -1e99, 1e99), fill)
            orders = draw_orders(flatten_lists(logits), self._event_size(), count, tfp.random.sanitize_seed(seed))
            shape = tf.concat([[count], tf.shape(logits)[:-1], [self._event_size()]], axis=0)
            return tf.cast(tf.reshape(tf.transpose(orders, [1, 0, 2]), shape), self.dtype)

    def log_num_orders(self) -> tf.Tensor:
        """The float64 logarithm `[...]` of the number of possible orders, not counting those of impossible items."""
        with self._name_and_control_scope("log_num_orders"):
            chosen = tf.reduce_sum(tf.cast(self.possible(), tf.float64), axis=-1)
            left = tf.maximum(chosen - tf.cast(self._event_size(), tf.float64), 0)
            return tf.math.lgamma(chosen + 1) - tf.math.lgamma(left + 1)

    def estimate_entropy(self, num_samples: int, seed: Any = None) -> _orders.Estimate:
        """Estimate the entropy `E[-log p]` from samples: a value with an unbiased gradient and its standard error."""
        with self._name_and_control_scope("estimate_entropy"):
            race = self._snapshot()
            found = _orders.estimate(race, lambda orders: -race.log_prob(orders), num_samples, seed)
            return _orders.Estimate(*(tf.cast(each, self.logits.dtype) for each in found))

    def estimate_kl_divergence(self, other: PlackettLuce, num_samples: int, seed: Any = None) -> _orders.Estimate:
        """Estimate the divergence `E[log p - log q]` under p from samples: the value and its standard error.

        p is this distribution and q is `other`. The gradient is unbiased.
        """
        with self._name_and_control_scope("estimate_kl_divergence"):
            p, q = _of_one_batch(self, other)
            found = _orders.estimate(p, lambda orders: p.log_prob(orders) - q.log_prob(orders), num_samples, seed)
            return _orders.Estimate(*(tf.cast(each, self.logits.dtype) for each in found))

    def _snapshot(self) -> PlackettLuce:
        """This distribution with its logits read once, as TFP asks, in the compute dtype, for sums of many orders."""
        return PlackettLuce(self._wide_logits(), top_k=self.top_k, mask=self.mask, name="snapshot")

    def _valid_logits(self) -> tf.Tensor:
        """Logits in the compute dtype, -inf where masked."""
        logits = self._wide_logits()
        return logits if self.mask is None else tf.where(self.mask, logits, tf.constant(-math.inf, logits.dtype))

    def _event_shape(self) -> tf.TensorShape:
        return tf.TensorShape([self.top_k or self.logits.shape[-1]])

    def _event_shape_tensor(self) -> tf.Tensor:
        return tf.stack([self._event_size()])

    def _sample_n(self, n: Any, seed: Any = None) -> tf.Tensor:
        keys = self._keys(self._valid_logits(), n, seed)
        return tf.cast(_orders.order_by(keys, self.mask, self._event_size()), self.dtype)

    def _mode(self) -> tf.Tensor:
        return tf.cast(_orders.order_by(self._valid_logits(), self.mask, self._event_size()), self.dtype)

    def _log_prob(self, value: Any) -> tf.Tensor:
        orders = arguments.dense_tensor("value", value)
        if not orders.dtype.is_integer:
            raise TypeError(f"value must hold integer orders, got dtype {orders.dtype.name}")
        if not orders.shape[-1:].is_compatible_with(self.event_shape):
            raise ValueError(f"value must be orders [..., {self.event_shape[0]}], got shape {orders.shape}")
        return tf.cast(_orders.log_probs_of(_orders.as_int32(orders), self._valid_logits()), self.logits.dtype)

    def _entropy(self) -> tf.Tensor:
        race = self._snapshot()
        return tf.cast(_orders.exact_or_estimate(race, lambda orders: -race.log_prob(orders)), self.logits.dtype)

    def _parameter_control_dependencies(self, is_init: bool) -> list[Any]:
        if not self.validate_args or is_init == isinstance(self.logits, VARIABLES):
            return []
        is_valid = tf.reduce_all(self._valid_logits() < math.inf)
        return [tf.debugging.Assert(is_valid, ["logits must be finite or -inf"])]

    def _sample_control_dependencies(self, value: Any) -> list[Any]:
        if not self.validate_args:
            return []
        orders = flatten_lists(_orders.as_int32(value))
        are_valid = _orders.are_orders(orders, self._list_size())
        message = "value must hold items from 0 to n - 1, each at most once, got"
        return [tf.debugging.Assert(tf.reduce_all(are_valid), [message, value])]


@tfd.RegisterKL(PlackettLuce, PlackettLuce)
def _kl_divergence(first: PlackettLuce, second: PlackettLuce, name: str | None = None) -> tf.Tensor:
    with tf.name_scope(name or "kl_plackett_luce"):
        p, q = _of_one_batch(first, second)
        divergence = _orders.exact_or_estimate(p, lambda orders: p.log_prob(orders) - q.log_prob(orders))
        return tf.cast(divergence, first.logits.dtype)


def _of_one_batch(first: PlackettLuce, second: PlackettLuce) -> tuple[PlackettLuce, PlackettLuce]:
    """Both distributions with logits of one batch shape and one dtype, each variable read once."""
    if not first.event_shape.is_compatible_with(second.event_shape):
        raise ValueError(f"other must have events of shape {first.event_shape}, got {second.event_shape}")
    if not first.logits.shape[-1:].is_compatible_with(second.logits.shape[-1:]):
        raise ValueError(f"other must have lists of size {first.logits.shape[-1]}, got {second.logits.shape[-1]}")
    both = [first._wide_logits(), second._wide_logits()]
    dtype = max((logits.dtype for logits in both), key=lambda dtype: dtype.size)
    both = broadcast_leading([tf.cast(logits, dtype) for logits in both], [1, 1])
    masks = [None if each.mask is None else tf.broadcast_to(each.mask, tf.shape(both[0])) for each in (first, second)]
    p, q = (PlackettLuce(logits, top_k=first.top_k, mask=mask) for logits, mask in zip(both, masks, strict=True))
    return p, q
