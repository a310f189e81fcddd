"""Soft k nearest neighbours: the first k rows of the soft permutation of negative distances, as if by samples too."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort.ops._core import gumbel_noise
from keras_softsort.ops.sorting import _dispatch
from keras_softsort.ops.sorting._arguments import SortArguments, sort_arguments


def neighbor_arguments(
    distances: tf.Tensor,
    mask: tf.Tensor | None,
    tau: Any,
    method: str,
    *,
    num_samples: int | None = None,
    seed: tf.Tensor | None = None,
) -> SortArguments:
    """Candidates of `distances` [..., q, c] to be sorted, the nearest first: [samples, ..., q, c].

    With `num_samples` their log-scores, minus the distances, carry Gumbel noise from `seed`: the relaxation of
    Plackett-Luce samples. Without, there is one sample and no noise.
    """
    shape = tf.concat([[num_samples or 1], tf.shape(distances)], axis=0)
    scores = -distances[tf.newaxis]
    if num_samples is not None:
        scores += gumbel_noise.gumbel(shape, seed, distances.dtype)
    if mask is not None:
        mask = tf.broadcast_to(mask, shape)
    return sort_arguments(scores, tau, mask=mask, method=method)


def membership(problem: SortArguments, k: int) -> tf.Tensor:
    """How much of the k places each candidate holds, mean over samples: [..., q, c], 0 where masked.

    It sums to k, or to the number of kept candidates where that is less.
    """
    places = tf.reduce_mean(tf.reduce_sum(_dispatch.permutation(problem, k), axis=-2), axis=0)
    if problem.mask is None:
        return places
    return tf.where(problem.mask[0], places, tf.zeros_like(places))


def log_share(problem: SortArguments, k: int, right: tf.Tensor) -> tf.Tensor:
    """The logarithm of `sum(membership * right) / k` [..., q], finite where the sum underflows; 0 where `right` is."""
    logs = _dispatch.log_permutation(problem, k) + tf.math.log(right)[..., tf.newaxis, :]
    nothing = tf.reduce_all(right <= 0, axis=-1)
    logs = tf.where(nothing[..., tf.newaxis, tf.newaxis], tf.zeros_like(logs), logs)
    # Over samples, places and candidates.
    total = tf.reduce_logsumexp(logs, axis=[0, -2, -1])
    places = tf.cast(k * tf.shape(logs)[0], total.dtype)
    return tf.where(nothing, tf.zeros_like(total), total - tf.math.log(places))
