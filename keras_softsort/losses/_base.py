"""Base class of all losses: masks and weights are resolved before the loss is computed, and the reduction follows."""

from __future__ import annotations

import contextlib
from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.keras_compat import IS_KERAS_3, keras
from keras_softsort._targets.reduction import WeightedLosses, checked_reduction, reduced


class WeightedLoss(keras.losses.Loss):
    """Base class of losses that resolve masks and weights themselves; Keras would apply them to the result of `call`.

    Args:
      reduction: `"sum_over_batch_size"` or `"mean"`, the mean over lists (over queries for `DkNNLoss`);
        `"mean_with_sample_weight"`, the sum of weighted losses over the sum of weights; `"sum"`; or None or `"none"`,
        one loss per list. Keras 2's `"auto"` is the mean.
      name: name of the loss.
      dtype: dtype of the result, to which `y_pred` is cast first, or a Keras dtype policy or the name of one, for its
        compute dtype. None: that of `y_pred`, and float32 for half precision. Half precision is computed in float32.
    """

    def __init__(
        self, *, reduction: str | None = "sum_over_batch_size", name: str | None = None, dtype: Any = None
    ) -> None:
        reduction = checked_reduction(reduction)
        dtype = None if dtype is None else _floating_dtype(dtype)
        known = reduction if reduction in ("none", "sum") else "sum_over_batch_size"  # the names of Keras 2
        super().__init__(reduction=known, name=name, **({"dtype": dtype} if IS_KERAS_3 else {}))
        self._given_reduction = reduction
        if IS_KERAS_3:  # Keras 2 needs its own name of the mean, to scale it by the number of replicas
            self.reduction = reduction
        self._given_dtype = dtype

    @property
    def given_dtype(self) -> tf.DType | None:
        """The `dtype` of the constructor."""
        return None if self._given_dtype is None else tf.as_dtype(self._given_dtype)

    def weighted_losses(self, y_true: Any, y_pred: Any, sample_weight: Any) -> WeightedLosses:
        """The weighted losses [m] and the count that their mean is taken over."""
        raise NotImplementedError

    @tf.autograph.experimental.do_not_convert
    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> tf.Tensor:
        """The reduced loss: the mean, the sum, or with reduction None all losses."""
        with tf.name_scope(self.name or type(self).__name__):
            result = reduced(self.weighted_losses(y_true, y_pred, sample_weight), self._given_reduction)
            return tf.cast(result, self.given_dtype or result.dtype)

    def call(self, y_true: Any, y_pred: Any) -> tf.Tensor:
        """The losses without weights: [m]."""
        return self.weighted_losses(y_true, y_pred, None).values

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {"reduction": self._given_reduction, "name": self.name, "dtype": self._given_dtype}


def _floating_dtype(dtype: Any) -> str:
    """The name of `dtype`, which may be a Keras policy or the name of one."""
    result = _as_dtype(dtype)
    if result is None and isinstance(dtype, str):
        with contextlib.suppress(ValueError):  # it is no policy
            result = _as_dtype(keras.mixed_precision.Policy(dtype))
    if result is None or not result.is_floating:
        raise ValueError(f"dtype must be floating-point, got {dtype!r}")
    return result.name


def _as_dtype(dtype: Any) -> tf.DType | None:
    try:
        return tf.as_dtype(getattr(dtype, "compute_dtype", dtype))
    except TypeError:
        return None


# Unlike a layer, a loss has no weights to count its calls, and is never exported.
def checked_seed(seed: Any) -> int | None:
    """`seed`, which must be an integer or None."""
    return None if seed is None else arguments.integer("seed", seed)


def fresh_seed(seed: int | None) -> tf.Tensor:
    """Draw two integers from TensorFlow's stateful generator, which `seed` and `tf.random.set_seed` initialize."""
    drawn = tf.random.uniform([2], maxval=tf.int32.max, dtype=tf.int32, seed=seed)
    context = tf.distribute.get_replica_context()
    # With a seed the generators of all replicas draw the same integers.
    return drawn if context is None else tf.bitwise.bitwise_xor(drawn, context.replica_id_in_sync_group)
