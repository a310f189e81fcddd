"""Masks of items applied to features."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_softsort.ops._core import validation


def item_mask(mask: Any, features: tf.Tensor) -> tf.Tensor | None:
    """Return `mask` as a bool tensor, checked to be `[batch, n]` for features `[batch, n, d]`."""
    return validation.axis_mask("mask", mask, features, -2)


def without_padding(features: tf.Tensor, mask: tf.Tensor | None) -> tf.Tensor:
    """Replace the padding of features `[batch, n, d]`, which may be NaN, by zeros. Without a mask return them."""
    return features if mask is None else tf.where(mask[..., tf.newaxis], features, tf.zeros_like(features))


def everything_if_empty(mask: tf.Tensor, axis: int | None) -> tf.Tensor:
    """The mask `[batch, n]`, but True for all if nothing along `axis` is valid, so that statistics are finite."""
    return tf.logical_or(mask, tf.logical_not(tf.reduce_any(mask, axis=axis, keepdims=True)))
