"""SoftSort's soft permutation as a linear operator."""

from __future__ import annotations

from typing import Any

from keras_softsort._internal.export import export
from keras_softsort.linalg._soft_permutation import SoftPermutation, composite


@export
@composite
class LinearOperatorSoftSort(SoftPermutation):
    """SoftSort's soft permutation `P [..., rank, item]` as a linear operator that never forms the matrix.

    Row i of P is `softmax_j(-|sort(s)_i - s_j| / tau)`. The weights factor along the sorted order, so a product is two
    first-order recurrences. For other powers of the distance, `ops.soft_sort` forms the matrix.

    Args:
      scores: floating-point `[..., n]`, a tensor or a variable. The rank may be unknown when traced.
      tau: temperature, a positive number, tensor or variable, in units of the scores. Its shape broadcasts
        against the batch shape of `scores`: a temperature per list.
      mask: bool `[..., n]`, True for valid items. Masked items come last, and their ranks spread evenly over them.
      direction: order of the ranks, `"DESCENDING"` or `"ASCENDING"`.
      name: name of the operator.

    `matmul` and `matvec` have first-order gradients with respect to scores, tau and the argument. There are no second
    derivatives. Short lists use the dense matrix. A score that is not finite makes the results of its list NaN. Half
    precision is computed in float32. The batch shapes of scores and values broadcast.

    The operator is a composite tensor: `tf.function`, `tf.cond` and `tf.nest` take and return it, and `operator[0]` is
    the operator of the first list. `scores`, `tau`, `mask` and `direction` are attributes.

    Raises:
      TypeError: `scores` is not floating-point, or `mask` is not bool.
      ValueError: `tau` is not positive, `mask` has another shape, or `direction` is unknown.

    Cost: O(n log n) time and O(n) memory per list.

    Example:

    >>> import tensorflow as tf
    >>> import keras_softsort as ks
    >>> operator = ks.linalg.LinearOperatorSoftSort(tf.constant([2.0, 5.0, 3.0]), tau=0.01)
    >>> operator.matvec(tf.constant([20.0, 50.0, 30.0])).numpy().tolist()
    [50.0, 30.0, 20.0]

    Source: that of `ops.soft_sort`. The recurrences are from this package.
    """

    _method = "soft_sort"

    def __init__(
        self,
        scores: Any,
        tau: Any,
        *,
        mask: Any = None,
        direction: str = "DESCENDING",
        name: str = "LinearOperatorSoftSort",
    ) -> None:
        super().__init__({"scores": scores, "tau": tau, "mask": mask, "direction": direction, "name": name})
