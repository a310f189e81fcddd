"""A method's soft permutation as a matrix: its rows, their logarithms, and products with them."""

from __future__ import annotations

import tensorflow as tf

from keras_softsort.ops.sorting._dense import soft_rows
from keras_softsort.ops.sorting._dense.soft_rows import Ranks
from keras_softsort.ops.sorting._methods.method import Method
from keras_softsort.ops.sorting._ordering import OrderedLists


def matrix(method: Method, lists: OrderedLists, ranks: Ranks, power: float) -> tf.Tensor:
    """The rows of `ranks`: [B, r, n]."""
    if method.row_logits is not None:
        return soft_rows.matrix(method.row_logits(lists, ranks, power, False), lists)
    assert method.rows is not None, f"{method.name} has no permutation, which sort_arguments checks"
    return method.rows(lists, ranks.numbers, power)


def log_matrix(method: Method, lists: OrderedLists, ranks: Ranks, power: float) -> tf.Tensor:
    """Their logarithms."""
    if method.row_logits is None:
        return tf.math.log(matrix(method, lists, ranks, power))
    return soft_rows.matrix(method.row_logits(lists, ranks, power, True), lists, log=True)


def multiply(method: Method, lists: OrderedLists, ranks: Ranks, power: float, values: tf.Tensor) -> tf.Tensor:
    """The rows times `values` [B, n, d]: [B, r, d]."""
    if method.row_logits is None:
        return tf.matmul(matrix(method, lists, ranks, power), values)
    return soft_rows.multiply(method.row_logits(lists, ranks, power, False), lists, values)


def multiply_transposed(
    method: Method, lists: OrderedLists, ranks: Ranks, power: float, values: tf.Tensor
) -> tf.Tensor:
    """The transpose of all rows times `values` [B, n, d]: [B, n, d], 0 for masked items."""
    if method.row_logits is None:
        result = tf.matmul(matrix(method, lists, ranks, power), values, transpose_a=True)
    else:
        result = soft_rows.multiply_transposed(method.row_logits(lists, ranks, power, False), lists, values)
    return result if lists.mask is None else tf.where(lists.mask[:, :, tf.newaxis], result, tf.zeros_like(result))
