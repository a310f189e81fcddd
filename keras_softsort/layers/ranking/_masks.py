"""Masks of items applied to features."""

from __future__ import annotations

from typing import Any

import tensorflow as tf


def without_padding(features: tf.Tensor, mask: Any) -> tf.Tensor:
    """Features `[batch, n, d]` with zeros for padding, which may be NaN; `None` is no mask."""
    if mask is None:
        return features
    return tf.where(tf.convert_to_tensor(mask)[..., tf.newaxis], features, tf.zeros_like(features))


def everything_if_empty(mask: tf.Tensor, axis: int | None) -> tf.Tensor:
    """The mask `[batch, n]`, True throughout where nothing along `axis` is valid: no statistic is one of nothing."""
    return tf.logical_or(mask, tf.logical_not(tf.reduce_any(mask, axis=axis, keepdims=True)))
