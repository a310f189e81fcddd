"""Soft k nearest neighbors: the first k rows of the soft permutation of negative distances, with or without noise."""

from __future__ import annotations

from typing import Any, NamedTuple

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.arguments import compute_dtype
from keras_softsort.ops._core import gumbel_noise
from keras_softsort.ops._core.distances import DISTANCES, pairwise_distances
from keras_softsort.ops._core.lists import checked_scale
from keras_softsort.ops.sorting import _dispatch, _methods
from keras_softsort.ops.sorting._methods import SortArguments, sort_arguments


class SoftNeighborOptions(NamedTuple):
    """Checked options; a nest of tensors and Python values, so `tf.function` can take it whole."""

    tau: tf.Tensor
    num_samples: int | None
    seed: tf.Tensor | None
    k: int
    distance: str
    method: str
    power: float
    scale: str | None


def checked_search(*, k: Any, distance: Any, method: Any, power: Any, scale: Any) -> dict[str, Any]:
    """Check the options that say which candidates are near, of the operators, the loss and the layer."""
    return {
        "k": arguments.positive_integer("k", k),
        "distance": arguments.one_of("distance", distance, DISTANCES),
        "method": _methods.checked_method(method),
        "power": _methods.checked_power(power, method),
        "scale": checked_scale(scale),
    }


def soft_neighbor_options(
    queries: tf.Tensor, tau: Any, num_samples: Any, seed: Any, search: dict[str, Any]
) -> SoftNeighborOptions:
    """Add `tau`, one for all or one per query of `queries` [..., q, d], and the noise to the checked `search`."""
    if (num_samples is None) != (seed is None):
        raise ValueError(f"num_samples and seed must be given together, got {num_samples!r} and {seed!r}")
    return SoftNeighborOptions(
        tau=arguments.temperature(tau, compute_dtype(queries.dtype), queries),
        num_samples=arguments.optional_positive_integer("num_samples", num_samples),
        seed=None if seed is None else gumbel_noise.seed_tensor(seed),
        **search,
    )


def sorted_candidates(
    queries: tf.Tensor, candidates: tf.Tensor, mask: tf.Tensor | None, options: SoftNeighborOptions
) -> SortArguments:
    """The arguments for sorting the candidates of each query [samples, ..., q, c], the nearest first.

    `queries` are [..., q, d], `candidates` [..., c, d], and `mask` broadcasts to [..., q, c]. With noise the logits are
    negative distances plus Gumbel noise, a relaxation of Plackett-Luce samples. Without noise there is one sample.
    """
    distances = pairwise_distances(queries, candidates, options.distance)
    shape = tf.concat([[options.num_samples or 1], tf.shape(distances)], axis=0)
    scores = -distances[tf.newaxis]
    if options.num_samples is not None:
        scores += gumbel_noise.gumbel(shape, options.seed, distances.dtype)
    if mask is not None:
        mask = tf.broadcast_to(mask, shape)
    return sort_arguments(
        scores, options.tau, mask=mask, method=options.method, power=options.power, scale=options.scale
    )


def membership(sorting: SortArguments, k: int) -> tf.Tensor:
    """The membership of each candidate in the first k ranks, the mean over samples: [..., q, c], 0 where masked.

    The memberships sum to k, or to the number of valid candidates if that is less.
    """
    shares = tf.reduce_mean(tf.reduce_sum(_dispatch.permutation(sorting, k), axis=-2), axis=0)
    if sorting.mask is None:
        return shares
    return tf.where(sorting.mask[0], shares, tf.zeros_like(shares))


def log_share(sorting: SortArguments, k: int, agreement: tf.Tensor) -> tf.Tensor:
    """The logarithm of `sum(membership * agreement) / k` [..., q], finite if the sum underflows; 0 without a match."""
    logs = _dispatch.log_permutation(sorting, k) + tf.math.log(agreement)[..., tf.newaxis, :]
    nothing = tf.reduce_all(agreement <= 0, axis=-1)
    logs = tf.where(nothing[..., tf.newaxis, tf.newaxis], tf.zeros_like(logs), logs)
    # Over samples, ranks and candidates.
    total = tf.reduce_logsumexp(logs, axis=[0, -2, -1])
    count = tf.cast(k * tf.shape(logs)[0], total.dtype)
    return tf.where(nothing, tf.zeros_like(total), total - tf.math.log(count))
