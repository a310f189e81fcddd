"""The interface of a method of soft sorting."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf

from keras_softsort.ops._core.thresholds import Thresholds
from keras_softsort.ops.sorting._dense.soft_rows import Ranks, RowLogits
from keras_softsort.ops.sorting._matrix_free.products import MatrixFree
from keras_softsort.ops.sorting._ordering import OrderedLists

# (lists, ranks, power, log): the logits of the rows at those ranks, exact where weights underflow if `log`.
MakeLogits = Callable[[OrderedLists, Ranks, float, bool], RowLogits]
# (lists, ranks [B, r], power): the rows of the matrix at those ranks, [B, r, n].
Rows = Callable[[OrderedLists, tf.Tensor, float], tf.Tensor]


class Method(NamedTuple):
    """A method of soft sorting. Functions that it does not have are None, and follow from its matrix if it has one.

    All functions take ordered lists, which are `[B, n]`, in descending order and with masked items last. NeuralNDCG
    divides a matrix by the sums of its columns, of which none may underflow to 0.
    """

    name: str
    row_logits: MakeLogits | None = None  # of a soft permutation matrix whose rows are softmaxes
    rows: Rows | None = None  # of another soft permutation matrix, each summing to 1
    matrix_free: Callable[[float], MatrixFree | None] | None = None  # products for this power without the matrix
    ranks: Callable[[OrderedLists], tf.Tensor] | None = None  # [B, n] from 1, 0 for masked items
    sorted_scores: Callable[[OrderedLists], tf.Tensor] | None = None  # [B, n], 0 after the valid ones
    membership: Callable[[OrderedLists, int], tf.Tensor] | None = None  # [B, n], summing to k
    takes_power: bool = False
    thresholds: Thresholds = Thresholds()
