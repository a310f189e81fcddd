"""Running sums of lists, as products with a triangle of ones where that takes less time."""

from __future__ import annotations

import tensorflow as tf

from keras_softsort.ops._core.lists import is_at_most
from keras_softsort.ops._core.tracing import is_compiled

# Sizes of lists whose running sums are products. TensorFlow sums lists one after another, XLA in several passes.
PRODUCT_SIZES, PRODUCT_SIZES_COMPILED = (1, 256), (17, 128)


def sums_up_to(terms: tf.Tensor) -> tf.Tensor:
    """The sum of the terms [B, n] up to each of them, with it. None may be infinite."""
    if not _are_products(terms):
        return tf.cumsum(terms, axis=1)
    places = tf.range(tf.shape(terms)[1])
    return tf.matmul(terms, tf.cast(places[:, tf.newaxis] <= places, terms.dtype))


def sums_after(terms: tf.Tensor) -> tf.Tensor:
    """The sum of the terms [B, n] after each of them. None may be infinite."""
    if not _are_products(terms):
        return tf.cumsum(terms, axis=1, exclusive=True, reverse=True)
    places = tf.range(tf.shape(terms)[1])
    return tf.matmul(terms, tf.cast(places[:, tf.newaxis] > places, terms.dtype))


def products_keep_digits(dtype: tf.DType) -> bool:
    """Whether a product of matrices has the digits of `dtype`. GPUs and TPUs round float32 factors to 11 or 8 bits."""
    devices = tf.config.list_physical_devices()
    return dtype != tf.float32 or all(device.device_type.endswith("CPU") for device in devices)


def _are_products(terms: tf.Tensor) -> bool:
    smallest, largest = PRODUCT_SIZES_COMPILED if is_compiled() else PRODUCT_SIZES
    size = terms.shape[1]
    return bool(is_at_most(size, largest)) and not is_at_most(size, smallest - 1) and products_keep_digits(terms.dtype)
