"""Layers as functions of scores with lists along any axis, for `tests/ops/sorting/test_axis.py`."""

import tensorflow as tf


def of_layer(cls, scores, tau, axis, mask, **options):
    """A layer called on `scores` of any shape. It cannot take lists along the first axis, its batch."""
    layer = cls(axis=axis + 1 if axis >= 0 else axis, **options)
    return layer([scores[tf.newaxis], tf.reshape(tau, [1])], mask=mask[tf.newaxis])[0]
