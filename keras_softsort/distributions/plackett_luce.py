"""The Plackett-Luce distribution over orders, in log space."""

from __future__ import annotations

import math
from typing import Any

import tensorflow as tf
import tensorflow_probability as tfp
from tensorflow_probability import distributions as tfd

from keras_softsort._internal import arguments
from keras_softsort.distributions import _arguments
from keras_softsort.distributions._expectations import Estimate, estimate, exact_or_estimate
from keras_softsort.distributions._log_prob import log_probs_of
from keras_softsort.distributions._marginal import top_k_probabilities
from keras_softsort.distributions._orders import log_possible_orders, order_by
from keras_softsort.distributions._without_replacement import draw_orders
from keras_softsort.ops._core import gumbel_noise, validation
from keras_softsort.ops._core.batching import flatten_lists
from keras_softsort.ops._core.dtypes import compute_dtype
from keras_softsort.ops.sampling._plackett_luce import subtract_max


class PlackettLuce(tfd.Distribution):
    """Orders drawn by choosing one item after another, each with probability `exp(a_j) / sum over those left`.

    `log p(z) = sum_i (a_{z_i} - logsumexp_{j not in z_1..z_{i-1}} a_j)`, a = `log_scores`, i = 1..k. An event is an
    int32 order `[k]`: the first k items of n, all of them without `top_k`.

    Args:
      log_scores: `[..., n]`, floating-point, of any level and range: logits, not positive scores as
        `tfd.PlackettLuce` takes. A tensor or variable. -inf means "cannot be chosen". Computed in float64 relative to
        the list's largest: only differences among items 1e12 and more below it lose digits.
      top_k: the event is the order of the first `top_k` items alone.
      mask: bool `[..., n]`, True = keep. Padding is never drawn before a kept item and changes nothing.
      validate_args: check when run that log-scores are not NaN or +inf, and that orders hold every item at most once.
      allow_nan_stats: as for every TFP distribution.
      name: as for every TFP distribution.

    Items that cannot be chosen come last in samples and the mode, in the order of their index, padding after kept
    ones. Their order is no part of the outcome: `log_prob` is the same for each, and -inf (with finite gradients)
    where one of them stands before an item that can be chosen. Equal log-scores are equally likely to go first; the
    mode takes the first. An empty list has one order, of probability 1. NaN or +inf makes a list's results NaN.

    Samples are the order of `log_scores + Gumbel noise`; the noise is drawn in float32, or float64 for float64. A seed
    of two integers gives the same samples again; one integer, as in all of TFP, moves on with TensorFlow's state. Half
    precision is computed in float32. `prob` and `log_prob` are differentiable with respect to `log_scores`;
    for gradients of expectations over samples see `expected_cost` and `RelaxedPlackettLuce`.

    Methods beside those of every TFP distribution: `possible`, `log_num_orders`, `marginal_top_k`,
    `sample_without_replacement`, `estimate_entropy`, `estimate_kl_divergence`. `entropy()` and `kl_divergence(other)`
    are exact, by enumeration, for n <= 8; beyond they are the value of the estimates from 1,000 samples with a fixed
    seed.

    Raises:
      ValueError: `top_k` < 1 or above n, a mask of another shape, scalar log-scores.
      TypeError: `log_scores` not floating-point, `mask` not bool.

    Cost: O(n log n) to sample, O(n) for `log_prob`, in time and memory.

    Example:

    >>> import keras_softsort as ks
    >>> race = ks.distributions.PlackettLuce([0.0, 2.0, 1.0])
    >>> race.mode().numpy().tolist()
    [1, 2, 0]
    >>> round(float(race.prob([1, 2, 0])), 4)
    0.4863
    >>> race.sample(1000, seed=1).shape.as_list()
    [1000, 3]

    Source: R. Plackett, "The Analysis of Permutations", 1975; R. Luce, "Individual Choice Behavior", 1959.
    """

    def __init__(
        self,
        log_scores: Any,
        *,
        top_k: int | None = None,
        mask: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "PlackettLuce",
    ) -> None:
        parameters = dict(locals())
        with tf.name_scope(name) as scope:
            self._log_scores = _arguments.parameter("log_scores", log_scores)
            self._top_k = None if top_k is None else _arguments.checked_count("top_k", top_k, self._log_scores)
            self._mask = validation.list_mask(mask, self._log_scores, masked="log_scores")
            super().__init__(
                dtype=tf.int32,
                reparameterization_type=tfd.NOT_REPARAMETERIZED,
                validate_args=validate_args,
                allow_nan_stats=allow_nan_stats,
                parameters=parameters,
                name=scope,
            )

    @classmethod
    def _parameter_properties(cls, dtype: Any, num_classes: Any = None) -> dict[str, Any]:
        del dtype, num_classes
        return {
            "log_scores": tfp.util.ParameterProperties(event_ndims=1),
            "mask": tfp.util.ParameterProperties(event_ndims=1, is_preferred=False),  # nothing to be trained
        }

    @property
    def log_scores(self) -> Any:
        """The argument `log_scores`."""
        return self._log_scores

    @property
    def top_k(self) -> int | None:
        """The argument `top_k`."""
        return self._top_k

    @property
    def mask(self) -> tf.Tensor | None:
        """The argument `mask`."""
        return self._mask

    def possible(self) -> tf.Tensor:
        """Whether each item can be chosen: `[..., n]`, False where masked or -inf."""
        return tf.logical_not(tf.equal(self._scores(), -math.inf))

    def marginal_top_k(self, k: int | None = None, *, num_samples: int | None = None, seed: Any = None) -> tf.Tensor:
        """The probability `[..., n]` of each item to be among the first k; 0 for one that cannot be chosen.

        Computed exactly, and differentiable, by an integral over the item's Gumbel key: O(n^2 k^1.5) time, and as much
        memory with gradients. With `num_samples` it is the share of as many samples instead, for long lists; its
        standard error is `sqrt(p (1 - p) / num_samples)`.

        Args:
          k: how many; `top_k` or n by default.
          num_samples: estimate from so many samples, without gradient.
          seed: of the samples, as for `sample`.

        Raises:
          ValueError: `k` or `num_samples` < 1, `k` above n.
        """
        with self._name_and_control_scope("marginal_top_k"):
            scores = self._scores()
            count = self._event_size() if k is None else _arguments.checked_count("k", k, scores)
            numbers = tf.reduce_all(scores < math.inf, axis=-1, keepdims=True)
            if num_samples is None:
                exact = top_k_probabilities(tf.cast(scores, tf.float64), count)
                return tf.cast(tf.where(numbers, exact, tf.constant(math.nan, exact.dtype)), self._log_scores.dtype)
            samples = arguments.positive_integer("num_samples", num_samples)
            orders = self._draw(samples, seed, count)
            size = tf.shape(scores)[-1]
            among = tf.reduce_any(tf.equal(orders[..., tf.newaxis, :], tf.range(size)[:, tf.newaxis]), axis=-1)
            among = tf.logical_and(among, self.possible())
            share = tf.reduce_mean(tf.cast(among, tf.float32), axis=0)
            return tf.cast(tf.where(numbers, share, tf.constant(math.nan)), self._log_scores.dtype)

    def sample_without_replacement(self, num_samples: int, seed: Any = None) -> tf.Tensor:
        """`num_samples` orders `[num_samples, ..., k]` without repetition, the first as `sample` gives it.

        Where fewer orders are possible, others fill up: impossible ones, or such as differ from those before only in
        items that cannot be chosen. O(num_samples n k) time and memory.

        Raises:
          ValueError: `num_samples` < 1, or more than a list of n items has orders.
        """
        with self._name_and_control_scope("sample_without_replacement"):
            count = arguments.positive_integer("num_samples", num_samples)
            scores = tf.cast(self._scores(), tf.float64)
            size = scores.shape[-1]
            if size is not None and count > math.perm(size, self._event_size()):
                raise ValueError(
                    f"num_samples must be at most the number of orders, {math.perm(size, self._event_size())}, "
                    f"got {num_samples}"
                )
            # Finite levels so far apart that items that cannot be chosen come last, in the order of their index.
            level = -tf.cast(1 + tf.range(tf.shape(scores)[-1]), tf.float64) * tf.constant(1e100, tf.float64)
            fill = level if self._mask is None else tf.where(self._mask, level, level * 1e100)
            scores = tf.where(scores > -math.inf, tf.clip_by_value(scores, -1e99, 1e99), fill)
            orders = draw_orders(flatten_lists(scores), self._event_size(), count, tfp.random.sanitize_seed(seed))
            shape = tf.concat([[count], tf.shape(scores)[:-1], [self._event_size()]], axis=0)
            return tf.reshape(tf.transpose(orders, [1, 0, 2]), shape)

    def log_num_orders(self) -> tf.Tensor:
        """The log `[...]`, float64, of how many orders are possible; the order of items that cannot be chosen aside."""
        with self._name_and_control_scope("log_num_orders"):
            return log_possible_orders(self.possible(), self._event_size())

    def estimate_entropy(self, num_samples: int, seed: Any = None) -> Estimate:
        """`E[-log p]` as a mean over samples, whose gradient is unbiased too, and its standard error."""
        wide = self._wide()
        found = estimate(wide, lambda orders: -wide.log_prob(orders), num_samples, seed)
        return Estimate(*(tf.cast(each, self._log_scores.dtype) for each in found))

    def estimate_kl_divergence(self, other: PlackettLuce, num_samples: int, seed: Any = None) -> Estimate:
        """`E[log p - log q]` under p as a mean over samples, whose gradient is unbiased, and its standard error."""
        _check_same_events(self, other)
        p, q = self._wide(), other._wide()
        found = estimate(p, lambda orders: p.log_prob(orders) - q.log_prob(orders), num_samples, seed)
        return Estimate(*(tf.cast(each, self._log_scores.dtype) for each in found))

    def _wide(self) -> PlackettLuce:
        """This distribution in the dtype it computes in: sums over many orders would not be right in half precision."""
        dtype = compute_dtype(self._log_scores.dtype)
        if dtype == self._log_scores.dtype:
            return self
        return self.copy(log_scores=tf.cast(tf.convert_to_tensor(self._log_scores), dtype))

    def _scores(self) -> tf.Tensor:
        """Log-scores in the compute dtype, -inf where masked."""
        scores = validation.top_k_rows(self._top_k, tf.convert_to_tensor(self._log_scores))
        scores = tf.cast(scores, compute_dtype(scores.dtype))
        return scores if self._mask is None else tf.where(self._mask, scores, tf.constant(-math.inf, scores.dtype))

    def _event_size(self) -> Any:
        """The number of items in an event: known, if it can be."""
        if self._top_k is not None:
            return self._top_k
        known = self._log_scores.shape[-1]
        return tf.shape(self._log_scores)[-1] if known is None else known

    def _event_shape(self) -> tf.TensorShape:
        return tf.TensorShape([self._top_k or self._log_scores.shape[-1]])

    def _event_shape_tensor(self) -> tf.Tensor:
        return tf.stack([self._event_size()])

    def _sample_n(self, n: Any, seed: Any = None) -> tf.Tensor:
        return self._draw(n, seed, self._event_size())

    def _draw(self, samples: Any, seed: Any, count: Any) -> tf.Tensor:
        scores = self._scores()
        shape = tf.concat([[samples], tf.shape(scores)], axis=0)
        keys = scores + gumbel_noise.gumbel(shape, tfp.random.sanitize_seed(seed), scores.dtype)
        return order_by(keys, self._mask, count)

    def _mode(self) -> tf.Tensor:
        return order_by(self._scores(), self._mask, self._event_size())

    def _log_prob(self, value: Any) -> tf.Tensor:
        orders = tf.cast(value, tf.int32)
        if not orders.shape[-1:].is_compatible_with(self.event_shape):
            raise ValueError(f"value must be orders [..., {self.event_shape[0]}], got shape {orders.shape}")
        return tf.cast(log_probs_of(orders, subtract_max(self._scores())), self._log_scores.dtype)

    def _entropy(self) -> tf.Tensor:
        wide = self._wide()
        return tf.cast(exact_or_estimate(wide, lambda orders: -wide.log_prob(orders)), self._log_scores.dtype)

    def _default_event_space_bijector(self) -> None:
        return None

    def _parameter_control_dependencies(self, is_init: bool) -> list[Any]:
        if not self.validate_args or is_init == isinstance(self._log_scores, _arguments.REFERENCES):
            return []
        scores = self._scores()
        message = "log_scores must be finite or -inf"
        return [tf.debugging.Assert(tf.reduce_all(scores < math.inf), [message, scores])]

    def _sample_control_dependencies(self, value: Any) -> list[Any]:
        if not self.validate_args:
            return []
        ordered = tf.sort(tf.cast(value, tf.int32), axis=-1)
        distinct = tf.reduce_all(ordered[..., 1:] > ordered[..., :-1])
        inside = tf.reduce_all((ordered >= 0) & (ordered < tf.shape(self._log_scores)[-1]))
        message = "value must hold items of 0 to n - 1, each at most once"
        return [tf.debugging.Assert(distinct & inside, [message, value])]


@tfd.RegisterKL(PlackettLuce, PlackettLuce)
def _kl_divergence(first: PlackettLuce, second: PlackettLuce, name: str | None = None) -> tf.Tensor:
    _check_same_events(first, second)
    with tf.name_scope(name or "kl_plackett_luce"):
        p, q = first._wide(), second._wide()
        divergence = exact_or_estimate(p, lambda orders: p.log_prob(orders) - q.log_prob(orders))
        return tf.cast(divergence, first.log_scores.dtype)


def _check_same_events(first: PlackettLuce, second: PlackettLuce) -> None:
    if not first.event_shape.is_compatible_with(second.event_shape):
        raise ValueError(f"other must have events of shape {first.event_shape}, got {second.event_shape}")
