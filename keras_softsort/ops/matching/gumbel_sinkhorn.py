"""Gumbel-Sinkhorn: random soft matchings with gradients."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.arguments import compute_dtype
from keras_softsort._internal.export import export
from keras_softsort.ops._core import gumbel_noise
from keras_softsort.ops._core.tracing import traced_if_eager
from keras_softsort.ops.matching.sinkhorn import SinkhornArguments, sinkhorn_arguments, soft_matching


@export
def gumbel_sinkhorn(
    logits: Any,
    tau: Any = 1.0,
    *,
    seed: Any,
    num_samples: int = 1,
    noise_scale: Any = 1.0,
    num_iterations: int = 20,
    tolerance: float | None = None,
    hard: bool = False,
    row_mask: Any = None,
    column_mask: Any = None,
) -> tf.Tensor:
    """Draw samples of soft matchings: `sinkhorn(logits + noise_scale * Gumbel noise, tau)`.

    As tau goes to 0, a sample becomes the exact matching with the largest sum of logits plus noise, which `hard=True`
    returns. Gradients flow to the logits through each sample (reparameterized).

    Args:
      logits: floating-point `[..., n, m]`.
      tau: temperature, in units of the logits, as for `sinkhorn`. Logits plus noise are divided by it.
      seed: two integers. Equal seeds give equal noise: eagerly, traced, and under XLA.
      num_samples: number of samples per matrix.
      noise_scale: factor of the noise, a number of at least 0 or a scalar tensor. 0 gives `sinkhorn`.
      num_iterations: as for `sinkhorn`.
      tolerance: as for `sinkhorn`, for each sample separately.
      hard: whether to return exact matchings of logits plus noise, with the gradient of the soft ones.
      row_mask: bool `[..., n]`, True for valid rows, the same for all samples.
      column_mask: bool `[..., m]`, True for valid columns.

    Returns:
      `[..., num_samples, n, m]` in the dtype of `logits`. The noise is drawn in float64 for float64 logits and in
      float32 otherwise. -inf, NaN, empty and infeasible matrices are treated as by `sinkhorn`.

    Raises:
      TypeError, ValueError: the errors of `sinkhorn`; `seed` does not hold two integers, `num_samples` is below 1, or
        `noise_scale` is below 0.

    Cost: that of `sinkhorn`, per sample.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> samples = ks.ops.gumbel_sinkhorn(tf.zeros([4, 3, 3]), tau=0.5, seed=[1, 2], num_samples=5)
    >>> samples.shape.as_list()
    [4, 5, 3, 3]
    >>> tf.round(100 * tf.reduce_sum(samples, axis=-2))[0, 0].numpy().tolist()
    [100.0, 100.0, 100.0]

    Source: G. Mena, D. Belanger, S. Linderman, J. Snoek, "Learning Latent Permutations with Gumbel-Sinkhorn
    Networks", ICLR 2018.
    """
    given = sinkhorn_arguments(
        logits,
        tau,
        num_iterations=num_iterations,
        tolerance=tolerance,
        hard=hard,
        row_mask=row_mask,
        column_mask=column_mask,
    )
    scale = gumbel_noise.noise_scale_tensor(noise_scale, compute_dtype(given.logits.dtype))
    return _sample(given, scale, gumbel_noise.seed_tensor(seed), arguments.positive_integer("num_samples", num_samples))


@traced_if_eager
def _sample(given: SinkhornArguments, noise_scale: tf.Tensor, seed: tf.Tensor, num_samples: int) -> tf.Tensor:
    wide = tf.cast(given.logits, noise_scale.dtype)
    repeated = given._replace(
        logits=_repeat(wide, num_samples, -3),
        tau=given.tau if given.tau.shape.rank == 0 else given.tau[..., tf.newaxis],
        row_mask=_repeat(given.row_mask, num_samples, -2),
        column_mask=_repeat(given.column_mask, num_samples, -2),
    )
    noise = gumbel_noise.gumbel(tf.shape(repeated.logits), seed, noise_scale.dtype)
    samples, _ = soft_matching(repeated._replace(logits=repeated.logits + noise_scale * noise))
    return tf.cast(samples, given.logits.dtype)


def _repeat(tensor: tf.Tensor | None, count: int, axis: int) -> tf.Tensor | None:
    """Repeat `tensor` `count` times along a new axis."""
    if tensor is None:
        return None
    multiples = [1] * (tensor.shape.rank + 1)
    multiples[axis] = count
    return tf.tile(tf.expand_dims(tensor, axis), multiples)
